"""Real `gh`, and libraries, on logs, artifacts and scripted runs: read, watched, run again, started, deleted."""

from collections.abc import Generator
from pathlib import Path

import pytest
from gh_client import GhClient, bundled_gh
from github import Auth, Github
from githubkit import GitHub

from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.seed.worlds import open_world
from ghx_twin.world import World

RUN, EXPIRED = "101", "102"
STRANGE = "e2e / fast: 3.11"
HERE = ("-R", "octo/pipelines")


@pytest.fixture(scope="module")
def pipelines() -> Generator[World]:
    with open_world(Path(__file__).with_name("pipelines.yaml")) as world:
        yield world


@pytest.fixture
def github_world(pipelines: World) -> Generator[World]:
    with pipelines.fork() as world:
        yield world


@pytest.fixture
def gh(program: Path, github_twin: GitHubTwin, tmp_path: Path) -> GhClient:
    return GhClient(program=program, twin=github_twin, directory=tmp_path, environment=github_twin.environment)


def job_id(gh: GhClient, name: str = "unit", run: str = RUN) -> str:
    jobs = gh.json("run", "view", run, "--json", "jobs", *HERE)["jobs"]
    return next(str(job["databaseId"]) for job in jobs if job["name"] == name)


def attempt(gh: GhClient) -> int:
    return gh.json("api", f"repos/octo/pipelines/actions/runs/{RUN}")["run_attempt"]


def newest(gh: GhClient) -> str:
    return str(gh.json("run", "list", "-L", "1", "--json", "databaseId", *HERE)[0]["databaseId"])


def test_logs_are_found_in_the_zip_by_job_and_step(gh: GhClient) -> None:
    whole = gh.do("run", "view", RUN, "--log", *HERE).out
    failed = gh.do("run", "view", RUN, "--log-failed", *HERE).out.splitlines()
    of_job = gh.do("run", "view", "--job", job_id(gh), "--log", *HERE).out.splitlines()

    columns = [line.split("\t") for line in whole.splitlines()]
    steps = list(dict.fromkeys((job, step) for job, step, _ in columns))
    # An older gh does not find the files of jobs whose names GitHub has to clean.
    cleaned = [(STRANGE, "Set up job")] if gh.program == bundled_gh() else []
    assert steps == [
        ("lint", "Set up job"),
        ("lint", "Run ruff"),
        ("lint", "Complete job"),
        *cleaned,
        ("unit", "Set up job"),
        ("unit", "Run actions/checkout@v4"),
        ("unit", "Run pytest"),
        ("unit", "Complete job"),
    ]
    assert {line.split("\t")[1] for line in failed} == {"Run pytest"}
    assert failed[-1].endswith("Z ##[error]Process completed with exit code 1.")
    assert {line.split("\t")[0] for line in of_job} == {"unit"}


def test_a_run_is_viewed_with_steps_annotations_and_artifacts(gh: GhClient) -> None:
    viewed = gh.run("run", "view", RUN, "--exit-status", *HERE)
    job = gh.do("run", "view", "--job", job_id(gh), *HERE).out

    assert viewed.code == 1
    assert "X unit" in viewed.out
    assert "Too slow" in viewed.out
    assert "coverage" in viewed.out
    assert "X Run pytest" in job
    assert "✓ Run actions/checkout@v4" in job


def test_expired_logs_are_told_as_such(gh: GhClient) -> None:
    refused = gh.run("run", "view", EXPIRED, "--log", *HERE)

    assert refused.code == 1
    assert "410" in refused.err


def test_artifacts_are_downloaded(gh: GhClient, tmp_path: Path) -> None:
    gh.do("run", "download", RUN, "-D", "all", *HERE)
    gh.do("run", "download", RUN, "-n", "coverage", "-D", "one", *HERE)

    assert (tmp_path / "all" / "coverage" / "html" / "index.html").read_text() == "<p>97 %</p>\n"
    assert (tmp_path / "one" / "report.txt").read_text() == "97 %\n"
    assert not (tmp_path / "all" / "old").exists()


def test_failed_jobs_run_again_until_they_end(gh: GhClient) -> None:
    gh.do("run", "rerun", RUN, "--failed", *HERE)

    watched = gh.run("run", "watch", RUN, "--interval", "1", "--exit-status", *HERE)

    assert watched.code == 1
    assert "X unit" in watched.out
    run = gh.json("run", "view", RUN, "--json", "conclusion,jobs", *HERE)
    assert (attempt(gh), run["conclusion"]) == (2, "failure")
    assert [(job["name"], job["conclusion"]) for job in run["jobs"]] == [
        ("lint", "success"),
        (STRANGE, "success"),
        ("unit", "failure"),
    ]
    assert "E   assert 10 == 33" in gh.do("run", "view", RUN, "--log-failed", *HERE).out
    gh.do("run", "rerun", "--job", job_id(gh), *HERE)
    assert attempt(gh) == 3


def test_a_workflow_is_started_cancelled_and_deleted(gh: GhClient) -> None:
    gh.do("workflow", "run", "ci.yml", "--ref", "main", "-f", "level=high", *HERE)
    started = newest(gh)
    gh.do("run", "cancel", started, *HERE)

    run = gh.json("run", "view", started, "--json", "event,status,conclusion,workflowName", *HERE)
    assert run == {
        "event": "workflow_dispatch", "status": "completed", "conclusion": "cancelled", "workflowName": "CI",
    }  # fmt: skip
    if gh.program == bundled_gh():  # older ones have no such command
        gh.do("run", "delete", started, *HERE)
        assert gh.run("run", "view", started, *HERE).code == 1


def test_workflows_are_listed_viewed_disabled_and_enabled(gh: GhClient) -> None:
    assert gh.do("workflow", "list", *HERE).out.split("\t")[:2] == ["CI", "active"]
    viewed = gh.do("workflow", "view", "ci.yml", *HERE).out
    assert "CI - ci.yml" in viewed
    assert EXPIRED in viewed
    assert gh.do("workflow", "view", "CI", "--yaml", *HERE).out.startswith("name: CI\n")

    gh.do("workflow", "disable", "ci.yml", *HERE)
    assert gh.do("workflow", "list", *HERE).out == ""
    assert gh.run("workflow", "run", "ci.yml", *HERE).code == 1
    gh.do("workflow", "enable", "ci.yml", *HERE)
    assert "active" in gh.do("workflow", "list", *HERE).out


def test_libraries_find_jobs_logs_and_artifacts(github_twin: GitHubTwin) -> None:
    place = {"owner": "octo", "repo": "pipelines"}
    with Github(base_url=github_twin.url, auth=Auth.Token(github_twin.token)) as client:
        run = client.get_repo("octo/pipelines").get_workflow_run(int(RUN))
        jobs = {job.name: job for job in run.jobs()}
        address = jobs["unit"].logs_url()
        names = [artifact.name for artifact in run.get_artifacts()]
    with GitHub(github_twin.token, base_url=f"{github_twin.url}/", follow_redirects=True) as kit:
        log = kit.rest.actions.download_job_logs_for_workflow_run(**place, job_id=jobs["unit"].id).text
        usage = kit.rest.actions.get_workflow_run_usage(**place, run_id=int(RUN)).parsed_data

    assert [step.name for step in jobs["unit"].steps][-1] == "Complete job"
    assert address.startswith(f"{github_twin.url}/downloads/actions/jobs/")
    assert sorted(names) == ["coverage", "old"]
    assert "E   assert 10 == 33" in log
    assert usage.run_duration_ms is not None
