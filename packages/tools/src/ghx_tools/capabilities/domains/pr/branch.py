"""The branch of a pull request: bring it up to date, delete it."""

from typing import Any

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.errors import CapabilityError
from ghx_tools.capabilities.models import OutputModel, Positive, PullInput, require_value
from ghx_tools.capabilities.registry import Operation

HEAD = "headRef { id } isCrossRepository"
"""Selection of the fields of a pull request that `delete_head` needs."""

_UPDATE = """
mutation PullRequestBranchUpdate($id: ID!, $head: GitObjectID!) {
  updatePullRequestBranch(input: {pullRequestId: $id, expectedHeadOid: $head}) { pullRequest { number } }
}
"""
_DELETE = "mutation BranchDelete($id: ID!) { deleteRef(input: {refId: $id}) { clientMutationId } }"


class UpdatedBranch(OutputModel):
    """The pull request whose branch now has what its base has."""

    pr_number: Positive
    updated: bool


async def update_branch(client: GitHubClient, inputs: PullInput) -> UpdatedBranch:
    """Merge the base branch into the branch of a pull request; refused if there is nothing new in it."""
    # The head is looked up to be expected: GitHub then refuses if a push came in between.
    pull = await find_pull(client, inputs, "id headRefOid")
    answer = await client.graphql(_UPDATE, {"id": pull["id"], "head": pull["headRefOid"]})
    require_value(answer, "updatePullRequestBranch", "pullRequest")
    return UpdatedBranch(pr_number=inputs.pr_number, updated=True)


async def delete_head(client: GitHubClient, pull: dict[str, Any]) -> bool:
    """Delete the branch of a pull request that was merged or closed; return whether it is gone."""
    if pull["isCrossRepository"]:
        return False  # it is in a fork, which belongs to another user
    if pull["headRef"] is None:
        return True
    try:
        await client.graphql(_DELETE, {"id": pull["headRef"]["id"]})
    except CapabilityError:
        # No error of the call: the merge or the closing before it has happened, and must not look as if it had not.
        return False
    return True


OPERATIONS = {
    "pr.branch.update": Operation(
        input=PullInput, output=UpdatedBranch, function=update_branch, route="graphql", example=EXAMPLE
    ),
}
