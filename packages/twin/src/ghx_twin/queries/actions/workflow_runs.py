"""Workflows, their runs, attempts and jobs: found by id or name, and what the jobs of an attempt add up to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import CheckRun, Repository, RunAttempt, Step, Workflow, WorkflowRun
from ghx_twin.world import World

FOLDER = ".github/workflows/"
ACTIONS_APP_ID = 15368  # of the app that reports jobs, which is on GitHub and in no world
FAILED = frozenset({"failure", "timed_out", "cancelled", "action_required", "startup_failure", "stale"})
_WORST_FIRST = (
    "startup_failure", "failure", "timed_out", "action_required", "cancelled", "stale", "success", "neutral", "skipped",
)  # fmt: skip
_NEAREST_FIRST = ("queued", "waiting", "pending", "requested")  # of what has not begun


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a job comes from."""

    run: WorkflowRun
    attempt: RunAttempt


def workflow(world: World, repository: Repository, name: str) -> Workflow:
    """Return the workflow with an id, or with a file of that name."""
    database, home = world.database, repository.id
    record = None
    if name.isascii() and name.isdigit():
        record = database.one(Workflow, id=int(name[:20]), repository_id=home)
    record = record or database.one(Workflow, repository_id=home, path=FOLDER + name.removeprefix(FOLDER))
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to a Workflow with the name '{name}'.")
    return record


def run(world: World, repository: Repository, identity: int) -> WorkflowRun:
    """Return the run with an id."""
    workflow_run = world.database.one(WorkflowRun, id=identity, repository_id=repository.id)
    if workflow_run is None:
        raise NotFoundRefusal(f"Could not resolve to a WorkflowRun with the id of {identity}.")
    return workflow_run


def job(world: World, repository: Repository, identity: int) -> CheckRun:
    """Return the job with an id, which is that of its check run."""
    check_run = world.database.one(CheckRun, id=identity, repository_id=repository.id)
    if check_run is None or check_run.attempt_id is None:
        raise NotFoundRefusal(f"Could not resolve to a job with the id of {identity}.")
    return check_run


def attempt(world: World, run: WorkflowRun, number: int) -> RunAttempt:
    """Return one attempt at a run."""
    run_attempt = world.database.one(RunAttempt, run_id=run.id, number=number)
    if run_attempt is None:
        raise NotFoundRefusal(f"Could not resolve to attempt {number} of the WorkflowRun with the id of {run.id}.")
    return run_attempt


def latest_attempt(world: World, run: WorkflowRun) -> RunAttempt:
    """Return the latest attempt at a run, which is the one that counts."""
    return latest_attempts(world, (run,))[run.id]


def latest_attempts(world: World, runs: Iterable[WorkflowRun]) -> dict[int, RunAttempt]:
    """Return the latest attempts, by the ids of their runs."""
    ids = tuple(one.id for one in runs)
    return {one.run_id: one for one in world.database.all(RunAttempt, order="number", run_id=ids)}


def origin(world: World, check: CheckRun) -> Origin | None:
    """Return the run and the attempt that a check run is a job of; None where a tool reported it."""
    attempt = world.database.get(RunAttempt, check.attempt_id)
    run = world.database.get(WorkflowRun, attempt.run_id) if attempt else None
    return Origin(run, attempt) if run and attempt else None


def workflow_of(world: World, run: WorkflowRun) -> Workflow:
    """Return the workflow that a run is of."""
    record = world.database.get(Workflow, run.workflow_id)
    assert record is not None  # noqa: S101 - a workflow stays as long as its runs
    return record


def jobs(world: World, attempt: RunAttempt) -> list[CheckRun]:
    """Return the jobs of an attempt."""
    return world.database.all(CheckRun, attempt_id=attempt.id)


def steps(world: World, job: CheckRun) -> list[Step]:
    """Return the steps of a job; one that has not begun has none."""
    return world.database.all(Step, order="number", job_id=job.id)


def have_steps(world: World, jobs: Iterable[CheckRun]) -> bool:
    """Return whether any of these jobs has a step, and so a log."""
    return world.database.count(Step, job_id=tuple(job.id for job in jobs)) > 0


def sum_up_jobs(jobs: Sequence[CheckRun]) -> tuple[str, str | None]:
    """Return the status and the conclusion that jobs add up to: the worst of them, once all have ended."""
    open_jobs = [one for one in jobs if one.status != "completed"]
    if not open_jobs:
        ended = {one.conclusion for one in jobs}
        return "completed", next((one for one in _WORST_FIRST if one in ended), "success")
    # Jobs that need one which waits for an environment are queued here, and not there yet on GitHub.
    if {one.status for one in open_jobs} in ({"waiting"}, {"waiting", "queued"}):
        return "waiting", None
    if len(open_jobs) < len(jobs) or any(one.status == "in_progress" for one in open_jobs):
        return "in_progress", None
    return min((one.status for one in open_jobs), key=_NEAREST_FIRST.index), None


def job_path(run: WorkflowRun, job: CheckRun) -> str:
    """Return the path of a job's page in its repository."""
    return f"/actions/runs/{run.id}/job/{job.id}"
