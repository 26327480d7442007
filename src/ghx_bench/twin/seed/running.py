"""The workflow runs of a seed: entered with all their attempts and jobs."""

from ghx_bench.twin.commands import workflow_runs, workflows
from ghx_bench.twin.queries import workflow_runs as queries
from ghx_bench.twin.seed.checks import SeedCheck
from ghx_bench.twin.seed.histories import commit_named
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.plot import Plot
from ghx_bench.twin.seed.workflows import SeedAttempt, SeedJob, SeedRun, SeedWorkflow
from ghx_bench.twin.state.records import Workflow, WorkflowRun


def plant_workflows(plot: Plot) -> None:
    """Enter the workflows of a repository and their runs."""
    for workflow in plot.seed.workflows:
        with within(f"workflows: {workflow.name!r}"):
            record = _plant_workflow(plot, workflow)
            for run in workflow.runs:
                with within(f"runs: {run.id or run.commit}"):
                    _plant_run(plot, record, run)


def plant_job(plot: Plot, seed: SeedCheck, sha: str, branch: str | None) -> None:
    """Enter a check that names a workflow: a job of that workflow's run for the commit, made where there is none."""
    event = seed.event or "push"
    with plot.recalling(None, at=seed.at) as act:
        workflow = workflows.create_or_update(act, plot.record, name=seed.workflow or "")
        known = act.database.all(WorkflowRun, workflow_id=workflow.id, head_sha=sha, event=event)
        run = known[-1] if known else workflow_runs.create(act, workflow, sha=sha, event=event, branch=branch)
    _plant_job(plot, run, seed)


def _plant_workflow(plot: Plot, seed: SeedWorkflow) -> Workflow:
    with plot.world.acting(None, at=seed.at) as act:
        made = workflows.create_or_update(act, plot.record, name=seed.name, path=seed.path, state=seed.state)
        return act.database.update(made, updated_at=seed.updated_at or made.updated_at)


def _plant_run(plot: Plot, workflow: Workflow, seed: SeedRun) -> None:
    is_branch = plot.git.ref(f"refs/heads/{seed.commit}") is not None
    with plot.recalling(seed.actor, at=seed.at) as act:
        run = workflow_runs.create(
            act, workflow, sha=commit_named(plot, seed.commit), event=seed.event, title=seed.title, number=seed.number,
            branch=seed.branch or (seed.commit if is_branch else None), identity=seed.id, conclusion=seed.conclusion,
        )  # fmt: skip
    _plant_jobs(plot, run, seed)
    for position, rerun in enumerate(seed.reruns, 1):
        with within(f"reruns: {position}"):
            with plot.recalling(rerun.actor, at=rerun.at) as act:
                workflow_runs.begin_attempt(act, run, conclusion=rerun.conclusion)
            _plant_jobs(plot, run, rerun)


def _plant_jobs(plot: Plot, run: WorkflowRun, seed: SeedAttempt) -> None:
    for job in seed.jobs:
        with within(f"jobs: {job.name!r}"):
            _plant_job(plot, run, job)
    if seed.updated_at is not None:
        with plot.world.acting(None) as act:
            act.database.update(queries.latest_attempt(plot.world, run), updated_at=seed.updated_at)


def _plant_job(plot: Plot, run: WorkflowRun, seed: SeedJob | SeedCheck) -> None:
    with plot.recalling(None, at=seed.at) as act:
        workflow_runs.add_job(
            act, run, name=seed.name, status=seed.status, details_url=seed.url, title=seed.title, summary=seed.summary,
            conclusion=seed.conclusion or ("success" if seed.status == "completed" else None),
            completed_at=seed.completed_at,
        )  # fmt: skip
