"""Runs of workflows: listed, read with their jobs, cancelled."""

from typing import Annotated, Any, Literal

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.models import (
    Count,
    OutputModel,
    PageInfo,
    Positive,
    RepositoryInput,
    RepositoryPageInput,
    Text,
    get_value,
    require_value,
)
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_results

_FAILURES = frozenset({"failure", "timed_out"})


class RunInput(RepositoryInput):
    """Which workflow run."""

    run_id: Annotated[Positive, Field(description="Id of the workflow run.")]


class RunsInput(RepositoryPageInput):
    """Which workflow runs."""

    branch: Annotated[Text | None, Field(description="Only those for this branch.")] = None
    event: Annotated[Text | None, Field(description="Only those that this set off: push, pull_request, ...")] = None
    status: Annotated[
        Text | None,
        Field(description="Only those of this status or conclusion: queued, in_progress, completed, failure, ..."),
    ] = None


class Run(OutputModel):
    """A run in a list."""

    id: Count
    workflow_name: str | None
    title: Annotated[str | None, Field(description="What it is about: a commit, a pull request, or its `run-name`.")]
    status: str | None
    conclusion: str | None
    head_branch: str | None
    url: str | None


class Runs(OutputModel):
    """Runs, newest first."""

    items: tuple[Run, ...]
    page_info: PageInfo


class Job(OutputModel):
    """A job of a run; `workflow.job.logs.view` takes its id."""

    id: Count
    name: str | None
    status: str | None
    conclusion: str | None
    started_at: str | None
    completed_at: str | None
    url: str | None


class FailedStep(OutputModel):
    """A step that failed, and the job that it is of."""

    job_id: Count
    name: str


class RunDetails(Run):
    """A run with the jobs of its latest attempt, and which of their steps failed."""

    head_sha: str | None
    event: str | None
    created_at: str | None
    updated_at: str | None
    started_at: str | None
    attempt: Positive
    jobs: tuple[Job, ...]
    failed_steps: tuple[FailedStep, ...]


class Cancellation(OutputModel):
    """A run that will end soon."""

    run_id: Positive
    status: Literal["cancel_requested"]


async def list_runs(client: GitHubClient, inputs: RunsInput) -> Runs:
    """List workflow runs."""
    path = rest_path("repos", inputs.owner, inputs.name, "actions", "runs")
    filters = {"branch": inputs.branch, "event": inputs.event, "status": inputs.status}
    params = {name: value for name, value in filters.items() if value is not None}
    results, page_info = await get_results(client, path, inputs, params=params)
    return Runs.model_validate({"items": [_describe(run) for run in results["workflow_runs"]], "pageInfo": page_info})


async def view_run(client: GitHubClient, inputs: RunInput) -> RunDetails:
    """Read a workflow run with its jobs."""
    run = (await client.get(run_path(inputs))).data
    jobs = [job async for page in client.pages(f"{run_path(inputs)}/jobs") for job in require_value(page.data, "jobs")]
    return RunDetails.model_validate(
        {
            **_describe(run),
            **{key: run.get(key) for key in ("head_sha", "event", "created_at", "updated_at")},
            "started_at": run.get("run_started_at"),
            "attempt": run.get("run_attempt") or 1,
            "jobs": [
                {
                    **{key: job.get(key) for key in ("id", "name", "status", "conclusion")},
                    **{key: job.get(key) for key in ("started_at", "completed_at")},
                    "url": job.get("html_url"),
                }
                for job in jobs
            ],
            "failed_steps": [
                {"job_id": job.get("id"), "name": name} for job in jobs for name in name_failed_steps(job)
            ],
        }
    )


async def cancel_run(client: GitHubClient, inputs: RunInput) -> Cancellation:
    """Cancel a workflow run."""
    await client.post(f"{run_path(inputs)}/cancel")
    return Cancellation(run_id=inputs.run_id, status="cancel_requested")


def name_failed_steps(job: object) -> list[str]:
    """Return the names of the steps of a job that failed."""
    steps = get_value(job, "steps") or ()
    return [str(get_value(step, "name")) for step in steps if get_value(step, "conclusion") in _FAILURES]


def run_path(inputs: RunInput) -> str:
    """Return the path of a run."""
    return rest_path("repos", inputs.owner, inputs.name, "actions", "runs", inputs.run_id)


def _describe(run: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: run.get(key) for key in ("id", "status", "conclusion", "head_branch")},
        "workflow_name": run.get("name"),
        "title": run.get("display_title"),
        "url": run.get("html_url"),
    }


EXAMPLE = {"owner": "octocat", "name": "hello-world", "runId": 9876543210}

OPERATIONS = {
    "workflow.run.cancel": Operation(
        input=RunInput, output=Cancellation, function=cancel_run, route="rest", example=EXAMPLE
    ),
    "workflow.run.view": Operation(input=RunInput, output=RunDetails, function=view_run, route="rest", example=EXAMPLE),
    "workflow.runs.list": Operation(
        input=RunsInput,
        output=Runs,
        function=list_runs,
        route="rest",
        example={"owner": "octocat", "name": "hello-world", "branch": "main", "status": "failure"},
    ),
}
