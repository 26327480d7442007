"""The branch that a pull request comes from, and its end."""

from typing import Any

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.errors import CapabilityError

HEAD = "headRef { id } isCrossRepository"
"""What to ask GitHub for, to be able to delete the branch of a pull request."""

_DELETE = "mutation BranchDelete($id: ID!) { deleteRef(input: {refId: $id}) { clientMutationId } }"


async def delete_head(client: GitHubClient, pull: dict[str, Any]) -> bool:
    """Delete the branch of a pull request that is done with, and say whether it is gone.

    Branches in forks belong to somebody else and stay. A refusal is no error: what the branch was deleted after,
    a merge for instance, has happened.
    """
    if pull["isCrossRepository"]:
        return False
    if pull["headRef"] is None:
        return True
    try:
        await client.graphql(_DELETE, {"id": pull["headRef"]["id"]})
    except CapabilityError:
        return False
    return True
