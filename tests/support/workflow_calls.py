"""A call of every capability of the workflow domain that goes well in the world of the tests."""

from collections.abc import Mapping
from typing import Any

from capability_calls import OWNER, Call, Ghx

PIPELINES = {"owner": OWNER, "name": "pipelines"}
FAILED, RUNNING, EXPIRED = 701, 702, 703
"""Ids of runs, by what has become of them."""


def job_id(ghx: Ghx, name: str = "test", run: int = FAILED) -> int:
    """Return the id of a job of a run."""
    return next(
        job["id"] for job in ghx.data("workflow.run.view", **PIPELINES, runId=run)["jobs"] if job["name"] == name
    )


def _on_job(ghx: Ghx) -> Mapping[str, Any]:
    return {**PIPELINES, "jobId": job_id(ghx)}


def _on_failed_steps(ghx: Ghx) -> Mapping[str, Any]:
    return {**_on_job(ghx), "failedSteps": True, "lastLines": 3}


WORKFLOW_CALLS: Mapping[str, Call] = {
    "workflow.dispatch": {**PIPELINES, "workflowId": "tests.yml", "ref": "main", "inputs": {"level": "high"}},
    "workflow.job.logs.raw": _on_job,
    "workflow.job.logs.view": _on_failed_steps,
    "workflow.list": PIPELINES,
    "workflow.run.artifacts.list": {**PIPELINES, "runId": FAILED},
    "workflow.run.cancel": {**PIPELINES, "runId": RUNNING},
    "workflow.run.rerun.all": {**PIPELINES, "runId": FAILED},
    "workflow.run.rerun.failed": {**PIPELINES, "runId": FAILED},
    "workflow.run.view": {**PIPELINES, "runId": FAILED},
    "workflow.runs.list": {**PIPELINES, "branch": "main", "status": "failure"},
    "workflow.view": {**PIPELINES, "workflowId": "tests.yml"},
}
