"""Bringing the branch of a pull request up to date."""

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.pr.lookup import find_pull
from ghx_bench.capabilities.domains.pr.records import EXAMPLE
from ghx_bench.capabilities.models import OutputModel, Positive, PullInput, part
from ghx_bench.capabilities.operation import Operation

_UPDATE = """
mutation PullRequestBranchUpdate($id: ID!, $head: GitObjectID!) {
  updatePullRequestBranch(input: {pullRequestId: $id, expectedHeadOid: $head}) { pullRequest { number } }
}
"""


class UpdatedBranch(OutputModel):
    """The pull request whose branch now has what its base has."""

    pr_number: Positive
    updated: bool


async def update_branch(client: GitHubClient, given: PullInput) -> UpdatedBranch:
    """Merge the base branch into the branch of a pull request; refused if there is nothing new in it."""
    pull = await find_pull(client, given, "id headRefOid")
    answer = await client.graphql(_UPDATE, {"id": pull["id"], "head": pull["headRefOid"]})
    part(answer, "updatePullRequestBranch", "pullRequest")
    return UpdatedBranch(pr_number=given.pr_number, updated=True)


OPERATIONS = {
    "pr.branch.update": Operation(
        input=PullInput, output=UpdatedBranch, function=update_branch, route="graphql", example=EXAMPLE
    ),
}
