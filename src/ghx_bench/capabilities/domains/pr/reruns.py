"""Running the checks of a pull request again."""

from typing import Annotated

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient, rest_path
from ghx_bench.capabilities.domains.pr.lookup import find_pull
from ghx_bench.capabilities.domains.pr.records import EXAMPLE
from ghx_bench.capabilities.errors import InvalidInputError
from ghx_bench.capabilities.models import OutputModel, Positive, PullInput, found
from ghx_bench.capabilities.operation import Operation


class RerunInput(PullInput):
    """Which workflow run."""

    run_id: Annotated[Positive, Field(description="Id of a workflow run for the last commit of the pull request.")]


class Rerun(OutputModel):
    """The workflow run that starts over."""

    run_id: Positive
    queued: bool


async def rerun_all(client: GitHubClient, given: RerunInput) -> Rerun:
    """Run every job of a workflow run again."""
    return await _rerun(client, given, "rerun")


async def rerun_failed(client: GitHubClient, given: RerunInput) -> Rerun:
    """Run the failed jobs of a workflow run again, and those that depend on them."""
    return await _rerun(client, given, "rerun-failed-jobs")


async def _rerun(client: GitHubClient, given: RerunInput, action: str) -> Rerun:
    head: str = (await find_pull(client, given, "headRefOid"))["headRefOid"]
    path = rest_path("repos", given.owner, given.name, "actions", "runs", given.run_id)
    if (ran_for := found((await client.get(path)).data, "head_sha")) != head:
        raise InvalidInputError(
            f"runId: workflow run {given.run_id} was for commit {str(ran_for)[:7]}, and the last commit of"
            f" pull request {given.pr_number} is {head[:7]}"
        )
    await client.post(path + rest_path(action))
    return Rerun(run_id=given.run_id, queued=True)


_EXAMPLE = {**EXAMPLE, "runId": 9876543210}

OPERATIONS = {
    "pr.checks.rerun.all": Operation(
        input=RerunInput, output=Rerun, function=rerun_all, route="rest", example=_EXAMPLE
    ),
    "pr.checks.rerun.failed": Operation(
        input=RerunInput, output=Rerun, function=rerun_failed, route="rest", example=_EXAMPLE
    ),
}
