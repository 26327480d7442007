import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from stats_rows import row, rows_of

from ghx_profiler.errors import UnknownNameError
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.sections.differences import smallest_effect_of
from ghx_profiler.stats import AnalysisPlan, ModeComparison, compare_all_modes, compare_modes, observe
from ghx_profiler.stats.errors import BadPairError
from ghx_profiler.stats.result_records import TargetResult
from ghx_profiler.stats.summary import summarize_metric, summarize_modes

PLAN = AnalysisPlan(resamples=999)
POPULATION = PLAN.model_copy(update={"target": "population"})


def noisy(level: float, *, scenarios: int = 8, repetitions: int = 4, seed: int = 0) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    return {
        f"s{number}": (level * np.exp(number + rng.normal(0, 0.1, repetitions))).tolist() for number in range(scenarios)
    }


def agrees_with_itself(comparison: ModeComparison) -> bool:
    analyses = (comparison.intention_to_treat, comparison.per_protocol, comparison.both_succeeded)
    results = [each.of(target) for each in analyses if each for target in ("suite", "population")]
    return all(_agrees(comparison, result) for result in results)


def _agrees(comparison: ModeComparison, result: TargetResult) -> bool:
    if result.verdict == "not estimable":
        return (result.p, result.p_adjusted, result.low, result.high, result.mde) == (None,) * 5 and bool(result.reason)
    low = -math.inf if result.low is None else result.low
    high = math.inf if result.high is None else result.high
    is_shown = result.verdict in {"better", "worse"}
    lower_is_shown = low > 0
    return (
        0 < result.p <= result.p_adjusted <= 1
        and low <= high
        and (result.reduction_pct is None or low <= result.reduction_pct <= high)
        and is_shown == (low > 0 or high < 0) == (result.p_adjusted <= comparison.alpha)
        and (not is_shown or (result.verdict == "better") == (lower_is_shown != comparison.higher_is_better))
        and (result.verdict != "equivalent" or result.equivalence.p_adjusted <= comparison.alpha)
    )


def has_no_nan(value: object) -> bool:
    """Say whether the record is plain JSON: NaN and infinity are not."""
    json.dumps(value, allow_nan=False)
    return True


def test_a_mode_that_needs_less_is_better_and_the_reduction_is_positive() -> None:
    rows = rows_of({"new": noisy(70, seed=1), "old": noisy(100, seed=2)})

    result = compare_modes(rows, "new", "old", "latency_wall_ms", PLAN)

    assert result.verdict == "better"
    assert result.reduction_pct == pytest.approx(30, abs=4)
    assert 0 < result.low < result.reduction_pct < result.high
    assert result.p == result.p_adjusted == pytest.approx(1 / 1000)
    assert (result.n, result.intention_to_treat.rows_a, result.intention_to_treat.rows_b) == (8, 32, 32)
    assert "new is better than old on these scenarios: wall time is" in result.words
    assert 0 < result.mde < 15
    assert result.provenance.seed == 0


def test_the_estimate_is_the_ratio_of_geometric_means_within_scenarios() -> None:
    rows = rows_of({"a": {"s1": [10, 40], "s2": [3]}, "b": {"s1": [40, 40], "s2": [3]}})

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    # s1: 20 against 40, s2: no difference; the mean of log 2 and log 1 is log sqrt(2).
    assert result.reduction_pct == pytest.approx(100 * (1 - 1 / math.sqrt(2)))
    assert (result.intention_to_treat.center_a, result.intention_to_treat.center_b) == pytest.approx(
        (math.sqrt(20 * 3), math.sqrt(40 * 3))
    )


def test_a_mode_that_succeeds_more_often_is_better_though_its_reduction_is_negative() -> None:
    scenarios = [f"s{number}" for number in range(8)]
    rows = rows_of(
        {"a": {s: [1, 1, 1, 0] for s in scenarios}, "b": {s: [1, 0, 0, 0] for s in scenarios}}, metric="success"
    )

    result = compare_modes(rows, "a", "b", "success", PLAN)

    assert result.verdict == "better"
    assert result.unit == "percentage points"
    assert result.reduction_pct == pytest.approx(-50)
    assert -100 <= result.low < result.high < 0
    assert result.both_succeeded is None
    assert "50.0 percentage points higher" in result.words


def test_the_population_is_a_t_test_on_the_scenarios_differences() -> None:
    values = {"a": noisy(90, seed=3), "b": noisy(100, seed=4)}

    result = compare_modes(rows_of(values), "a", "b", "latency_wall_ms", POPULATION).intention_to_treat.population

    log_means = {mode: [np.mean(np.log(each)) for each in scenarios.values()] for mode, scenarios in values.items()}
    theirs = reference.ttest_rel(log_means["b"], log_means["a"])
    interval = theirs.confidence_interval()
    assert result.p == pytest.approx(theirs.pvalue)
    assert (result.low, result.high) == pytest.approx(
        (100 * (1 - math.exp(-interval.low)), 100 * (1 - math.exp(-interval.high)))
    )


def test_below_six_scenarios_nothing_is_said_about_tasks_like_these() -> None:
    rows = rows_of({"a": noisy(70, scenarios=5, seed=1), "b": noisy(100, scenarios=5, seed=2)})

    result = compare_modes(rows, "a", "b", "latency_wall_ms", POPULATION)

    assert result.verdict == "not estimable"
    assert "at least 6" in result.words
    assert result.intention_to_treat.suite.verdict == "better"
    assert result.reduction_pct == pytest.approx(result.intention_to_treat.suite.reduction_pct)


def test_modes_that_hardly_differ_are_equivalent_within_the_planned_margin() -> None:
    rows = rows_of({"a": noisy(100, repetitions=12, seed=5), "b": noisy(100, repetitions=12, seed=6)})

    wide, narrow = (
        compare_modes(rows, "a", "b", "latency_wall_ms", PLAN.model_copy(update={"margin_pct": margin}))
        for margin in (10.0, 0.1)
    )

    assert wide.verdict == "equivalent"
    equivalence = wide.intention_to_treat.suite.equivalence
    assert equivalence.confidence == pytest.approx(0.9)
    assert -10 < equivalence.low < equivalence.high < 10
    assert f"; of equivalence p = {equivalence.p:.2g})." in wide.words
    assert narrow.verdict == "inconclusive"
    assert narrow.intention_to_treat.suite.equivalence.p > 0.05
    assert "would have shown a reduction of" in narrow.words


def test_a_small_difference_that_is_certain_is_better_and_said_to_be_small() -> None:
    rows = rows_of({"a": noisy(96, repetitions=30, seed=7), "b": noisy(100, repetitions=30, seed=8)})

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    assert result.verdict == "better"
    assert "smaller than the planned margin of 10.0 %" in result.words


def test_one_repetition_of_five_scenarios_cannot_show_anything_and_says_so() -> None:
    rows = rows_of({"a": noisy(10, scenarios=5, repetitions=1), "b": noisy(100, scenarios=5, repetitions=1, seed=1)})

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    assert result.verdict == "inconclusive"
    assert result.p == pytest.approx(2 / 2**5)
    assert (result.low, result.high, result.mde) == (None, None, None)
    assert "p cannot be below 0.062" in result.words


@pytest.mark.parametrize("metric", ["latency_wall_ms", "cost_total_usd", "success"])
def test_values_that_never_vary_are_not_estimable(metric: str) -> None:
    scenarios = {f"s{number}": [1.0] * 5 for number in range(8)}

    found = compare_modes(rows_of({"a": scenarios, "b": scenarios}, metric), "a", "b", metric, PLAN)

    for result in (found.intention_to_treat.suite, found.intention_to_treat.population):
        assert result.verdict == "not estimable"
        assert "zero variance" in str(result.reason)
    assert found.reduction_pct == 0


def test_a_constant_difference_without_any_noise_is_not_estimable_but_shown() -> None:
    rows = rows_of({"a": {"s1": [0.1] * 5, "s2": [0.2] * 5}, "b": {"s1": [0.3] * 5, "s2": [0.6] * 5}})

    result = compare_modes(rows_of({"a": {"s1": [1.0] * 5}, "b": {"s1": [3.0] * 5}}), "a", "b", "latency_wall_ms", PLAN)

    assert result.verdict == compare_modes(rows, "a", "b", "latency_wall_ms", PLAN).verdict == "not estimable"
    assert result.reduction_pct == pytest.approx(100 * 2 / 3)


def test_always_against_never_is_decided_by_the_permutation_test_with_newcombes_interval() -> None:
    always, never = {"s1": [1] * 5, "s2": [1] * 5}, {"s1": [0] * 5, "s2": [0] * 5}

    result = compare_modes(rows_of({"a": always, "b": never}, "success"), "a", "b", "success", PLAN)

    z2 = reference.norm.ppf(0.975) ** 2
    assert result.verdict == "better"
    assert result.low == -100
    assert result.high == pytest.approx(-100 * (1 - math.sqrt(2) * z2 / (10 + z2)))
    assert "Newcombe" in result.intention_to_treat.suite.method


@pytest.mark.parametrize("metric", ["attack_success", "over_refusal", "adoption"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1] * 6, [0] * 6),
        ([1, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 1]),
        ([1] * 6, [1] * 6),
    ],
)
def test_a_metric_that_is_0_or_1_is_compared_as_success_is(metric: str, a: list[int], b: list[int]) -> None:
    # So few rows that no shuffle is drawn at random.
    values = {"a": {"s1": a}, "b": {"s1": b}}

    binary = compare_modes(rows_of(values, f"metric_{metric}"), "a", "b", metric, PLAN)
    success = compare_modes(rows_of(values, "success"), "a", "b", "success", PLAN)

    words = {"verdict", "words", "reason"}
    assert (binary.unit, binary.headline.scale) == ("percentage points", "raw")
    assert binary.headline.suite.model_dump(exclude=words) == success.headline.suite.model_dump(exclude=words)
    assert (binary.p is None) is (a == b)


def test_always_against_never_in_three_repetitions_is_inconclusive() -> None:
    result = compare_modes(rows_of({"a": {"s1": [1] * 3}, "b": {"s1": [0] * 3}}, "success"), "a", "b", "success", PLAN)

    assert (result.verdict, result.p, result.low, result.high) == ("inconclusive", 0.1, None, None)


def test_a_metric_with_zeros_is_compared_on_raw_differences_and_says_so() -> None:
    rng = np.random.default_rng(0)
    values = {mode: {f"s{n}": rng.poisson(mean, 6).tolist() for n in range(8)} for mode, mean in (("a", 1), ("b", 4))}
    rows = [
        row(mode, scenario, number, toolCalls={"total": 9, "failed": value})
        for mode, scenarios in values.items()
        for scenario, repetitions in scenarios.items()
        for number, value in enumerate(repetitions)
    ]

    result = compare_modes(rows, "a", "b", "tool_calls_failed", PLAN)

    mean_a, mean_b = (np.mean([np.mean(each) for each in values[mode].values()]) for mode in "ab")
    suite = result.intention_to_treat.suite
    assert result.intention_to_treat.scale == "raw"
    assert suite.raw.reduction == pytest.approx(mean_b - mean_a)
    assert result.reduction_pct == pytest.approx(100 * (mean_b - mean_a) / mean_b)
    assert result.low == pytest.approx(100 * suite.raw.low / mean_b)
    assert any("raw differences" in note for note in result.notes)


def test_no_amount_is_reduced_by_more_than_all_of_it() -> None:
    values = {"a": {"s1": [0, 0, 1, 2], "s2": [0, 3, 0, 0]}, "b": {"s1": [0, 9, 1, 0], "s2": [1, 0, 0, 8]}}
    rows = rows_of(values, "cost_total_usd")

    result = compare_modes(rows, "a", "b", "cost_total_usd", PLAN)

    assert result.intention_to_treat.suite.raw.high > 2.375
    assert (result.high, result.mde) == (100, None)
    assert result.raw.mde > result.headline.center_b
    assert "No reduction would have been shown with a chance of 80 %, for nothing can be lower than 0" in result.words
    assert f"; an increase of {result.raw.mde:.4g} USD would have been." in result.words


def test_more_than_every_success_is_not_called_detectable() -> None:
    rows = rows_of({"a": {"s1": [1, 0, 0, 1]}, "b": {"s1": [1, 1, 0, 0]}}, "success")

    result = compare_modes(rows, "a", "b", "success", PLAN)

    assert (result.mde, result.verdict) == (None, "inconclusive")
    assert "Not even the largest possible reduction" in result.words
    assert "0.0 percentage points different" in result.words
    assert "-0.0" not in result.words


def test_no_percentage_is_made_up_where_b_is_always_zero() -> None:
    values = {"a": {f"s{n}": [1.0, 0.0, 2.0] for n in range(6)}, "b": {f"s{n}": [0.0] * 3 for n in range(6)}}

    result = compare_modes(rows_of(values, "cost_total_usd"), "a", "b", "cost_total_usd", PLAN)

    suite = result.intention_to_treat.suite
    assert (result.reduction_pct, result.low, result.high) == (None, None, None)
    assert (result.verdict, suite.raw.reduction) == ("worse", -1)
    assert suite.raw.low < suite.raw.high < 0
    assert result.raw == result.headline.suite.raw
    assert "1 USD higher (95 % interval 0.5714 to 1.429 USD higher; p = 0.001)" in result.words
    assert 0 < result.raw.mde < 1
    assert smallest_effect_of(suite, "percent", "USD").startswith("an increase of $0.")
    assert "largest possible" not in (suite.reason or "")


def test_the_smallest_effect_is_told_in_the_metrics_own_unit_too_where_raw_values_are_compared() -> None:
    values = {"a": {f"s{n}": [1.0, 0.0, 2.0] for n in range(6)}, "b": {f"s{n}": [2.0, 0.0, 1.0] for n in range(6)}}

    result = compare_modes(rows_of(values), "a", "b", "latency_wall_ms", PLAN)

    assert result.verdict == "inconclusive"
    assert result.mde == pytest.approx(100 * result.raw.mde / result.headline.center_b)


@pytest.mark.parametrize("metric", ["success", "tokens_active"])
def test_one_row_a_mode_is_too_few_and_nothing_else(metric: str) -> None:
    rows = [row("a", success=True, tokens_active=5), row("b", success=False, tokens_active=9)]

    result = compare_modes(rows, "a", "b", metric, PLAN)

    assert (result.verdict, result.headline.suite.reason) == ("not estimable", "one scenario, one repetition: too few")


def test_a_verdict_on_success_says_how_many_rows_count_as_failures_unmeasured() -> None:
    rows = [
        *(row("a", f"s{n}", r) for n in range(4) for r in range(5)),
        *(failed("b", f"s{n}", r, "environment") for n in range(4) for r in range(5)),
        failed("b", "s9", 0, "environment"),
    ]

    result = compare_modes(rows, "b", "a", "success", PLAN)

    assert result.verdict == "worse"
    assert "; counting 20 rows that could not be measured as failures)" in result.words


def test_of_calls_by_category_neither_way_is_better_unless_the_plan_says_so() -> None:
    def comparison(plan: AnalysisPlan) -> ModeComparison:
        rows = [
            row(mode, f"s{n}", r, toolCalls={"total": 9, "byCategory": {"mcp": calls + r}})
            for mode, calls in (("a", 1), ("b", 7))
            for n in range(4)
            for r in range(4)
        ]
        return compare_modes(rows, "a", "b", "tool_calls_category_mcp", plan)

    result = comparison(PLAN)

    assert result.verdict == "lower"
    assert result.words.startswith("tool calls category mcp of a is lower than that of b on these scenarios: ")
    wanted = PLAN.model_copy(update={"higher_is_better": ("tool_calls_category_mcp",)})
    assert comparison(wanted).verdict == "worse"


def test_beyond_a_factor_of_twenty_a_change_is_told_as_a_multiple() -> None:
    rows = rows_of({"a": noisy(98e8, seed=1), "b": noisy(100, seed=2)})

    words = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN).words

    assert "wall time is 98.1 million times as much (95 % interval 93.6 million to 103 million times" in words
    assert " %;" not in words
    assert "> 99.9 % lower" in compare_modes(rows, "b", "a", "latency_wall_ms", PLAN).words


def failed(mode: str, scenario: str, number: int, cause: str, **fields: object) -> ProfileRow:
    return row(mode, scenario, number, success=None, cause=cause, error="it broke", **fields)


def test_rows_that_could_not_be_measured_fail_by_intention_to_treat_and_are_left_out_per_protocol() -> None:
    rows = [
        *(row("a", f"s{n}", r) for n in range(6) for r in range(3)),
        *(row("b", f"s{n}", r, success=r > 0) for n in range(6) for r in range(3)),
        *(failed("a", f"s{n}", 3, "environment") for n in range(6)),
        failed("b", "s0", 3, "scorer"),
        row("b", "s1", 3, success=False, cause="agent_timeout", error="too slow", completionReason="timeout"),
    ]

    result = compare_modes(rows, "a", "b", "success", PLAN)

    treated, protocol = result.intention_to_treat, result.per_protocol
    assert (treated.rows_a, treated.rows_b, treated.left_out) == (24, 20, ())
    assert (protocol.rows_a, protocol.rows_b) == (18, 19)
    assert [(each.mode, each.cause, each.rows) for each in protocol.left_out] == [
        ("a", "environment", 6),
        ("b", "scorer", 1),
    ]
    assert treated.center_a == pytest.approx(0.75)
    assert protocol.center_a == 1
    assert any("count as failures here" in note for note in result.notes)
    assert any("per protocol" in note for note in result.notes)


def test_spend_is_compared_on_all_rows_on_measured_rows_and_on_successes() -> None:
    rows = [
        *(row(mode, "s1", r, latency_wall_ms=100 + r, success=r != 0) for mode in "ab" for r in range(4)),
        failed("a", "s1", 4, "model_provider", latency_wall_ms=7),
        failed("a", "s1", 5, "environment"),
        row("b", "s2", 0, latency_wall_ms=5),
    ]

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    counts = {
        each.analysis_set: (each.rows_a, each.rows_b, {(out.mode, out.cause): out.rows for out in each.left_out})
        for each in (result.intention_to_treat, result.per_protocol, result.both_succeeded)
    }
    unpaired = {("b", "scenario without rows of the other mode"): 1}
    assert counts["intention-to-treat"] == (5, 4, {("a", "environment"): 1, **unpaired})
    assert counts["per-protocol"] == (4, 4, {("a", "environment"): 1, ("a", "model_provider"): 1, **unpaired})
    assert counts["both-succeeded"][:2] == (3, 3)
    assert counts["both-succeeded"][2]["a", "did not succeed"] == 1


def test_a_mode_that_the_bench_spoils_at_once_does_not_win_on_time() -> None:
    rows = [
        *rows_of({"a": noisy(100, seed=1), "b": noisy(100, seed=2)}),
        *(failed("quick", f"s{n}", r, "bench", latency_wall_ms=5 + r) for n in range(8) for r in range(4)),
    ]

    result = compare_modes(rows, "quick", "b", "latency_wall_ms", PLAN)

    assert (result.verdict, result.analysis_set, result.n) == ("not estimable", "per-protocol", 0)
    assert result.words.endswith("between quick and b on these scenarios: no row of quick could be measured.")
    assert result.intention_to_treat.suite.verdict == "better"
    assert any(note.startswith("over all attempts") and note.endswith("is: better") for note in result.notes)
    assert compare_modes(rows, "a", "b", "success", PLAN).analysis_set == "intention-to-treat"


@pytest.mark.parametrize("cause", ["bench", "model_provider", "environment", "scorer"])
def test_what_an_unmeasured_row_spent_does_not_move_the_verdict(cause: str) -> None:
    measured = rows_of({"a": noisy(90, seed=1), "b": noisy(100, seed=2)})
    spoilt = [failed("a", f"s{n}", 9, cause, latency_wall_ms=1.0) for n in range(8)]

    alone, among = (compare_modes(rows, "a", "b", "latency_wall_ms", PLAN) for rows in (measured, measured + spoilt))

    assert (among.p, among.reduction_pct, among.words) == (alone.p, alone.reduction_pct, alone.words)
    assert among.intention_to_treat.rows_a == alone.intention_to_treat.rows_a + 8


def test_a_number_that_a_wrong_answer_does_not_tell_is_not_recorded_rather_than_failed() -> None:
    rows = [
        *rows_of({"a": {"s1": [5.0, 6.0]}, "b": {"s1": [7.0, 8.0]}}),
        row("a", "s1", 2, success=False, tokens_active=7),
        row("a", "s1", 3, success=False, tokens_active=7, cause="agent_timeout", error="too slow"),
        row("a", "s1", 4, success=False, cause="agent_crash", error="it fell over"),
        row("a", "s1", 5, success=None),
    ]

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    causes = {each.cause: each.rows for each in result.per_protocol.left_out}
    assert causes == {"not recorded": 3, "agent_crash": 1}
    assert {each.cause: each.rows for each in result.both_succeeded.left_out} == {
        "did not succeed": 1,
        "agent_timeout": 1,
        "agent_crash": 1,
        "success not recorded": 1,
    }


def test_a_category_without_calls_counts_as_none_where_the_calls_are_known() -> None:
    calls = [
        {"total": 4, "byCategory": {"mcp": 3, "shell": 1}},
        {"total": 2, "byCategory": {"shell": 2}},
        {"total": 0},
        {"total": 5},
        {},
    ]

    seen = observe([row("a", "s1", number, toolCalls=each) for number, each in enumerate(calls)])

    assert seen.metrics["tool_calls_category_mcp"][:3].tolist() == [3, 0, 0]
    assert seen.metrics["tool_calls_category_shell"][:3].tolist() == [1, 2, 0]
    assert np.isnan(seen.metrics["tool_calls_category_mcp"][3:]).all()


@pytest.mark.parametrize(
    ("values", "metric", "reason"),
    [
        ({"a": {"s1": [1, 1]}, "b": {"s1": [1]}}, "success", "every row of both succeeded"),
        ({"a": {"s1": [0, 0]}, "b": {"s1": [0]}}, "success", "no row of either succeeded"),
        (
            {"a": {"s1": [1, 1], "s2": [0]}, "b": {"s1": [1], "s2": [0]}},
            "success",
            "within each scenario every row of both has the same outcome",
        ),
        ({"a": {"s1": [0, 0]}, "b": {"s1": [0]}}, "cost_total_usd", "cost is 0 in every row of both"),
        ({"a": {"s1": [3.0]}, "b": {"s2": [4.0]}}, "cost_total_usd", "no scenario has a known cost of"),
    ],
)
def test_the_reason_why_nothing_can_be_concluded_is_the_real_one(values, metric: str, reason: str) -> None:
    result = compare_modes(rows_of(values, metric), "a", "b", metric, PLAN)

    assert result.verdict == "not estimable"
    assert (
        f"Nothing can be concluded about {METRICS.label(metric)} between a and b on these scenarios: {reason}"
        in result.words
    )


def test_a_metric_that_one_mode_does_not_know_is_named_with_that_mode() -> None:
    rows = [row("a", "s1", 0), row("b", "s1", 0, cost_total_usd=1.0), row("c", "s1", 0)]

    assert "cost is not known in any row of a." in compare_modes(rows, "a", "b", "cost_total_usd", PLAN).words
    assert "in any row of either." in compare_modes(rows, "a", "c", "cost_total_usd", PLAN).words


def test_rows_of_old_files_that_failed_without_a_session_know_nothing() -> None:
    rows = [
        *rows_of({"a": {"s1": [5.0, 6.0]}, "b": {"s1": [7.0, 8.0]}}),
        row("a", "s1", 2, success=False, error="boom", sessionId="", latency_wall_ms=0, completionReason="error"),
    ]

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    assert result.intention_to_treat.rows_a == 2
    assert result.intention_to_treat.scale == "log"
    assert result.intention_to_treat.left_out[0].cause == "failed, cause not recorded"


def test_latency_cut_off_by_the_timeout_stays_in_and_is_named_a_lower_bound() -> None:
    rows = rows_of({"a": {"s1": [5.0, 6.0]}, "b": {"s1": [7.0, 8.0]}}, "latency_wall_ms")
    rows.append(
        row("b", "s1", 2, success=False, latency_wall_ms=60_000, completionReason="timeout", cause="agent_timeout")
    )

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    assert result.per_protocol.rows_b == 3
    assert any("lower bound: 1 of b" in note for note in result.notes)


@pytest.mark.parametrize("end", ["timeout", "tool_limit"])
def test_rows_of_old_files_that_their_agent_did_not_finish_are_outcomes_with_what_they_spent(end: str) -> None:
    rows = rows_of({"a": {"s1": [5.0, 6.0]}, "b": {"s1": [7.0, 8.0]}})
    rows.append(row("b", "s1", 2, success=False, latency_wall_ms=60_000, completionReason=end, error="stopped"))

    latency, success = (compare_modes(rows, "a", "b", metric, PLAN) for metric in ("latency_wall_ms", "success"))

    assert (latency.per_protocol.rows_b, success.per_protocol.rows_b) == (3, 3)
    assert any("lower bound: 1 of b" in note for note in latency.notes) == (end == "timeout")
    assert not any("could not be measured" in note for note in success.notes)


def test_only_timeouts_whose_time_was_compared_are_called_lower_bounds() -> None:
    stopped = {"success": False, "completionReason": "timeout", "error": "stopped"}
    rows = [
        *rows_of({"a": {"s1": [5.0, 6.0]}, "b": {"s1": [7.0, 8.0], "s2": [9.0]}}),
        row("b", "s1", 2, latency_wall_ms=0, sessionId="", **stopped),
        row("b", "s1", 3, latency_wall_ms=0, **stopped),
        row("b", "s2", 1, latency_wall_ms=60_000, **stopped),
    ]

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    assert result.per_protocol.rows_b == 2
    assert not any("lower bound" in note for note in result.notes)
    assert {(each.cause, each.rows) for each in result.per_protocol.left_out} == {
        ("agent_timeout", 2),
        ("scenario without rows of the other mode", 2),
    }


def test_a_timeout_that_nobody_scored_is_no_success() -> None:
    rows = [row("a", "s1", n, success=None, completionReason="timeout", error="stopped") for n in range(2)]

    result = summarize_modes(rows, PLAN)["a"].success

    assert (result.k, result.n, result.per_protocol.n) == (0, 2, 2)


def test_several_models_weigh_the_same_within_a_scenario() -> None:
    rows = [
        row(mode, "s1", r, model=model, latency_wall_ms=value)
        for model, repetitions in (("m1", 8), ("m2", 2))
        for mode, value in (("a", 50 if model == "m1" else 100), ("b", 100))
        for r in range(repetitions)
    ]

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    assert result.reduction_pct == pytest.approx(100 * (1 - math.sqrt(0.5)))
    assert any("models weigh the same" in note for note in result.notes)


def test_of_a_custom_metric_less_is_better_unless_the_plan_says_otherwise() -> None:
    rows = [
        row(mode, f"s{n}", r, metric_grade=level + n + r / 10)
        for mode, level in (("a", 50), ("b", 10))
        for n in range(8)
        for r in range(3)
    ]
    more = PLAN.model_copy(update={"higher_is_better": ("success", "grade")})

    less_is_better, more_is_better = (compare_modes(rows, "a", "b", "grade", plan) for plan in (PLAN, more))

    assert (less_is_better.verdict, more_is_better.verdict) == ("worse", "better")
    assert any("less is taken to be better" in note for note in less_is_better.notes)
    assert not more_is_better.notes


def test_an_unknown_mode_and_a_mode_against_itself_are_refused() -> None:
    rows = rows_of({"a": {"s1": [1.0]}, "b": {"s1": [2.0]}})

    with pytest.raises(UnknownNameError, match="no mode 'c'"):
        compare_modes(rows, "a", "c", "success", PLAN)
    with pytest.raises(BadPairError):
        compare_modes(rows, "a", "a", "success", PLAN)
    with pytest.raises(UnknownNameError):
        compare_modes([], "a", "b", "success", PLAN)


def test_a_metric_nobody_knows_is_not_estimable_and_every_row_is_counted_out() -> None:
    rows = rows_of({"a": {"s1": [1.0, 2.0]}, "b": {"s1": [2.0]}})

    result = compare_modes(rows, "a", "b", "tokens_psychic", PLAN)

    assert (result.verdict, result.reduction_pct, result.n) == ("not estimable", None, 0)
    assert [(each.mode, each.rows) for each in result.intention_to_treat.left_out] == [("a", 2), ("b", 1)]


def test_effect_sizes_are_positive_when_a_is_lower() -> None:
    rows = rows_of({"a": noisy(70, seed=1), "b": noisy(100, seed=2)})

    there = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN).intention_to_treat.effect_sizes
    back = compare_modes(rows, "b", "a", "latency_wall_ms", PLAN).intention_to_treat.effect_sizes

    assert there.hedges_g > 2
    assert there.d_z > 2
    assert there.cliffs_delta > 0.9
    assert (back.hedges_g, back.d_z, back.cliffs_delta) == pytest.approx(
        (-there.hedges_g, -there.d_z, -there.cliffs_delta)
    )


@pytest.mark.slow
def test_the_variance_is_split_into_scenarios_and_repetitions() -> None:
    rng = np.random.default_rng(0)
    effects = rng.normal(0.2, 0.3, 400)
    values = {
        mode: {f"s{n}": np.exp(rng.normal(5 - (mode == "a") * effects[n], 0.2, 6)).tolist() for n in range(400)}
        for mode in "ab"
    }

    result = compare_modes(rows_of(values), "a", "b", "latency_wall_ms", PLAN).intention_to_treat.variance

    assert result.between == pytest.approx(0.09, rel=0.2)
    assert (result.within_a, result.within_b) == pytest.approx((0.04, 0.04), rel=0.1)
    assert (result.scenarios, result.repetitions_a) == (400, 6)


def test_scenarios_that_differ_no_more_than_their_repetitions_have_no_variance_of_their_own() -> None:
    noisy = {"s1": [1.0, 9.0, 5.0], "s2": [9.0, 5.0, 1.0], "s3": [5.0, 1.0, 9.0]}
    rows = rows_of({"a": noisy, "b": {name: [2 * each for each in values] for name, values in noisy.items()}})

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN).intention_to_treat.variance

    assert result.within_a
    assert result.between == 0


def test_primary_metrics_are_one_holm_family_and_the_rest_is_exploratory() -> None:
    rng = np.random.default_rng(1)
    rows = [
        row(
            mode,
            f"s{n}",
            r,
            tokens_active=round(1000 * level * v),
            latency_wall_ms=50 * v,
            cost_total_usd=v,
            agentTurns=3 + r,
        )
        for mode, level in (("baseline", 100), ("ghx", 60), ("mcp", 95))
        for n in range(6)
        for r in range(4)
        for v in [float(np.exp(rng.normal(0, 0.2)))]
    ]

    plan = PLAN.model_copy(update={"all_pairs": True})
    result = {(each.a, each.b, each.metric): each for each in compare_all_modes(rows, plan)}

    pairs = [("ghx", "baseline"), ("mcp", "baseline"), ("mcp", "ghx")]
    primary = [each for each in result.values() if each.family == "primary"]
    assert {(each.a, each.b) for each in primary} == set(pairs)
    assert {each.metric for each in primary} == set(PLAN.primary)
    assert {each.adjustment for each in primary} == {"holm"}
    # Success is the same everywhere: nobody could have tested it, so it is no member.
    assert {each.family_size for each in primary} == {9}
    turns = result["ghx", "baseline", "agent_turns"]
    assert (turns.family, turns.adjustment) == ("exploratory", "benjamini-hochberg")
    tokens = result["ghx", "baseline", "tokens_active"]
    assert (tokens.verdict, tokens.p_adjusted) == ("better", pytest.approx(9 * tokens.p))
    assert tokens.confidence == pytest.approx(1 - 0.05 / 9)
    assert "after Holm p =" in tokens.words


def test_pairs_that_are_named_are_one_family_and_those_that_could_not_be_tested_are_counted() -> None:
    levels = {"x @ 1": 100, "x @ 2": 70, "y @ 1": 100, "y @ 2": 95}
    rows = rows_of({mode: noisy(level, seed=seed) for seed, (mode, level) in enumerate(levels.items())})

    result = compare_all_modes(rows, PLAN, pairs=[("x @ 2", "x @ 1"), ("y @ 2", "y @ 1")])

    assert {(each.a, each.b) for each in result} == {("x @ 2", "x @ 1"), ("y @ 2", "y @ 1")}
    primary = [each for each in result if each.family == "primary"]
    assert {(each.family_size, each.family_planned) for each in primary} == {(2, 8)}
    better = next(each for each in primary if each.verdict == "better")
    assert better.p_adjusted == pytest.approx(2 * better.p)


def test_success_and_amounts_are_adjusted_together_though_they_rest_on_other_rows() -> None:
    rows = [
        *(
            row(mode, f"s{n}", r, latency_wall_ms=level + r + n, success=r > bad)
            for mode, level, bad in (("a", 100, 0), ("b", 150, 2))
            for n in range(6)
            for r in range(5)
        ),
        *(failed("a", f"s{n}", 9, "bench", latency_wall_ms=1.0) for n in range(6)),
    ]
    plan = PLAN.model_copy(update={"primary": ("success", "latency_wall_ms")})

    success, latency = compare_all_modes(rows, plan, metrics=[])

    assert {each.family_size for each in (success, latency)} == {2}
    assert latency.p_adjusted == pytest.approx(2 * latency.p)
    assert success.p_adjusted == max(success.p, latency.p_adjusted)


def test_a_promised_metric_that_no_row_knows_is_still_answered() -> None:
    rows = rows_of({"a": {"s1": [1.0, 2.0]}, "b": {"s1": [2.0, 4.0]}})

    result = compare_all_modes(rows, PLAN, metrics=[])

    assert [each.metric for each in result] == list(PLAN.primary)
    assert {each.metric: each.verdict for each in result}["cost_total_usd"] == "not estimable"


def test_the_order_of_modes_given_decides_who_is_a() -> None:
    rows = rows_of({"x": {"s1": [1.0, 2.0]}, "y": {"s1": [2.0, 4.0]}})

    assert {(each.a, each.b) for each in compare_all_modes(rows, PLAN, modes=["y", "x"])} == {("x", "y")}
    assert {(each.a, each.b) for each in compare_all_modes(rows, PLAN)} == {("y", "x")}


values = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0, 2.5, 3.0, 1e6]), st.floats(0.01, 100))
outcomes = st.tuples(values, values, st.sampled_from([True, False, None]))
cells = st.tuples(st.sampled_from("abc"), st.sampled_from(["s1", "s2", "s3", "s4", "s5", "s6", "s7"]), outcomes)


def messy_rows(drawn: list[tuple[str, str, tuple[float | None, float | None, bool | None]]]) -> list[ProfileRow]:
    always = [(mode, "s1", (1.0, 1.0, True)) for mode in "abc"]
    return [
        row(mode, scenario, number, success=success, tokens_active=None if tokens is None else round(tokens), **fields)
        for number, (mode, scenario, (tokens, cost, success)) in enumerate(always + drawn)
        for fields in [{"cost_total_usd": cost} | ({"cause": "environment", "error": "x"} if success is None else {})]
    ]


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples)
@given(st.lists(cells, max_size=60), st.sampled_from([0.01, 0.05, 0.2]), st.sampled_from(["suite", "population"]))
def test_verdict_p_and_interval_never_contradict_each_other_whatever_the_rows(drawn, alpha, target) -> None:
    plan = PLAN.model_copy(update={"alpha": alpha, "target": target})

    for comparison in compare_all_modes(messy_rows(drawn), plan):
        assert agrees_with_itself(comparison), comparison.words
        assert has_no_nan(comparison.to_wire())


@pytest.mark.slow
@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(cells, max_size=40), st.randoms())
def test_the_order_of_rows_changes_nothing(drawn, random) -> None:
    rows = messy_rows(drawn)
    shuffled = list(rows)
    random.shuffle(shuffled)

    assert compare_all_modes(rows, PLAN) == compare_all_modes(shuffled, PLAN)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(cells, max_size=40), st.sampled_from(["success", "tokens_active", "cost_total_usd"]))
def test_swapping_a_and_b_flips_signs_and_words_and_nothing_else(drawn, metric: str) -> None:
    rows = observe(messy_rows(drawn))

    there, back = compare_modes(rows, "a", "b", metric, PLAN), compare_modes(rows, "b", "a", metric, PLAN)

    mirrored = {"better": "worse", "worse": "better"}
    assert back.verdict == mirrored.get(there.verdict, there.verdict)
    assert (back.p, back.n) == (there.p, there.n)
    if there.unit == "percentage points" and there.reduction_pct is not None:
        assert back.reduction_pct == -there.reduction_pct
        assert (back.low is None) == (there.high is None)
        assert back.low is None or back.low == -there.high
    elif None not in (there.reduction_pct, back.reduction_pct):
        assert back.reduction_pct * there.reduction_pct <= 0


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(cells, max_size=40), st.sampled_from([0.5, 4.0, 1024.0]))
def test_the_unit_of_a_metric_changes_nothing(drawn, factor: float) -> None:
    rows = messy_rows(drawn)
    scaled = [
        each.model_copy(update={"cost": each.cost.model_copy(update={"total_usd": each.cost.total_usd * factor})})
        if each.cost.total_usd is not None
        else each
        for each in rows
    ]

    before, after = (compare_modes(each, "a", "b", "cost_total_usd", PLAN) for each in (rows, scaled))

    assert (after.verdict, after.p, after.n) == (before.verdict, before.p, before.n)
    for name in ("reduction_pct", "low", "high", "mde"):
        old, new = getattr(before, name), getattr(after, name)
        assert (old is None and new is None) or new == pytest.approx(old, rel=1e-6, abs=1e-6)


def test_a_comparison_does_not_depend_on_which_others_were_made_before() -> None:
    rows = rows_of(
        {mode: noisy(level, seed=seed) for seed, (mode, level) in enumerate((("a", 90), ("b", 100), ("c", 95)))}
    )

    alone = compare_modes(rows, "c", "a", "latency_wall_ms", PLAN)
    among = [
        each for each in compare_all_modes(rows, PLAN) if (each.a, each.b, each.metric) == ("c", "a", "latency_wall_ms")
    ]

    assert [each.p for each in among] == [alone.p]
    assert among[0].reduction_pct == alone.reduction_pct
    assert compare_modes(rows, "c", "a", "latency_wall_ms", PLAN) == alone


def test_another_seed_gives_other_shuffles_and_the_seed_is_recorded() -> None:
    rows = rows_of({"a": noisy(99, seed=1), "b": noisy(100, seed=2)})

    first, second = (compare_modes(rows, "a", "b", "latency_wall_ms", PLAN, seed=seed) for seed in (1, 2))

    assert first.low != second.low
    assert (first.provenance.seed, first.provenance.resamples) == (1, 999)


def test_a_comparison_is_written_in_camel_case_with_every_key_and_read_back() -> None:
    rows = rows_of({"a": noisy(90, seed=1), "b": noisy(100, seed=2)})
    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    written = result.to_wire()

    wanted = {"a", "b", "metric", "target", "reductionPct", "low", "high", "p", "pAdjusted", "verdict", "n", "mde"}
    assert wanted <= written.keys()
    assert set(written["intentionToTreat"]["suite"]) == {field.alias for field in TargetResult.model_fields.values()}
    assert ModeComparison.model_validate_json(json.dumps(written)) == result


def test_all_rows_failed_is_an_answer_and_not_an_accident() -> None:
    rows = [failed(mode, f"s{n}", 0, "bench") for mode, n in product("ab", range(7))]

    success, tokens = (compare_modes(rows, "a", "b", metric, PLAN) for metric in ("success", "latency_wall_ms"))

    assert success.verdict == tokens.verdict == "not estimable"
    assert success.per_protocol.n == tokens.intention_to_treat.n == 0


def test_an_interval_has_the_direction_of_its_sentence() -> None:
    rows = rows_of({"a": noisy(574, seed=1), "b": noisy(100, seed=2)})
    more, less = (compare_modes(rows, *pair, "latency_wall_ms", PLAN) for pair in (("a", "b"), ("b", "a")))

    assert f"higher (95 % interval {-more.high:.1f} to {-more.low:.1f} % higher; p" in more.words
    assert f"lower (95 % interval {less.low:.1f} to {less.high:.1f} % lower; p" in less.words


def test_a_cost_of_0_that_an_older_package_wrote_for_tokens_is_unknown_and_counted() -> None:
    def rows(**fields: object) -> list[ProfileRow]:
        return [
            row(mode, "s1", n, tokens_active=100 + n, cost_total_usd=0, **fields) for mode in "ab" for n in range(3)
        ]

    old, ours = (compare_modes(rows(**fields), "a", "b", "cost_total_usd", PLAN) for fields in ({}, {"version": 1}))

    assert old.headline.suite.reason == "cost is not known in any row of either"
    assert [(each.cause, each.rows) for each in old.headline.left_out] == [("not recorded", 3)] * 2
    assert "cost is 0 in every row" in (ours.headline.suite.reason or "")


def test_a_row_that_spent_no_tokens_may_have_cost_nothing() -> None:
    free = [row("a", "s1", n, tokens_active=0, cost_total_usd=0) for n in range(3)]

    assert summarize_metric(free, "a", "cost_total_usd").n == 3


def test_agents_are_kept_apart_so_that_more_rows_of_a_frugal_one_do_not_make_a_mode_look_frugal() -> None:
    # Both modes spend the same with the same agent; B has only rows of the costly one in half of its scenarios.
    spent = {"frugal": 100.0, "costly": 1_000.0}
    rows = [
        row(mode, f"s{scenario}", repetition, provider=agent, latency_wall_ms=spent[agent] * (1 + repetition / 10))
        for mode, scenario, agent, repetition in product("ab", range(6), spent, range(3))
        if mode == "a" or agent == "costly" or scenario % 2
    ]

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN).headline

    assert result.suite.reduction_pct == pytest.approx(0.0, abs=1e-9)
    assert [(each.mode, each.cause, each.rows) for each in result.left_out] == [
        ("a", "agent without rows of the other mode", 9)
    ]


def test_modes_without_a_common_agent_are_compared_agent_against_agent() -> None:
    rows = [
        row(mode, f"s{scenario}", repetition, provider=agent, latency_wall_ms=spent * (1 + repetition / 10))
        for (mode, agent, spent), scenario, repetition in product(
            [("a", "frugal", 100.0), ("b", "costly", 200.0)], range(3), range(4)
        )
    ]

    result = compare_modes(rows, "a", "b", "latency_wall_ms", PLAN)

    assert result.reduction_pct == pytest.approx(50.0)
    assert result.headline.left_out == ()


def test_arms_of_two_runs_are_compared_by_their_record() -> None:
    rows = rows_of({"a": {f"s{n}": [1.0, 2.0, 3.0] for n in range(3)}})
    before, after = Arm(mode="a", run="before"), Arm(mode="a", run="after")
    seen = observe([*rows, *rows], arms=[before] * len(rows) + [after] * len(rows))

    result = compare_modes(seen, after, before, "latency_wall_ms", PLAN)

    assert (result.a, result.b, result.reduction_pct) == ("a @ after", "a @ before", pytest.approx(0.0, abs=1e-9))
    with pytest.raises(UnknownNameError):
        compare_modes(seen, "a", before, "latency_wall_ms", PLAN)
