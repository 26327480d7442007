"""Run the checks of a pull request again."""

import re
from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.domains.workflow.reruns import Rerun, start_rerun
from ghx_tools.capabilities.errors import GitHubError, InvalidInputError
from ghx_tools.capabilities.models import Positive, PullInput, get_value
from ghx_tools.capabilities.registry import Operation

# Only the words of GitHub's message tell this refusal from others.
_NOT_RETRIED = re.compile(r"cannot be (?:retried|re-?run)")


class RerunInput(PullInput):
    """Which workflow run."""

    run_id: Annotated[
        Positive,
        Field(description="Id of a workflow run for the last commit; pr.checks.list has it in `link`, behind /runs/."),
    ]


async def rerun_all(client: GitHubClient, inputs: RerunInput) -> Rerun:
    """Run every job of a workflow run again."""
    await start_rerun(client, await _checked_path(client, inputs), "rerun")
    return Rerun(run_id=inputs.run_id, queued=True)


async def rerun_failed(client: GitHubClient, inputs: RerunInput) -> Rerun:
    """Run the failed jobs of a workflow run again, with those that depend on them; all jobs if none can be retried."""
    path = await _checked_path(client, inputs)
    try:
        await start_rerun(client, path, "rerun-failed-jobs")
    except GitHubError as error:
        if not _NOT_RETRIED.search(str(error)):
            raise
        await start_rerun(client, path, "rerun")
    return Rerun(run_id=inputs.run_id, queued=True)


async def _checked_path(client: GitHubClient, inputs: RerunInput) -> str:
    """Return the path of the run, which must be for the last commit of the pull request."""
    head: str = (await find_pull(client, inputs, "headRefOid"))["headRefOid"]
    path = rest_path("repos", inputs.owner, inputs.name, "actions", "runs", inputs.run_id)
    if (ran_for := get_value((await client.get(path)).data, "head_sha")) != head:
        raise InvalidInputError(
            f"runId: workflow run {inputs.run_id} was for commit {str(ran_for)[:7]}, and the last commit of"
            f" pull request {inputs.pr_number} is {head[:7]}"
        )
    return path


_EXAMPLE = {**EXAMPLE, "runId": 9876543210}

OPERATIONS = {
    "pr.checks.rerun.all": Operation(
        input=RerunInput, output=Rerun, function=rerun_all, route="rest", example=_EXAMPLE
    ),
    "pr.checks.rerun.failed": Operation(
        input=RerunInput, output=Rerun, function=rerun_failed, route="rest", example=_EXAMPLE
    ),
}
