"""What a scenario expects of the way there: reported, never enforced."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ghx_bench import EvalScenario, expectation_findings
from ghx_bench.modes.presets import PRESETS
from ghx_bench.scoring.expectation_analyzer import ExpectationAnalyzer
from ghx_profiler import AnalysisResult, Evidence, Mode, TraceRecorder
from ghx_profiler.agents import ToolSet
from ghx_profiler.evidence import Stage
from ghx_profiler.records.analysis import ListFinding
from ghx_profiler.testing import sample_cell


def scenario(**expected: Any) -> EvalScenario:
    return EvalScenario.model_validate(
        {
            "id": "pr-a-001",
            "name": "n",
            "description": "d",
            "prompt": "p",
            "timeoutMs": 1,
            "category": "pr",
            "difficulty": "basic",
            "assertions": {"checkpoints": [], **expected},
        }
    )


def test_without_expectations_there_are_no_findings() -> None:
    result = expectation_findings(scenario(), ["pr.view"], ["pr.view"])

    assert result.to_wire() == {"analyzer": "expectations", "findings": {}, "summary": ""}


def test_tools_are_matched_in_order_with_globs() -> None:
    expected = scenario(expectedToolSequence=["pr.view", "bash:git*", "bash:git push*", "pr.close"])

    result = expectation_findings(expected, ["ls", "pr.view", "bash:git add .", "x", "bash:git push origin"], [])

    assert result.to_wire() == {
        "analyzer": "expectations",
        "findings": {
            "tool_sequence_followed": {"type": "ratio", "value": 0.75, "label": "3 of 4 expected tools in order"},
            "tools_not_used_in_order": {"type": "list", "values": ["pr.close"]},
        },
        "summary": "3 of 4 expected tools in order (not pr.close)",
    }


def test_one_tool_out_of_order_does_not_hide_the_others() -> None:
    result = expectation_findings(scenario(expectedToolSequence=["z", "a", "b"]), ["a", "b", "z"], [])

    assert result.to_wire()["findings"]["tools_not_used_in_order"]["values"] == ["z"]


def test_capabilities_are_compared_whatever_their_order() -> None:
    expected = scenario(expectedCapabilities=["pr.view", "pr.reviews.submit"])

    result = expectation_findings(expected, [], ["pr.list", "pr.view", "pr.list"])

    assert result.to_wire() == {
        "analyzer": "expectations",
        "findings": {
            "capabilities_used": {"type": "ratio", "value": 0.5, "label": "1 of 2 expected capabilities"},
            "capabilities_not_used": {"type": "list", "values": ["pr.reviews.submit"]},
            "capabilities_unexpected": {"type": "list", "values": ["pr.list"]},
        },
        "summary": "1 of 2 expected capabilities (not pr.reviews.submit)",
    }
    assert AnalysisResult.model_validate(result.to_wire()) == result


TOOLS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=7)


@given(TOOLS.filter(bool), TOOLS)
def test_as_many_as_possible_are_followed(expected: list[str], used: list[str]) -> None:
    def longest(left: list[str], right: list[str]) -> int:
        if not left or not right:
            return 0
        if left[0] == right[0]:
            return 1 + longest(left[1:], right[1:])
        return max(longest(left[1:], right), longest(left, right[1:]))

    finding = expectation_findings(scenario(expectedToolSequence=expected), used, []).findings["tool_sequence_followed"]

    assert finding.to_wire()["value"] == longest(expected, used) / len(expected)


CALLS: list[tuple[str, Any]] = [
    ("Bash", {"command": "cd x && gh pr view 7 | head"}),
    (
        "shell",
        {"command": """ghx chain '[{"task": "pr.view"}, {"task": "issue.close"}]'; ghx run issue.view --input '{}'"""},
    ),
    ("ghx_issue_labels_add", {"owner": "o"}),
    ("read_file", {"path": "a.md", "note": "pr.list"}),
]


def found_in(mode: Mode, calls: list[tuple[str, Any]], **expected: Any) -> AnalysisResult:
    recorder, task = TraceRecorder(), scenario(**expected)
    for name, arguments in calls:
        recorder.tool_call(name, arguments, success=True)
    evidence = Evidence(
        cell=sample_cell(),
        scenario=task,
        mode=mode,
        stage=Stage(scenario=task),
        completion_reason="stop",
        trace=recorder.trace(),
    )
    return ExpectationAnalyzer().analyze(evidence)


WITH_GHX = Mode(
    name="m",
    settings=ToolSet(mcp_servers={"ghx": PRESETS["ghx"]}).settings(),
)


def test_tools_are_named_by_their_commands_whatever_the_agent_calls_its_shell() -> None:
    wanted = ["bash:gh pr *", "bash:ghx:issue.view", "ghx_issue_labels_add", "read_file", "bash:git push"]

    found = found_in(WITH_GHX, CALLS, expectedToolSequence=wanted)

    assert found.summary == "4 of 5 expected tools in order (not bash:git push)"


def test_capabilities_are_found_in_commands_chains_and_tools() -> None:
    found = found_in(
        WITH_GHX, CALLS, expectedCapabilities=["issue.view", "issue.close", "issue.labels.add", "pr.merge"]
    )

    assert found.summary == "3 of 4 expected capabilities (not pr.merge)"
    assert found.findings["capabilities_unexpected"] == ListFinding(values=("pr.view",))


def test_a_mode_without_capabilities_is_not_asked_for_any() -> None:
    plain = Mode(name="m", settings=ToolSet(tools=("gh",)).settings())

    found = found_in(plain, CALLS[:1], expectedCapabilities=["issue.view"], expectedToolSequence=["bash:gh pr view"])

    assert found.summary == "1 of 1 expected tools in order"
