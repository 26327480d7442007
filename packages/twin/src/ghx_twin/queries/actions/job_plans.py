"""How the job of a run will go, and since when it could."""

from collections.abc import Sequence
from dataclasses import dataclass

from ghx_twin.queries import lookup
from ghx_twin.queries.actions.scripts import JobPlan, find_script_jobs, plan_job, runs_after_failure
from ghx_twin.queries.actions.workflow_files import JobDefinition, WorkflowFileError, read_workflow_file
from ghx_twin.queries.actions.workflow_runs import FAILED, workflow_of
from ghx_twin.state.clock import parse_time
from ghx_twin.state.records import CheckRun, Workflow, WorkflowRun
from ghx_twin.world import World


@dataclass(frozen=True, slots=True)
class Planned:
    """A job's plan, and when it had what it needs."""

    plan: JobPlan
    ready_at: int


def definitions(world: World, run: WorkflowRun) -> tuple[JobDefinition, ...]:
    """Return the jobs that the workflow file says at the commit of a run; none where it cannot be read."""
    git = world.git(lookup.repository_by_id(world, None, run.repository_id))
    try:
        file = read_workflow_file(git, run.head_sha, workflow_of(world, run).path)
    except WorkflowFileError:
        return ()
    return file.jobs if file else ()


def with_dependents(world: World, run: WorkflowRun, names: set[str]) -> set[str]:
    """Return the names of jobs, and of all that need them."""
    job_definitions, selection = definitions(world, run), set(names)
    while more := {
        each.name
        for each in job_definitions
        if each.name not in selection
        and set(each.needs) & {other.key for other in job_definitions if other.name in selection}
    }:
        selection |= more
    return selection


class RunPlans:
    """How the jobs of a run go; its workflow file is read once, and each job planned once."""

    def __init__(self, world: World, workflow: Workflow, run: WorkflowRun) -> None:
        self._script, self._sha = workflow.script, run.head_sha
        workflows = world.database.all(Workflow, repository_id=run.repository_id)
        self._other_scripts = [one.script for one in workflows if one.script is not None and one.id != workflow.id]
        self._git = world.git(lookup.repository_by_id(world, None, run.repository_id))
        self._definitions: dict[str, JobDefinition] = {}
        self._plans: dict[tuple[str, bool], JobPlan] = {}
        names: dict[str, set[str]] = {}  # of the jobs that a key stands for
        self._jobs_of_file = definitions(world, run)
        for each in self._jobs_of_file:
            self._definitions.setdefault(each.name, each)
            names.setdefault(each.key, set()).add(each.name)
        self._needed = {
            each.name: {name for key in each.needs for name in names.get(key, ())}
            for each in self._definitions.values()
        }

    def definition_of(self, job: CheckRun) -> JobDefinition:
        """Return what the workflow file says of a job; a seed's job that is in no file has just its name."""
        return self._definitions.get(job.name) or JobDefinition(key=job.name, name=job.name)

    def needs(self, job: CheckRun, other: CheckRun) -> bool:
        """Return whether a job waits for another one."""
        return other.name in self._needed.get(job.name, ())

    def plan(self, job: CheckRun, jobs: Sequence[CheckRun]) -> Planned | None:
        """Return how a job goes among the jobs of its attempt; None while it waits for others or without a script."""
        definition = self.definition_of(job)
        needed = [each for each in jobs if self.needs(job, each)] if definition.needs else []
        if self._script is None or any(each.status != "completed" for each in needed):
            return None
        ended = [each.completed_at or each.started_at for each in needed]
        ready_at = max(map(parse_time, (job.started_at, *ended)))
        is_skipped = not runs_after_failure(definition.condition) and any(
            each.conclusion in FAILED or each.conclusion == "skipped" for each in needed
        )
        key = (definition.name, is_skipped)
        if key not in self._plans:
            scripts = find_script_jobs(self._script, self._other_scripts, job.name, self._jobs_of_file)
            self._plans[key] = plan_job(scripts, definition, self._git, self._sha, is_skipped=is_skipped)
        return Planned(self._plans[key], ready_at)
