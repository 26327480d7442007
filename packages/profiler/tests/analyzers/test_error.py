"""Errors are counted, sorted, and followed to what the agent did about them."""

from analyzed_sessions import NOT_FOUND, analyzed, bash, said, session, thought, tool, trace_of, trouble

from ghx_profiler.analyzers import ErrorAnalyzer
from ghx_profiler.records.trace import SessionTrace


def errors(trace: SessionTrace) -> dict[str, object]:
    return analyzed(ErrorAnalyzer(), trace)


def test_a_failure_that_only_the_output_shows_is_an_error() -> None:
    findings = errors(session([bash("gh api x", NOT_FOUND)], [said()]))

    assert findings["errors_encountered"] == 1
    assert findings["error_types"] == [["not_found", "1"]]
    assert findings["error_messages"] == [["1", "gh api", "not_found", "HTTP 404: Not Found"]]


def test_an_answer_that_speaks_of_errors_is_none() -> None:
    assert errors(session([bash("cat app.log", "Error: x\nfatal: y\n")]))["errors_encountered"] == 0


def test_errors_outside_of_calls_count_too() -> None:
    findings = errors(session([trouble("request timed out"), bash("ls")]))

    assert findings["errors_encountered"] == 1
    assert findings["error_types"] == [["timeout", "1"]]
    assert findings["error_messages"] == [["1", "", "timeout", "request timed out"]]


def test_kinds_are_listed_by_how_often_they_occur() -> None:
    refused = tool("post", "HTTP 401: Bad credentials", success=False)
    lost = bash("gh api x", NOT_FOUND)

    assert errors(session([refused, lost], [lost]))["error_types"] == [["not_found", "2"], ["auth", "1"]]


def test_where_no_call_tells_how_it_went_the_number_of_errors_is_not_known() -> None:
    findings = errors(session([bash("ls", "a b", success=None)]))

    assert (findings["errors_encountered"], findings["error_cascades"], findings["wasted_turns_from_errors"]) == (
        None,
        None,
        None,
    )


def test_a_session_without_calls_had_no_errors() -> None:
    assert errors(session([said()]))["errors_encountered"] == 0


def test_calling_the_same_command_again_is_a_retry_whatever_it_is_asked() -> None:
    same = errors(session([bash("gh api x", NOT_FOUND)], [bash("gh api x")]))
    other = errors(session([bash("gh api x", NOT_FOUND)], [bash("cd a && gh api y")]))

    assert same["recovery_patterns"] == other["recovery_patterns"] == [["retry", "1"]]


def test_calling_another_command_is_an_alternative_also_within_the_same_shell_tool() -> None:
    assert errors(session([bash("gh api x", NOT_FOUND)], [bash("gh pr view 1")]))["recovery_patterns"] == [
        ["alternative", "1"]
    ]


def test_calls_of_the_same_turn_are_no_reaction_since_the_agent_had_not_seen_the_failure() -> None:
    findings = errors(session([bash("gh api x", NOT_FOUND), bash("gh api y")], [said("I could not do it.")]))

    assert findings["recovery_patterns"] == [["give_up", "1"]]


def test_where_turns_are_not_told_the_next_call_is_the_reaction() -> None:
    findings = errors(trace_of(bash("gh api x", NOT_FOUND), thought(), bash("gh api y"), said()))

    assert findings["recovery_patterns"] == [["retry", "1"]]
    assert findings["wasted_turns_from_errors"] is None


def test_a_call_after_an_error_outside_of_calls_follows_it_up() -> None:
    assert errors(session([trouble(), bash("ls")]))["recovery_patterns"] == [["tool_followup", "1"]]
    assert errors(session([bash("ls"), trouble()], [said()]))["recovery_patterns"] == [["give_up", "1"]]


def test_equal_errors_are_followed_up_each_by_itself() -> None:
    assert errors(session([trouble(), bash("ls"), trouble()]))["recovery_patterns"] == [
        ["tool_followup", "1"],
        ["give_up", "1"],
    ]


def test_two_or_more_errors_with_no_other_call_between_are_a_cascade() -> None:
    lost, fine = bash("gh api x", NOT_FOUND), bash("ls")

    assert errors(session([lost], [fine], [lost]))["error_cascades"] == 0
    assert errors(session([lost], [thought(), trouble()], [lost], [fine], [lost, lost]))["error_cascades"] == 2


def test_turns_with_an_error_and_no_progress_are_wasted() -> None:
    lost, fine = bash("gh api x", NOT_FOUND), bash("ls")

    assert errors(session([lost], [lost, fine], [said("Trying."), lost], [said()]))["wasted_turns_from_errors"] == 2


def test_requests_that_fail_again_and_again_are_told() -> None:
    lost, other = bash("gh api x", NOT_FOUND), bash("gh api y", NOT_FOUND)

    findings = errors(session([lost], [other], [lost], [lost]))

    assert [(row[0], row[2]) for row in findings["repeated_failing_calls"]] == [("gh api", "3")]
