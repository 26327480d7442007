"""How the job of a run will go, and since when it could."""

from collections.abc import Sequence
from dataclasses import dataclass

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.actions.scripts import JobPlan, find_script_jobs, plan_job, runs_after_failure
from ghx_bench.twin.queries.actions.workflow_files import JobDefinition, WorkflowFileError, read_workflow_file
from ghx_bench.twin.queries.workflow_runs import FAILED, workflow_of
from ghx_bench.twin.state.clock import parse_time
from ghx_bench.twin.state.records import CheckRun, Workflow, WorkflowRun
from ghx_bench.twin.world import World


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


def definition_of(world: World, run: WorkflowRun, job: CheckRun) -> JobDefinition:
    """Return what the workflow file says of a job; a seed's job that is in no file has just its name."""
    found = next((each for each in definitions(world, run) if each.name == job.name), None)
    return found or JobDefinition(key=job.name, name=job.name)


def with_dependents(world: World, run: WorkflowRun, names: set[str]) -> set[str]:
    """Return the names of jobs, and of all that need them."""
    said, found = definitions(world, run), set(names)
    while more := {
        each.name
        for each in said
        if each.name not in found and set(each.needs) & {other.key for other in said if other.name in found}
    }:
        found |= more
    return found


def plan(world: World, workflow: Workflow, run: WorkflowRun, job: CheckRun, jobs: Sequence[CheckRun]) -> Planned | None:
    """Return how a job goes among the jobs of its attempt; None while it waits for others or without a script."""
    said, jobs_of_file = definition_of(world, run, job), definitions(world, run)
    names = {each.name for each in jobs_of_file if each.key in said.needs}
    needed = [each for each in jobs if each.name in names]
    if workflow.script is None or any(each.status != "completed" for each in needed):
        return None
    ended = [each.completed_at or each.started_at for each in needed]
    ready_at = max(map(parse_time, (job.started_at, *ended)))
    is_skipped = not runs_after_failure(said.condition) and any(
        each.conclusion in FAILED or each.conclusion == "skipped" for each in needed
    )
    workflows = world.database.all(Workflow, repository_id=run.repository_id)
    others = [each.script for each in workflows if each.script is not None and each.id != workflow.id]
    scripts = find_script_jobs(workflow.script, others, job.name, jobs_of_file)
    git = world.git(lookup.repository_by_id(world, None, run.repository_id))
    return Planned(plan_job(scripts, said, git, run.head_sha, is_skipped=is_skipped), ready_at)
