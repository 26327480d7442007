"""Who a pull request is assigned to."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.issue.lookup import ids_of
from ghx_bench.capabilities.domains.pr.lookup import which_pull
from ghx_bench.capabilities.domains.pr.records import EXAMPLE
from ghx_bench.capabilities.models import OutputModel, Positive, PullInput, Text, part
from ghx_bench.capabilities.operation import Operation

_ADD = """
mutation PullRequestAssigneesAdd($id: ID!, $assigneeIds: [ID!]!) {
  change: addAssigneesToAssignable(input: {assignableId: $id, assigneeIds: $assigneeIds}) {
    pull: assignable { assignees(first: 100) { nodes { login } } }
  }
}
"""
_REMOVE = """
mutation PullRequestAssigneesRemove($id: ID!, $assigneeIds: [ID!]!) {
  change: removeAssigneesFromAssignable(input: {assignableId: $id, assigneeIds: $assigneeIds}) {
    pull: assignable { assignees(first: 100) { nodes { login } } }
  }
}
"""


class PullAssigneesInput(PullInput):
    """Which people; at least one."""

    assignees: Annotated[tuple[Text, ...], Field(min_length=1, description="Logins of people.")]


class AddedPullAssignees(OutputModel):
    """Who of those named is assigned now."""

    pr_number: Positive
    added: tuple[str, ...]


class RemovedPullAssignees(OutputModel):
    """Who was taken off; somebody who was not assigned is not among them."""

    pr_number: Positive
    removed: tuple[str, ...]


async def add_assignees(client: GitHubClient, given: PullAssigneesInput) -> AddedPullAssignees:
    """Assign people to a pull request."""
    pull, ids = await _find(client, given)
    wanted = {login.casefold() for login in given.assignees}
    after = await _change(client, _ADD, pull["id"], ids)
    return AddedPullAssignees(
        pr_number=given.pr_number, added=tuple(login for login in after if login.casefold() in wanted)
    )


async def remove_assignees(client: GitHubClient, given: PullAssigneesInput) -> RemovedPullAssignees:
    """Take people off a pull request."""
    pull, ids = await _find(client, given)
    after = await _change(client, _REMOVE, pull["id"], ids)
    before = [each["login"] for each in pull["assignees"]["nodes"]]
    return RemovedPullAssignees(
        pr_number=given.pr_number, removed=tuple(login for login in before if login not in after)
    )


async def _find(client: GitHubClient, given: PullAssigneesInput) -> tuple[dict[str, Any], list[str]]:
    """Return the pull request and the ids of the people meant, who are assigned or may be."""
    logins = {f"login{index}": login for index, login in enumerate(given.assignees)}
    answer = await client.graphql(_lookup(list(logins)), {**which_pull(given), **logins})
    repository = part(answer, "repository")
    known = [*part(repository, "pullRequest", "assignees", "nodes")]
    for variable in logins:
        known += part(repository, f"of_{variable}", "nodes")
    what = f"nobody can be assigned in {given.owner}/{given.name} as"
    return repository["pullRequest"], ids_of(given.assignees, known, key="login", what=what)


def _lookup(variables: Sequence[str]) -> str:
    declared = "".join(f", ${name}: String!" for name in variables)
    asked = "\n".join(
        f"of_{name}: assignableUsers(query: ${name}, first: 100) {{ nodes {{ id login }} }}" for name in variables
    )
    return f"""
query PullRequestAndAssignees($owner: String!, $name: String!, $prNumber: Int!{declared}) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $prNumber) {{ id assignees(first: 100) {{ nodes {{ id login }} }} }}
    {asked}
  }}
}}
"""


async def _change(client: GitHubClient, document: str, id_: str, assignee_ids: list[str]) -> list[str]:
    answer = await client.graphql(document, {"id": id_, "assigneeIds": assignee_ids})
    return [each["login"] for each in part(answer, "change", "pull", "assignees", "nodes")]


_EXAMPLE = {**EXAMPLE, "assignees": ["hubot"]}

OPERATIONS = {
    "pr.assignees.add": Operation(
        input=PullAssigneesInput, output=AddedPullAssignees, function=add_assignees, route="graphql", example=_EXAMPLE
    ),
    "pr.assignees.remove": Operation(
        input=PullAssigneesInput,
        output=RemovedPullAssignees,
        function=remove_assignees,
        route="graphql",
        example=_EXAMPLE,
    ),
}
