"""What the capabilities of workflows read and start, and how little of a log they show."""

import pytest
from capability_calls import Ghx
from workflow_calls import EXPIRED, FAILED, PIPELINES, RUNNING, job_id

from ghx_tools.capabilities.domains.workflow import job_logs


def test_workflows_are_listed_and_found_by_id_and_file(ghx: Ghx) -> None:
    (listed,) = ghx.data("workflow.list", **PIPELINES)["items"]

    assert (listed["name"], listed["path"], listed["state"]) == ("Tests", ".github/workflows/tests.yml", "active")
    by_name = [
        ghx.data("workflow.view", **PIPELINES, workflowId=name)
        for name in (listed["id"], str(listed["id"]), "tests.yml", listed["path"])
    ]
    assert by_name == [by_name[0]] * 4
    assert by_name[0]["url"].endswith("/acme/pipelines/blob/main/.github/workflows/tests.yml")
    assert ghx.error("workflow.view", **PIPELINES, workflowId="none.yml") == "NOT_FOUND"


def test_runs_are_filtered_and_paged(ghx: Ghx) -> None:
    def ids(**asked: str) -> list[int]:
        return [run["id"] for run in ghx.data("workflow.runs.list", **PIPELINES, **asked)["items"]]

    assert ids() == [EXPIRED, RUNNING, FAILED]
    assert (ids(branch="old"), ids(event="schedule"), ids(status="failure")) == ([EXPIRED], [RUNNING], [FAILED])
    first = ghx.data("workflow.runs.list", **PIPELINES, first=2)
    assert first["pageInfo"]["hasNextPage"]
    rest = ghx.data("workflow.runs.list", **PIPELINES, first=2, after=first["pageInfo"]["endCursor"])
    assert [run["id"] for run in rest["items"]] == [FAILED]


def test_a_run_is_read_with_its_jobs(ghx: Ghx) -> None:
    run = ghx.data("workflow.run.view", **PIPELINES, runId=FAILED)

    assert (run["workflowName"], run["conclusion"], run["event"], run["attempt"]) == ("Tests", "failure", "push", 1)
    assert run["title"]
    assert [(job["name"], job["conclusion"]) for job in run["jobs"]] == [("lint", "success"), ("test", "failure")]
    assert run["failedSteps"] == [{"jobId": run["jobs"][1]["id"], "name": "Run pytest"}]


@pytest.mark.parametrize(
    ("task", "given", "place"),
    [
        ("workflow.run.view", {"runId": 5}, "/actions/runs/5"),
        ("workflow.view", {"workflowId": "none.yml"}, "/actions/workflows/none.yml"),
        ("workflow.job.logs.view", {"jobId": 5}, "/actions/jobs/5"),
        ("release.update", {"releaseId": 5, "title": "Five"}, "/releases/5"),
    ],
)
def test_what_is_not_found_is_named(ghx: Ghx, task: str, given: dict[str, object], place: str) -> None:
    error = ghx.run(task, **PIPELINES, **given).error

    assert error is not None
    assert error.message == f"Not Found: there is no /repos/acme/pipelines{place}, or not for this user"


def test_a_run_that_goes_on_is_cancelled_once_and_not_run_again(ghx: Ghx) -> None:
    running = {**PIPELINES, "runId": RUNNING}

    assert ghx.error("workflow.run.rerun.all", **running) == "NOT_READY"
    assert ghx.data("workflow.run.cancel", **running) == {"runId": RUNNING, "status": "cancel_requested"}
    assert ghx.error("workflow.run.cancel", **running) == "VALIDATION"
    assert ghx.data("workflow.run.view", **running)["conclusion"] == "cancelled"


def test_failed_jobs_run_again_without_the_others(ghx: Ghx) -> None:
    ghx.data("workflow.run.rerun.failed", **PIPELINES, runId=FAILED)

    run = ghx.data("workflow.run.view", **PIPELINES, runId=FAILED)
    assert (run["attempt"], [(job["name"], job["conclusion"]) for job in run["jobs"]]) == (
        2,
        [("lint", "success"), ("test", None)],
    )


def test_artifacts_of_a_run_are_listed(ghx: Ghx) -> None:
    (artifact,) = ghx.data("workflow.run.artifacts.list", **PIPELINES, runId=FAILED)["items"]

    assert artifact["name"] == "coverage"
    assert artifact["sizeInBytes"] > 0
    assert artifact["archiveDownloadUrl"].endswith(f"/actions/artifacts/{artifact['id']}/zip")


def test_a_log_is_summed_up_without_its_lines(ghx: Ghx) -> None:
    view = ghx.data("workflow.job.logs.view", **PIPELINES, jobId=job_id(ghx))

    assert "excerpt" not in view
    assert view["failedSteps"] == ["Run pytest"]
    assert view["summary"] == {
        "errorCount": 4,
        "warningCount": 1,
        "topErrorLines": [
            "E       assert 34 == 33",
            "FAILED tests/test_turn.py::test_speed",
            "1 failed, 2 passed in 0.12s",
            "##[error]Process completed with exit code 1.",
        ],
    }


def test_of_a_log_only_the_lines_asked_for_are_given(ghx: Ghx) -> None:
    def excerpt(**asked: object) -> list[str]:
        return ghx.data("workflow.job.logs.view", **PIPELINES, jobId=job_id(ghx), **asked)["excerpt"].splitlines()

    failed = excerpt(failedSteps=True)
    assert (failed[0], failed[-1]) == ("##[group]Run pytest", "##[error]Process completed with exit code 1.")
    assert not any("packages" in line for line in failed)
    assert excerpt(failedSteps=True, lastLines=2) == failed[-2:]
    found = excerpt(search="ASSERT", context=1)
    assert [line.lstrip("0123456789") for line in found] == [
        "-tests/test_turn.py ..F",
        ":E       assert 34 == 33",
        "-FAILED tests/test_turn.py::test_speed",
    ]
    assert "--" in excerpt(search="pip", context=0)
    assert excerpt(search="nowhere") == []


def test_what_is_left_out_of_a_log_is_told(ghx: Ghx, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {**PIPELINES, "jobId": job_id(ghx)}
    whole = ghx.data("workflow.job.logs.raw", **job)
    assert not whole["truncated"]
    assert ghx.data("workflow.job.logs.view", **job, lastLines=1)["truncated"]

    monkeypatch.setattr(job_logs, "LONGEST_LOG", 100)

    cut = {"jobId": job["jobId"], "log": whole["log"][-100:], "truncated": True}
    assert ghx.data("workflow.job.logs.raw", **job) == cut


def test_logs_that_are_not_there_any_more_or_not_yet_are_not_found(ghx: Ghx) -> None:
    for run in (EXPIRED, RUNNING):
        job = job_id(ghx, run=run)
        assert ghx.error("workflow.job.logs.raw", **PIPELINES, jobId=job) == "NOT_FOUND"
