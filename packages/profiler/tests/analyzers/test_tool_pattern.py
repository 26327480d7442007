"""What an agent did is told by the commands it ran, in order."""

from analyzed_sessions import NOT_FOUND, analyzed, bash, said, session, tool

from ghx_profiler.analyzers import ToolPatternAnalyzer
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.shell import Command


def patterns(trace: SessionTrace) -> dict[str, object]:
    return analyzed(ToolPatternAnalyzer(), trace)


def test_shell_calls_are_named_by_their_commands_and_other_calls_by_their_tool() -> None:
    findings = patterns(
        session([bash("cd x && gh pr view 1 | jq ."), tool("read", path="a")], [bash("git add . && git push")])
    )

    assert findings["tool_sequence"] == ["gh pr view", "read", "git add", "git push"]
    assert findings["unique_tools_used"] == 4


def test_what_follows_what_is_counted_in_the_order_in_which_it_first_occurs() -> None:
    findings = patterns(session([bash("ls"), bash("pwd", "x"), bash("ls", "y"), bash("pwd"), tool("read")]))

    assert findings["tool_call_patterns"] == [["ls -> pwd", "2"], ["pwd -> ls", "1"], ["pwd -> read", "1"]]


def test_requests_that_gave_the_same_answer_again_are_redundant() -> None:
    findings = patterns(session([tool("read", "text", path="a")] * 3, [tool("read", "text", path="b")]))

    assert [(row[0], row[2]) for row in findings["redundant_calls"]] == [("read", "3")]


def test_requests_that_gave_another_answer_or_failed_are_not_redundant() -> None:
    polls = [bash("gh run view 1", "queued"), bash("gh run view 1", "done")]
    failures = [bash("gh api x", NOT_FOUND)] * 2

    assert patterns(session(polls, failures))["redundant_calls"] == []


def test_requests_that_python_takes_for_the_same_are_told_apart() -> None:
    assert patterns(session([tool("get", n=1), tool("get", n=True), tool("get", n="1")]))["redundant_calls"] == []


def test_failures_that_were_tried_again_are_counted_by_tool() -> None:
    turns = [bash("gh api x", NOT_FOUND), bash("gh api y", NOT_FOUND)], [bash("gh api z")], [said()]
    findings = patterns(session(*turns))

    assert findings["failed_then_retried"] == [["gh api", "2"]]


def test_a_failure_after_which_another_tool_is_called_was_not_retried() -> None:
    assert patterns(session([bash("gh api x", NOT_FOUND)], [bash("ls")]))["failed_then_retried"] == []


def test_of_calls_that_are_only_counted_the_tools_are_not_known() -> None:
    assert patterns(session([said()], total_tool_calls=2))["unique_tools_used"] is None


def test_a_consumer_may_bring_names_of_its_own() -> None:
    def shout(command: Command) -> str:
        return command.program.upper()

    findings = analyzed(ToolPatternAnalyzer(shout), session([bash("gh pr view && git push"), tool("read")]))

    assert findings["tool_sequence"] == ["GH", "GIT", "read"]
