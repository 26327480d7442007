"""`ghx` beside `run`: what there is to call, the skill, the doctor."""

import json
from collections.abc import Callable

import pytest

from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.cli.main import COMMANDS
from ghx_twin.pytest_plugin import GitHubTwin


def test_every_command_is_in_the_help_and_has_its_own(ghx: Callable) -> None:
    whole = ghx("--help")

    assert whole.code == 0
    for name in COMMANDS:
        assert f"  {name} " in whole.out
        assert f"Usage: ghx {name}" in ghx(name, "--help").out


def test_nothing_asked_is_help(ghx: Callable) -> None:
    assert ghx().out == ghx("--help").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("capabilites",), "did you mean 'capabilities'?"),
        (("issue", "close", "1"), "did you mean `ghx run issue.close`?"),
        (("pr", "threads", "reply", "x"), "did you mean `ghx run pr.threads.reply`?"),
        (("issue", "frob"), "`ghx capabilities list issue` lists"),
        (("nonsense",), "see `ghx --help`"),
        (("capabilities", "lst"), "there are list, explain, search"),
        (("capabilities", "list", "isue"), "did you mean 'issue'?"),
        (("capabilities", "list", "--jsn"), "--jsn"),
        (("capabilities", "explain"), "task"),
        (("capabilities", "explain", "issue.vew"), "did you mean 'issue.view'?"),
        (("capabilities", "search"), "word"),
        (("capabilities", "search", " "), "name a word"),
        (("capabilities", "list", "--json=1"), "--json takes no value"),
        (("capabilities", "explain", "issue.view", "--json=true"), "--json takes no value"),
        (("capabilities", "search", "issue", "--json="), "--json takes no value"),
        (("doctor", "now"), "now"),
        (("doctor", "--json=0"), "--json takes no value"),
        (("skill", "--help=1"), "--help takes no value"),
        (("mcp", "--read-only=no"), "--read-only takes no value"),
        (("mcp", "--toolsets", ""), "name some of issue, pr, project_v2, release, repo, search, workflow"),
        (("mcp", "--toolsets= , "), "name some of issue, pr, project_v2, release, repo, search, workflow"),
    ],
)
def test_bad_usage_is_one_line(ghx: Callable, words: tuple[str, ...], said: str) -> None:
    assert said in ghx(*words).complaint


def test_every_capability_is_listed(ghx: Callable) -> None:
    lines = ghx("capabilities", "list").out.splitlines()
    written = ghx("capabilities", "list", "--json").json

    assert [line.split()[0] for line in lines] == list(ENTRIES)
    assert [each["id"] for each in written] == list(ENTRIES)
    assert "issue.delete owner name issueNumber: Delete an issue" in ghx("capabilities", "list", "issue").out
    assert {each["id"].split(".")[0] for each in ghx("capabilities", "list", "repo", "--json").json} == {"repo"}


def test_a_capability_is_explained(ghx: Callable) -> None:
    words = ghx("capabilities", "explain", "issue.labels.add").out
    written = ghx("capabilities", "explain", "issue.labels.add", "--json").json

    assert "labels       list of string" in words
    assert "Example: ghx run issue.labels.add --input '{" in words
    assert written["inputSchema"]["required"] == ["owner", "name", "issueNumber", "labels"]
    assert written["outputSchema"]["properties"].keys() == {"id", "labels"}
    assert written["effect"] == "mutates"


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("close", "issue"), "issue.close"),
        (("add labels",), "issue.labels.add"),
        (("branches",), "repo.branches.list"),
        (("milestoneNumber",), "issue.milestone.set"),
        (("remove", "label", "pull", "request"), "issue.labels.remove"),
    ],
)
def test_a_search_finds_what_was_meant_first(ghx: Callable, words: tuple[str, ...], first: str) -> None:
    assert ghx("capabilities", "search", *words).out.split()[0] == first


def test_a_search_for_nothing_known_finds_nothing_and_says_so(ghx: Callable) -> None:
    assert ghx("capabilities", "search", "zebra", "--json").json == []
    assert ghx("capabilities", "search", "zebra").out.startswith("Nothing has any of these words")


def test_a_search_for_more_than_there_is_shows_the_nearest(ghx: Callable) -> None:
    done = ghx("capabilities", "search", "close", "issue", "gently")

    assert done.code == 0
    told, nearest, *others = done.out.splitlines()
    assert told == "Nothing has all of these words. The nearest:"
    assert nearest.startswith("issue.close ")
    assert len(others) < 8
    assert ghx("capabilities", "search", "close", "issue", "gently", "--json").json == []


def test_the_skill_names_every_capability_and_how_to_call_it(ghx: Callable) -> None:
    text = ghx("skill").out

    assert text.startswith("---\nname: ghx\ndescription: ")
    assert "ghx run TASK" in text
    for id_, entry in ENTRIES.items():
        assert f"- `{id_}` {entry.inputs}" in text


def test_the_doctor_says_who_asks_whom(ghx: Callable, github_twin: GitHubTwin) -> None:
    done = ghx("doctor")

    assert done.code == 0
    assert "https://api.github.com" in done.out
    assert "as octo" in done.out
    assert "GH_TOKEN" in done.out
    assert all(finding["ok"] for finding in ghx("doctor", "--json").json)


def test_the_doctor_says_what_is_missing_and_what_to_do(
    ghx: Callable, nowhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GH_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_API_URL", nowhere)
    monkeypatch.setenv("GHX_UNIX_SOCKET", "")

    done = ghx("doctor", "--json")

    findings = {finding["what"]: finding for finding in json.loads(done.out)}
    assert done.code == 1
    assert "GITHUB_TOKEN" in findings["token"]["remedy"]
    assert "NETWORK" in findings["answer"]["found"]


def test_the_doctor_sees_a_token_that_is_refused(ghx: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "ghp_wrong0123456789")

    done = ghx("doctor")

    assert done.code == 1
    assert "AUTH" in done.out
    assert "ghp_wrong" not in done.out


def test_the_installed_command_lists_and_explains(installed_ghx: Callable) -> None:
    assert installed_ghx("capabilities", "list").out.count("\n") == len(ENTRIES)
    assert installed_ghx("capabilities", "explain", "repo.view").code == 0
    assert installed_ghx("doctor").code == 0
    assert installed_ghx("no-such-command").code == 2


def test_every_capability_can_be_explained(ghx: Callable) -> None:
    failed = [id_ for id_ in ENTRIES if ghx("capabilities", "explain", id_).code]

    assert failed == []


def test_what_is_inside_of_an_output_is_explained_too(ghx: Callable) -> None:
    said = ghx("capabilities", "explain", "pr.threads.list").out

    assert "resolvedByLogin, comments: list of {id, authorLogin, body, createdAt, url}}" in said
