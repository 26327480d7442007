"""Run a workflow run again."""

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.workflow.runs import EXAMPLE, RunInput, run_path
from ghx_tools.capabilities.errors import CapabilityError, ErrorCode, GitHubError
from ghx_tools.capabilities.models import OutputModel, Positive
from ghx_tools.capabilities.registry import Operation

_FORBIDDEN = 403
_RUNNING = "already running"  # only the words of GitHub's message tell this refusal from others


class Rerun(OutputModel):
    """The workflow run that starts over."""

    run_id: Positive
    queued: bool


async def rerun_all(client: GitHubClient, inputs: RunInput) -> Rerun:
    """Run every job of a workflow run again."""
    await start_rerun(client, run_path(inputs), "rerun")
    return Rerun(run_id=inputs.run_id, queued=True)


async def rerun_failed(client: GitHubClient, inputs: RunInput) -> Rerun:
    """Run the failed jobs of a workflow run again, with those that depend on them."""
    await start_rerun(client, run_path(inputs), "rerun-failed-jobs")
    return Rerun(run_id=inputs.run_id, queued=True)


async def start_rerun(client: GitHubClient, path: str, action: str) -> None:
    """Ask for jobs of the run at `path` to be run again; raise `NOT_READY` while it goes on."""
    try:
        await client.post(path + rest_path(action))
    except GitHubError as error:
        if error.status == _FORBIDDEN and _RUNNING in str(error):  # 403, but not for lack of rights
            raise CapabilityError(
                f"{error}: wait until it has ended", error_code=ErrorCode.NOT_READY, details=error.details
            ) from error
        raise


OPERATIONS = {
    "workflow.run.rerun.all": Operation(
        input=RunInput, output=Rerun, function=rerun_all, route="rest", example=EXAMPLE
    ),
    "workflow.run.rerun.failed": Operation(
        input=RunInput, output=Rerun, function=rerun_failed, route="rest", example=EXAMPLE
    ),
}
