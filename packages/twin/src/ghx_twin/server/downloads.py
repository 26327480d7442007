"""What signed addresses lead to: the logs of jobs and runs, and the artifacts of runs."""

import re

from ghx_twin.queries.actions import workflow_runs
from ghx_twin.reply import Reply, error_reply
from ghx_twin.rest.render.actions.artifacts import artifact_archive
from ghx_twin.rest.render.actions.logs import job_log, logs_archive
from ghx_twin.state.records import Artifact, CheckRun, RunAttempt
from ghx_twin.world import World

_JOB = re.compile(r"/actions/jobs/(\d+)/logs")
_ATTEMPT = re.compile(r"/actions/runs/(\d+)/attempts/(\d+)/logs")
_ARTIFACT = re.compile(r"/actions/artifacts/(\d+)/zip")


def answer(world: World, path: str) -> Reply:
    """Return the file at a path that the world has signed; it may have been deleted since."""
    return _find(world, path) or error_reply(404, "The specified blob does not exist.")


def _find(world: World, path: str) -> Reply | None:
    database = world.database
    if (named := _JOB.fullmatch(path)) and (job := database.get(CheckRun, int(named[1]))):
        log = job_log(job, workflow_runs.steps(world, job))
        return _file("GET logs of a job", log.encode(), "text/plain; charset=utf-8")
    if named := _ATTEMPT.fullmatch(path):
        attempt = database.one(RunAttempt, run_id=int(named[1]), number=int(named[2]))
        jobs = workflow_runs.jobs(world, attempt) if attempt else []
        ran = [(job, steps) for job in jobs if (steps := workflow_runs.steps(world, job))]
        return _zip("GET logs of a run", logs_archive(ran), f"logs_{named[1]}.zip") if ran else None
    if (named := _ARTIFACT.fullmatch(path)) and (artifact := database.get(Artifact, int(named[1]))):
        return _zip("GET artifact of a run", artifact_archive(artifact), f"artifact_{artifact.id}.zip")
    return None


def _zip(operation: str, content: bytes, name: str) -> Reply:
    reply = _file(operation, content, "application/zip")
    reply.headers["content-disposition"] = f'attachment; filename="{name}"'
    return reply


def _file(operation: str, content: bytes, media_type: str) -> Reply:
    return Reply(content=content, media_type=media_type, operation=operation)
