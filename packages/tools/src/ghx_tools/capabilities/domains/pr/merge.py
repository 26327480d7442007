"""Merge a pull request, now or as soon as the rules of its base branch allow it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ghx_base.wire import OMITTABLE
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.branch import HEAD, delete_head
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.errors import CapabilityError, ErrorCode
from ghx_tools.capabilities.models import OutputModel, Positive, PullInput, lower_case
from ghx_tools.capabilities.registry import Operation

_STATUS = "mergeable mergeStateStatus reviewDecision isDraft state"
_MERGE = """
mutation PullRequestMerge($id: ID!, $method: PullRequestMergeMethod!) {
  mergePullRequest(input: {pullRequestId: $id, mergeMethod: $method}) { pullRequest { merged } }
}
"""
_MERGE_LATER = """
mutation PullRequestAutoMerge($id: ID!, $method: PullRequestMergeMethod!) {
  enablePullRequestAutoMerge(input: {pullRequestId: $id, mergeMethod: $method}) { pullRequest { state } }
}
"""
_CAN_BE_MERGED_NOW = frozenset({"CLEAN", "HAS_HOOKS", "UNSTABLE"})

Method = Literal["merge", "squash", "rebase"]


class MergeInput(PullInput):
    """How to merge."""

    method: Annotated[
        Method | None, BeforeValidator(lower_case), Field(description="How the commits get there; merge if left out.")
    ] = None
    delete_branch: Annotated[bool, Field(description="Delete the branch it comes from afterwards.")] = False
    admin: Annotated[
        bool, Field(description="Merge even if rules of the branch are not met, as administrators may.")
    ] = False
    auto: Annotated[bool, Field(description="If it cannot be merged yet, merge it as soon as it can.")] = False


class Merge(OutputModel):
    """The pull request: merged, or `queued` to be merged later; `deleteBranch` says whether its branch is gone."""

    pr_number: Positive
    method: Method
    is_method_assumed: bool
    queued: bool
    delete_branch: bool
    admin: Annotated[bool, OMITTABLE] = False
    auto: Annotated[bool, OMITTABLE] = False


class MergeStatus(OutputModel):
    """Whether a pull request can be merged, and what holds it up."""

    mergeable: str | None
    merge_state_status: str | None
    review_decision: str | None
    is_draft: bool
    state: str


async def merge_pull(client: GitHubClient, inputs: MergeInput) -> Merge:
    """Merge a pull request."""
    pull = await find_pull(client, inputs, f"id mergeStateStatus isMergeQueueEnabled {HEAD}")
    later = _is_for_later(inputs, pull)
    method = inputs.method or "merge"
    await client.graphql(_MERGE_LATER if later else _MERGE, {"id": pull["id"], "method": method.upper()})
    merge: dict[str, Any] = {
        "prNumber": inputs.pr_number,
        "method": method,
        "isMethodAssumed": inputs.method is None,
        "queued": later,
        "deleteBranch": inputs.delete_branch and not later and await delete_head(client, pull),
    }
    return Merge.model_validate(merge | {name: True for name in ("admin", "auto") if getattr(inputs, name)})


async def merge_status(client: GitHubClient, inputs: PullInput) -> MergeStatus:
    """Read whether a pull request can be merged."""
    return MergeStatus.model_validate(await find_pull(client, inputs, _STATUS))


def _is_for_later(inputs: MergeInput, pull: dict[str, Any]) -> bool:
    """Return whether to merge later; raise `CapabilityError` if the rules of the base branch forbid it for now."""
    # GitHub lets administrators merge past the rules of a branch without asking; here they have to say `admin`.
    if inputs.admin:
        return False
    if pull["isMergeQueueEnabled"]:
        return True
    if inputs.auto:
        return pull["mergeStateStatus"] not in _CAN_BE_MERGED_NOW
    if pull["mergeStateStatus"] == "BLOCKED":
        raise CapabilityError(
            f"pull request {inputs.pr_number} is blocked by the rules of its base branch; `auto` merges it when they"
            " are met, `admin` merges it all the same",
            error_code=ErrorCode.VALIDATION,
        )
    return False


OPERATIONS = {
    "pr.merge": Operation(
        input=MergeInput,
        output=Merge,
        function=merge_pull,
        route="graphql",
        example={**EXAMPLE, "method": "squash", "deleteBranch": True},
    ),
    "pr.merge.status": Operation(
        input=PullInput, output=MergeStatus, function=merge_status, route="graphql", example=EXAMPLE
    ),
}
