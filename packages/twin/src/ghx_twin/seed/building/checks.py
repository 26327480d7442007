"""Plants what tools and workflows reported on commits."""

import base64

from ghx_twin.commands.actions import checks, progress, starting, workflow_runs, workflows
from ghx_twin.queries.actions import job_plans
from ghx_twin.queries.actions import workflow_runs as queries
from ghx_twin.queries.actions.scripts import complete_script
from ghx_twin.queries.actions.workflow_files import files_on_branches
from ghx_twin.seed.building.history import file_bytes, find_commit
from ghx_twin.seed.building.repository_build import RepositoryBuild
from ghx_twin.seed.checks import SeedArtifact, SeedAttempt, SeedCheck, SeedJob, SeedRun
from ghx_twin.seed.mistakes import error_place
from ghx_twin.state.clock import format_time, parse_time
from ghx_twin.state.records import Artifact, CheckRun, Step, Workflow, WorkflowRun
from ghx_twin.world import Act

_KEPT_FOR_S = 90 * 24 * 60 * 60  # how long GitHub keeps artifacts


def build_checks(repo: RepositoryBuild) -> None:
    """Plant the check runs and statuses that a repository lists by commit."""
    for check in repo.seed.checks:
        with error_place("checks"):
            is_branch = repo.git.ref(f"refs/heads/{check.commit}") is not None
            build_check(repo, check, find_commit(repo, check.commit), check.commit if is_branch else None)


def build_check(repo: RepositoryBuild, seed: SeedCheck, sha: str, branch: str | None) -> None:
    """Plant a check run or a status on a commit; a check run that names a workflow is a job of its run."""
    with error_place(f"check {seed.name!r}"):
        if seed.kind == "check_run" and seed.workflow is not None:
            _build_job_of_check(repo, seed, sha, branch)
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


def build_workflows(repo: RepositoryBuild) -> None:
    """Plant the workflows of a repository with their runs, attempts and jobs."""
    for workflow in repo.seed.workflows:
        with error_place(f"workflows: {workflow.name!r}"):
            with repo.world.acting(None, at=workflow.at) as act:
                made = workflows.create_or_update(
                    act, repo.record, name=workflow.name, path=workflow.path, state=workflow.state
                )
                record = act.database.update(made, updated_at=workflow.updated_at or made.updated_at)
            for run in workflow.runs:
                with error_place(f"runs: {run.id or run.commit}"):
                    _build_run(repo, record, run)


def build_scripts(repo: RepositoryBuild) -> None:
    """Have workflows do from now on what their scripts say, and play the runs that the seed leaves to them.

    Nothing else in the seed has set off a run: it says what has happened.
    """
    for workflow in repo.seed.workflows:
        if workflow.script is not None:
            with error_place(f"workflows: {workflow.name!r}"):
                with repo.world.acting(None) as act:
                    record = workflows.create_or_update(act, repo.record, name=workflow.name, path=workflow.path)
                    script = workflow.script.model_dump(mode="json")
                    if not repo.seed.exported:  # an export has what its world had found out, whatever its files say now
                        files = files_on_branches(repo.git, record.path)
                        script = complete_script(script, [job for file in files for job in file.jobs])
                    record = act.database.update(record, script=script)
                    open_runs = [] if repo.seed.exported else _queue_jobs(act, record)
                progress.finish(repo.world, open_runs)


def _queue_jobs(act: Act, workflow: Workflow) -> list[WorkflowRun]:
    """Give runs with neither jobs nor a conclusion the jobs that the workflow's file says, and return these runs."""
    runs = act.database.all(WorkflowRun, workflow_id=workflow.id)
    latest = queries.latest_attempts(act.world, runs)
    open_runs = [
        run for run in runs if latest[run.id].status != "completed" and not queries.jobs(act.world, latest[run.id])
    ]
    for run in open_runs:
        starting.queue_jobs(act, run, latest[run.id], job_plans.definitions(act.world, run))
    return open_runs


def _build_job_of_check(repo: RepositoryBuild, seed: SeedCheck, sha: str, branch: str | None) -> None:
    """Plant a check that names a workflow: a job of that workflow's run for the commit, made where there is none."""
    event = seed.event or "push"
    with repo.acting_unrestricted(None, at=seed.at) as act:
        workflow = workflows.create_or_update(act, repo.record, name=seed.workflow or "")
        records = act.database.all(WorkflowRun, workflow_id=workflow.id, head_sha=sha, event=event)
        run = records[-1] if records else workflow_runs.create(act, workflow, sha=sha, event=event, branch=branch)
    _build_job(repo, run, seed)


def _build_run(repo: RepositoryBuild, workflow: Workflow, seed: SeedRun) -> None:
    is_branch = repo.git.ref(f"refs/heads/{seed.commit}") is not None
    with repo.acting_unrestricted(seed.actor, at=seed.at) as act:
        run = workflow_runs.create(
            act, workflow, sha=find_commit(repo, seed.commit), event=seed.event, title=seed.title, number=seed.number,
            branch=seed.branch or (seed.commit if is_branch else None), identity=seed.id, conclusion=seed.conclusion,
            inputs=seed.inputs,
        )  # fmt: skip
        for artifact in seed.artifacts:
            with error_place(f"artifacts: {artifact.name!r}"):
                _build_artifact(act, run, artifact)
    _build_jobs(repo, run, seed)
    for position, rerun in enumerate(seed.reruns, 1):
        with error_place(f"reruns: {position}"):
            with repo.acting_unrestricted(rerun.actor, at=rerun.at) as act:
                workflow_runs.begin_attempt(act, run, conclusion=rerun.conclusion)
            _build_jobs(repo, run, rerun)


def _build_jobs(repo: RepositoryBuild, run: WorkflowRun, seed: SeedAttempt) -> None:
    for job in seed.jobs:
        with error_place(f"jobs: {job.name!r}"):
            _build_job(repo, run, job)
    with repo.world.acting(None) as act:
        attempt = queries.latest_attempt(repo.world, run)
        act.database.update(attempt, logs=seed.logs, updated_at=seed.updated_at or attempt.updated_at)


def _build_job(repo: RepositoryBuild, run: WorkflowRun, seed: SeedJob | SeedCheck) -> None:
    with repo.acting_unrestricted(None, at=seed.at) as act:
        job = workflow_runs.add_job(
            act, run, name=seed.name, status=seed.status, details_url=seed.url, title=seed.title, summary=seed.summary,
            conclusion=seed.conclusion or ("success" if seed.status == "completed" else None),
            completed_at=seed.completed_at,
        )  # fmt: skip
        if isinstance(seed, SeedJob):
            _build_steps(act, job, seed)
            for annotation in seed.annotations:
                checks.add_annotation(act, job, **annotation.model_dump())


def _build_steps(act: Act, job: CheckRun, seed: SeedJob) -> None:
    """Plant the steps of a job, which ends with the last of them where the seed does not say when."""
    began = parse_time(job.started_at)
    for number, step in enumerate(seed.steps, 1):
        began = began if step.at is None else parse_time(step.at)
        ended = began + step.seconds if step.completed_at is None else parse_time(step.completed_at)
        is_over = step.status == "completed"
        act.database.insert(
            Step,
            job_id=job.id,
            number=number,
            name=step.name,
            status=step.status,
            conclusion=step.conclusion or ("success" if is_over else None),
            log=step.log,
            started_at=None if step.status == "queued" else format_time(began),
            completed_at=format_time(ended) if is_over else None,
        )
        began = ended
    if seed.steps and job.completed_at is not None and seed.completed_at is None:
        act.database.update(job, completed_at=format_time(began))


def _build_artifact(act: Act, run: WorkflowRun, seed: SeedArtifact) -> None:
    at = seed.at or run.created_at
    files = {path: file_bytes(path, content) for path, content in seed.files.items() if content is not None}
    act.database.insert(
        Artifact,
        repository_id=run.repository_id,
        run_id=run.id,
        name=seed.name,
        files={path: base64.b64encode(content).decode() for path, content in files.items()},
        expired=seed.expired,
        created_at=at,
        updated_at=seed.updated_at or at,
        expires_at=seed.expires_at or format_time(parse_time(at) + _KEPT_FOR_S),
    )
