"""Who an issue is assigned to."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.issue.lookup import ids_of, which_issue
from ghx_bench.capabilities.models import IssueInput, Logins, OutputModel, Positive, Text, part
from ghx_bench.capabilities.operation import Operation

_ADD = """
mutation IssueAssigneesAdd($id: ID!, $assigneeIds: [ID!]!) {
  change: addAssigneesToAssignable(input: {assignableId: $id, assigneeIds: $assigneeIds}) {
    issue: assignable { ... on Issue { id assignees(first: 100) { nodes { login } } } }
  }
}
"""
_REMOVE = """
mutation IssueAssigneesRemove($id: ID!, $assigneeIds: [ID!]!) {
  change: removeAssigneesFromAssignable(input: {assignableId: $id, assigneeIds: $assigneeIds}) {
    issue: assignable { ... on Issue { id assignees(first: 100) { nodes { login } } } }
  }
}
"""
_SET = """
mutation IssueAssigneesSet($id: ID!, $assigneeIds: [ID!]!) {
  change: updateIssue(input: {id: $id, assigneeIds: $assigneeIds}) {
    issue { id assignees(first: 100) { nodes { login } } }
  }
}
"""


class SomeAssigneesInput(IssueInput):
    """Which people; at least one."""

    assignees: Annotated[tuple[Text, ...], Field(min_length=1, description="Logins of people.")]


class AllAssigneesInput(IssueInput):
    """Which people; possibly none."""

    assignees: Annotated[tuple[Text, ...], Field(description="Logins of people.")]


class AddedAssignees(OutputModel):
    """Who of those named is assigned now."""

    issue_number: Positive
    added: tuple[str, ...]


class RemovedAssignees(OutputModel):
    """Who was taken off; somebody who was not assigned is not among them."""

    issue_number: Positive
    removed: tuple[str, ...]


class AssigneesOfIssue(OutputModel):
    """Everybody who is assigned now."""

    id: Text
    assignees: Logins


async def add_assignees(client: GitHubClient, given: SomeAssigneesInput) -> AddedAssignees:
    """Assign people to an issue."""
    issue, ids = await _find(client, given)
    after = await _change(client, _ADD, issue["id"], ids)
    wanted = {login.casefold() for login in given.assignees}
    added = tuple(login for login in after.assignees if login.casefold() in wanted)
    return AddedAssignees(issue_number=given.issue_number, added=added)


async def remove_assignees(client: GitHubClient, given: SomeAssigneesInput) -> RemovedAssignees:
    """Take people off an issue."""
    issue, ids = await _find(client, given)
    after = (await _change(client, _REMOVE, issue["id"], ids)).assignees
    removed = tuple(each["login"] for each in issue["assignees"]["nodes"] if each["login"] not in after)
    return RemovedAssignees(issue_number=given.issue_number, removed=removed)


async def set_assignees(client: GitHubClient, given: AllAssigneesInput) -> AssigneesOfIssue:
    """Replace who an issue is assigned to."""
    issue, ids = await _find(client, given)
    return await _change(client, _SET, issue["id"], ids)


async def _find(
    client: GitHubClient, given: SomeAssigneesInput | AllAssigneesInput
) -> tuple[dict[str, Any], list[str]]:
    """Return the issue and the ids of the people meant: who is assigned, or may be, as one question for each."""
    logins = {f"login{index}": login for index, login in enumerate(given.assignees)}
    answer = await client.graphql(_lookup(list(logins)), {**which_issue(given), **logins})
    repository = part(answer, "repository")
    known = [*part(repository, "issue", "assignees", "nodes")]
    for variable in logins:
        known += part(repository, f"of_{variable}", "nodes")
    what = f"nobody can be assigned in {given.owner}/{given.name} as"
    return repository["issue"], ids_of(given.assignees, known, key="login", what=what)


def _lookup(variables: Sequence[str]) -> str:
    declared = "".join(f", ${name}: String!" for name in variables)
    asked = "\n".join(
        f"of_{name}: assignableUsers(query: ${name}, first: 100) {{ nodes {{ id login }} }}" for name in variables
    )
    return f"""
query IssueAndAssignees($owner: String!, $name: String!, $issueNumber: Int!{declared}) {{
  repository(owner: $owner, name: $name) {{
    issue(number: $issueNumber) {{ id assignees(first: 100) {{ nodes {{ id login }} }} }}
    {asked}
  }}
}}
"""


async def _change(client: GitHubClient, document: str, id_: str, assignee_ids: list[str]) -> AssigneesOfIssue:
    answer = await client.graphql(document, {"id": id_, "assigneeIds": assignee_ids})
    return AssigneesOfIssue.model_validate(part(answer, "change", "issue"))


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "issueNumber": 1, "assignees": ["hubot"]}

OPERATIONS = {
    "issue.assignees.add": Operation(
        input=SomeAssigneesInput, output=AddedAssignees, function=add_assignees, route="graphql", example=_EXAMPLE
    ),
    "issue.assignees.remove": Operation(
        input=SomeAssigneesInput, output=RemovedAssignees, function=remove_assignees, route="graphql", example=_EXAMPLE
    ),
    "issue.assignees.set": Operation(
        input=AllAssigneesInput, output=AssigneesOfIssue, function=set_assignees, route="graphql", example=_EXAMPLE
    ),
}
