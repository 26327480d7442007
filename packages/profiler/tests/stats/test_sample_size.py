import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import mostly_nightly
from stats_rows import rows_of

from ghx_profiler.stats import (
    AnalysisPlan,
    assumed_amounts,
    assumed_rates,
    compare_modes,
    pilot_components,
    plan_sample_size,
)
from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.plan import Target

pytestmark = pytest.mark.slow

SUITE = AnalysisPlan()
POPULATION = AnalysisPlan(target="population")


def test_the_number_of_scenarios_is_the_textbook_formula_for_large_numbers() -> None:
    components = assumed_amounts(within_cv=0.5, between_sd=0.4)

    planned = plan_sample_size(5, components, POPULATION, metric="tokens_active")

    within = math.log1p(0.25)
    for option in planned.options:
        variance = 0.16 + 2 * within / option.repetitions
        textbook = (1.959964 + 0.841621) ** 2 * variance / math.log(0.95) ** 2
        assert option.scenarios == pytest.approx(textbook, abs=3)
        assert option.power >= 0.8


def test_repetitions_cannot_make_up_for_scenarios_that_differ() -> None:
    components = assumed_amounts(within_cv=0.2, between_sd=0.5, scenarios=8, repetitions=5)

    planned = plan_sample_size(20, components, POPULATION, metric="tokens_active")

    assert planned.repetitions_at_current_scenarios is None
    assert planned.between_share == pytest.approx(0.25 / (0.25 + 2 * math.log1p(0.04) / 5))
    assert planned.advice.startswith("Add scenarios")
    assert planned.current_power < 0.8


def test_repetitions_are_enough_where_scenarios_agree() -> None:
    components = assumed_amounts(within_cv=0.4, between_sd=0.05, scenarios=10, repetitions=2)

    planned = plan_sample_size(20, components, POPULATION, metric="tokens_active")

    needed = planned.repetitions_at_current_scenarios
    assert needed > 2
    assert planned.advice.startswith(f"Add repetitions: {needed} of each of the present 10 scenarios")
    assert f"Or add scenarios: {planned.scenarios_at_current_repetitions}" in planned.advice


def test_scenarios_are_advised_where_repetitions_would_take_many_more_rows() -> None:
    components = assumed_amounts(within_cv=0.3, between_sd=0.15, scenarios=6, repetitions=3)

    planned = plan_sample_size(20, components, POPULATION, metric="tokens_active")

    assert planned.advice.startswith("Add scenarios: 15 with the present 3 repetitions (45 rows a mode)")
    assert planned.repetitions_at_current_scenarios > 50


def test_for_these_scenarios_only_the_total_of_repetitions_matters() -> None:
    components = assumed_amounts(within_cv=0.3, between_sd=5.0, scenarios=5, repetitions=3)

    planned = plan_sample_size(20, components, SUITE, metric="tokens_active")

    assert planned.between_share == 0
    totals = [option.scenarios * option.repetitions for option in planned.options if option.repetitions <= 5]
    assert max(totals) - min(totals) <= 12


def test_tasks_like_these_never_need_fewer_than_six_scenarios() -> None:
    planned = plan_sample_size(
        90, assumed_amounts(within_cv=0.01, between_sd=0.01, scenarios=5, repetitions=50), POPULATION, metric="x"
    )

    assert min(option.scenarios for option in planned.options) == 6
    assert "at least 6" in planned.advice


def test_a_family_of_comparisons_needs_more() -> None:
    components = assumed_amounts(within_cv=0.3, between_sd=0.1)

    one, twelve = (
        plan_sample_size(20, components, POPULATION, metric="tokens_active", comparisons=count) for count in (1, 12)
    )

    assert twelve.alpha == pytest.approx(0.05 / 12)
    assert all(more.scenarios > less.scenarios for less, more in zip(one.options, twelve.options, strict=True))


def test_success_is_planned_in_percentage_points() -> None:
    planned = plan_sample_size(20, assumed_rates(rate=0.5, between_sd=0.0), SUITE, metric="success")

    by_repetitions = {option.repetitions: option.scenarios for option in planned.options}
    # (1.96 + 0.84)^2 * (0.25 + 0.21) / 0.2^2 = 90 rows a side, 100 with the correction for coarse counts.
    assert by_repetitions[2] == pytest.approx(50, abs=1)
    assert by_repetitions[10] == 11


@pytest.mark.parametrize(
    ("rate", "effect", "reached"),
    [(0.7, 20, (0.5, 0.9)), (1.0, 20, (0.8,)), (0.0, 20, (0.2,)), (0.95, 10, (0.85,)), (0.7, 70, (0.0,))],
)
def test_success_changes_only_to_rates_that_can_be(rate: float, effect: float, reached: tuple[float, ...]) -> None:
    planned = plan_sample_size(effect, assumed_rates(rate=rate, between_sd=0.1), SUITE, metric="success")

    assert planned.reached_rates == pytest.approx(reached)
    assert planned.components.within_b == pytest.approx(rate * (1 - rate))
    assert planned.components.within_a == pytest.approx(max(each * (1 - each) for each in reached))


@pytest.mark.parametrize(("rate", "effect"), [(0.7, 80), (0.5, 51), (0.3, 70.5)])
def test_a_change_of_success_that_cannot_be_is_refused(rate: float, effect: float) -> None:
    with pytest.raises(BadSampleError, match=r"it can fall by at most .* and rise by at most"):
        plan_sample_size(effect, assumed_rates(rate=rate, between_sd=0.1), SUITE, metric="success")


def successes(rate: float, *, scenarios: int = 6, repetitions: int = 4) -> dict[str, list[float]]:
    """Return successes by scenario, spread evenly."""
    ones = round(rate * scenarios * repetitions)
    flat = [float(number < ones) for number in range(scenarios * repetitions)]
    return {f"s{number}": flat[number::scenarios] for number in range(scenarios)}


@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.parametrize("plan", [SUITE, POPULATION])
def test_a_pilot_that_always_succeeds_or_never_does_proves_no_rate(rate: float, plan: AnalysisPlan) -> None:
    rows = rows_of(dict.fromkeys("ab", successes(rate)), "success")

    planned = plan_sample_size(20, pilot_components(rows, "a", "b", "success"), plan, metric="success")

    # 24 of 24 with two of each added is 26 of 28; 80 % of 24 is 21.2 of 28.
    assert planned.components.within_b == pytest.approx(26 / 28 * 2 / 28)
    assert planned.components.within_a == pytest.approx(21.2 / 28 * 6.8 / 28)
    assert planned.current_power < 0.8
    assert min(option.rows_per_mode for option in planned.options) > 40
    assert any("two successes and two failures" in note for note in planned.notes)
    assert any("assumed to differ" in note for note in planned.notes) == (plan.target == "population")


def test_a_pilot_whose_scenarios_always_or_never_succeed_still_has_noise() -> None:
    half = {f"s{number}": [float(number % 2)] * 4 for number in range(6)}

    components = pilot_components(rows_of({"a": half, "b": half}, "success"), "a", "b", "success")

    assert 0 < plan_sample_size(10, components, SUITE, metric="success").components.within_a < 0.1


def test_a_pilot_tells_the_noise_of_success_without_bias() -> None:
    rng = np.random.default_rng(3)
    result = []
    for _ in range(40):
        draws = {mode: {f"s{n}": (rng.random(5) < 0.6).tolist() for n in range(20)} for mode in "ab"}
        components = pilot_components(rows_of(draws, "success"), "a", "b", "success")
        result.append(plan_sample_size(10, components, SUITE, metric="success").components)

    assert np.mean([each.within_b for each in result]) == pytest.approx(0.24, rel=0.03)


def test_a_design_with_too_few_ways_to_shuffle_has_no_power() -> None:
    planned = plan_sample_size(
        99, assumed_amounts(within_cv=0.01, between_sd=0, scenarios=1, repetitions=3), SUITE, metric="tokens_active"
    )

    assert planned.current_power == 0  # 20 ways: p cannot be below 0.1
    assert planned.repetitions_at_current_scenarios == 4  # 70 ways


def test_a_pilot_tells_its_own_noise() -> None:
    rng = np.random.default_rng(0)
    values = {
        mode: {f"s{n:03}": np.exp(rng.normal(n % 3 - 0.2 * (mode == "a"), 0.3, 4)).tolist() for n in range(40)}
        for mode in "ab"
    }

    components = pilot_components(rows_of(values), "a", "b", "latency_wall_ms")

    assert components.within_a == pytest.approx(0.09, rel=0.3)


RUNS = 200


def share_shown(metric: str, plan: AnalysisPlan, run: Callable[[], dict[str, dict[str, list[float]]]]) -> float:
    """Return how often simulated runs show a difference."""
    verdicts = [compare_modes(rows_of(run(), metric), "a", "b", metric, plan).verdict for _ in range(RUNS)]
    return sum(verdict in {"better", "worse"} for verdict in verdicts) / RUNS


@pytest.mark.parametrize("target", mostly_nightly(["suite", "population"], keep=["population"]))
def test_runs_of_the_planned_size_show_an_amount_about_as_often_as_planned(target: Target) -> None:
    repetitions = 3
    plan = AnalysisPlan(target=target, resamples=999)
    components = assumed_amounts(within_cv=0.3, between_sd=0.1)
    planned = plan_sample_size(20, components, plan, metric="latency_wall_ms")
    option = next(each for each in planned.options if each.repetitions == repetitions)
    rng = np.random.default_rng(repetitions)

    def run() -> dict[str, dict[str, list[float]]]:
        effects = rng.normal(-math.log(0.8), 0.1, option.scenarios)
        effects -= effects.mean() + math.log(0.8) if target == "suite" else 0
        logs = rng.normal(0, math.log1p(0.09) ** 0.5, (2, option.scenarios, repetitions))
        logs[0] -= effects[:, None]
        return {
            mode: {f"s{n}": np.exp(10 + n % 4 + logs[side, n]).tolist() for n in range(option.scenarios)}
            for side, mode in enumerate("ab")
        }

    # Four standard errors of a simulated share of 80 % are 11 points.
    assert option.power - 0.11 < share_shown("latency_wall_ms", plan, run) < option.power + 0.11


@pytest.mark.parametrize(
    ("target", "rate", "effect"),
    mostly_nightly(
        [("suite", 0.5, 20), ("suite", 1.0, 20), ("suite", 0.0, 30), ("population", 0.9, 20), ("population", 1.0, 20)],
        keep=[("suite", 0.5, 20)],
    ),
)
def test_runs_of_the_planned_size_show_success_about_as_often_as_planned(
    target: Target, rate: float, effect: float
) -> None:
    plan = AnalysisPlan(target=target, resamples=999)
    planned = plan_sample_size(effect, assumed_rates(rate=rate, between_sd=0.05), plan, metric="success")
    option = next(each for each in planned.options if each.repetitions == 3)
    reached = min(planned.reached_rates, key=lambda each: abs(each - 0.5))
    rng = np.random.default_rng([round(100 * rate), round(effect)])

    def run() -> dict[str, dict[str, list[float]]]:
        rates = {"a": rng.normal(reached, 0.05, option.scenarios), "b": np.full(option.scenarios, rate)}
        rates["a"] += reached - rates["a"].mean() if target == "suite" else 0
        return {mode: {f"s{n}": (rng.random(3) < each).tolist() for n, each in enumerate(rates[mode])} for mode in "ab"}

    assert option.power - 0.11 < share_shown("success", plan, run) < option.power + 0.11


def test_a_metric_with_zeros_is_planned_in_per_cent_of_bs_mean() -> None:
    values = {"a": {f"s{n}": [0.0, 2.0, 3.0] for n in range(6)}, "b": {f"s{n}": [4.0, 5.0 + n, 0.0] for n in range(6)}}

    components = pilot_components(rows_of(values), "a", "b", "latency_wall_ms")

    assert (components.scale, components.base) == ("raw", pytest.approx(np.mean([(9 + n) / 3 for n in range(6)])))
    assert plan_sample_size(50, components, SUITE, metric="latency_wall_ms").options


@pytest.mark.parametrize("values", [{"s1": [1.0, 2.0]}, {"s1": [1.0], "s2": [2.0]}])
def test_a_pilot_without_repetitions_or_with_one_scenario_is_refused(values: dict[str, list[float]]) -> None:
    with pytest.raises(BadSampleError, match="at least 2 repetitions of at least 2 scenarios"):
        pilot_components(rows_of({"a": values, "b": values}), "a", "b", "latency_wall_ms")


@pytest.mark.parametrize("effect", [0, -5, 100, 120])
def test_an_effect_that_cannot_be_is_refused(effect: float) -> None:
    with pytest.raises(BadSampleError, match="above 0 and below 100"):
        plan_sample_size(effect, assumed_amounts(within_cv=0.3, between_sd=0.1), SUITE, metric="tokens_active")


def test_without_noise_there_is_nothing_to_plan_with() -> None:
    still = {f"s{n}": [100.0 + n] * 3 for n in range(6)}

    for components in (
        pilot_components(rows_of({"a": still, "b": still}), "a", "b", "latency_wall_ms"),
        assumed_amounts(within_cv=0, between_sd=0.5),
    ):
        with pytest.raises(BadSampleError, match="do not vary"):
            plan_sample_size(20, components, SUITE, metric="latency_wall_ms")


def test_where_no_size_is_enough_it_is_said_plainly_with_what_to_do() -> None:
    planned = plan_sample_size(0.001, assumed_amounts(within_cv=0.3, between_sd=0), SUITE, metric="tokens_active")

    assert planned.options == ()
    assert planned.advice.startswith("No size is enough: even 100,000 scenarios with 50 repetitions each would show")
    assert "Plan for a larger effect" in planned.advice


def test_fewer_shuffles_than_the_adjustment_needs_are_named_as_the_reason() -> None:
    components = assumed_amounts(within_cv=0.3, between_sd=0.1)

    planned = plan_sample_size(20, components, SUITE, metric="tokens_active", comparisons=1_000)

    assert planned.options == ()
    assert "9,999 shuffles" in planned.advice
    assert plan_sample_size(20, components, POPULATION, metric="tokens_active", comparisons=1_000).options


def test_a_size_just_below_the_largest_is_found() -> None:
    components = assumed_amounts(within_cv=0.3, between_sd=0)

    planned = plan_sample_size(0.3, components, SUITE, metric="tokens_active")

    assert 65_536 < planned.options[0].scenarios < 100_000


def test_per_cent_of_a_mean_of_zero_are_refused() -> None:
    values = {"a": {"s1": [0.0, 1.0], "s2": [2.0, 1.0]}, "b": {"s1": [0.0, 0.0], "s2": [0.0, 0.0]}}

    with pytest.raises(BadSampleError, match="nothing to take per cent of"):
        pilot_components(rows_of(values), "a", "b", "latency_wall_ms")


def test_values_whose_squares_no_longer_fit_are_refused() -> None:
    values = {"s1": [0.0, 1e300], "s2": [2.0, 1e308]}

    with pytest.raises(BadSampleError, match="too large"):
        pilot_components(rows_of({"a": values, "b": values}), "a", "b", "latency_wall_ms")


def test_assumptions_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadSampleError, match="within_cv"):
        assumed_amounts(within_cv=-1, between_sd=0)
    with pytest.raises(BadSampleError, match="rate"):
        assumed_rates(rate=1.2, between_sd=0)
    for comparisons in (0, -1, 10**400):
        with pytest.raises(BadSampleError, match="from 1 to 10,000"):
            plan_sample_size(
                10, assumed_rates(rate=0.5, between_sd=0), SUITE, metric="success", comparisons=comparisons
            )


@settings(max_examples=settings.default.max_examples // 3)
@given(st.floats(1, 60), st.floats(0.01, 1), st.floats(0, 0.5), st.sampled_from([SUITE, POPULATION]))
def test_a_larger_effect_never_needs_more(effect: float, within: float, between: float, plan: AnalysisPlan) -> None:
    components = assumed_amounts(within_cv=within, between_sd=between)

    small, large = (
        plan_sample_size(each, components, plan, metric="tokens_active") for each in (effect, min(99.0, 1.5 * effect))
    )

    needed = {option.repetitions: option.scenarios for option in large.options}
    assert all(needed[option.repetitions] <= option.scenarios for option in small.options)


@pytest.mark.parametrize("plan", [AnalysisPlan(), POPULATION])
def test_every_usual_number_of_repetitions_is_an_option_or_says_why_not(plan: AnalysisPlan) -> None:
    components = assumed_amounts(within_cv=3.0, between_sd=0.5)

    planned = plan_sample_size(0.75, components, plan, metric="tokens_active")

    numbers = [each.repetitions for each in (*planned.options, *planned.left_out)]
    assert sorted(numbers) == [1, 2, 3, 5, 8, 10, 15, 20, 30, 50]
    assert planned.options
    assert planned.left_out[0].repetitions == 1
    assert all(each.reason for each in planned.left_out)


def test_one_repetition_is_left_out_on_these_scenarios_and_the_reason_is_the_noise() -> None:
    components = assumed_amounts(within_cv=0.3, between_sd=0.1)

    suite, population = (
        plan_sample_size(20, components, plan, metric="tokens_active") for plan in (AnalysisPlan(), POPULATION)
    )

    assert [(each.repetitions, "how repetitions vary" in each.reason) for each in suite.left_out] == [(1, True)]
    assert population.left_out == ()


def test_one_scenario_and_one_repetition_are_not_told_in_the_plural() -> None:
    components = assumed_amounts(within_cv=0.3, between_sd=0.1, scenarios=1, repetitions=5)
    single = assumed_amounts(within_cv=0.3, between_sd=0.1, scenarios=6, repetitions=1)

    one = plan_sample_size(5, components, AnalysisPlan(), metric="tokens_active").advice
    few = plan_sample_size(10, single, POPULATION, metric="tokens_active").advice

    needed = plan_sample_size(5, components, AnalysisPlan(), metric="tokens_active").repetitions_at_current_scenarios
    assert f"{needed:,} of the one scenario ({needed:,} rows a mode)" in one
    assert "with the present 1 repetition (" in few
