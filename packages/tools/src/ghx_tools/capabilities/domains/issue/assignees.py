"""The assignees of an issue or a pull request."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.assignable import (
    Assignable,
    SomePeopleInput,
    add_people,
    find_people,
    remove_people,
)
from ghx_tools.capabilities.domains.issue.lookup import update_subject
from ghx_tools.capabilities.models import Logins, OutputModel, Positive, SubjectInput, Text
from ghx_tools.capabilities.registry import Operation


class SomeAssigneesInput(SomePeopleInput, SubjectInput):
    """Which issue, and which people; at least one."""


class AllAssigneesInput(SubjectInput):
    """Which people; possibly none."""

    assignees: Annotated[tuple[Text, ...], Field(description="Logins of people.")]


class AddedAssignees(OutputModel):
    """Logins of those named who are assigned now."""

    issue_number: Positive
    added: tuple[str, ...]


class RemovedAssignees(OutputModel):
    """Logins of those who were taken off; people who were not assigned are not among them."""

    issue_number: Positive
    removed: tuple[str, ...]


class AssigneesOfIssue(OutputModel):
    """Logins of all who are assigned now."""

    id: Text
    assignees: Logins


async def add_assignees(client: GitHubClient, inputs: SomeAssigneesInput) -> AddedAssignees:
    """Assign people to an issue or a pull request."""
    added = await add_people(client, _subject(inputs), inputs.assignees)
    return AddedAssignees(issue_number=inputs.issue_number, added=added)


async def remove_assignees(client: GitHubClient, inputs: SomeAssigneesInput) -> RemovedAssignees:
    """Take people off an issue or a pull request."""
    removed = await remove_people(client, _subject(inputs), inputs.assignees)
    return RemovedAssignees(issue_number=inputs.issue_number, removed=removed)


async def set_assignees(client: GitHubClient, inputs: AllAssigneesInput) -> AssigneesOfIssue:
    """Replace the assignees of an issue or a pull request."""
    subject, ids = await find_people(client, _subject(inputs), inputs.assignees)
    fields = "id assignees(first: 100) { nodes { login } }"
    return AssigneesOfIssue.model_validate(await update_subject(client, subject, {"assigneeIds": ids}, fields=fields))


def _subject(inputs: SubjectInput) -> Assignable:
    return Assignable(kind="issueOrPullRequest", owner=inputs.owner, name=inputs.name, number=inputs.issue_number)


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
