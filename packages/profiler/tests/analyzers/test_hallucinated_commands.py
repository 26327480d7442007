"""What agents made up is told from the messages of real programs, whatever their wording."""

import json

import pytest

from ghx_profiler.analyzers.hallucinated_commands import HEADERS, PATHS, HallucinatedCommandAnalyzer, paths_in
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.analysis import NumberFinding, TableFinding
from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell import COMMON_PROGRAMS, SubcommandResolver, Subcommands
from ghx_profiler.testing import sample_evidence

RESOLVE = SubcommandResolver(
    programs={**COMMON_PROGRAMS, **{name: Subcommands(words=2) for name in ("gh", "ghx", "gh-axi")}}
)


def shell(command: str, output: str, *, success: bool = False) -> ToolCallEvent:
    return ToolCallEvent(name="bash", input={"command": command}, output=output, success=success)


def tool(name: str, output: str) -> ToolCallEvent:
    return ToolCallEvent(name=name, input={}, output=output, success=False)


def found(call: ToolCallEvent) -> list[tuple[str, str, str, str]]:
    return [(each.kind, each.name, each.at, each.suggested) for each in paths_in(call, RESOLVE)]


def refused(message: str) -> str:
    """Return what `ghx run` prints."""
    return json.dumps({"ok": False, "error": {"code": "VALIDATION", "message": message}})


GH_USAGE = "\n\nUsage:  gh issue view {<number> | <url>} [flags]\n\nFlags:\n  -c, --comments   View issue comments\n"


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        (
            "gh isue list",
            'unknown command "isue" for "gh"\n\nDid you mean this?\n\tissue\n\nUsage:  gh <command> [flags]',
            ("command", "isue", "gh", "issue"),
        ),
        (
            "gh issue foo",
            'unknown command "foo" for "gh issue"\n\nUsage:  gh issue <command>',
            ("command", "foo", "gh issue", ""),
        ),
        (
            "cd x && gh issue view 1 --bogus",
            f"unknown flag: --bogus{GH_USAGE}",
            ("flag", "--bogus", "gh issue view", ""),
        ),
        ("gh issue view 1 -Z", f"unknown shorthand flag: 'Z' in -Z{GH_USAGE}", ("flag", "-Z", "gh issue view", "")),
        (
            "gh repo view a/b --json name,language",
            'Unknown JSON field: "language"\nAvailable fields:\n  assignableUsers\n  url\n',
            ("field", "language", "gh repo view", ""),
        ),
        ("ghx isue", "error: no command 'isue'; see `ghx --help`", ("command", "isue", "ghx", "")),
        (
            "ghx run issue.vew --input '{}'",
            refused("no capability 'issue.vew'; did you mean 'issue.view'?"),
            ("capability", "issue.vew", "ghx run", "issue.view"),
        ),
        (
            "ghx run issue.view --bogus",
            refused("issue.view has no input '--bogus'; known: 'owner'"),
            ("flag", "--bogus", "ghx run", ""),
        ),
        (
            "ghx chain --stepz",
            refused("unrecognized arguments: --stepz (see `ghx chain --help`)"),
            ("flag", "--stepz", "ghx chain", ""),
        ),
        (
            "gh-axi issue foo",
            'error: "Unknown issue subcommand: foo"\ncode: VALIDATION_ERROR',
            ("command", "foo", "gh-axi issue", ""),
        ),
        (
            "gh-axi issue list --bogus",
            'error: "unknown flag for gh-axi issue list: --bogus"\ncode: VALIDATION_ERROR',
            ("flag", "--bogus", "gh-axi issue list", ""),
        ),
        (
            "gh-axi issue list --fields bogus",
            'error: "Unknown field(s): bogus. Available: body, labels"\ncode: VALIDATION_ERROR',
            ("field", "bogus", "gh-axi issue list", ""),
        ),
        (
            "gh-axi api --bogus",
            'error: "unknown flag --bogus for gh-axi api. Supported flags: -X, --field"\ncode: VALIDATION_ERROR',
            ("flag", "--bogus", "gh-axi api", ""),
        ),
        ("gh-axi isue", 'error: "Unknown command: isue"\ncode: VALIDATION_ERROR', ("command", "isue", "gh-axi", "")),
        ("gh pr list", "bash: line 1: gh: command not found", ("program", "gh", "", "")),
        ("gh pr list", "sh: 1: gh: not found", ("program", "gh", "", "")),
        (
            "git foo",
            "git: 'foo' is not a git command. See 'git --help'.\n\nThe most similar command is\n\thook\n",
            ("command", "foo", "git", "hook"),
        ),
        (
            "gh api graphql -f query='{viewer{nick}}'",
            "gh: Field 'nick' doesn't exist on type 'User'\n",
            ("field", "nick", "User", ""),
        ),
    ],
)
def test_what_a_command_was_asked_for_and_does_not_have(
    command: str, output: str, expected: tuple[str, str, str, str]
) -> None:
    assert found(shell(command, output)) == [expected]


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        (
            "ghx_issue_vew",
            '{"code":"VALIDATION","message":"this server offers no tool \'issue_vew\'; did you mean \'issue_view\'?"}',
            ("tool", "issue_vew", "ghx_issue_vew", "issue_view"),
        ),
        (
            "ghx_issue_view",
            '{"code":"VALIDATION","message":"unknown input \'bogus\'; known: \'owner\', \'name\'"}',
            ("argument", "bogus", "ghx_issue_view", ""),
        ),
        (
            "mcp__github__get_isue",
            "MCP error -32603: Unknown tool: get_isue",
            ("tool", "get_isue", "mcp__github__get_isue", ""),
        ),
        ("github_x", "MCP error -32602: Tool x not found", ("tool", "x", "github_x", "")),
        ("github_x", 'unknown tool "x"', ("tool", "x", "github_x", "")),
        ("t", "Additional properties are not allowed ('bogus' was unexpected)", ("argument", "bogus", "t", "")),
        ("t", 'unexpected additional properties ["bogus"]', ("argument", "bogus", "t", "")),
        (
            "t",
            'Invalid input: [{"code":"unrecognized_keys","keys":["bogus"],"path":[],"message":"Unrecognized key(s)"}]',
            ("argument", "bogus", "t", ""),
        ),
        (
            "t",
            "1 validation error for t\nbogus\n  Unexpected keyword argument [type=unexpected]",
            ("argument", "bogus", "t", ""),
        ),
        ("frobnicate", "there is no tool 'frobnicate'; there are: bash", ("tool", "frobnicate", "frobnicate", "")),
    ],
)
def test_what_a_tool_was_asked_for_and_does_not_have(
    name: str, output: str, expected: tuple[str, str, str, str]
) -> None:
    assert found(tool(name, output)) == [expected]


def test_several_things_in_one_message_are_told_apart() -> None:
    call = shell("gh-axi pr list --a --b", 'error: "unknown flags for gh-axi pr list: --a, --b"')

    assert [each[:2] for each in found(call)] == [("flag", "--a"), ("flag", "--b")]


@pytest.mark.parametrize(
    "call",
    [
        shell("cat log.txt", 'unknown command "foo" for "gh issue"', success=True),
        shell("gh issue view 99", "GraphQL: Could not resolve to an issue or pull request with the number of 99."),
        shell(
            "gh pr list --state foo", 'invalid argument "foo" for "-s, --state" flag: valid values are {open|closed}'
        ),
        shell("gh issue view", "accepts 1 arg(s), received 0"),
        tool("ghx_issue_view", '{"code":"NOT_FOUND","message":"no issue #99 in a/b"}'),
        shell("cat nothing", "cat: nothing: No such file or directory"),
    ],
)
def test_other_failures_and_what_was_only_read_are_no_inventions(call: ToolCallEvent) -> None:
    assert found(call) == []


def test_a_session_has_each_thing_once_with_the_number_of_calls() -> None:
    recorder = TraceRecorder()
    for _ in range(2):
        recorder.tool_call("bash", {"command": "gh issue foo"}, 'unknown command "foo" for "gh issue"', success=False)
    recorder.tool_call("bash", {"command": "gh issue list"}, "1", success=True)

    findings = HallucinatedCommandAnalyzer(RESOLVE).analyze(sample_evidence(trace=recorder.trace())).findings

    paths, made_up = findings[PATHS], findings["made_up"]
    assert isinstance(paths, TableFinding)
    assert isinstance(made_up, NumberFinding)
    assert paths.headers == HEADERS
    assert paths.rows == (("command", "foo", "gh issue", "", "2"),)
    assert made_up.value == 2


def test_of_calls_that_do_not_tell_how_they_went_nothing_is_known() -> None:
    recorder = TraceRecorder()
    recorder.tool_call("read", {"path": "x"}, None, success=None)

    findings = HallucinatedCommandAnalyzer().analyze(sample_evidence(trace=recorder.trace())).findings

    assert findings["made_up"] == NumberFinding(value=None, unit="calls")
