"""Plants what tools and workflows reported on commits."""

from ghx_bench.twin.commands import checks, workflow_runs, workflows
from ghx_bench.twin.queries import workflow_runs as queries
from ghx_bench.twin.seed.checks import SeedAttempt, SeedCheck, SeedJob, SeedRun
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.planting.history import find_commit
from ghx_bench.twin.seed.planting.repository import PlantedRepository
from ghx_bench.twin.state.records import Workflow, WorkflowRun


def plant_checks(repo: PlantedRepository) -> None:
    """Plant the check runs and statuses that a repository lists by commit."""
    for check in repo.seed.checks:
        with within("checks"):
            is_branch = repo.git.ref(f"refs/heads/{check.commit}") is not None
            plant_check(repo, check, find_commit(repo, check.commit), check.commit if is_branch else None)


def plant_check(repo: PlantedRepository, seed: SeedCheck, sha: str, branch: str | None) -> None:
    """Plant a check run or a status on a commit; a check run that names a workflow is a job of its run."""
    with within(f"check {seed.name!r}"):
        if seed.kind == "check_run" and seed.workflow is not None:
            _plant_job_of_check(repo, seed, sha, branch)
            return
        # The bot of an app has no role of its own: what it may do, its installation says.
        acting = repo.acting_unrestricted if seed.kind == "check_run" else repo.acting_as
        with acting(seed.creator or repo.steward, at=seed.at) as act:
            if seed.kind == "status":
                checks.create_status(
                    act, repo.record, sha=sha, state=seed.conclusion or "pending", context=seed.name,
                    description=seed.description, target_url=seed.url,
                )  # fmt: skip
                return
            checks.create_check_run(
                act, repo.record, sha=sha, name=seed.name, status=seed.status, details_url=seed.url, title=seed.title,
                conclusion=seed.conclusion or ("success" if seed.status == "completed" else None),
                summary=seed.summary, completed_at=seed.completed_at,
            )  # fmt: skip


def plant_workflows(repo: PlantedRepository) -> None:
    """Plant the workflows of a repository with their runs, attempts and jobs."""
    for workflow in repo.seed.workflows:
        with within(f"workflows: {workflow.name!r}"):
            with repo.world.acting(None, at=workflow.at) as act:
                made = workflows.create_or_update(
                    act, repo.record, name=workflow.name, path=workflow.path, state=workflow.state
                )
                record = act.database.update(made, updated_at=workflow.updated_at or made.updated_at)
            for run in workflow.runs:
                with within(f"runs: {run.id or run.commit}"):
                    _plant_run(repo, record, run)


def _plant_job_of_check(repo: PlantedRepository, seed: SeedCheck, sha: str, branch: str | None) -> None:
    """Plant a check that names a workflow: a job of that workflow's run for the commit, made where there is none."""
    event = seed.event or "push"
    with repo.acting_unrestricted(None, at=seed.at) as act:
        workflow = workflows.create_or_update(act, repo.record, name=seed.workflow or "")
        known = act.database.all(WorkflowRun, workflow_id=workflow.id, head_sha=sha, event=event)
        run = known[-1] if known else workflow_runs.create(act, workflow, sha=sha, event=event, branch=branch)
    _plant_job(repo, run, seed)


def _plant_run(repo: PlantedRepository, workflow: Workflow, seed: SeedRun) -> None:
    is_branch = repo.git.ref(f"refs/heads/{seed.commit}") is not None
    with repo.acting_unrestricted(seed.actor, at=seed.at) as act:
        run = workflow_runs.create(
            act, workflow, sha=find_commit(repo, seed.commit), event=seed.event, title=seed.title, number=seed.number,
            branch=seed.branch or (seed.commit if is_branch else None), identity=seed.id, conclusion=seed.conclusion,
        )  # fmt: skip
    _plant_jobs(repo, run, seed)
    for position, rerun in enumerate(seed.reruns, 1):
        with within(f"reruns: {position}"):
            with repo.acting_unrestricted(rerun.actor, at=rerun.at) as act:
                workflow_runs.begin_attempt(act, run, conclusion=rerun.conclusion)
            _plant_jobs(repo, run, rerun)


def _plant_jobs(repo: PlantedRepository, run: WorkflowRun, seed: SeedAttempt) -> None:
    for job in seed.jobs:
        with within(f"jobs: {job.name!r}"):
            _plant_job(repo, run, job)
    if seed.updated_at is not None:
        with repo.world.acting(None) as act:
            act.database.update(queries.latest_attempt(repo.world, run), updated_at=seed.updated_at)


def _plant_job(repo: PlantedRepository, run: WorkflowRun, seed: SeedJob | SeedCheck) -> None:
    with repo.acting_unrestricted(None, at=seed.at) as act:
        workflow_runs.add_job(
            act, run, name=seed.name, status=seed.status, details_url=seed.url, title=seed.title, summary=seed.summary,
            conclusion=seed.conclusion or ("success" if seed.status == "completed" else None),
            completed_at=seed.completed_at,
        )  # fmt: skip
