from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from ghx_profiler.stats.methods.arrays import FloatArray, generator, stable_hash
from ghx_profiler.stats.methods.permutation import PermutationCurve, permutation_curve
from ghx_profiler.stats.pairs import PairedBlock, PairedSample

values = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=3)
blocks = st.lists(st.tuples(values, values), min_size=1, max_size=3)


def sample_of(pairs: list[tuple[list[float], list[float]]]) -> PairedSample:
    return PairedSample(
        blocks=tuple(
            PairedBlock(scenario=f"s{number}", model="model", a=np.sort(np.array(a)), b=np.sort(np.array(b)))
            for number, (a, b) in enumerate(pairs)
        ),
        scale="raw",
    )


def curve_of(pairs: list[tuple[list[float], list[float]]], resamples: int = 9_999, seed: int = 0) -> PermutationCurve:
    return permutation_curve(sample_of(pairs), resamples=resamples, rng=np.random.default_rng(seed))


def p_by_hand(pairs: list[tuple[list[float], list[float]]], difference: float) -> float:
    """Go through every way to hand out labels, the slow way, with B shifted back by the hypothesis."""
    ways, observed = [], 0.0
    for a, b in pairs:
        everything = [*a, *(each - difference for each in b)]
        observed += np.mean(everything[len(a) :]) - np.mean(everything[: len(a)])
        chosen = [set(way) for way in combinations(range(len(everything)), len(a))]
        ways.append([_difference(everything, way) for way in chosen])
    extreme = [abs(sum(way)) >= abs(observed) - 1e-9 for way in product(*ways)]
    return sum(extreme) / len(extreme)


def _difference(everything: list[float], chosen: set[int]) -> float:
    a = [value for at, value in enumerate(everything) if at in chosen]
    b = [value for at, value in enumerate(everything) if at not in chosen]
    return float(np.mean(b) - np.mean(a))


def test_three_against_three_fully_apart_is_two_ways_of_twenty() -> None:
    curve = curve_of([([1, 2, 3], [4, 5, 6])])

    assert (curve.estimate, curve.p(), curve.smallest_p) == (3, 0.1, 0.1)
    assert curve.interval(0.05) == (-np.inf, np.inf)  # no interval at 95 %: even this is not significant
    assert "exact, 20 shuffles" in curve.method


def test_with_one_stratum_it_is_scipys_permutation_test() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 5), rng.normal(1, 1, 4)

    def difference(x: FloatArray, y: FloatArray, axis: int) -> FloatArray:
        return np.abs(np.mean(x, axis=axis) - np.mean(y, axis=axis))

    theirs = reference.permutation_test((a, b), difference, alternative="greater", n_resamples=np.inf, vectorized=True)
    assert curve_of([(a.tolist(), b.tolist())]).p() == pytest.approx(theirs.pvalue)


def test_one_repetition_per_scenario_is_a_sign_flip_test() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(0, 1, 8), rng.normal(0.7, 1, 8)

    def difference(x: FloatArray, y: FloatArray, axis: int) -> FloatArray:
        return np.abs(np.mean(x - y, axis=axis))

    theirs = reference.permutation_test(
        (a, b), difference, permutation_type="samples", alternative="greater", n_resamples=np.inf, vectorized=True
    )
    assert curve_of([([x], [y]) for x, y in zip(a, b, strict=True)]).p() == pytest.approx(theirs.pvalue)


@settings(max_examples=settings.default.max_examples)
@given(blocks, st.sampled_from([0.0, 1.0, -2.5, 7.0]))
def test_every_hypothesis_gets_the_p_value_of_a_full_enumeration(
    pairs: list[tuple[list[float], list[float]]], difference: float
) -> None:
    assert curve_of(pairs).p(difference) == pytest.approx(p_by_hand(pairs, difference))


def test_where_a_scenario_lacks_a_model_the_p_value_belongs_to_the_estimate_that_is_shown() -> None:
    """Scenarios weigh the same, whatever the number of models each was tried with."""
    tried = [
        ("one", "x", [4.0, 1.0], [8.0, 8.0], 1 / 4),
        ("one", "y", [7.0, 7.0], [11.0, 11.0], 1 / 4),
        ("two", "x", [8.0, 1.0], [2.0, 6.0], 1 / 2),
    ]
    sample = PairedSample(
        blocks=tuple(PairedBlock(scenario=s, model=m, a=np.sort(a), b=np.sort(b)) for s, m, a, b, _ in tried),
        scale="raw",
    )
    observed = sum(weight * float(np.mean(b) - np.mean(a)) for _, _, a, b, weight in tried)
    ways = [
        [weight * _difference([*a, *b], set(way)) for way in combinations(range(4), 2)] for _, _, a, b, weight in tried
    ]
    extreme = [abs(sum(way)) >= abs(observed) - 1e-9 for way in product(*ways)]

    curve = permutation_curve(sample, resamples=9_999, rng=np.random.default_rng(0))

    assert curve.estimate == pytest.approx(observed)
    assert sample.estimate == pytest.approx(observed)
    assert curve.p(0.0) == pytest.approx(sum(extreme) / len(extreme))


@given(blocks, st.sampled_from([0.01, 0.05, 0.1, 0.3]), st.booleans())
def test_the_interval_excludes_a_difference_exactly_if_its_p_is_at_most_alpha(
    pairs: list[tuple[list[float], list[float]]], alpha: float, is_sampled: bool
) -> None:
    curve = curve_of(pairs, resamples=99 if is_sampled else 9_999)

    low, high = curve.interval(alpha)

    assert low <= curve.estimate <= high
    for difference in (0.0, low, high, np.nextafter(low, -np.inf), np.nextafter(high, np.inf)):
        if np.isfinite(difference):
            assert (low <= difference <= high) == (curve.p(difference) > alpha)


@given(blocks)
def test_swapping_the_sides_mirrors_the_curve(pairs: list[tuple[list[float], list[float]]]) -> None:
    curve, swapped = curve_of(pairs), curve_of([(b, a) for a, b in pairs]).mirror()

    assert swapped.estimate == curve.estimate
    assert swapped.p() == pytest.approx(curve.p())
    assert swapped.interval(0.1) == pytest.approx(curve.interval(0.1), abs=1e-6)


@given(blocks, st.integers(0, 50))
def test_a_p_value_is_never_zero_and_never_above_one(pairs, seed: int) -> None:
    curve = curve_of(pairs, resamples=99, seed=seed)

    for difference in (0.0, 1e9, -1e9):
        assert 0 < curve.p(difference) <= 1
    assert curve.smallest_p <= curve.p() or not curve.is_exact


def test_random_shuffles_agree_with_all_shuffles() -> None:
    rng = np.random.default_rng(8)
    pairs = [(rng.normal(0, 1, 4).tolist(), rng.normal(0.8, 1, 4).tolist()) for _ in range(2)]

    exact, sampled = curve_of(pairs, resamples=9_999), curve_of(pairs, resamples=3_999)

    assert (exact.is_exact, exact.shuffles) == (True, 70 * 70)
    assert (sampled.is_exact, sampled.shuffles) == (False, 4_000)
    assert sampled.p() == pytest.approx(exact.p(), abs=0.02)
    assert sampled.interval(0.05) == pytest.approx(exact.interval(0.05), abs=0.1)


def test_a_block_of_thousands_is_dealt_into_parts_without_changing_the_answer() -> None:
    rng = np.random.default_rng(9)
    a, b = rng.normal(0, 1, 3_000), rng.normal(0.05, 1, 3_000)

    curve = curve_of([(a.tolist(), b.tolist())], resamples=1_999)

    error = (a.var(ddof=1) / a.size + b.var(ddof=1) / b.size) ** 0.5
    welch = reference.ttest_ind(b, a, equal_var=False)
    assert curve.p() == pytest.approx(welch.pvalue, abs=0.03)
    low, high = curve.interval(0.05)
    assert (low, high) == pytest.approx((curve.estimate - 1.96 * error, curve.estimate + 1.96 * error), abs=0.2 * error)


def test_scenarios_count_the_same_however_often_they_were_repeated() -> None:
    curve = curve_of([([1, 1, 1, 1], [3]), ([5], [9])])

    assert curve.estimate == 3  # the mean of 2 and 4


def test_a_constant_difference_has_a_p_value_but_no_interval() -> None:
    curve = curve_of([([1.0] * 5, [3.0] * 5)])

    assert curve.p() == pytest.approx(2 / 252)
    assert curve.is_degenerate


def test_random_streams_belong_to_names_and_not_to_when_they_are_asked_for() -> None:
    first = generator(7, "tokens", "a", "b").random()
    generator(7, "cost", "a", "b").random()

    assert generator(7, "tokens", "a", "b").random() == first
    assert generator(8, "tokens", "a", "b").random() != first
    assert stable_hash("ab", "c") != stable_hash("a", "bc")
    assert (
        stable_hash("tokens_active", "ghx", "baseline") == 9_693_689_202_338_380_773
    )  # stays the same in every process and version
