from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from ghx_profiler.stats import (
    clustered_wilson_interval,
    pass_at_k,
    pass_curve,
    pass_hat_k,
    wilson_interval,
)
from ghx_profiler.stats.errors import BadSampleError, TooFewRepetitionsError

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_no_success_in_five_is_compatible_with_a_rate_of_43_per_cent() -> None:
    result = wilson_interval(0, 5)

    assert (result.estimate, result.low) == (0, 0)
    assert result.high == pytest.approx(0.4345, abs=1e-4)


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_is_scipys(count: tuple[int, int], confidence: float) -> None:
    result = wilson_interval(*count, confidence=confidence)

    theirs = reference.binomtest(*count).proportion_ci(confidence, method="wilson")
    assert (result.low, result.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert 0 <= result.low <= result.estimate <= result.high <= 1


def test_no_rows_give_no_rate_and_impossible_counts_are_refused() -> None:
    assert wilson_interval(0, 0).estimate is None
    with pytest.raises(BadSampleError, match="6 of 5"):
        wilson_interval(6, 5)


def test_repetitions_that_agree_within_a_scenario_count_once() -> None:
    agreeing = {"s1": (10, 10), "s2": (10, 10), "s3": (0, 10), "s4": (10, 10), "s5": (0, 10), "s6": (10, 10)}
    mixed = dict.fromkeys(agreeing, (7, 10))

    wide, narrow = clustered_wilson_interval(agreeing), clustered_wilson_interval(mixed)

    # Six scenarios that are all or nothing are six coins: n is 5, the variance of their mean being p(1-p)/(6-1).
    z = reference.t.ppf(0.975, 5)
    p, n = 4 / 6, 5
    center, reach = (p + z**2 / 2 / n) / (1 + z**2 / n), z / (1 + z**2 / n) * (p * (1 - p) / n + z**2 / 4 / n**2) ** 0.5
    assert (wide.low, wide.high) == pytest.approx((center - reach, center + reach))
    assert narrow.high - narrow.low < wide.high - wide.low


def test_if_every_row_succeeds_each_scenario_still_counts_once() -> None:
    result = clustered_wilson_interval({"s1": (9, 9), "s2": (9, 9), "s3": (9, 9)})

    z = reference.t.ppf(0.975, 2)
    assert (result.low, result.high) == (pytest.approx(3 / (3 + z**2)), 1)


def test_one_scenario_has_no_clustered_interval() -> None:
    result = clustered_wilson_interval({"s1": (3, 5)})

    assert (result.estimate, result.low, result.high) == (0.6, None, None)
    assert result.reason


def test_pass_at_k_and_pass_hat_k_are_counted_by_hand() -> None:
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)  # 3 of 10 pairs have no success
    assert pass_hat_k(5, 2, 2) == pytest.approx(0.1)  # 1 of 10 pairs has two
    assert pass_at_k(5, 2, 1) == pass_hat_k(5, 2, 1) == pytest.approx(0.4)


@given(counts, st.integers(1, 60))
def test_pass_at_k_never_falls_and_pass_hat_k_never_rises_with_k(count: tuple[int, int], k: int) -> None:
    successes, n = count
    if k >= n:
        return

    assert pass_at_k(n, successes, k) <= pass_at_k(n, successes, k + 1) <= 1
    assert 0 <= pass_hat_k(n, successes, k + 1) <= pass_hat_k(n, successes, k)


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0, 1))
def test_pass_hat_k_is_unbiased(n: int, k: int, rate: float) -> None:
    if k > n:
        return

    expected = sum(comb(n, c) * rate**c * (1 - rate) ** (n - c) * pass_hat_k(n, c, k) for c in range(n + 1))
    assert expected == pytest.approx(rate**k, abs=1e-9)


@given(counts)
def test_the_curve_of_one_scenario_is_the_formula_for_every_k(count: tuple[int, int]) -> None:
    successes, n = count

    for point in pass_curve({"s1": count}, resamples=1):
        assert point.pass_at_k.estimate == pytest.approx(pass_at_k(n, successes, point.k), abs=1e-12)
        assert point.pass_hat_k.estimate == pytest.approx(pass_hat_k(n, successes, point.k), abs=1e-12)


@pytest.mark.parametrize("formula", [pass_at_k, pass_hat_k])
def test_too_few_repetitions_for_k_are_refused(formula) -> None:
    with pytest.raises(TooFewRepetitionsError, match="needs at least 4"):
        formula(3, 1, 4)
    with pytest.raises(BadSampleError):
        formula(3, 1, 0)
    with pytest.raises(BadSampleError):
        formula(3, 4, 1)


def test_the_curve_averages_over_scenarios_up_to_the_fewest_repetitions() -> None:
    curve = pass_curve({"s1": (4, 4), "s2": (1, 3)})

    assert [point.k for point in curve] == [1, 2, 3]
    assert [point.pass_hat_k.estimate for point in curve] == pytest.approx([(1 + 1 / 3) / 2, 0.5, 0.5])
    assert [point.pass_at_k.estimate for point in curve] == pytest.approx([(1 + 1 / 3) / 2, (1 + 2 / 3) / 2, 1])
    for point in curve[:2]:
        for estimate in (point.pass_at_k, point.pass_hat_k):
            assert estimate.low <= estimate.estimate <= estimate.high


def test_repetitions_that_all_agree_still_leave_room_for_doubt() -> None:
    certain = pass_curve({"s1": (5, 5), "s2": (5, 5)})

    assert [point.pass_hat_k.estimate for point in certain] == [1.0] * 5
    assert all(0 < point.pass_hat_k.low < 1 == point.pass_hat_k.high for point in certain)
    assert certain[4].pass_hat_k.low < certain[0].pass_hat_k.low


many_counts = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n), st.just(n)), min_size=1, max_size=8)
)


@given(many_counts, st.sampled_from(["suite", "population"]))
def test_no_interval_of_a_curve_is_without_width(drawn: list[tuple[int, int]], target) -> None:
    counts = {f"s{number}": count for number, count in enumerate(drawn)}

    for point in pass_curve(counts, target=target, resamples=99):
        for result in (point.pass_at_k, point.pass_hat_k):
            assert result.low is None or 0 <= result.low <= result.estimate <= result.high <= 1
            assert result.low is None or result.low < result.high


def test_what_all_rows_agree_on_is_as_certain_as_wilson_says_and_less_so_for_all_k() -> None:
    counts = dict.fromkeys((f"s{number}" for number in range(8)), (5, 5))
    wilson = wilson_interval(40, 40)

    curve = pass_curve(counts)

    assert curve[0].pass_hat_k.low <= wilson.low
    assert [point.pass_hat_k.low <= wilson.low**point.k for point in curve] == [True] * 5
    # One scenario may fail far more often than the others, and rows that agree cannot rule that out.
    assert all(point.pass_at_k.low < 1 - (1 - wilson.low) ** point.k for point in curve[2:])


def test_what_never_succeeded_mirrors_what_always_did() -> None:
    always = pass_curve({f"s{number}": (4, 4) for number in range(7)}, target="population")
    never = pass_curve({f"s{number}": (0, 4) for number in range(7)}, target="population")

    for up, down in zip(always, never, strict=True):
        assert down.pass_hat_k.high == pytest.approx(1 - up.pass_at_k.low)
        assert down.pass_at_k.high == pytest.approx(1 - up.pass_hat_k.low)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.97, 0.995])
def test_the_interval_at_100_per_cent_covers_the_truth_where_it_is_nearly_that(rate: float) -> None:
    rng = np.random.default_rng(0)
    covered = {"at": 0, "hat": 0}
    for number in range(200):
        counts = {f"s{at}": (int(rng.binomial(5, rate)), 5) for at in range(6)}
        point = pass_curve(counts, resamples=299, seed=number)[4]
        covered["hat"] += point.pass_hat_k.low <= rate**5 <= point.pass_hat_k.high
        covered["at"] += point.pass_at_k.low <= 1 - (1 - rate) ** 5 <= point.pass_at_k.high
    assert min(covered.values()) / 200 > 0.9


def test_one_scenario_has_wilsons_interval_to_the_power_of_k() -> None:
    wilson = wilson_interval(3, 5)

    point = pass_curve({"s1": (3, 5)})[1]

    assert (point.pass_hat_k.low, point.pass_hat_k.high) == pytest.approx((wilson.low**2, wilson.high**2))
    assert (point.pass_at_k.low, point.pass_at_k.high) == pytest.approx(
        (1 - (1 - wilson.low) ** 2, 1 - (1 - wilson.high) ** 2)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenarios", "repetitions", "target"), [(5, 5, "suite"), (20, 4, "suite"), (20, 4, "population")]
)
def test_the_interval_of_pass_hat_k_covers_the_truth_about_as_often_as_it_says(
    scenarios: int, repetitions: int, target: str
) -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for number in range(150):
        rates = rng.beta(3, 1.5, scenarios)
        counts = {f"s{at:02}": (int(rng.binomial(repetitions, rate)), repetitions) for at, rate in enumerate(rates)}
        result = pass_curve(counts, target=target, resamples=499, seed=number)[2].pass_hat_k  # type: ignore[arg-type]
        # The third moment of Beta(3, 1.5) is the truth about tasks like these.
        truth = np.mean(rates**3) if target == "suite" else (3 / 4.5) * (4 / 5.5) * (5 / 6.5)
        covered += result.low <= truth <= result.high
    assert covered / 150 > 0.88


def test_a_curve_with_too_few_scenarios_for_its_target_has_no_interval() -> None:
    few = pass_curve({"s1": (1, 3), "s2": (2, 3)}, target="population")

    assert all(point.pass_hat_k.low is None and "at least 6" in point.pass_hat_k.reason for point in few)
    assert pass_curve({}) == ()


def test_scenarios_as_a_sample_give_wider_curves() -> None:
    counts = {f"s{number}": (number, 10) for number in range(11)}

    suite, population = pass_curve(counts)[2].pass_hat_k, pass_curve(counts, target="population")[2].pass_hat_k

    assert suite.estimate == population.estimate
    assert population.high - population.low > 1.5 * (suite.high - suite.low)


def test_the_order_of_scenarios_changes_nothing() -> None:
    counts = {"s1": (1, 3), "s2": (2, 3), "s3": (3, 3)}

    assert pass_curve(counts) == pass_curve(dict(reversed(counts.items())))
