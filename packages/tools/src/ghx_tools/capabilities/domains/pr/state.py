"""Close pull requests unmerged, and open them again."""

from typing import Annotated

from pydantic import Field

from ghx_base.wire import OMITTABLE
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.branch import HEAD, delete_head
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import OutputModel, Positive, PullInput, Text, require_value
from ghx_tools.capabilities.registry import Operation

_COMMENT = """
mutation PullRequestComment($id: ID!, $body: String!) {
  addComment(input: {subjectId: $id, body: $body}) { commentEdge { node { id } } }
}
"""
_CLOSE = """
mutation PullRequestClose($id: ID!) { closePullRequest(input: {pullRequestId: $id}) { pullRequest { state closed } } }
"""
_REOPEN = """
mutation PullRequestReopen($id: ID!) { reopenPullRequest(input: {pullRequestId: $id}) { pullRequest { state } } }
"""


class PullCloseInput(PullInput):
    """Which pull request, and what else to do about it."""

    delete_branch: Annotated[bool, Field(description="Also delete the branch it comes from.")] = False
    comment: Annotated[Text | None, Field(description="What to say before it is closed.")] = None


class ClosedPull(OutputModel):
    """The pull request after it was closed; `deleteBranch` says whether its branch is gone, if that was wanted."""

    pr_number: Positive
    state: str
    closed: bool
    delete_branch: Annotated[bool, OMITTABLE] = False


class ReopenedPull(OutputModel):
    """The pull request after it was opened again."""

    pr_number: Positive
    state: str
    reopened: bool


async def close_pull(client: GitHubClient, inputs: PullCloseInput) -> ClosedPull:
    """Close a pull request without merging it."""
    pull = await find_pull(client, inputs, f"id {HEAD}")
    if inputs.comment is not None:
        await client.graphql(_COMMENT, {"id": pull["id"], "body": inputs.comment})
    answer = await client.graphql(_CLOSE, {"id": pull["id"]})
    closed = {"prNumber": inputs.pr_number, **require_value(answer, "closePullRequest", "pullRequest")}
    if inputs.delete_branch:
        closed["deleteBranch"] = await delete_head(client, pull)
    return ClosedPull.model_validate(closed)


async def reopen_pull(client: GitHubClient, inputs: PullInput) -> ReopenedPull:
    """Open a closed pull request again."""
    answer = await client.graphql(_REOPEN, {"id": (await find_pull(client, inputs))["id"]})
    state = require_value(answer, "reopenPullRequest", "pullRequest", "state")
    return ReopenedPull(pr_number=inputs.pr_number, state=state, reopened=state == "OPEN")


OPERATIONS = {
    "pr.close": Operation(
        input=PullCloseInput,
        output=ClosedPull,
        function=close_pull,
        route="graphql",
        example={**EXAMPLE, "comment": "Done elsewhere."},
    ),
    "pr.reopen": Operation(
        input=PullInput, output=ReopenedPull, function=reopen_pull, route="graphql", example=EXAMPLE
    ),
}
