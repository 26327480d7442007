"""What only looks like a failure is none: answers that speak of errors, quote them or list them."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from ghx_profiler.failures import outcome_of_call
from ghx_profiler.records.trace import ToolCallEvent

TRACEBACK = (
    'Traceback (most recent call last):\n  File "app/sync.py", line 41, in push\n    raise TimeoutError(url)\n'
    "TimeoutError: https://hooks.example.com\n"
)
CI_LOG = (
    "build\tRun tests\t2026-02-01T10:11:12.1Z FAILED tests/test_api.py::test_login\n"
    "build\tRun tests\t2026-02-01T10:11:12.2Z E   AssertionError: 401 != 200\n"
    "build\tRun tests\t2026-02-01T10:11:12.3Z ##[error]Process completed with exit code 1.\n"
)
RAW_LOG = "Error: connect ECONNREFUSED 127.0.0.1:5432\nError: gave up\nfatal: no database\nexit code 1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """A call of which a reader would say that it went well."""

    what: str
    output: Any
    run: str | None = None
    tool: str = "bash"

    def call(self, success: bool | None = True) -> ToolCallEvent:
        given = {"command": self.run} if self.run is not None else {"number": 7}
        return ToolCallEvent(name=self.tool, input=given, output=self.output, success=success)


def body(**fields: Any) -> str:
    return json.dumps(fields)


THINGS = [
    Trap(
        what="an issue about error handling",
        run="gh issue view 12 --json title,body",
        output=body(title="error handling is broken", body="It says: Error: Not Found (HTTP 404), then fails."),
    ),
    Trap(
        what="an issue whose text quotes a complaint of the very program",
        run="gh issue view 12",
        output="title:\tgh api fails\nstate:\tOPEN\n--\nI run this:\n\n$ gh api repos/x/y\ngh: Not Found (HTTP 404)\n",
    ),
    Trap(
        what="an issue that ends in a traceback",
        run="gh issue view 31 --comments",
        output=f"title:\tSync dies\nstate:\tOPEN\n--\nSeen today:\n\n{TRACEBACK}",
    ),
    Trap(
        what="a title that sounds like a message",
        run="gh issue view 5 --json title --jq .title",
        output="Failed to load config on Windows\n",
    ),
    Trap(
        what="a title that quotes a service",
        run="gh issue view 6 --json title -q .title",
        output="Login: HTTP 404: Not Found after redirect\n",
    ),
    Trap(
        what="a step with an exit code of its own",
        run="gh api repos/octo/tools/actions/jobs/3 --jq '{step: .name, exit_code: 1}'",
        output=body(step="build", exit_code=1),
    ),
    Trap(
        what="a text that begins with an error",
        run="gh api repos/octo/tools/issues/5 --jq .body",
        output="Error: Cannot find module 'x'\n    at require (node:internal)\n\nHow do I fix this?\n",
    ),
    Trap(
        what="a list with items that failed",
        run="gh run list --json conclusion,name,status",
        output=json.dumps(
            [{"conclusion": "failure", "name": "CI", "status": "completed"}, {"message": "Not Found", "status": "404"}]
        ),
    ),
    Trap(
        what="a run that failed",
        run="gh api repos/octo/tools/actions/runs/8",
        output=body(id=8, name="CI", status="completed", conclusion="failure", message="exit code 1"),
    ),
    Trap(
        what="a job with an error of its own", tool="get_job", output={"id": 4, "status": "failed", "error": "exit 1"}
    ),
    Trap(
        what="a job without an id", tool="get_job", output={"name": "lint", "status": "failed", "error": "2 problems"}
    ),
    Trap(
        what="a delivery that got a 404",
        run="gh api repos/octo/tools/hooks/1/deliveries/2",
        output=body(id=2, status="Not Found", status_code=404, event="push"),
    ),
    Trap(
        what="labels with unlucky names",
        run="gh label list",
        output="invalid\tThis doesn't seem right\t#e4e669\ncannot-reproduce\tNot seen "
        "again\t#cccccc\nerror\tAn error\t#ff0000\n",
    ),
    Trap(
        what="a label with the unluckiest name first",
        run="gh label list --limit 2",
        output="cannot-reproduce\tNot seen again\t#cccccc\nerror\tAn error\t#ff0000\n",
    ),
    Trap(
        what="pull requests about errors",
        run="gh pr list",
        output="14\tfix: error: cannot parse\terror-fix\tOPEN\t2026-02-02\n",
    ),
    Trap(
        what="a commit whose subject complains",
        run="git log --format=%s -3",
        output="git: handle missing refs\nerror: drop the retry\nfatal: say why\n",
    ),
    Trap(
        what="a commit in an answer",
        run="gh api repos/octo/tools/commits/main --jq '{sha, message: .commit.message}'",
        output=body(sha="5ab", message="Not Found"),
    ),
    Trap(
        what="a merge that went well",
        run="gh api -X PUT repos/o/r/pulls/7/merge",
        output=body(sha="1", merged=True, message="Pull Request successfully merged"),
    ),
    Trap(what="no error at all", tool="deploy", output={"error": None, "message": "deployed", "status": 200}),
    Trap(what="no errors", run="ghx run pr.view --input -", output=body(ok=True, data={"title": "error"}, error=None)),
    Trap(what="an empty list of errors", run="gh api graphql -f query=x", output=body(data={"a": 1}, errors=[])),
    Trap(
        what="a report of a linter",
        run="eslint src -f json",
        output=body(errors=[{"message": "no-undef"}], warnings=[], files=3),
    ),
    Trap(
        what="a batch that went well",
        run="ghx chain --steps -",
        output=body(
            status="success", results=[{"task": "issue.close", "ok": True}, {"task": "issue.label", "ok": True}]
        ),
    ),
    Trap(
        what="blocks about a failure",
        tool="get_check",
        output=[{"type": "text", "text": body(id=1, conclusion="failure", title="error")}],
    ),
    Trap(
        what="a comment on errors",
        tool="add_comment",
        output=body(id=9, body="Error: fixed. `{ ok: false, error }` is gone."),
    ),
]

CONTENT = [
    Trap(what="a log file that was asked for", run="cat build.log", output=RAW_LOG),
    Trap(what="the end of a log file", run="cd app && tail -n 4 logs/server.log", output=RAW_LOG),
    Trap(
        what="a log with a shell's complaint in it",
        run="cat ci.log",
        output="step 1\nbash: foo: command not found\nstep 2\n",
    ),
    Trap(what="a traceback in a file", run="cat crash.txt", output=TRACEBACK),
    Trap(
        what="a search for errors", run="grep -rn 'Error:' src", output="src/a.ts:3: throw new Error('x')\nError: y\n"
    ),
    Trap(
        what="a search in what a build prints",
        run="npm test 2>&1 | grep -i error",
        output="Error: expected 1 to be 2\n",
    ),
    Trap(what="a search that found nothing", run="grep -rn TODO src", output={"output": "", "exitCode": 1}),
    Trap(what="a difference", run="diff a.txt b.txt", output={"output": "1c1\n< error\n---\n> fatal\n", "exitCode": 1}),
    Trap(what="a failed run's log", run="gh run view 88 --log-failed", output=CI_LOG),
    Trap(what="logs of a container", run="kubectl logs api-1", output=RAW_LOG),
    Trap(
        what="code that raises",
        run="sed -n 1,3p src/errors.py",
        output="class AppError(Exception):\n    pass\nraise AppError('no')\n",
    ),
    Trap(
        what="a file that holds an error body",
        run="cat fixtures/404.json",
        output=body(message="Not Found", status="404"),
    ),
    Trap(what="a part of a file in JSON", run="jq . fixtures/fail.json", output=body(ok=False, error={"code": "X"})),
    Trap(what="a patch", run="gh pr diff 7", output="diff --git a/x b/x\n-  error: old\n+fatal: new\n+Error: newer\n"),
    Trap(what="names of files", run="ls src/errors", output="error.ts\nfailed.ts\nnot-found.tsx\n"),
    Trap(what="a read file", tool="read", output="Error: this file lists\nall error messages\nfatal: one\n"),
    Trap(what="what a search tool found", tool="grep", output="Found 2 matches\nerrors.ts:\n  Line 4: Error: bad\n"),
    Trap(what="contents of a file over the wire", tool="github_get_file_contents", output=TRACEBACK + "and more\n"),
]

REPORTS = [
    Trap(
        what="tests that pass and speak of errors",
        run="pytest -q",
        output="ERROR: logged on purpose\n....\n4 passed in 0.10s\n",
    ),
    Trap(
        what="tests named after failures",
        run="npm test",
        output="✓ throws Error: bad input\n✓ fails with 404\n\nTests: 2 passed, 2 total\n",
    ),
    Trap(what="a count of no errors", run="eslint src", output="Errors: 0, warnings: 2\n"),
    Trap(what="nothing to do", run="make", output="make: Nothing to be done for 'all'.\n"),
    Trap(
        what="an ignored error",
        run="make clean",
        output="rm -f a\nmake: [Makefile:3: clean] Error 1 (ignored)\ncleaned\n",
    ),
    Trap(
        what="a warning", run="git add .", output="warning: in the working copy of 'a', LF will be replaced by CRLF\n"
    ),
    Trap(what="a note", run="tar czf a.tgz /srv", output="tar: Removing leading `/' from member names\n"),
    Trap(
        what="a commit about a failure",
        run="git commit -m 'fix: error'",
        output="[main 1f2] fix: fatal: error not found\n 1 file changed\n",
    ),
    Trap(what="an exit code of 0", run="make", output="Exit code: 0\nerror: none of this matters? it does not\n"),
    Trap(
        what="a frame around a success",
        run="make",
        output="Command: make\nDirectory: (root)\nOutput: fine\nError: (none)\nExit Code: 0\nSignal: 0\n",
    ),
    Trap(
        what="a program that says it went well",
        run="node report.js",
        output={"output": "Error: 3 found in the input file, see report", "exitCode": 0},
    ),
    Trap(
        what="a fallback that worked",
        run="gh api repos/o/r/x || gh api repos/o/r/y",
        output="gh: Not Found (HTTP 404)\nall is well\nreally\n",
    ),
    Trap(
        what="words on the way",
        run="echo 'Error: test' && git push",
        output="Error-prone step next\nEverything up-to-date\n",
    ),
    Trap(
        what="a created issue",
        run="gh issue create -t 'Error: x' -b y",
        output="https://github.example.com/o/r/issues/404\n",
    ),
    Trap(what="no output", run="git checkout -q main", output=""),
    Trap(
        what="help that was asked for",
        run="gh pr view --help",
        output="Display the title, body, and errors.\n\nUSAGE\n  gh pr view\n",
    ),
]

TRAPS = [*THINGS, *CONTENT, *REPORTS]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda each: each.what)
def test_what_only_looks_like_a_failure_is_a_success(trap: Trap) -> None:
    fate = outcome_of_call(trap.call())

    assert fate.failed is False, fate.evidence


@pytest.mark.parametrize("trap", TRAPS, ids=lambda each: each.what)
def test_what_only_looks_like_a_failure_is_none_where_the_call_does_not_tell(trap: Trap) -> None:
    assert outcome_of_call(trap.call(success=None)).failed is not True
