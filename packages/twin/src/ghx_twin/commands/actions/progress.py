"""Runs of scripted workflows go on with the world's clock: jobs begin, steps end, checks turn red or green.

Nothing is planned ahead in records: what comes next follows from the script, the commit and the times of what has
happened. So a copy of a world goes on as the world does, and the same commit always ends the same way.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from ghx_twin.commands.actions import checks, run_deployments
from ghx_twin.commands.pulls import merges
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.environment_gates import gate_of
from ghx_twin.queries.actions.job_plans import RunPlans
from ghx_twin.queries.actions.scripts import JobPlan
from ghx_twin.state.changes import AutomaticEvent
from ghx_twin.state.clock import format_time, parse_time
from ghx_twin.state.records import CheckRun, RunAttempt, Step, Workflow, WorkflowRun
from ghx_twin.world import Act, World

_OPEN = ("queued", "in_progress", "waiting")


@dataclass(frozen=True, slots=True)
class _Event:
    """What happens next to a job, and when."""

    at: int
    job: CheckRun
    happen: Callable[[Act], None]
    is_of_job: bool  # it begins or ends, and not just a step of it


@dataclass(frozen=True, slots=True)
class _OpenAttempt:
    """An attempt that goes on, with its jobs by their ids."""

    run: WorkflowRun
    attempt: RunAttempt
    plans: RunPlans
    jobs: dict[int, CheckRun]


def is_pending(world: World) -> bool:
    """Return whether any run may go on by itself."""
    return any(True for _ in _open_attempts(world))


def advance(world: World, *, is_awaited: bool = False) -> None:
    """Play what has become due by the world's present time.

    A ticking clock stands still while a client waits for a run. So where `is_awaited` and nothing was due, it goes
    on to the next moment at which a job begins or ends.
    """
    has_changed, timeline = False, _Timeline(world)
    while (event := timeline.next_event()) and event.at <= parse_time(world.database.now()):
        timeline.play(event)
        has_changed |= event.is_of_job
    is_awaited = is_awaited and not has_changed and world.database.clock == "ticking"
    while is_awaited and (event := timeline.next_event()):
        timeline.play(event)
        is_awaited = not event.is_of_job


def finish(world: World, runs: Collection[WorkflowRun] | None = None) -> None:
    """Play runs (all, if left out) to their end, whatever the clock shows."""
    timeline = _Timeline(world, None if runs is None else {run.id for run in runs})
    while event := timeline.next_event():
        timeline.play(event)


class _Timeline:
    """The next event of every job that goes on.

    Kept while events are played: an event changes what comes next for its own job and for those that need it, and may
    start runs, since a merge can follow. All other jobs go on as they would have.
    """

    def __init__(self, world: World, ids: Collection[int] | None = None) -> None:
        self._world, self._wanted = world, ids
        self._attempts: dict[int, _OpenAttempt] = {}
        self._next: dict[int, _Event] = {}  # by the id of the job
        self._queue: list[tuple[int, int, int, _Event]] = []  # also of events that others have replaced
        self._scheduled = 0
        self._add_attempts()

    def next_event(self) -> _Event | None:
        """Return the first event of all, by its time and then by the id of its job."""
        while self._queue and self._next.get(self._queue[0][1]) is not self._queue[0][-1]:
            heappop(self._queue)
        return self._queue[0][-1] if self._queue else None

    def play(self, event: _Event) -> None:
        """Have an event happen, and find what comes after it."""
        opened = self._attempts.get(event.job.attempt_id or 0)
        cause_id = None if opened is None else opened.attempt.actor_id
        with self._world.automatic(AutomaticEvent.JOB_PROGRESS, at=format_time(event.at), cause_id=cause_id) as act:
            event.happen(act)
        job = self._world.database.get(CheckRun, event.job.id)
        if opened is not None and job is not None:
            opened.jobs[job.id] = job
            self._schedule(opened, job)
            if event.is_of_job:
                for each in opened.jobs.values():
                    if opened.plans.needs(each, job):
                        self._schedule(opened, each)
        if event.is_of_job:
            self._add_attempts()

    def _add_attempts(self) -> None:
        for workflow, run, attempt in _open_attempts(self._world):
            if attempt.id not in self._attempts and (self._wanted is None or run.id in self._wanted):
                jobs = {job.id: job for job in workflow_runs.jobs(self._world, attempt)}
                opened = _OpenAttempt(run, attempt, RunPlans(self._world, workflow, run), jobs)
                self._attempts[attempt.id] = opened
                for job in jobs.values():
                    self._schedule(opened, job)

    def _schedule(self, opened: _OpenAttempt, job: CheckRun) -> None:
        self._next.pop(job.id, None)
        if job.status in _OPEN and (event := _find_event(self._world, opened, job)) is not None:
            self._scheduled += 1
            self._next[job.id] = event
            heappush(self._queue, (event.at, job.id, self._scheduled, event))


def _open_attempts(world: World) -> Iterator[tuple[Workflow, WorkflowRun, RunAttempt]]:
    # First of all, and from the cache of records: most worlds have no script, and every request asks.
    scripted = {one.id: one for one in world.database.all(Workflow) if one.script is not None}
    for attempt in world.database.all(RunAttempt, status=_OPEN) if scripted else ():
        run = world.database.get(WorkflowRun, attempt.run_id)
        if run is not None and run.workflow_id in scripted:
            yield scripted[run.workflow_id], run, attempt


def _find_event(world: World, opened: _OpenAttempt, job: CheckRun) -> _Event | None:
    """Return what happens next to a job that has not ended; None while it waits for others or for an approval."""
    planned = opened.plans.plan(job, list(opened.jobs.values()))
    if planned is None:
        return None
    environment, plan = opened.plans.definition_of(job).environment, planned.plan
    if job.status == "in_progress":
        return _next_step(world, job, plan, environment)
    gate = gate_of(world, opened.run, opened.attempt, environment)
    if job.status == "waiting":
        opens_at = gate.opens_at(job) if gate else None  # a seed may have jobs that wait for anything
        return None if opens_at is None else _beginning(job, plan, opens_at, environment)
    if gate is not None and plan.conclusion != "skipped":
        if not gate.is_allowed:
            refused = JobPlan(conclusion="failure", queued_seconds=0)
            return _beginning(job, refused, planned.ready_at, environment)
        if not gate.is_open:
            return _waiting(job, planned.ready_at)
    return _beginning(job, plan, planned.ready_at, environment)


def _waiting(job: CheckRun, ready_at: int) -> _Event:
    def wait(act: Act) -> None:
        act.database.update(job, status="waiting", started_at=act.now)
        checks.update_attempt(act, job.attempt_id)

    return _Event(ready_at, job, wait, is_of_job=True)


def _beginning(job: CheckRun, plan: JobPlan, ready_at: int, environment: str | None) -> _Event:
    at = ready_at + plan.queued_seconds
    if not plan.steps:
        return _Event(at, job, lambda act: _end_job(act, job, plan, environment), is_of_job=True)

    def begin(act: Act) -> None:
        act.database.update(job, status="in_progress", started_at=act.now)
        for number, step in enumerate(plan.steps, 1):
            first = {"status": "in_progress", "started_at": act.now} if number == 1 else {"status": "queued"}
            act.database.insert(Step, job_id=job.id, number=number, name=step.name, **first)
        run_deployments.report_job(act, job, environment)
        checks.update_attempt(act, job.attempt_id)

    return _Event(at, job, begin, is_of_job=True)


def _next_step(world: World, job: CheckRun, plan: JobPlan, environment: str | None) -> _Event:
    # Only the two: a job can have thousands, and this is read for each of them.
    underway = world.database.all(Step, order="number", limit=1, job_id=job.id, status="in_progress")
    current = underway[0] if underway else None
    if current is None or current.number > len(plan.steps):  # a seed's job that is in progress without such steps
        at = parse_time(job.started_at) + plan.seconds
        return _Event(at, job, lambda act: _end_job(act, job, plan, environment), is_of_job=True)
    planned = plan.steps[current.number - 1]
    later = "WHERE job_id = ? AND status = 'queued' AND number > ? ORDER BY number LIMIT 1"
    following = next(iter(world.database.select(Step, later, (job.id, current.number))), None)

    def end(act: Act) -> None:
        act.database.update(
            current, status="completed", conclusion=planned.conclusion, log=planned.log, completed_at=act.now
        )
        if following is None:
            _end_job(act, job, plan, environment)
        else:
            act.database.update(following, status="in_progress", started_at=act.now)

    at = parse_time(current.started_at or job.started_at) + planned.seconds
    return _Event(at, job, end, is_of_job=following is None)


def _end_job(act: Act, job: CheckRun, plan: JobPlan, environment: str | None) -> None:
    ended = act.database.update(job, status="completed", conclusion=plan.conclusion, completed_at=act.now)
    for annotation in plan.annotations:
        checks.add_annotation(act, ended, **annotation)
    if plan.conclusion != "skipped":
        run_deployments.report_job(act, ended, environment)
    checks.update_attempt(act, job.attempt_id)
    merges.attempt_auto_merges(act, job.repository_id, job.head_sha)
