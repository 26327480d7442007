import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from ghx_profiler.stats import cliffs_delta, hedges_g

samples = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=15)


def test_hedges_g_is_the_difference_in_pooled_standard_deviations_corrected_for_small_samples() -> None:
    # Both variances are 1: the pooled standard deviation is 1, the difference 2; there are 4 degrees of freedom.
    assert hedges_g([3, 4, 5], [1, 2, 3]) == pytest.approx(2.0 * (1 - 3 / 15))
    assert hedges_g([1, 2, 3], [3, 4, 5]) == pytest.approx(-2.0 * (1 - 3 / 15))


@pytest.mark.parametrize(("a", "b"), [([], [1.0]), ([1.0], [2.0]), ([2.0, 2.0], [2.0, 2.0]), ([0.1] * 3, [0.3] * 3)])
def test_without_spread_there_is_no_standardised_effect(a: list[float], b: list[float]) -> None:
    assert hedges_g(a, b) is None


@given(samples, samples)
def test_cliffs_delta_is_twice_the_area_under_the_curve_minus_one(a: list[float], b: list[float]) -> None:
    auc = reference.mannwhitneyu(a, b, method="asymptotic").statistic / (len(a) * len(b))

    assert cliffs_delta(a, b) == pytest.approx(2 * auc - 1)


@given(samples, samples)
def test_swapping_the_sides_flips_the_sign(a: list[float], b: list[float]) -> None:
    assert cliffs_delta(a, b) == -cliffs_delta(b, a)
    g, swapped = hedges_g(a, b), hedges_g(b, a)
    assert (g is None) == (swapped is None)
    if g is not None:
        assert g == pytest.approx(-swapped)


def test_cliffs_delta_of_nothing_is_not_estimable() -> None:
    assert cliffs_delta([], [1.0]) is None
    assert cliffs_delta([1.0, 2.0], [3.0, 4.0]) == -1
