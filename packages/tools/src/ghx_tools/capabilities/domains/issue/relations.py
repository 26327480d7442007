"""Relations of issues: parents, sub-issues, and which issue blocks which."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import InputModel, IssueInput, OutputModel, Positive, Text, get_value, require_value
from ghx_tools.capabilities.registry import Operation

_VIEW = """
query IssueRelations($owner: String!, $name: String!, $issueNumber: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $issueNumber) {
      id
      number
      parent { id number }
      subIssues(first: 100) { nodes { id number } }
      blockedBy(first: 100) { nodes { id number } }
    }
  }
}
"""
_PARENT = "query IssueParent($id: ID!) { node(id: $id) { ... on Issue { parent { id } } } }"
_SET_PARENT = """
mutation IssueParentSet($id: ID!, $subIssueId: ID!) {
  addSubIssue(input: {issueId: $id, subIssueId: $subIssueId, replaceParent: true}) {
    issue { id }
    subIssue { id parent { id } }
  }
}
"""
_REMOVE_PARENT = """
mutation IssueParentRemove($id: ID!, $subIssueId: ID!) {
  removeSubIssue(input: {issueId: $id, subIssueId: $subIssueId}) { subIssue { id parent { id } } }
}
"""
_BLOCK = """
mutation IssueBlockedByAdd($id: ID!, $blockingId: ID!) {
  addBlockedBy(input: {issueId: $id, blockingIssueId: $blockingId}) { issue { id } blockingIssue { id } }
}
"""
_UNBLOCK = """
mutation IssueBlockedByRemove($id: ID!, $blockingId: ID!) {
  removeBlockedBy(input: {issueId: $id, blockingIssueId: $blockingId}) { issue { id } blockingIssue { id } }
}
"""

_NODE_ID = Field(description="Node id of the issue, as `issue.view` gives it.")


class ParentInput(InputModel):
    """Which issue, and which is to be its parent."""

    issue_id: Annotated[Text, _NODE_ID]
    parent_issue_id: Annotated[Text, Field(description="Node id of the issue that becomes its parent.")]


class OrphanInput(InputModel):
    """Which issue loses its parent."""

    issue_id: Annotated[Text, _NODE_ID]


class BlockedByInput(InputModel):
    """Which issue is blocked, and by which."""

    issue_id: Annotated[Text, _NODE_ID]
    blocked_by_issue_id: Annotated[Text, Field(description="Node id of the issue that blocks it.")]


class IssueReference(OutputModel):
    """Another issue."""

    id: Text
    number: Positive


class Relations(OutputModel):
    """An issue among others."""

    issue: IssueReference
    parent: IssueReference | None
    children: tuple[IssueReference, ...]
    blocked_by: tuple[IssueReference, ...]


class NewParent(OutputModel):
    """The parent that an issue has now."""

    issue_id: Text
    parent_issue_id: Text
    updated: bool


class RemovedParent(OutputModel):
    """The issue, and whether it has no parent now."""

    issue_id: Text
    parent_removed: bool


class NewBlock(OutputModel):
    """An issue, and the issue that blocks it now."""

    issue_id: Text
    blocked_by_issue_id: Text
    added: bool


class RemovedBlock(OutputModel):
    """An issue, and the issue that blocks it no longer."""

    issue_id: Text
    blocked_by_issue_id: Text
    removed: bool


async def view_relations(client: GitHubClient, inputs: IssueInput) -> Relations:
    """Read the relations of an issue to others."""
    issue = require_value(await client.graphql(_VIEW, inputs.variables()), "repository", "issue")
    return Relations.model_validate(
        {
            "issue": {"id": issue["id"], "number": issue["number"]},
            "parent": issue["parent"],
            "children": issue["subIssues"]["nodes"],
            "blockedBy": issue["blockedBy"]["nodes"],
        }
    )


async def set_parent(client: GitHubClient, inputs: ParentInput) -> NewParent:
    """Make an issue a sub-issue; the parent it had loses it."""
    answer = await client.graphql(_SET_PARENT, {"id": inputs.parent_issue_id, "subIssueId": inputs.issue_id})
    child, parent = require_value(answer, "addSubIssue", "subIssue"), require_value(answer, "addSubIssue", "issue")
    has_it = child["parent"] is not None and child["parent"]["id"] == parent["id"]
    return NewParent(issue_id=child["id"], parent_issue_id=parent["id"], updated=has_it)


async def remove_parent(client: GitHubClient, inputs: OrphanInput) -> RemovedParent:
    """Detach a sub-issue from the parent it has."""
    answer = await client.graphql(_PARENT, {"id": inputs.issue_id})
    parent_id = get_value(answer, "node", "parent", "id")
    if parent_id is None:
        raise not_found_error(f"the issue {inputs.issue_id} has no parent")
    answer = await client.graphql(_REMOVE_PARENT, {"id": parent_id, "subIssueId": inputs.issue_id})
    child = require_value(answer, "removeSubIssue", "subIssue")
    return RemovedParent(issue_id=child["id"], parent_removed=child["parent"] is None)


async def add_block(client: GitHubClient, inputs: BlockedByInput) -> NewBlock:
    """Note that an issue is blocked by another."""
    answer = await client.graphql(_BLOCK, {"id": inputs.issue_id, "blockingId": inputs.blocked_by_issue_id})
    issue_id = require_value(answer, "addBlockedBy", "issue", "id")
    blocking_id = require_value(answer, "addBlockedBy", "blockingIssue", "id")
    return NewBlock(issue_id=issue_id, blocked_by_issue_id=blocking_id, added=True)


async def remove_block(client: GitHubClient, inputs: BlockedByInput) -> RemovedBlock:
    """Note that an issue is blocked by another no more."""
    answer = await client.graphql(_UNBLOCK, {"id": inputs.issue_id, "blockingId": inputs.blocked_by_issue_id})
    issue_id = require_value(answer, "removeBlockedBy", "issue", "id")
    blocking_id = require_value(answer, "removeBlockedBy", "blockingIssue", "id")
    return RemovedBlock(issue_id=issue_id, blocked_by_issue_id=blocking_id, removed=True)


_CHILD = {"issueId": "I_kwDOAAAAAc4AAAAC"}
_BLOCKED = {**_CHILD, "blockedByIssueId": "I_kwDOAAAAAc4AAAAB"}

OPERATIONS = {
    "issue.relations.blocked_by.add": Operation(
        input=BlockedByInput, output=NewBlock, function=add_block, route="graphql", example=_BLOCKED
    ),
    "issue.relations.blocked_by.remove": Operation(
        input=BlockedByInput, output=RemovedBlock, function=remove_block, route="graphql", example=_BLOCKED
    ),
    "issue.relations.parent.remove": Operation(
        input=OrphanInput, output=RemovedParent, function=remove_parent, route="graphql", example=_CHILD
    ),
    "issue.relations.parent.set": Operation(
        input=ParentInput,
        output=NewParent,
        function=set_parent,
        route="graphql",
        example={**_CHILD, "parentIssueId": "I_kwDOAAAAAc4AAAAB"},
    ),
    "issue.relations.view": Operation(
        input=IssueInput,
        output=Relations,
        function=view_relations,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "issueNumber": 1},
    ),
}
