"""Runs of scripted workflows go on with the world's clock: jobs begin, steps end, checks turn red or green.

Nothing is planned ahead in records: what comes next follows from the script, the commit and the times of what has
happened. So a copy of a world goes on as the world does, and the same commit always ends the same way.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ghx_bench.twin.commands import checks, merges
from ghx_bench.twin.commands.actions import run_deployments
from ghx_bench.twin.queries import workflow_runs
from ghx_bench.twin.queries.actions import job_plans
from ghx_bench.twin.queries.actions.environment_gates import gate_of
from ghx_bench.twin.queries.actions.scripts import JobPlan
from ghx_bench.twin.state.clock import format_time, parse_time
from ghx_bench.twin.state.records import CheckRun, RunAttempt, Step, Workflow, WorkflowRun
from ghx_bench.twin.world import Act, World

_OPEN = ("queued", "in_progress", "waiting")


@dataclass(frozen=True, slots=True)
class _Event:
    """What happens next to a job, and when."""

    at: int
    job: CheckRun
    happen: Callable[[Act], None]
    is_of_job: bool  # it begins or ends, and not just a step of it


def is_pending(world: World) -> bool:
    """Return whether any run may go on by itself."""
    return any(True for _ in _open_attempts(world))


def advance(world: World, *, is_awaited: bool = False) -> None:
    """Play what has become due by the world's present time.

    A ticking clock stands still while a client waits for a run. So where `is_awaited` and nothing was due, it goes
    on to the next moment at which a job begins or ends.
    """
    has_changed = False
    while (event := _next_event(world)) and event.at <= parse_time(world.database.now()):
        _play(world, event)
        has_changed |= event.is_of_job
    is_awaited = is_awaited and not has_changed and world.database.clock == "ticking"
    while is_awaited and (event := _next_event(world)):
        _play(world, event)
        is_awaited = not event.is_of_job


def finish(world: World, runs: Collection[WorkflowRun] | None = None) -> None:
    """Play runs (all, if left out) to their end, whatever the clock shows."""
    wanted = None if runs is None else {run.id for run in runs}
    while event := _next_event(world, wanted):
        _play(world, event)


def _play(world: World, event: _Event) -> None:
    with world.acting(None, at=format_time(event.at)) as act:
        event.happen(act)


def _open_attempts(world: World) -> Iterator[tuple[Workflow, WorkflowRun, RunAttempt]]:
    # First of all, and from the cache of records: most worlds have no script, and every request asks.
    scripted = {one.id: one for one in world.database.all(Workflow) if one.script is not None}
    for attempt in world.database.all(RunAttempt, status=_OPEN) if scripted else ():
        run = world.database.get(WorkflowRun, attempt.run_id)
        if run is not None and run.workflow_id in scripted:
            yield scripted[run.workflow_id], run, attempt


def _next_event(world: World, wanted: Collection[int] | None = None) -> _Event | None:
    opened = (each for each in _open_attempts(world) if wanted is None or each[1].id in wanted)
    found = (event for each in opened for event in _events(world, *each))
    return min(found, key=lambda event: (event.at, event.job.id), default=None)


def _events(world: World, workflow: Workflow, run: WorkflowRun, attempt: RunAttempt) -> Iterator[_Event]:
    """Yield the next event of each job of an attempt that has one."""
    jobs = workflow_runs.jobs(world, attempt)
    for job in jobs:
        planned = job_plans.plan(world, workflow, run, job, jobs) if job.status in _OPEN else None
        gate = gate_of(world, run, attempt, job) if planned is not None and job.status != "in_progress" else None
        if planned is not None and job.status == "waiting":
            opens_at = gate.opens_at(job) if gate else None  # a seed may have jobs that wait for anything
            if opens_at is not None:
                yield _beginning(job, planned.plan, opens_at)
        elif planned is not None and job.status == "queued":
            is_free = gate is None or gate.is_open or planned.plan.conclusion == "skipped"
            if gate is not None and not gate.is_allowed and planned.plan.conclusion != "skipped":
                yield _beginning(job, JobPlan(conclusion="failure", queued_seconds=0), planned.ready_at)
                continue
            yield _beginning(job, planned.plan, planned.ready_at) if is_free else _waiting(job, planned.ready_at)
        elif planned is not None:
            yield _next_step(world, job, planned.plan)


def _waiting(job: CheckRun, ready_at: int) -> _Event:
    def wait(act: Act) -> None:
        act.database.update(job, status="waiting", started_at=act.now)
        checks.update_attempt(act, job.attempt_id)

    return _Event(ready_at, job, wait, is_of_job=True)


def _beginning(job: CheckRun, plan: JobPlan, ready_at: int) -> _Event:
    at = ready_at + plan.queued_seconds
    if not plan.steps:
        return _Event(at, job, lambda act: _end_job(act, job, plan), is_of_job=True)

    def begin(act: Act) -> None:
        act.database.update(job, status="in_progress", started_at=act.now)
        for number, step in enumerate(plan.steps, 1):
            first = {"status": "in_progress", "started_at": act.now} if number == 1 else {"status": "queued"}
            act.database.insert(Step, job_id=job.id, number=number, name=step.name, **first)
        run_deployments.report_job(act, job)
        checks.update_attempt(act, job.attempt_id)

    return _Event(at, job, begin, is_of_job=True)


def _next_step(world: World, job: CheckRun, plan: JobPlan) -> _Event:
    steps = world.database.all(Step, order="number", job_id=job.id)
    current = next((step for step in steps if step.status == "in_progress"), None)
    if current is None or current.number > len(plan.steps):  # a seed's job that is in progress without such steps
        return _Event(parse_time(job.started_at) + plan.seconds, job, lambda act: _end_job(act, job, plan), True)
    planned = plan.steps[current.number - 1]
    following = next((step for step in steps if step.number > current.number and step.status == "queued"), None)

    def end(act: Act) -> None:
        act.database.update(
            current, status="completed", conclusion=planned.conclusion, log=planned.log, completed_at=act.now
        )
        if following is None:
            _end_job(act, job, plan)
        else:
            act.database.update(following, status="in_progress", started_at=act.now)

    at = parse_time(current.started_at or job.started_at) + planned.seconds
    return _Event(at, job, end, is_of_job=following is None)


def _end_job(act: Act, job: CheckRun, plan: JobPlan) -> None:
    ended = act.database.update(job, status="completed", conclusion=plan.conclusion, completed_at=act.now)
    for annotation in plan.annotations:
        checks.add_annotation(act, ended, **annotation)
    if plan.conclusion != "skipped":
        run_deployments.report_job(act, ended)
    checks.update_attempt(act, job.attempt_id)
    merges.attempt_auto_merges(act, job.repository_id, job.head_sha)
