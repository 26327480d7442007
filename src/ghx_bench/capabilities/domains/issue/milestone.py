"""The milestone of an issue."""

from typing import Annotated, Any

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.issue.lookup import issue_id
from ghx_bench.capabilities.errors import missing
from ghx_bench.capabilities.models import IssueInput, OutputModel, Positive, Text, found, part
from ghx_bench.capabilities.operation import Operation

_LOOKUP = """
query IssueAndMilestone($owner: String!, $name: String!, $issueNumber: Int!, $milestoneNumber: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $issueNumber) { id }
    milestone(number: $milestoneNumber) { id }
  }
}
"""
_SET = """
mutation IssueMilestone($id: ID!, $milestoneId: ID) {
  updateIssue(input: {id: $id, milestoneId: $milestoneId}) { issue { id milestone { number } } }
}
"""


class MilestoneInput(IssueInput):
    """Which milestone."""

    milestone_number: Annotated[Positive, Field(description="Number of the milestone in its repository.")]


class IssueMilestone(OutputModel):
    """The milestone that an issue is in."""

    id: Text
    milestone_number: int | None
    updated: bool


class ClearedMilestone(OutputModel):
    """Whether the issue is in no milestone now."""

    issue_number: Positive
    cleared: bool


async def set_milestone(client: GitHubClient, given: MilestoneInput) -> IssueMilestone:
    """Put an issue into a milestone."""
    answer = await client.graphql(_LOOKUP, given.variables())
    milestone_id = found(answer, "repository", "milestone", "id")
    if milestone_id is None:
        raise missing(f"no milestone {given.milestone_number} in {given.owner}/{given.name}")
    issue = await _put(client, part(answer, "repository", "issue", "id"), milestone_id)
    number = found(issue, "milestone", "number")
    return IssueMilestone(id=issue["id"], milestone_number=number, updated=number == given.milestone_number)


async def clear_milestone(client: GitHubClient, given: IssueInput) -> ClearedMilestone:
    """Take an issue out of its milestone."""
    issue = await _put(client, await issue_id(client, given), None)
    return ClearedMilestone(issue_number=given.issue_number, cleared=issue["milestone"] is None)


async def _put(client: GitHubClient, id_: str, milestone_id: str | None) -> dict[str, Any]:
    answer = await client.graphql(_SET, {"id": id_, "milestoneId": milestone_id})
    return part(answer, "updateIssue", "issue")


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "issueNumber": 1}

OPERATIONS = {
    "issue.milestone.clear": Operation(
        input=IssueInput, output=ClearedMilestone, function=clear_milestone, route="graphql", example=_EXAMPLE
    ),
    "issue.milestone.set": Operation(
        input=MilestoneInput,
        output=IssueMilestone,
        function=set_milestone,
        route="graphql",
        example={**_EXAMPLE, "milestoneNumber": 1},
    ),
}
