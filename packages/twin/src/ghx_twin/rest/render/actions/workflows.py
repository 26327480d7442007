"""Workflows, their runs and jobs."""

from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.actions.workflow_runs import Origin
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.pulls.pulls import minimal_pull
from ghx_twin.rest.render.repositories.commits import message
from ghx_twin.rest.render.repositories.repositories import bare_repository
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.clock import parse_time
from ghx_twin.state.records import CheckRun, Pull, Repository, RunAttempt, Step, Workflow, WorkflowRun


def workflow(view: View, workflow: Workflow) -> JsonObject:
    """Render a workflow."""
    home = view.repository(workflow.repository_id)
    file = quote_part(workflow.path, safe="/")
    return {
        "id": workflow.id,
        "node_id": view.node(workflow),
        "name": workflow.name,
        "path": workflow.path,
        "state": workflow.state,
        "created_at": workflow.created_at,
        "updated_at": workflow.updated_at,
        "url": view.api(home, f"/actions/workflows/{workflow.id}"),
        "html_url": view.html(home, f"/blob/{quote_part(home.default_branch, safe='/')}/{file}"),
        "badge_url": view.html(home, f"/workflows/{quote_part(workflow.name)}/badge.svg"),
    }


def run(view: View, run: WorkflowRun, attempt: RunAttempt, *, with_pulls: bool = True) -> JsonObject:
    """Render a run as one of its attempts left it."""
    home = view.repository(run.repository_id)
    workflow = workflow_runs.workflow_of(view.world, run)
    pulls = view.database.all(Pull, repository_id=home.id, head_sha=run.head_sha)
    source = _source(view, home, run, pulls)
    return {
        "id": run.id,
        "name": workflow.name,
        "node_id": view.node(run),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "path": workflow.path,
        "display_title": run.title,
        "run_number": run.number,
        "run_attempt": attempt.number,
        "event": run.event,
        "status": attempt.status,
        "conclusion": attempt.conclusion,
        "workflow_id": run.workflow_id,
        "check_suite_id": run.id,
        "pull_requests": [minimal_pull(view, pull) for pull in pulls] if with_pulls else [],
        "created_at": run.created_at,
        "updated_at": attempt.updated_at,
        "actor": simple_user(view, view.user(run.actor_id)),
        "run_started_at": attempt.started_at,
        "triggering_actor": simple_user(view, view.user(attempt.actor_id)),
        "referenced_workflows": [],
        "head_commit": head_commit(view, home, run.head_sha),
        "repository": bare_repository(view, home),
        "head_repository": bare_repository(view, source),
        **_addresses(view, home, run, attempt),
    }


def job(view: View, job: CheckRun, origin: Origin) -> JsonObject:
    """Render a job, which is a check run of an attempt."""
    run, attempt = origin.run, origin.attempt
    home = view.repository(run.repository_id)
    return {
        "id": job.id,
        "run_id": run.id,
        "workflow_name": workflow_runs.workflow_of(view.world, run).name,
        "head_branch": run.head_branch,
        "run_url": view.api(home, f"/actions/runs/{run.id}"),
        "run_attempt": attempt.number,
        "node_id": view.node(job),
        "head_sha": job.head_sha,
        "url": view.api(home, f"/actions/jobs/{job.id}"),
        "html_url": view.html(home, workflow_runs.job_path(run, job)),
        "status": job.status,
        "conclusion": job.conclusion,
        "created_at": attempt.started_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
        "name": job.name,
        "steps": [_step(step) for step in workflow_runs.steps(view.world, job)],
        "check_run_url": view.api(home, f"/check-runs/{job.id}"),
        "labels": [],
        "runner_id": None,
        "runner_name": None,
        "runner_group_id": None,
        "runner_group_name": None,
    }


def timing(attempt: RunAttempt) -> JsonObject:
    """Render how long an attempt took; nothing is billed here, as in public repositories."""
    took = parse_time(attempt.updated_at) - parse_time(attempt.started_at)
    return {"billable": {}, **({"run_duration_ms": took * 1000} if attempt.status == "completed" else {})}


def _step(step: Step) -> JsonObject:
    return {
        "name": step.name,
        "status": step.status,
        "conclusion": step.conclusion,
        "number": step.number,
        "started_at": step.started_at,
        "completed_at": step.completed_at,
    }


def _addresses(view: View, home: Repository, run: WorkflowRun, attempt: RunAttempt) -> JsonObject:
    url = view.api(home, f"/actions/runs/{run.id}")
    earlier = f"{url}/attempts/{attempt.number - 1}" if attempt.number > 1 else None
    return {
        "url": url,
        "html_url": view.html(home, f"/actions/runs/{run.id}"),
        **{f"{name}_url": f"{url}/{name}" for name in ("jobs", "logs", "artifacts", "cancel", "rerun")},
        "check_suite_url": view.api(home, f"/check-suites/{run.id}"),
        "previous_attempt_url": earlier,
        "workflow_url": view.api(home, f"/actions/workflows/{run.workflow_id}"),
    }


def _source(view: View, home: Repository, run: WorkflowRun, pulls: list[Pull]) -> Repository:
    """Return where the commit came from: a fork, where a pull request of it was what set the run off."""
    if not run.event.startswith("pull_request"):
        return home
    forks = (pull.head_repository_id for pull in pulls if pull.head_ref == run.head_branch)
    return view.repository(next((each for each in forks if each is not None), home.id))


def head_commit(view: View, home: Repository, sha: str) -> JsonObject | None:
    """Render the commit of a run as runs show it."""
    commit = view.git(home).commit(sha)
    if commit is None:
        return None
    people = {"author": commit.author, "committer": commit.committer}
    return {
        "id": sha,
        "tree_id": commit.tree,
        "message": message(commit),
        "timestamp": commit.committer.utc,
        **{role: {"name": who.name, "email": who.email} for role, who in people.items()},
    }
