"""What a scenario expects of the way an agent takes, next to the way it took: findings, never failures."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.records.analysis import AnalysisResult, Finding, ListFinding, RatioFinding

ANALYZER = "expectations"


def expectation_findings(
    scenario: EvalScenario, tool_names: Sequence[str], capability_names: Sequence[str]
) -> AnalysisResult:
    """Compare the tools and capabilities that a session used, in order, with those that the scenario expects.

    An expected tool may contain `*`, `?` and `[...]`. The sequence counts as followed as far as its tools were used
    in that order, whatever was used in between. Without expectations there are no findings.
    """
    findings: dict[str, Finding] = {}
    parts: list[str] = []
    sequence, capabilities = scenario.assertions.expected_tool_sequence, scenario.assertions.expected_capabilities
    if sequence:
        followed = _longest_followed(sequence, tool_names)
        skipped = tuple(each for index, each in enumerate(sequence) if index not in followed)
        label = f"{len(followed)} of {len(sequence)} expected tools in order"
        parts.append(_with_missing(label, skipped))
        findings["tool_sequence_followed"] = RatioFinding(value=len(followed) / len(sequence), label=label)
        findings["tools_not_used_in_order"] = ListFinding(values=skipped)
    if capabilities:
        expected = dict.fromkeys(capabilities)
        missing = tuple(each for each in expected if each not in capability_names)
        others = tuple(each for each in dict.fromkeys(capability_names) if each not in expected)
        reached = len(expected) - len(missing)
        label = f"{reached} of {len(expected)} expected capabilities"
        parts.append(_with_missing(label, missing))
        findings["capabilities_used"] = RatioFinding(value=reached / len(expected), label=label)
        findings["capabilities_not_used"] = ListFinding(values=missing)
        findings["capabilities_unexpected"] = ListFinding(values=others)
    return AnalysisResult(analyzer=ANALYZER, findings=findings, summary=", ".join(parts)).with_all_keys()


def _with_missing(label: str, missing: Sequence[str]) -> str:
    return f"{label} (not {', '.join(missing)})" if missing else label


def _longest_followed(expected: Sequence[str], used: Sequence[str]) -> set[int]:
    """Return which of the expected tools were used in order, as many as possible."""
    # The longest common subsequence, tool by tool: `best[n]` is the longest within the first `n` tools that were used.
    best: list[tuple[int, ...]] = [()] * (len(used) + 1)
    for index, pattern in enumerate(expected):
        before = best
        best = [()]
        for at, name in enumerate(used):
            longer = (*before[at], index) if fnmatchcase(name, pattern) else ()
            best.append(max(longer, before[at + 1], best[at], key=len))
    return set(best[-1])
