"""`ghx chain`: steps in, JSON out, and an exit code."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ghx_twin.pytest_plugin import GitHubTwin

VIEW = {"task": "issue.view", "input": {"owner": "acme", "name": "widgets", "issueNumber": 1}}
MISSING = {"task": "issue.view", "input": {"owner": "acme", "name": "widgets", "issueNumber": 99}}


@pytest.mark.parametrize("flag", [(), ("--steps",)])
def test_a_chain_prints_one_line_of_json(ghx: Callable, flag: tuple[str, ...]) -> None:
    done = ghx("chain", *flag, json.dumps([VIEW, VIEW]))

    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    assert done.json.keys() == {"status", "results"}
    assert [each["data"]["title"] for each in done.json["results"]] == ["A crash", "A crash"]


def test_steps_may_come_from_standard_input(ghx: Callable) -> None:
    assert ghx("chain", "-", given=json.dumps([VIEW])).json["status"] == "success"


@pytest.mark.parametrize(("steps", "status"), [([VIEW, MISSING], "partial"), ([MISSING], "failed")])
def test_a_failed_step_is_an_exit_code(ghx: Callable, steps: list, status: str) -> None:
    done = ghx("chain", json.dumps(steps))

    assert (done.code, done.json["status"]) == (1, status)
    assert done.json["results"][-1]["error"].keys() == {"code", "message"}


def test_everything_is_told_on_request(ghx: Callable) -> None:
    done = ghx("chain", json.dumps([VIEW, VIEW]), "--verbose")

    assert done.json["meta"]["requests"] == 1
    assert done.json["results"][0]["meta"]["capability_id"] == "issue.view"


def test_the_repository_need_not_be_named(ghx: Callable, here: Path) -> None:
    steps = json.dumps(
        [{"task": "issue.view", "input": {"issueNumber": 1}}, {"task": "search.code", "input": {"query": "b"}}]
    )

    assert ghx("chain", steps, "-R", "acme/widgets").json["results"][0]["data"]["number"] == 1
    subprocess.run(["git", "init", "-q", here], check=True)
    subprocess.run(["git", "-C", here, "remote", "add", "origin", "https://github.com/acme/widgets.git"], check=True)
    assert ghx("chain", steps).json["results"][0]["data"]["number"] == 1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((), "give the steps once"),
        (("[]", "--steps", "[]"), "give the steps once"),
        (("nonsense",), "not JSON"),
        (("--steps", "steps.json"), "write - here, and < FILE at the end"),
        (("[{",), "not JSON"),
        (("--steps", ""), "STEPS is not JSON"),
        (('[{"task": "repo.view", "task": "issue.view"}]',), "'task' is there twice"),
        ((json.dumps([VIEW]), "--verbose=1"), "--verbose takes no value"),
        (("{}",), "a list"),
        (("[]",), "between 1 and"),
        (('[{"task": "issue.view", "inputs": {}}]',), "'input'"),
        ((json.dumps([VIEW]), "--repo", "widgets"), "owner/name"),
        (("[]", "--verbos"), "--help"),
    ],
)
def test_steps_that_cannot_be_read_are_told_in_json(ghx: Callable, words: tuple[str, ...], hint: str) -> None:
    done = ghx("chain", *words)

    assert hint in done.refusal
    assert (done.json["status"], done.json["results"]) == ("failed", [])


def test_a_file_is_only_suggested_where_there_may_be_one(ghx: Callable) -> None:
    assert "FILE" not in ghx("chain", "[{").refusal
    assert "FILE" not in ghx("chain", "-", given="nonsense").refusal


def test_three_steps_take_one_request_where_three_runs_take_three(
    installed_ghx: Callable, github_twin: GitHubTwin
) -> None:
    def asked() -> list[tuple[str, str | None, int]]:
        # Of this user: whatever comes to the server without a token is answered by the same world.
        journal = github_twin.world.journal
        return [(each.operation, each.user_agent, each.status) for each in journal if each.actor == github_twin.user]

    assert installed_ghx("chain", json.dumps([VIEW, VIEW, VIEW])).code == 0
    together = asked()
    for _ in range(3):
        assert installed_ghx("run", "issue.view", "-R", "acme/widgets", "--issueNumber", "1").code == 0

    assert len(together) == 1, together
    assert len(asked()) == 1 + 3, asked()
