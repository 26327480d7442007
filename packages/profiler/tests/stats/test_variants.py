"""Variants of a scenario are strata inside it: paired apart, counted as one task."""

import random
from collections.abc import Iterable
from statistics import variance

import pytest
from stats_rows import row, rows_of

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats import (
    AnalysisPlan,
    assumed_amounts,
    assumed_rates,
    clustered_wilson_interval,
    compare_all_modes,
    compare_modes,
    cost_per_success,
    pass_curve,
    pilot_components,
    plan_sample_size,
    summarize_modes,
)
from ghx_profiler.stats.observations import observe, pair_up
from ghx_profiler.stats.run_comparison import compare_overall

SUITE, POPULATION = AnalysisPlan(resamples=999), AnalysisPlan(target="population", resamples=999)
VARIANTS = ("", "@large", "@forked", "@vague", "@reader")


def noisy_rows(scenarios: int, forms: Iterable[str], *, repetitions: int = 3, seed: int = 1) -> list[ProfileRow]:
    """Return rows whose effect differs between scenarios, and hardly between the variants of one."""
    rng = random.Random(seed)
    effects = [rng.gauss(0.2, 0.3) for _ in range(scenarios)]
    return [
        row(
            mode,
            f"task-{number}{form}",
            iteration,
            success=rng.random() < 0.7,
            latency_wall_ms=1000 * rng.lognormvariate(number % 3 - (effect if mode == "ghx" else 0), 0.05),
            cost_total_usd=rng.uniform(0.1, 0.2) * (number + 1),
        )
        for number, effect in enumerate(effects)
        for form in forms
        for mode in ("baseline", "ghx")
        for iteration in range(repetitions)
    ]


def width(rows: list[ProfileRow], plan: AnalysisPlan) -> float:
    result = compare_modes(rows, "ghx", "baseline", "latency_wall_ms", plan)
    assert result.low is not None
    assert result.high is not None
    return result.high - result.low


def test_five_variants_of_each_scenario_do_not_narrow_an_interval_as_five_times_as_many_scenarios_would() -> None:
    plain, varied = noisy_rows(6, [""]), noisy_rows(6, VARIANTS)
    many = noisy_rows(30, [""])

    assert width(varied, POPULATION) == pytest.approx(width(plain, POPULATION), rel=0.25)
    assert width(many, POPULATION) < 0.6 * width(varied, POPULATION)
    result = compare_modes(varied, "ghx", "baseline", "latency_wall_ms", POPULATION)
    assert result.n == 6
    assert result.per_protocol.population.method == "t on the scenarios' differences, 5 degrees of freedom"


def test_variants_are_not_enough_to_speak_for_other_tasks() -> None:
    result = compare_modes(noisy_rows(1, VARIANTS), "ghx", "baseline", "latency_wall_ms", POPULATION)

    assert result.verdict == "not estimable"
    assert result.n == 1
    assert str(result.per_protocol.population.reason).endswith("and there is 1")


def test_rows_are_paired_within_their_variant() -> None:
    # Ten times as much in the large one, which one mode was tried in more often: no difference within either.
    values = {
        "ghx": {"task": [10, 11], "task@large": [100, 110, 100, 110]},
        "baseline": {"task": [10, 11, 10, 11], "task@large": [100, 110]},
    }
    result = compare_modes(rows_of(values), "ghx", "baseline", "latency_wall_ms", SUITE)

    assert result.reduction_pct == pytest.approx(0, abs=1e-9)
    assert result.n == 1


def test_labels_are_shuffled_within_a_variant() -> None:
    values = {"a": {"task": [1, 2], "task@large": [11, 12]}, "b": {"task": [3, 4], "task@large": [13, 14]}}
    result = compare_modes(rows_of(values), "a", "b", "latency_wall_ms", SUITE)

    assert result.p == 2 / 36  # of 6 ways in each, and not of 70 in both together


def test_a_variant_that_only_one_mode_has_is_left_out() -> None:
    values = {"a": {"task": [1, 2], "task@large": [11, 12]}, "b": {"task": [3, 4]}}
    result = compare_modes(rows_of(values), "a", "b", "latency_wall_ms", SUITE)

    assert (result.per_protocol.rows_a, result.per_protocol.rows_b) == (2, 2)
    assert [(each.cause, each.rows) for each in result.per_protocol.left_out] == [
        ("scenario without rows of the other mode", 2)
    ]


def test_a_scenario_weighs_the_same_however_many_variants_it_has() -> None:
    same, lower = [100.0, 101.0], [50.0, 51.0]
    values = {
        "ghx": {"one": same, **{f"two{form}": lower for form in VARIANTS}},
        "baseline": {"one": same, **{f"two{form}": [2 * each for each in lower] for form in VARIANTS}},
    }
    result = compare_modes(rows_of(values), "ghx", "baseline", "latency_wall_ms", SUITE)

    assert result.reduction_pct == pytest.approx(100 * (1 - 0.5**0.5))


@pytest.mark.parametrize("plan", [SUITE, POPULATION], ids=["suite", "population"])
def test_a_scenario_that_is_there_in_one_variant_only_is_a_scenario_like_any_other(plan: AnalysisPlan) -> None:
    plain, varied = noisy_rows(7, [""]), noisy_rows(7, ["@large"])

    assert compare_all_modes(plain, plan) == compare_all_modes(varied, plan)
    for before, after in zip(*(summarize_modes(each, plan).values() for each in (plain, varied)), strict=True):
        # Random numbers of pass curves depend on the names of scenarios.
        assert before.model_copy(update={"pass_curve": after.pass_curve}) == after
        assert [each.pass_hat_k.estimate for each in before.pass_curve] == [
            each.pass_hat_k.estimate for each in after.pass_curve
        ]


def test_means_and_rates_are_clustered_by_scenario() -> None:
    summary = summarize_modes(noisy_rows(3, VARIANTS), SUITE)["ghx"]

    assert summary.scenarios == 3
    assert summary.metrics["latency_wall_ms"].scenarios == 3
    together = {f"task-{number}": (10 * number, 15) for number in (0, 1)}
    apart = {f"task-{number}{form}": (2 * number, 3) for number in (0, 1) for form in VARIANTS}
    assert clustered_wilson_interval(apart) == clustered_wilson_interval(together)
    assert clustered_wilson_interval({f"task{form}": (2, 3) for form in VARIANTS}).low is None


def test_reliability_is_averaged_over_variants_and_then_over_scenarios() -> None:
    counts = {"always": (3, 3), **{f"never{form}": (0, 3) for form in VARIANTS}}
    (first, *_), forms = pass_curve(counts), len(counts)

    assert first.pass_hat_k.estimate == 0.5
    assert forms == 6
    refused = pass_curve(counts, target="population")[0].pass_hat_k
    assert str(refused.reason).endswith("and there are 2")


def test_reliability_of_variants_that_differ_is_as_uncertain_as_that_of_their_scenario() -> None:
    # Half of six scenarios always succeed: variants repeat that, and tell no more about other tasks.
    plain = {f"task-{number}": (5 * (number % 2), 5) for number in range(6)}
    varied = {f"{name}{form}": count for name, count in plain.items() for form in VARIANTS}
    (one, *_), (other, *_) = (pass_curve(each, target="population") for each in (plain, varied))

    for each in (one, other):
        assert each.pass_at_k.low is not None
        assert each.pass_at_k.high is not None
        assert each.pass_at_k.high - each.pass_at_k.low > 0.6


def test_cost_per_success_draws_scenarios_with_all_their_variants() -> None:
    plain, varied = noisy_rows(8, [""], repetitions=6), noisy_rows(8, VARIANTS, repetitions=6)
    costs = [cost_per_success(each, "ghx", POPULATION) for each in (plain, varied)]
    widths = [(each.high or 0.0) - (each.low or 0.0) for each in costs]

    assert widths[1] > 0.6 * widths[0]
    assert cost_per_success(noisy_rows(5, VARIANTS), "ghx", POPULATION).reason is not None
    assert cost_per_success(noisy_rows(5, VARIANTS), "ghx", SUITE).low is not None


def test_noise_between_scenarios_is_that_of_their_averages_over_variants() -> None:
    observations = observe(noisy_rows(12, VARIANTS))
    components = pilot_components(observations, "ghx", "baseline", "latency_wall_ms")
    sample, _ = pair_up(observations, Arm(mode="ghx"), Arm(mode="baseline"), "latency_wall_ms", "per-protocol")

    assert (components.scenarios, components.repetitions_a, components.forms) == (12, 3, 5)
    assert components.within_a is not None
    assert components.within_b is not None
    explained = (components.within_a + components.within_b) / (3 * 5)
    assert components.between == pytest.approx(variance(sample.scenario_differences.tolist()) - explained, rel=1e-9)


def test_a_plan_counts_scenarios_and_repeats_every_variant() -> None:
    plain = assumed_amounts(within_cv=0.3, between_sd=0.1, scenarios=8, repetitions=3)
    varied = assumed_amounts(within_cv=0.3, between_sd=0.1, scenarios=8, repetitions=3, forms=4)
    one, other = (plan_sample_size(20, each, POPULATION, metric="tokens_active") for each in (plain, varied))

    assert "forms" not in plain.to_wire()
    needed = [{each.repetitions: each for each in plan.options} for plan in (one, other)]
    assert needed[1][3].scenarios < needed[0][3].scenarios
    assert needed[1][3].rows_per_mode == 12 * needed[1][3].scenarios
    assert needed[1][50].scenarios >= needed[0][50].scenarios - 1, "what differs between scenarios no variant reduces"
    small = plan_sample_size(8, varied, POPULATION, metric="tokens_active")
    assert "of each variant of the present 8 scenarios" in small.advice or "Add scenarios" in small.advice
    assert assumed_rates(rate=0.5, between_sd=0.1, forms=2).forms == 2


def test_run_against_run_counts_scenarios() -> None:
    rows = noisy_rows(2, VARIANTS)
    arms = [Arm(mode="ghx", run="before" if each.mode == "ghx" else "after") for each in rows]
    before, after = Arm(mode="ghx", run="before"), Arm(mode="ghx", run="after")

    (result,) = compare_overall(
        observe(rows, arms=arms), "latency_wall_ms", POPULATION, runs=["before", "after"], pairs=[(after, before)]
    )

    assert result.tier == "insufficient data"
    assert str(result.reason).endswith("and there are 2")


def test_variants_of_one_scenario_do_not_make_another_ones_failures_surer() -> None:
    plain = {"one": (0, 5), "other": (0, 5)}
    varied = plain | {f"other@v{number}": (0, 5) for number in range(8)}
    (alone, *_), (together, *_) = pass_curve(plain), pass_curve(varied)

    # Whoever solves `one` every second time, and the other never, fails five times of five in one of 32 runs.
    assert alone.pass_at_k.high == pytest.approx(0.278, abs=0.001)
    assert together.pass_at_k.high is not None
    assert together.pass_at_k.high > 0.25
    mirrored = pass_curve(dict.fromkeys(varied, (5, 5)))[0].pass_hat_k
    assert 1 - (mirrored.low or 0.0) == pytest.approx(together.pass_at_k.high)


@pytest.mark.slow
def test_the_interval_covers_the_truth_where_one_scenario_has_nine_forms_and_the_other_fails_at_times() -> None:
    rng = random.Random(1)
    rate, runs, covered = 0.65, 300, 0
    for number in range(runs):
        counts = {"one": (sum(rng.random() < rate for _ in range(5)), 5)}
        counts |= {f"other@v{form}": (5, 5) for form in range(9)}
        result = pass_curve(counts, resamples=199, seed=number)[0].pass_hat_k
        assert result.low is not None
        covered += result.low <= (rate + 1) / 2
    # With a bound from all 50 rows alike it is 89 %.
    assert covered / runs > 0.93
