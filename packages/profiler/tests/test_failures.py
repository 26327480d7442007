"""Tool calls that failed without saying so are found by their output."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from ghx_profiler.failures import outcome_of_call
from ghx_profiler.records.trace import ToolCallEvent

GREETING = "Traceback (most recent call last):"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A call of which a reader would say that it failed, and why."""

    what: str
    output: Any
    kind: str
    run: str | None = None
    tool: str = "bash"

    def call(self, success: bool | None = True) -> ToolCallEvent:
        given = {"command": self.run} if self.run is not None else {"number": 7}
        return ToolCallEvent(name=self.tool, input=given, output=self.output, success=success)


def body(**fields: Any) -> str:
    return json.dumps(fields)


ZSH = [
    Failure(what=f"zsh: {what}", run=run, output=output, kind=kind)
    for what, run, output, kind in (
        (
            "a pattern without files",
            "gh api repos/o/n/issues?state=all",
            "zsh:1: no matches found: repos/o/n/issues?state=all\n",
            "not_found",
        ),
        ("a pattern in what is evaluated", "ls *.py", "(eval):1: no matches found: *.py\n", "not_found"),
        ("a missing program", "rgx foo src", "zsh:1: command not found: rgx\n", "not_found"),
        ("a missing program, as a login shell says it", "rgx foo src", "zsh: command not found: rgx\n", "not_found"),
        ("a script that it cannot read", "for x in 1 2; do echo )", "zsh:1: parse error near `)'\n", "parse_error"),
        ("a quote that does not end", "echo 'one", "zsh:1: unmatched '\n", "unknown"),
        ("a file that may not be run", "./tool", "zsh:1: permission denied: ./tool\n", "auth"),
        (
            "behind what the first command printed",
            "git status --short; rgx foo",
            " M a.py\nzsh:1: command not found: rgx\n",
            "not_found",
        ),
    )
]
"""What users of macOS see, where zsh is the shell."""

SHELL = [
    *ZSH,
    Failure(
        what="an error body and the program's own line behind it",
        run="gh api repos/octo/tools/pulls/9/commits -f x=y",
        output='{\r\n  "message": "Not Found",\r\n  "status": "404"\r\n}gh: Not Found (HTTP 404)\n',
        kind="not_found",
    ),
    Failure(
        what="an error body that a filter printed anew",
        run="gh api repos/octo/tools/labels | jq .",
        output=json.dumps({"message": "Bad credentials", "status": "401"}, indent=2) + "\n",
        kind="auth",
    ),
    Failure(
        what="an error body fetched by a program that does not mind",
        run="curl -s https://api.example.com/items/3",
        output=body(message="Validation Failed", errors=[{"field": "title", "code": "missing"}], status="422"),
        kind="validation",
    ),
    Failure(
        what="an error body without a status",
        run="curl -s https://api.example.com/items/3",
        output=body(message="Not Found", documentation_url="https://docs.example.com"),
        kind="not_found",
    ),
    Failure(
        what="GraphQL errors beside partial data",
        run="gh api graphql -f query='{ a b }'",
        output=body(
            data={"a": None}, errors=[{"type": "NOT_FOUND", "path": ["a"], "message": "Could not resolve to a B"}]
        )
        + "gh: Could not resolve to a B\n",
        kind="not_found",
    ),
    Failure(
        what="a refusal for asking too often",
        run="gh api search/issues",
        output=body(message="API rate limit exceeded for user ID 5.", status="403")
        + "gh: API rate limit exceeded (HTTP 403)\n",
        kind="rate_limit",
    ),
    Failure(
        what="a message of the service alone",
        run="gh pr view 4711 --json title",
        output="GraphQL: Could not resolve to a PullRequest with the number of 4711. (repository.pullRequest)\n",
        kind="not_found",
    ),
    Failure(
        what="a message of the service where a part was to be picked out",
        run="gh issue view 12 --json title --jq .title",
        output="HTTP 401: Requires authentication (https://api.example.com/graphql)\n",
        kind="auth",
    ),
    Failure(
        what="a failed creation",
        run="git push -u origin fix && gh pr create --fill --base main",
        output="To example.com:octo/tools.git\n * [new branch] fix -> fix\npull request create failed: "
        "GraphQL: No commits "
        "between main and fix (createPullRequest)\nerror: aborted\n",
        kind="unknown",
    ),
    Failure(
        what="an unknown option with the usage behind it",
        run="gh pr view 3 --jason title",
        output="unknown flag: --jason\n\nUsage:  gh pr view [<number> | <url>] [flags]\n\nFlags:\n  -c, "
        "--comments\n  -w, --web\n",
        kind="validation",
    ),
    Failure(
        what="a rejected push that ends in hints",
        run="git push origin main",
        output="To example.com:octo/tools.git\n ! [rejected]        main -> main (fetch first)\nerror: failed "
        "to push some refs "
        "to 'example.com:octo/tools.git'\nhint: Updates were rejected because the remote contains work\nhint: "
        "that you do not have.\n",
        kind="unknown",
    ),
    Failure(
        what="git outside of a repository",
        run="cd .. && git log --oneline -3",
        output="fatal: not a git repository (or any of the parent directories): .git\n",
        kind="not_found",
    ),
    Failure(
        what="a missing file", run="cat notes.md", output="cat: notes.md: No such file or directory\n", kind="not_found"
    ),
    Failure(
        what="a missing file among others",
        run="cat a.md b.md",
        output="# A\n\nText of a.\ncat: b.md: No such file or directory\n",
        kind="not_found",
    ),
    Failure(
        what="a missing program", run="rgx foo src", output="bash: line 1: rgx: command not found\n", kind="not_found"
    ),
    Failure(what="a missing program, says sh", run="foo", output="/bin/sh: 1: foo: not found\n", kind="not_found"),
    Failure(
        what="broken shell text",
        run="for x in; do (echo",
        output="bash: -c: line 2: syntax error: unexpected end of file\n",
        kind="parse_error",
    ),
    Failure(
        what="a filter that cannot read what it gets",
        run="gh api user --template '{{.x}}' | jq .login",
        output="jq: parse error: Invalid numeric literal at line 1, column 6\n",
        kind="parse_error",
    ),
    Failure(
        what="a traceback",
        run="python3 tools/sync.py",
        output=f'syncing 3 items\n{GREETING}\n  File "tools/sync.py", line 3, in <module>\n    '
        f"main()\nKeyError: 'login'\n",
        kind="unknown",
    ),
    Failure(
        what="a traceback at the end of what was let through",
        run="python3 tools/sync.py 2>&1 | tail -5",
        output=f'{GREETING}\n  File "x.py", line 1, in <module>\njson.decoder.JSONDecodeError: Expecting '
        f"value: line 1\n",
        kind="parse_error",
    ),
    Failure(
        what="an exception of node",
        run="node index.js",
        output="/srv/index.js:1\nfoo()\n^\n\nReferenceError: foo is not defined\n    at Object.<anonymous> "
        "(/srv/index.js:1:1)\n\nNode.js v20.11.0\n",
        kind="unknown",
    ),
    Failure(
        what="a build that stops",
        run="cd app && make all",
        output="cc -c a.c\na.c:3:1: error: expected ';'\nmake: *** [Makefile:4: a.o] Error 1\n",
        kind="unknown",
    ),
    Failure(
        what="tests that fail",
        run="pytest -q",
        output="..F\n=== FAILURES ===\nassert 1 == 2\nFAILED tests/test_a.py::test_b\n1 failed, 2 passed in 0.12s\n",
        kind="unknown",
    ),
    Failure(
        what="one of several requests",
        run="for n in 1 2 3; do gh api repos/octo/tools/issues/$n --jq .title; done",
        output='First\n{"message":"Not Found","status":"404"}gh: Not Found (HTTP 404)\nThird\n',
        kind="not_found",
    ),
    Failure(
        what="a request inside a script",
        run="./scripts/reply-all.sh",
        output="replying to 5\ngh: Resource not accessible by integration (HTTP 403)\ndone\n",
        kind="auth",
    ),
    Failure(
        what="headers with a status",
        run="curl -i https://example.com/x",
        output="HTTP/2 503 \r\ncontent-type: text/html\r\n\r\n<html>busy</html>",
        kind="unknown",
    ),
    Failure(
        what="an unknown host",
        run="curl https://nope.example",
        output="curl: (6) Could not resolve host: nope.example\n",
        kind="unknown",
    ),
    Failure(
        what="a command that was stopped",
        run="npm run dev",
        output="> dev\n> vite\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout 120000 "
        "ms\n</bash_metadata>",
        kind="timeout",
    ),
    Failure(
        what="a step of a batch",
        run="ghx chain --steps -",
        output=body(
            status="partial",
            results=[
                {"task": "a", "ok": True},
                {"task": "b", "ok": False, "error": {"code": "NOT_FOUND", "message": "no #9"}},
            ],
        ),
        kind="not_found",
    ),
    Failure(
        what="an envelope",
        run="ghx run pr.view --input '{}'",
        output=body(ok=False, error={"code": "VALIDATION", "message": "prNumber is required"}) + "\n",
        kind="validation",
    ),
    Failure(
        what="a permission", run="rm -rf /etc/x", output="rm: cannot remove '/etc/x': Permission denied\n", kind="auth"
    ),
    Failure(
        what="something that is there already",
        run="gh pr create --fill",
        output='a pull request for branch "fix" into branch "main" already '
        "exists:\nhttps://example.com/octo/tools/pull/3\n",
        kind="validation",
    ),
    Failure(
        what="a merge with conflicts",
        run="git merge main",
        output="Auto-merging a.py\nCONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix "
        "conflicts and then "
        "commit the result.\n",
        kind="validation",
    ),
    Failure(
        what="a release that is not there", run="gh release view v9", output="release not found\n", kind="not_found"
    ),
    Failure(
        what="a build that did not complete successfully",
        run="docker build .",
        output='ERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 2\n',
        kind="unknown",
    ),
    Failure(
        what="nobody logged in",
        run="gh pr list",
        output="To get started with GitHub CLI, please run:  gh auth login\n",
        kind="auth",
    ),
]

EXIT_CODES = [
    Failure(what="beside the text", run="npm test", output={"output": "oh no", "exitCode": 2}, kind="unknown"),
    Failure(
        what="in snake case",
        run="x",
        output={"stdout": "", "stderr": "boom: bad option", "exit_code": 64},
        kind="unknown",
    ),
    Failure(what="in the metadata", run="x", output={"output": "half", "metadata": {"exit": 1}}, kind="unknown"),
    Failure(
        what="in JSON in a text",
        run="x",
        output=body(output="ls: no such file or directory", metadata={"exit_code": 2, "duration_seconds": 0.1}),
        kind="not_found",
    ),
    Failure(what="on the first line", run="make", output="Exit code 2\nmake: nothing works\n", kind="unknown"),
    Failure(
        what="in a head",
        run="make",
        output="Chunk ID: 3f\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: "
        "2\nOutput:\nhalf a build\n",
        kind="unknown",
    ),
    Failure(
        what="in a frame",
        run="make",
        output="Command: make\nDirectory: (root)\nOutput: half\nError: (none)\nExit Code: 2\nSignal: 0\n",
        kind="unknown",
    ),
    Failure(
        what="on the last line",
        run="make",
        output="half a build\n[The command completed with exit code 1.]",
        kind="unknown",
    ),
    Failure(what="as a status", run="terraform apply", output="planning\nExit status 3\n", kind="unknown"),
    Failure(what="of timeout", run="timeout 5 ./slow", output={"output": "", "exitCode": 124}, kind="timeout"),
    Failure(
        what="of a search that could not read",
        run="grep x nofile",
        output={"output": "grep: nofile: No such file", "exitCode": 2},
        kind="not_found",
    ),
]

TOOLS = [
    Failure(
        what="content flagged as an error",
        tool="tracker_get_issue",
        output={"isError": True, "content": [{"type": "text", "text": "failed to get issue: 404 Not Found []"}]},
        kind="not_found",
    ),
    Failure(
        what="content blocks with the words of an error",
        tool="tracker_get_issue",
        output=[
            {"type": "text", "text": "failed to get issue: GET https://api.example.com/issues/9: 404 Not Found []"}
        ],
        kind="not_found",
    ),
    Failure(
        what="an error of the protocol",
        tool="tracker_reply",
        output="MCP error -32602: Invalid arguments for tool reply",
        kind="validation",
    ),
    Failure(
        what="an answer of JSON-RPC",
        tool="tracker_reply",
        output={"jsonrpc": "2.0", "id": 4, "error": {"code": -32601, "message": "Method not found"}},
        kind="not_found",
    ),
    Failure(
        what="a problem document",
        tool="http_get",
        output={"type": "about:blank", "title": "Gone", "status": 410},
        kind="not_found",
    ),
    Failure(
        what="an error by its name",
        tool="deploy",
        output={"error": "invalid_token", "error_description": "expired"},
        kind="auth",
    ),
    Failure(
        what="a status in words",
        tool="deploy",
        output={"status": "error", "message": "quota exceeded"},
        kind="rate_limit",
    ),
    Failure(what="no success", tool="deploy", output={"success": False, "reason": "the queue is full"}, kind="unknown"),
    Failure(what="words alone", tool="edit", output="String to replace not found in file.", kind="not_found"),
    Failure(
        what="a file that is not there",
        tool="read",
        output="Error: ENOENT: no such file or directory, open 'x.md'",
        kind="not_found",
    ),
    Failure(what="a time that ran out", tool="deploy", output="Request timed out after 30000 ms", kind="timeout"),
    Failure(
        what="an exception",
        tool="query",
        output="TypeError: cannot read properties of undefined (reading 'id')",
        kind="validation",
    ),
    Failure(what="a missing argument", tool="reply", output="missing required parameter: owner", kind="validation"),
]

FAILURES = [*SHELL, *EXIT_CODES, *TOOLS]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: each.what)
def test_a_failure_that_is_flagged_as_a_success_is_found(failure: Failure) -> None:
    fate = outcome_of_call(failure.call())

    assert fate.failed is True
    assert fate.evidence


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: each.what)
def test_the_kind_of_a_failure_is_told(failure: Failure) -> None:
    assert outcome_of_call(failure.call()).kind == failure.kind


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: each.what)
def test_a_failure_of_a_call_that_does_not_tell_its_fate_is_found(failure: Failure) -> None:
    assert outcome_of_call(failure.call(success=None)).failed is True
