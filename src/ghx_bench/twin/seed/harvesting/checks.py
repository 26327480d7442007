"""Harvests what tools and workflows reported on commits."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ghx_bench.twin.queries import lookup, workflow_runs
from ghx_bench.twin.seed.checks import SeedAttempt, SeedCommitCheck, SeedJob, SeedRun, SeedWorkflow
from ghx_bench.twin.state.records import CheckRun, Repository, RunAttempt, Status, Workflow, WorkflowRun
from ghx_bench.twin.world import World


def harvest_checks(world: World, repository: Repository) -> Iterator[SeedCommitCheck]:
    """Yield check runs that are no jobs, then statuses, each in the order they were reported."""
    for run in world.database.all(CheckRun, repository_id=repository.id, attempt_id=None):
        yield SeedCommitCheck.model_validate({**_check_run(run), "commit": run.head_sha})
    for status in world.database.all(Status, repository_id=repository.id):
        yield SeedCommitCheck(
            kind="status",
            name=status.context,
            conclusion=status.state,
            description=status.description,
            url=status.target_url,
            commit=status.sha,
            creator=lookup.user_by_id(world, status.creator_id).login,
            at=status.created_at,
        )


def harvest_workflows(world: World, repository: Repository) -> Iterator[SeedWorkflow]:
    """Yield workflows with their runs, each in the order they were made."""
    database = world.database
    for workflow in database.all(Workflow, repository_id=repository.id):
        runs = database.all(WorkflowRun, workflow_id=workflow.id)
        yield SeedWorkflow.model_validate(
            {
                **{name: getattr(workflow, name) for name in ("name", "path", "state", "updated_at")},
                "at": workflow.created_at,
                "runs": tuple(_run(world, run) for run in runs),
            }
        )


def _run(world: World, run: WorkflowRun) -> SeedRun:
    first, *others = world.database.all(RunAttempt, order="number", run_id=run.id)
    return SeedRun.model_validate(
        {
            **_attempt(world, first),
            **{name: getattr(run, name) for name in ("id", "number", "event", "title")},
            "commit": run.head_sha,
            "branch": run.head_branch,
            "reruns": tuple(SeedAttempt.model_validate(_attempt(world, each)) for each in others),
        }
    )


def _attempt(world: World, attempt: RunAttempt) -> dict[str, Any]:
    jobs = tuple(SeedJob.model_validate(_check_run(job)) for job in workflow_runs.jobs(world, attempt))
    return {
        "actor": lookup.user_by_id(world, attempt.actor_id).login,
        "jobs": jobs,
        "conclusion": None if jobs else attempt.conclusion,  # with jobs it follows from theirs
        "at": attempt.started_at,
        "updated_at": attempt.updated_at,
    }


def _check_run(run: CheckRun) -> dict[str, Any]:
    return {
        **{name: getattr(run, name) for name in ("name", "status", "conclusion", "title", "summary")},
        "url": run.details_url,
        "at": _utc(run.started_at),
        "completed_at": _utc(run.completed_at),
    }


def _utc(text: str | None) -> str | None:
    """Return a time in GitHub's spelling; tools report times in any ISO 8601 form, and texts that are none."""
    try:
        moment = datetime.fromisoformat(text or "")
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return aware.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):  # no time, or one before the year 1 in UTC
        return None
