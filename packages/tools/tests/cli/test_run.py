"""`ghx run`: words in, JSON out, and an exit code."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_server import scripted_server

from ghx_twin.faults import Fault
from ghx_twin.pytest_plugin import GitHubTwin

WIDGETS = ("-R", "acme/widgets")
ISSUE = ("--owner", "acme", "--name", "widgets", "--issueNumber", "1")


def test_a_call_prints_one_line_of_json(ghx: Callable) -> None:
    done = ghx("run", "issue.view", *ISSUE)

    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    assert done.json["ok"] is True
    assert done.json["data"]["title"] == "A crash"
    assert done.json.keys() == {"ok", "data"}


def test_a_call_loads_no_event_loop(installed_ghx: Callable) -> None:
    done = installed_ghx("run", "issue.view", *ISSUE, PYTHONPROFILEIMPORTTIME="1")

    loaded = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    assert done.code == 0
    assert "pydantic" in loaded
    assert not loaded & {"asyncio", "anyio", "httpx2", "subprocess"}


@pytest.mark.parametrize(
    "words",
    [
        (*WIDGETS, "--issueNumber", "1"),
        ("--repo", "acme/widgets", "--issue-number=1"),
        ("--owner=acme", "--repo=widgets", "--issue_number", "1"),
        ("--input", '{"owner":"acme","name":"widgets","issueNumber":1}'),
        ("--input", '{"owner":"acme","repo":"widgets","issue_number":"9"}', "--issueNumber", "1"),
        ("--input", '{"repo":"acme/widgets","issueNumber":1}'),
    ],
)
def test_inputs_are_given_as_flags_or_json(ghx: Callable, words: tuple[str, ...]) -> None:
    assert ghx("run", "issue.view", *words).json["data"]["number"] == 1


def test_json_may_come_from_standard_input(ghx: Callable) -> None:
    given = json.dumps({"owner": "acme", "name": "widgets", "issueNumber": 1, "body": "A\n- b"})

    done = ghx("run", "issue.comments.create", "--input", "-", given=given)

    assert done.json["data"]["body"] == "A\n- b"


def test_lists_are_separated_by_commas_repeated_or_json(ghx: Callable) -> None:
    words = ("--labels", "bug,question", "--labels", "wontfix", "--labels", '["invalid"]')

    labels = ghx("run", "issue.labels.set", *ISSUE, *words).json["data"]["labels"]

    assert sorted(labels) == ["bug", "invalid", "question", "wontfix"]
    assert ghx("run", "issue.labels.set", *ISSUE, "--labels", "").json["data"]["labels"] == []


def test_an_object_is_given_as_json(ghx: Callable, github_twin: GitHubTwin) -> None:
    words = ("-R", "acme/pipelines", "--workflowId", "tests.yml", "--ref", "main")

    ghx("run", "workflow.dispatch", *words, "--inputs", '{"level": "debug"}')

    assert "POST /repos/{owner}/{repo}/actions/workflows/{workflow_id}/dispatches" in [
        entry.operation for entry in github_twin.world.journal
    ]
    assert "--inputs is not JSON" in ghx("run", "workflow.dispatch", *words, "--inputs", "debug").refusal


def test_a_value_may_look_like_a_flag(ghx: Callable) -> None:
    assert ghx("run", "issue.comments.create", *ISSUE, "--body", "--- a/x").json["data"]["body"] == "--- a/x"
    assert ghx("run", "issue.comments.create", *ISSUE, "--body=--verbose").json["data"]["body"] == "--verbose"
    assert "--body needs a value" in ghx("run", "issue.comments.create", *ISSUE, "--body", "--verbose").refusal


def test_a_task_that_failed_ends_with_1_and_says_why_in_json(ghx: Callable) -> None:
    done = ghx("run", "issue.view", *WIDGETS, "--issueNumber", "99")

    assert (done.code, done.err) == (1, "")
    assert done.json == {
        "ok": False,
        "error": {"code": "NOT_FOUND", "message": "Could not resolve to an Issue with the number of 99."},
    }


@pytest.mark.parametrize("words", [WIDGETS, (*WIDGETS, "--issueNumber", "one"), ("--issueNumber", "1")])
def test_an_input_that_is_missing_or_wrong_ends_with_2_and_says_why_in_json(
    ghx: Callable, words: tuple[str, ...]
) -> None:
    done = ghx("run", "issue.view", *words)

    assert (done.code, done.err) == (2, "")
    assert done.json["error"]["code"] == "VALIDATION"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a capability"),
        (("isue.view",), "did you mean 'issue.view'?"),
        (("workflow.vew",), "did you mean 'workflow.view'?"),
        (("issue.view", "--issueNumber", "1"), "missing 'owner' and 'name'; give -R owner/name"),
        (("issue.view", "--issueNumber", "1", "-R", "widgets"), "the repository is 'widgets'; write -R owner/name"),
        (("issue.view", "--input", '{"repo": "widgets"}'), "the repository is 'widgets'; write -R owner/name"),
        (("issue.view", "--name", "widgets"), "missing 'owner'; give both, or -R owner/name"),
        (("issue.view", "--owner", "acme"), "missing 'name'; give both, or -R owner/name"),
        (("pr.threads.resolve", "-R", "widgets"), "the repository is 'widgets'; write -R owner/name"),
        (("search.code", *WIDGETS, "--query", "b"), "write repo:acme/widgets into its query"),
        (("issue.view", *WIDGETS, "--issueNumber", "1.5"), "expected an integer, got the string '1.5'"),
        (("issue.view", *ISSUE, "--input", "steps.json"), "write - here, and < FILE at the end"),
        (("--verbose",), "name the capability first"),
        (("repo.view", "--owner", "..", "--name", "x"), "'..' is the name of no owner and no repository"),
        (("repo.view", "-R", "acme/."), "'.' is the name of no owner and no repository"),
        (("issue.view", "--number", "1"), "did you mean 'issueNumber'?"),
        (("issue.view", "--verbos"), "did you mean 'verbose'?"),
        (("issue.view", *ISSUE, "--verbose=1"), "--verbose takes no value"),
        (("issue.view", *ISSUE, "--verbose=false"), "--verbose takes no value"),
        (("issue.view", "--help="), "--help takes no value"),
        (("issue.view", "-h=1"), "-h takes no value"),
        (("issue.view", "1"), "unexpected '1'"),
        (("issue.view", "--issueNumber"), "--issueNumber needs a value"),
        (("issue.view", "--input", "{"), "--input is not JSON"),
        (("issue.view", "--input", "[1]"), "--input must be an object of JSON, got a list"),
        (("issue.view", "--input", "-"), "standard input is not JSON"),
        (("issue.view", "--input", '{"issueNumber": 1, "issueNumber": 2}'), "'issueNumber' is there twice"),
        (("issue.view", "--input", '{"issueNumber": ' + "[" * 100_000), "nested too deeply"),
        (("issue.labels.add", "--labels", "[bug]"), "--labels is not JSON"),
        (("issue.view", *ISSUE, "--fields", "titel"), "did you mean 'title'?"),
        (("issue.view", *ISSUE, "--fields", ","), "--fields: name some of id, number, title"),
    ],
)
def test_words_that_cannot_be_understood_are_told_in_json(ghx: Callable, words: tuple[str, ...], said: str) -> None:
    assert said in ghx("run", *words).refusal


def test_a_setting_that_cannot_be_used_is_told_in_json(ghx: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "ftp://example.com")
    monkeypatch.setenv("GHX_UNIX_SOCKET", "")

    assert "GITHUB_API_URL" in ghx("run", "issue.view", *ISSUE).refusal


def test_what_has_a_node_id_may_be_called_with_a_repository(ghx: Callable) -> None:
    threads = ghx("run", "pr.threads.list", *WIDGETS, "--prNumber", "7", "--fields", "id").json["data"]["items"]

    done = ghx("run", "pr.threads.resolve", *WIDGETS, "--threadId", threads[0]["id"])

    assert done.json["data"]["isResolved"] is True


def test_only_the_chosen_fields_are_printed(ghx: Callable) -> None:
    assert ghx("run", "issue.view", *ISSUE, "--fields", "title, number").json["data"] == {
        "title": "A crash",
        "number": 1,
    }
    listed = ghx("run", "issue.list", *WIDGETS, "--fields", "number").json["data"]
    assert listed["items"] == [{"number": 3}, {"number": 1}]
    assert listed["pageInfo"]["hasNextPage"] is False


def test_fields_of_a_file_and_of_a_folder_can_be_chosen(ghx: Callable) -> None:
    words = ("run", "repo.contents.get", *WIDGETS, "--fields", "content,size", "--path")

    assert ghx(*words, "README.md").json["data"] == {"content": "# Widgets\n", "size": 10}
    assert ghx(*words, "src").json["data"]["items"] == [{"size": 22}]


def test_everything_is_printed_on_request(ghx: Callable) -> None:
    done = ghx("run", "issue.view", *WIDGETS, "--issueNumber", "99", "--verbose")

    assert done.out.startswith("{\n  ")
    assert done.json["error"]["retryable"] is False
    assert done.json["meta"]["route_used"] == "graphql"


def test_text_that_is_not_ascii_is_printed_as_it_is(ghx: Callable) -> None:
    assert '"body":"Grüße 🎉"' in ghx("run", "issue.comments.create", *ISSUE, "--body", "Grüße 🎉").out


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/acme/widgets.git",
        "https://github.com/acme/widgets",
        "git@github.com:acme/widgets.git",
        "ssh://git@github.com/acme/widgets/",
    ],
)
def test_the_repository_is_that_of_the_folder(ghx: Callable, here: Path, address: str) -> None:
    subprocess.run(["git", "init", "--quiet", here], check=True)
    subprocess.run(["git", "-C", here, "remote", "add", "origin", address], check=True)
    subprocess.run(["git", "-C", here, "config", "url.https://other.example.com/x/y.insteadOf", address], check=True)

    assert ghx("run", "issue.view", "--issueNumber", "1").json["data"]["title"] == "A crash"
    assert ghx("run", "repo.view", "-R", "octo/notes").json["data"]["nameWithOwner"] == "octo/notes"


def test_the_repository_may_come_from_the_environment(ghx: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/widgets")
    assert ghx("run", "repo.view", "--fields", "name").json["data"] == {"name": "widgets"}

    monkeypatch.setenv("GH_REPO", "github.com/octo/notes")
    assert ghx("run", "repo.view", "--fields", "name").json["data"] == {"name": "notes"}


def test_a_repository_that_is_half_named_is_not_guessed(ghx: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "acme/widgets")

    assert "'owner'" in ghx("run", "repo.view", "--name", "widgets").json["error"]["message"]


@pytest.mark.parametrize(
    "words",
    [
        (*WIDGETS, "--name", "gadgets"),
        (*WIDGETS, "--owner", "octo"),
        ("--input", '{"repo": "acme/widgets", "name": "gadgets"}'),
        ("--owner", "acme/widgets", "--name", "widgets"),
        ("-R", "github.com/acme/widgets/1"),
        ("-R", "acme"),
    ],
)
def test_a_repository_that_is_named_in_two_ways_or_in_a_wrong_one_is_asked_for_nothing(
    ghx: Callable, github_twin: GitHubTwin, words: tuple[str, ...]
) -> None:
    done = ghx("run", "repo.view", *words)

    assert (done.code, done.json["error"]["code"]) == (2, "VALIDATION")
    assert not github_twin.world.journal


def test_the_same_repository_may_be_named_twice(ghx: Callable) -> None:
    assert ghx("run", "repo.view", *WIDGETS, "--owner", "acme", "--name", "widgets").json["ok"]


def test_help_lists_the_inputs_of_the_task(ghx: Callable) -> None:
    done = ghx("run", "issue.list", "--help")

    assert done.code == 0
    assert "Usage: ghx run issue.list" in done.out
    assert "open | closed | all, optional. open if left out." in done.out
    assert "--fields A,B" in ghx("run", "--help").out


def test_the_installed_command_calls_a_task(installed_ghx: Callable) -> None:
    done = installed_ghx("run", "issue.view", *ISSUE)

    assert (done.code, done.err) == (0, "")
    assert done.json["data"]["title"] == "A crash"


def test_the_installed_command_speaks_through_the_socket_of_gh(installed_ghx: Callable) -> None:
    done = installed_ghx("run", "issue.view", *ISSUE, GITHUB_API_URL="", GITHUB_TOKEN="", GH_TOKEN="")

    assert done.json["data"]["url"] == "https://github.com/acme/widgets/issues/1"


def test_the_installed_command_reads_standard_input(installed_ghx: Callable) -> None:
    given = '{"owner":"acme","name":"widgets","labels":["question"],"issueNumber":1}'

    assert installed_ghx("run", "issue.labels.add", "--input", "-", given=given).json["data"]["labels"] == [
        "bug",
        "question",
    ]


def test_a_server_that_is_not_there_is_a_failed_task(installed_ghx: Callable, nowhere: str) -> None:
    there = {"GITHUB_API_URL": nowhere, "GITHUB_GRAPHQL_URL": nowhere, "GHX_UNIX_SOCKET": ""}
    done = installed_ghx("run", "issue.close", *ISSUE, **there)

    assert (done.code, done.json["error"]["code"]) == (1, "NETWORK")


def test_a_token_that_is_refused_is_not_shown(installed_ghx: Callable) -> None:
    done = installed_ghx("run", "issue.view", *ISSUE, "--verbose", GH_TOKEN="ghp_wrong0123456789")

    assert (done.code, done.json["error"]["code"]) == (1, "AUTH")
    assert "ghp_wrong" not in done.out + done.err


def test_a_failing_server_is_survived(installed_ghx: Callable, github_twin: GitHubTwin) -> None:
    github_twin.world.faults.add(Fault(status=503, times=1))

    assert installed_ghx("run", "repo.view", *WIDGETS).json["ok"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "call",
    [
        '"$GHX" run issue.view --help',
        'PYTHONUNBUFFERED=1 "$GHX" skill',
        'PYTHONUNBUFFERED=1 "$GHX" chain --help',
        'PYTHONUNBUFFERED=1 "$GHX" --help',
    ],
)
def test_an_answer_that_cannot_be_written_is_said(in_shell: Callable, call: str) -> None:
    done = in_shell(f"{call} > /dev/full")

    assert (done.code, done.err) == (1, "error: cannot write what came of it: No space left on device\n")


def test_standard_streams_may_be_closed(in_shell: Callable) -> None:
    assert "standard input is not JSON" in in_shell('"$GHX" run issue.view --input - <&-').refusal
    assert in_shell('"$GHX" run issue.view --help >&-').err == ""


def test_a_reader_that_is_gone_is_no_traceback(in_shell: Callable) -> None:
    assert in_shell('"$GHX" skill | true').err == ""


DEEP = "[" * 100_000 + "]" * 100_000


def _http(status: int, *headers: str, body: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers, "", body]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (_http(200, body=DEEP), "SERVER"),
        (_http(200, body=f'{{"data": {DEEP}}}'), "SERVER"),
        (_http(422, body=DEEP), "VALIDATION"),
        (_http(403, f"Retry-After: {'9' * 5_000}"), "RATE_LIMIT"),
        (_http(403, f"Retry-After: {'9' * 400}"), "RATE_LIMIT"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "NETWORK"),
    ],
    ids=["deep", "deep data", "deep refusal", "endless wait", "long wait", "another protocol"],
)
def test_whatever_a_hostile_github_answers_the_call_prints_json(
    ghx: Callable, monkeypatch: pytest.MonkeyPatch, answer: bytes, code: str
) -> None:
    attempts = 3 if code == "NETWORK" else 1
    with scripted_server([answer] * attempts) as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_GRAPHQL_URL", f"{server.url}/graphql")
        monkeypatch.delenv("GHX_UNIX_SOCKET", raising=False)  # the twin's own way
        done = ghx("run", "issue.view", *ISSUE)

    assert (done.code, done.err) == (1, "")
    assert done.json["error"]["code"] == code
