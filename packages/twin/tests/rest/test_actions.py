"""Workflow runs over REST: lists and their filters, attempts and jobs, what is refused and in which words."""

from typing import Any

import pytest
from rest_world import Client, Seeded

from ghx_twin.rest.dispatch import answer
from ghx_twin.state.records import Artifact, RunAttempt, Step
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import ANONYMOUS

R = "/repos/acme/widgets"


def listed(client: Client, query: str, path: str = "/actions/runs") -> list[int]:
    reply = client.get(f"{R}{path}?{query}")
    assert reply.status == 200, reply.text
    shown = reply.json()
    assert shown["total_count"] == len(shown["workflow_runs"])
    return [each["id"] for each in shown["workflow_runs"]]


def jobs(client: Client, path: str) -> list[tuple[str, int, str | None]]:
    shown = client.get(f"{R}/actions/runs/{path}").json()["jobs"]
    return [(each["name"], each["run_attempt"], each["conclusion"]) for each in shown]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["held", "running", "run"]),
        ("status=failure", ["run"]),
        ("status=completed", ["held", "run"]),
        ("status=in_progress", ["running"]),
        ("status=success", []),
        ("event=push", ["held", "running"]),
        ("branch=feature/x&event=pull_request", ["run"]),
        ("branch=main", []),
        ("actor=BOB", ["running", "run"]),
        ("actor=ann", []),
        ("head_sha={head}", ["running", "run"]),
        ("head_sha={main}", ["held"]),
        ("check_suite_id={run}", ["run"]),
        ("created=<2020-01-01", []),
        ("created=2026-01-01..*", ["held", "running", "run"]),
    ],
)
def test_runs_are_listed_newest_first_and_filtered(world: Seeded, query: str, names: list[str]) -> None:
    asked = query.format_map({**world.ids, **world.shas})

    assert listed(world.client(), asked) == [world.ids[name] for name in names]
    assert listed(world.client(), asked, "/actions/workflows/ci.yml/runs") == [world.ids[name] for name in names]


def test_a_run_shows_its_latest_attempt_and_each_on_its_own(world: Seeded, ann: Client) -> None:
    run = f"{R}/actions/runs/{world.ids['running']}"
    latest, first, second = (ann.get(f"{run}{path}").json() for path in ("", "/attempts/1", "/attempts/2"))

    assert latest == second
    assert (latest["run_attempt"], latest["status"], latest["conclusion"]) == (2, "in_progress", None)
    assert (first["run_attempt"], first["status"], first["conclusion"]) == (1, "completed", "failure")
    assert (first["previous_attempt_url"], latest["previous_attempt_url"]) == (None, first["url"] + "/attempts/1")
    assert (latest["name"], latest["path"], latest["run_number"]) == ("CI", ".github/workflows/ci.yml", 2)
    assert (latest["display_title"], latest["head_branch"]) == ("Other", "feature/x")
    assert [each["number"] for each in latest["pull_requests"]] == [world.ids["pull"]]
    assert ann.get(f"{run}?exclude_pull_requests=true").json()["pull_requests"] == []


def test_jobs_are_those_of_the_latest_attempt_of_one_or_of_all(world: Seeded, ann: Client) -> None:
    run = world.ids["running"]
    first = [("lint", 1, "success"), ("test", 1, "failure")]
    second = [("lint", 2, "success"), ("test", 2, None)]

    assert jobs(ann, f"{run}/jobs") == second
    assert jobs(ann, f"{run}/jobs?filter=all") == first + second
    assert jobs(ann, f"{run}/attempts/1/jobs") == first


def test_a_job_is_a_check_run_of_github_actions(world: Seeded, ann: Client) -> None:
    identity = world.ids["run_job"]
    job, check = ann.get(f"{R}/actions/jobs/{identity}").json(), ann.get(f"{R}/check-runs/{identity}").json()

    assert (job["id"], job["name"], job["node_id"]) == (check["id"], check["name"], check["node_id"])
    assert (check["app"]["slug"], check["check_suite"]) == ("github-actions", {"id": world.ids["run"]})
    assert job["check_run_url"] == check["url"]
    page = f"https://github.com/acme/widgets/actions/runs/{world.ids['run']}/job/{identity}"
    assert (job["html_url"], check["html_url"], check["details_url"]) == (page, page, page)
    other = ann.get(f"{R}/check-runs/{world.ids['check_run']}").json()
    assert (other["app"], other["check_suite"]) == (None, None)


def test_a_rerun_is_over_when_its_jobs_are_said_to_be(world: Seeded, ann: Client) -> None:
    run = f"{R}/actions/runs/{world.ids['run']}"
    assert ann.post(f"{run}/rerun").status == 201
    assert ann.get(run).json()["status"] == "queued"

    for job in ann.get(f"{run}/jobs").json()["jobs"]:
        ended = {"status": "completed", "conclusion": "success"}
        assert world.client("actions").patch(f"{R}/check-runs/{job['id']}", ended).status == 200

    seen = ann.get(run).json()
    assert (seen["status"], seen["conclusion"], seen["run_attempt"]) == ("completed", "success", 2)


REFUSED: list[tuple[str, str, int, str]] = [
    ("running/rerun", "ann", 403, "This workflow is already running"),
    ("running/rerun-failed-jobs", "ann", 403, "This workflow is already running"),
    ("run/rerun", "eve", 403, "Must have admin rights to Repository."),
    ("run/cancel", "eve", 403, "Must have admin rights to Repository."),
    ("run/cancel", "ann", 409, "Cannot cancel a workflow run that is completed."),
]


@pytest.mark.parametrize(("path", "user", "status", "message"), REFUSED)
def test_what_cannot_be_done_to_a_run_is_said(world: Seeded, path: str, user: str, status: int, message: str) -> None:
    name, _, action = path.partition("/")

    reply = world.client(user).post(f"{R}/actions/runs/{world.ids[name]}/{action}")

    assert (reply.status, reply.json()["message"]) == (status, message)


def test_a_run_in_which_nothing_failed_is_not_retried(world: Seeded, ann: Client) -> None:
    run = f"{R}/actions/runs/{world.ids['run']}"
    world.client("actions").patch(f"{R}/check-runs/{world.ids['run_job']}", {"conclusion": "success"})

    reply = ann.post(f"{run}/rerun-failed-jobs")

    assert (reply.status, reply.json()["message"]) == (403, "This workflow run cannot be retried")
    assert ann.post(f"{run}/rerun").status == 201


def test_a_workflow_is_found_by_id_and_file_and_switched_off_and_on(ann: Client) -> None:
    (workflow,) = ann.get(f"{R}/actions/workflows").json()["workflows"]
    assert ann.put(f"{R}/actions/workflows/{workflow['id']}/disable").status == 204
    assert _state(ann) == "disabled_manually"
    assert ann.put(f"{R}/actions/workflows/ci.yml/enable").status == 204
    assert _state(ann) == "active"
    assert workflow["html_url"] == "https://github.com/acme/widgets/blob/main/.github/workflows/ci.yml"


def test_logs_are_behind_a_redirect_to_a_signed_address(world: Seeded, ann: Client) -> None:
    for path in (f"runs/{world.ids['run']}/logs", f"jobs/{world.ids['run_job']}/logs"):
        reply = ann.get(f"{R}/actions/{path}")

        assert (reply.status, reply.content) == (302, b"")
        assert reply.headers["Location"].startswith("https://pipelines.actions.githubusercontent.com/actions/")
        assert "urlSignature=" in reply.headers["Location"]


@pytest.mark.parametrize(
    ("logs", "status", "message"), [("expired", 410, "Server Error"), ("deleted", 404, "Not Found")]
)
def test_logs_that_are_gone_are_refused(world: Seeded, ann: Client, logs: str, status: int, message: str) -> None:
    with world.world.acting(None) as act:
        for attempt in act.database.all(RunAttempt, run_id=world.ids["run"]):
            act.database.update(attempt, logs=logs)

    for path in (f"runs/{world.ids['run']}/logs", f"runs/{world.ids['run']}/attempts/1/logs"):
        reply = ann.get(f"{R}/actions/{path}")
        assert (reply.status, reply.json()["message"]) == (status, message)
    assert ann.get(f"{R}/actions/jobs/{world.ids['run_job']}/logs").status == status


def test_deleted_logs_are_gone_and_the_run_stays(world: Seeded, ann: Client) -> None:
    run = f"{R}/actions/runs/{world.ids['run']}"

    assert ann.delete(f"{run}/logs").status == 204

    assert ann.get(f"{run}/logs").status == 404
    assert ann.get(run).json()["conclusion"] == "failure"
    running = ann.delete(f"{R}/actions/runs/{world.ids['running']}/logs")
    assert (running.status, running.json()["message"]) == (
        403,
        "Cannot delete logs of a workflow run that is not completed.",
    )


def test_a_job_shows_its_steps(world: Seeded, ann: Client) -> None:
    job = ann.get(f"{R}/actions/jobs/{world.ids['run_job']}").json()

    assert [(step["number"], step["name"], step["conclusion"]) for step in job["steps"]] == [
        (1, "Set up job", "success"),
        (2, "Run pytest", "failure"),
        (3, "Complete job", "success"),
    ]


def test_a_cancelled_job_ends_its_steps(world: Seeded, ann: Client) -> None:
    run = world.ids["running"]
    job = next(each for each in ann.get(f"{R}/actions/runs/{run}/jobs").json()["jobs"] if each["name"] == "test")
    with world.world.acting(None) as act:
        for number, status in enumerate(("completed", "in_progress", "queued"), 1):
            act.database.insert(Step, job_id=job["id"], number=number, name=f"Step {number}", status=status)

    assert ann.post(f"{R}/actions/runs/{run}/force-cancel").status == 202

    steps = ann.get(f"{R}/actions/jobs/{job['id']}").json()["steps"]
    assert [(step["status"], step["conclusion"]) for step in steps] == [
        ("completed", None),
        ("completed", "cancelled"),
        ("completed", "skipped"),
    ]


def test_a_run_that_waits_for_approval_goes_on_once(world: Seeded, ann: Client) -> None:
    held = f"{R}/actions/runs/{world.ids['held']}"

    assert world.client("eve").post(f"{held}/approve").status == 403
    assert ann.post(f"{held}/approve").status == 201

    run, again = ann.get(held).json(), ann.post(f"{held}/approve")
    assert (run["status"], run["conclusion"], run["run_attempt"]) == ("queued", None, 1)
    assert (again.status, again.json()["message"]) == (
        403,
        "This run is not from a fork pull request or queued by the Actions bot",
    )


def test_annotations_of_a_job_are_listed_and_counted(world: Seeded, ann: Client) -> None:
    check = f"{R}/check-runs/{world.ids['run_job']}"

    (found,) = ann.get(f"{check}/annotations").json()

    assert (found["path"], found["start_line"], found["annotation_level"], found["message"]) == (
        "src/app.py",
        3,
        "failure",
        "Boom",
    )
    assert ann.get(check).json()["output"]["annotations_count"] == 1


def test_an_app_adds_annotations_to_its_check_run(world: Seeded) -> None:
    robot = world.client("robot")
    said = {"path": "a.py", "start_line": 2, "end_line": 3, "annotation_level": "warning", "message": "Odd"}
    output = {"title": "Lint", "summary": "1 problem", "annotations": [said]}
    made = robot.post(f"{R}/check-runs", {"name": "lint", "head_sha": world.shas["head"], "output": output}).json()
    check = f"{R}/check-runs/{made['id']}"

    changed = robot.patch(check, {"output": {**output, "annotations": [{**said, "message": "Odder"}]}}).json()

    assert (made["output"]["annotations_count"], changed["output"]["annotations_count"]) == (1, 2)
    assert [each["message"] for each in robot.get(f"{check}/annotations").json()] == ["Odd", "Odder"]
    for wrong in (
        [{**said, "start_line": None}],
        [{"path": "a.py"}],
        [{**said, "annotation_level": "bad"}],
        [said] * 51,
    ):
        assert robot.patch(check, {"output": {**output, "annotations": wrong}}).status == 422
    assert robot.patch(check, {"output": {**output, "text": "More"}}).status == 501


def test_an_artifact_is_listed_downloaded_and_deleted(world: Seeded, ann: Client) -> None:
    artifacts, run = f"{R}/actions/artifacts", f"{R}/actions/runs/{world.ids['run']}"

    (found,) = ann.get(f"{artifacts}?name=report").json()["artifacts"]

    assert ann.get(f"{run}/artifacts").json() == {"total_count": 1, "artifacts": [found]}
    assert ann.get(f"{artifacts}?name=other").json() == {"total_count": 0, "artifacts": []}
    assert (found["name"], found["expired"], found["workflow_run"]["id"]) == ("report", False, world.ids["run"])
    assert ann.get(f"{artifacts}/{found['id']}/zip").status == 302
    assert ann.delete(f"{artifacts}/{found['id']}").status == 204
    assert ann.get(f"{artifacts}/{found['id']}").status == 404


def test_an_artifact_expires_with_the_clock_of_the_world(world: Seeded, ann: Client) -> None:
    with world.world.acting(None) as act:
        artifact = act.database.get(Artifact, world.ids["artifact"])
        assert artifact is not None
        act.database.update(artifact, expires_at=act.now)

    shown = ann.get(f"{R}/actions/artifacts/{artifact.id}")
    refused = ann.get(f"{R}/actions/artifacts/{artifact.id}/zip")

    assert shown.json()["expired"]
    assert (refused.status, refused.json()["message"]) == (410, "Artifact has expired")


def test_who_only_reads_deletes_no_logs_and_no_artifact(world: Seeded) -> None:
    eve = world.client("eve")

    assert eve.get(f"{R}/actions/jobs/{world.ids['run_job']}/logs").status == 302
    for path in (f"runs/{world.ids['run']}/logs", f"artifacts/{world.ids['artifact']}"):
        assert eve.delete(f"{R}/actions/{path}").status == 403


def _state(client: Client) -> Any:
    return client.get(f"{R}/actions/workflows/ci.yml").json()["state"]


def test_logs_of_a_public_repository_are_not_for_everybody(world: Seeded) -> None:
    for path, status in (
        (f"runs/{world.ids['run']}/logs", 403),
        (f"jobs/{world.ids['run_job']}/logs", 403),
        (f"artifacts/{world.ids['artifact']}/zip", 401),
        (f"artifacts/{world.ids['artifact']}", 200),
    ):
        reply = answer(
            world.world, ANONYMOUS, method="GET", raw_path=f"{R}/actions/{path}", query="", headers={}, body=b"",
            base=GITHUB_URLS,
        )  # fmt: skip
        assert reply.status == status, path


def test_an_archived_repository_keeps_its_logs_and_artifacts(world: Seeded, ann: Client) -> None:
    assert ann.patch(R, {"archived": True}).status == 200

    for path in (f"runs/{world.ids['run']}/logs", f"artifacts/{world.ids['artifact']}"):
        assert ann.delete(f"{R}/actions/{path}").status == 403
    assert ann.get(f"{R}/actions/runs/{world.ids['run']}/logs").status == 302
