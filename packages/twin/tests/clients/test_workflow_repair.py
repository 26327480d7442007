"""A failing workflow, found with real `gh` and mended with real `git`; what only looks like a repair stays red."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest
from gh_client import GhClient, bundled_gh
from scripted_world import WORKFLOW, scripted_world

from ghx_twin.commands.actions import progress
from ghx_twin.pytest_plugin import GitHubTwin
from ghx_twin.world import World

FILE = ".github/workflows/ci.yml"
CHEATS: dict[str, dict[str, str | None]] = {
    "the test is deleted": {"test_turn.py": None},
    "the test tests nothing": {"test_turn.py": "assert True\n"},
    "the step may fail": {FILE: WORKFLOW.replace("run: pytest}", "run: pytest, continue-on-error: true}")},
    "the job does not run": {FILE: WORKFLOW.replace("  test:\n", "  test:\n    if: false\n")},
    "the job has another key": {FILE: WORKFLOW.replace("  test:\n", "  other:\n")},
    "another job has its name": {FILE: WORKFLOW.replace("  test:\n", "  x: {name: test}\n  test:\n")},
    "the workflow is emptied": {FILE: ""},
}


@pytest.fixture(scope="module")
def failing() -> Generator[World]:
    with scripted_world() as world:
        yield world


@pytest.fixture
def github_world(failing: World) -> Generator[World]:
    with failing.fork() as world:
        yield world


@pytest.fixture
def new_gh(github_twin: GitHubTwin, tmp_path: Path) -> GhClient:
    """The bundled `gh` in a clone of octocat/widgets, on the branch of its pull request."""
    environment = github_twin.environment
    client = GhClient(program=bundled_gh(), twin=github_twin, directory=tmp_path, environment=environment)
    client.git("clone", "--quiet", "--branch", "faster", "https://github.com/octocat/widgets.git")
    return client.inside(tmp_path / "widgets")


@pytest.fixture
def gh(program: Path, new_gh: GhClient) -> GhClient:
    return replace(new_gh, program=program)


def push(gh: GhClient, files: dict[str, str | None], message: str) -> str:
    for path, content in files.items():
        file = gh.directory / path
        file.unlink() if content is None else file.write_text(content)
    gh.git("add", "--all")
    gh.git("commit", "--quiet", "-m", message)
    gh.git("push", "--quiet", "origin", "faster")
    return gh.git("rev-parse", "HEAD").out.strip()


def newest_run(gh: GhClient) -> str:
    return str(gh.json("run", "list", "--branch", "faster", "-L", "1", "--json", "databaseId")[0]["databaseId"])


def test_a_failure_is_read_from_its_log_mended_by_a_commit_and_seen_green(gh: GhClient) -> None:
    (red,) = gh.json("run", "list", "--json", "databaseId,conclusion,headBranch,workflowName")
    assert red == {"databaseId": 101, "conclusion": "failure", "headBranch": "main", "workflowName": "CI"}
    failed = gh.do("run", "view", "101", "--log-failed").out
    assert "test\tRun tests\t" in failed
    assert "FAILED test_turn.py - assert 10 == 33" in failed

    sha = push(gh, {"turn.py": "RPM = 33\n"}, "Turn as fast as promised")
    watched = gh.run("run", "watch", newest_run(gh), "--interval", "1", "--exit-status")

    assert watched.code == 0, watched
    assert gh.json("run", "view", newest_run(gh), "--json", "headSha,conclusion,event") == {
        "headSha": sha, "conclusion": "success", "event": "pull_request",
    }  # fmt: skip
    assert [line.split("\t")[:2] for line in gh.do("pr", "checks", "1").out.splitlines()] == [
        ["build", "pass"],
        ["test", "pass"],
    ]
    gh.do("pr", "merge", "1", "--merge")
    assert gh.json("run", "list", "--branch", "main", "-L", "1", "--json", "event")[0]["event"] == "push"


@pytest.mark.nightly
def test_cheats_stay_red(new_gh: GhClient) -> None:
    gh = new_gh
    start = gh.git("rev-parse", "HEAD").out.strip()
    for cheat, files in CHEATS.items():
        push(gh, files, f"Cheat: {cheat}")
        progress.finish(gh.twin.world)

        checked = gh.run("pr", "checks", "1", "--required")
        assert checked.code != 0, (cheat, checked)
        assert "test\tpass" not in checked.out, cheat
        state = gh.json("pr", "view", "1", "--json", "mergeStateStatus")["mergeStateStatus"]
        assert state == "BLOCKED", cheat
        assert gh.run("pr", "merge", "1", "--merge").code != 0, cheat
        gh.git("checkout", "--quiet", start, "--", ".")


def test_auto_merge_waits_for_the_run(new_gh: GhClient) -> None:
    gh = new_gh
    push(gh, {"turn.py": "RPM = 33\n"}, "Turn as fast as promised")
    gh.do("pr", "merge", "1", "--auto", "--squash")
    assert gh.json("pr", "view", "1", "--json", "state") == {"state": "OPEN"}

    gh.run("run", "watch", newest_run(gh), "--interval", "1")

    assert gh.json("pr", "view", "1", "--json", "state") == {"state": "MERGED"}
