import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats_rows import rows_of

from ghx_bench.profiler.stats import (
    AnalysisPlan,
    assumed_amounts,
    assumed_rates,
    compare_modes,
    pilot_components,
    plan_sample_size,
)
from ghx_bench.profiler.stats.errors import BadSampleError

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
    assert planned.advice.startswith(f"Add repetitions: {needed} of the present 10 scenarios")
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
    # (1.96 + 0.84)^2 * (0.25 + 0.25) / 0.2^2 = 98 rows a side.
    assert by_repetitions[10] == 10


def test_a_design_with_too_few_ways_to_shuffle_has_no_power() -> None:
    planned = plan_sample_size(
        99, assumed_amounts(within_cv=0.01, between_sd=0, scenarios=1, repetitions=3), SUITE, metric="tokens_active"
    )

    assert planned.current_power == 0  # 20 ways: p cannot be below 0.1
    assert planned.repetitions_at_current_scenarios == 4  # 70 ways


def test_a_pilot_tells_its_own_noise_and_the_planned_size_shows_the_effect() -> None:
    rng = np.random.default_rng(0)

    def run(scenarios: int, repetitions: int) -> list:
        return rows_of(
            {
                mode: {
                    f"s{n:03}": np.exp(rng.normal(n % 3 - 0.2 * (mode == "a"), 0.3, repetitions)).tolist()
                    for n in range(scenarios)
                }
                for mode in "ab"
            }
        )

    components = pilot_components(run(40, 4), "a", "b", "latency_wall_ms")
    planned = plan_sample_size(18, components, POPULATION, metric="latency_wall_ms")
    option = next(each for each in planned.options if each.repetitions == 3)
    shown = [
        compare_modes(run(option.scenarios, 3), "a", "b", "latency_wall_ms", POPULATION).verdict == "better"
        for _ in range(60)
    ]

    assert components.within_a == pytest.approx(0.09, rel=0.3)
    assert 0.6 < np.mean(shown) <= 1


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


def test_assumptions_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadSampleError, match="within_cv"):
        assumed_amounts(within_cv=-1, between_sd=0)
    with pytest.raises(BadSampleError, match="rate"):
        assumed_rates(rate=1.2, between_sd=0)
    with pytest.raises(BadSampleError, match="at least one comparison"):
        plan_sample_size(10, assumed_rates(rate=0.5, between_sd=0), SUITE, metric="success", comparisons=0)


@settings(max_examples=25)
@given(st.floats(1, 60), st.floats(0, 1), st.floats(0, 0.5), st.sampled_from([SUITE, POPULATION]))
def test_a_larger_effect_never_needs_more(effect: float, within: float, between: float, plan: AnalysisPlan) -> None:
    components = assumed_amounts(within_cv=within, between_sd=between)

    small, large = (
        plan_sample_size(each, components, plan, metric="tokens_active") for each in (effect, min(99.0, 1.5 * effect))
    )

    needed = {option.repetitions: option.scenarios for option in large.options}
    assert all(needed[option.repetitions] <= option.scenarios for option in small.options)
