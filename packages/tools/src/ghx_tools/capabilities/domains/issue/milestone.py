"""The milestone of an issue or a pull request."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import find_subject, update_subject
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import OutputModel, Positive, SubjectInput, Text, get_value, require_value
from ghx_tools.capabilities.registry import Operation

_LOOKUP = """
query IssueAndMilestone($owner: String!, $name: String!, $issueNumber: Int!, $milestoneNumber: Int!) {
  repository(owner: $owner, name: $name) {
    subject: issueOrPullRequest(number: $issueNumber) { __typename ... on Node { id } }
    milestone(number: $milestoneNumber) { id }
  }
}
"""


class MilestoneInput(SubjectInput):
    """Which milestone."""

    milestone_number: Annotated[Positive, Field(description="Number of the milestone in its repository.")]


class IssueMilestone(OutputModel):
    """The milestone that it is in."""

    id: Text
    milestone_number: int | None
    updated: bool


class ClearedMilestone(OutputModel):
    """The issue or pull request, and whether it is in no milestone now."""

    issue_number: Positive
    cleared: bool


async def set_milestone(client: GitHubClient, inputs: MilestoneInput) -> IssueMilestone:
    """Put an issue or a pull request into a milestone."""
    answer = await client.graphql(_LOOKUP, inputs.variables())
    milestone_id = get_value(answer, "repository", "milestone", "id")
    if milestone_id is None:
        raise not_found_error(f"no milestone {inputs.milestone_number} in {inputs.owner}/{inputs.name}")
    subject = await _put(client, require_value(answer, "repository", "subject"), milestone_id)
    number = get_value(subject, "milestone", "number")
    return IssueMilestone(id=subject["id"], milestone_number=number, updated=number == inputs.milestone_number)


async def clear_milestone(client: GitHubClient, inputs: SubjectInput) -> ClearedMilestone:
    """Take an issue or a pull request out of its milestone."""
    subject = await _put(client, await find_subject(client, inputs), None)
    return ClearedMilestone(issue_number=inputs.issue_number, cleared=subject["milestone"] is None)


async def _put(client: GitHubClient, subject: Mapping[str, Any], milestone_id: str | None) -> dict[str, Any]:
    return await update_subject(client, subject, {"milestoneId": milestone_id}, fields="id milestone { number }")


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "issueNumber": 1}

OPERATIONS = {
    "issue.milestone.clear": Operation(
        input=SubjectInput, output=ClearedMilestone, function=clear_milestone, route="graphql", example=_EXAMPLE
    ),
    "issue.milestone.set": Operation(
        input=MilestoneInput,
        output=IssueMilestone,
        function=set_milestone,
        route="graphql",
        example={**_EXAMPLE, "milestoneNumber": 1},
    ),
}
