"""What a scenario expects of the way there: reported, never enforced."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ghx_bench.eval import EvalScenario, expectation_findings
from ghx_bench.profiler import AnalysisResult


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
        "summary": "3 of 4 expected tools in order",
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
        "summary": "1 of 2 expected capabilities",
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
