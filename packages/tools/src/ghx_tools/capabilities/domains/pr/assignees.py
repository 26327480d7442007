"""The assignees of a pull request."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.assignable import Assignable, SomePeopleInput, add_people, remove_people
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import OutputModel, Positive, PullInput
from ghx_tools.capabilities.registry import Operation


class PullAssigneesInput(SomePeopleInput, PullInput):
    """Which pull request, and which people; at least one."""


class AddedPullAssignees(OutputModel):
    """Logins of those named who are assigned now."""

    pr_number: Positive
    added: tuple[str, ...]


class RemovedPullAssignees(OutputModel):
    """Logins of those who were taken off; people who were not assigned are not among them."""

    pr_number: Positive
    removed: tuple[str, ...]


async def add_assignees(client: GitHubClient, inputs: PullAssigneesInput) -> AddedPullAssignees:
    """Assign people to a pull request."""
    added = await add_people(client, _subject(inputs), inputs.assignees)
    return AddedPullAssignees(pr_number=inputs.pr_number, added=added)


async def remove_assignees(client: GitHubClient, inputs: PullAssigneesInput) -> RemovedPullAssignees:
    """Take people off a pull request."""
    removed = await remove_people(client, _subject(inputs), inputs.assignees)
    return RemovedPullAssignees(pr_number=inputs.pr_number, removed=removed)


def _subject(inputs: PullInput) -> Assignable:
    return Assignable(kind="pullRequest", owner=inputs.owner, name=inputs.name, number=inputs.pr_number)


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
