import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from ghx_profiler.stats import cliffs_delta

samples = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=15)


@given(samples, samples)
def test_cliffs_delta_is_twice_the_area_under_the_curve_minus_one(a: list[float], b: list[float]) -> None:
    auc = reference.mannwhitneyu(a, b, method="asymptotic").statistic / (len(a) * len(b))

    assert cliffs_delta(a, b) == pytest.approx(2 * auc - 1)


@given(samples, samples)
def test_swapping_the_sides_flips_the_sign(a: list[float], b: list[float]) -> None:
    assert cliffs_delta(a, b) == -cliffs_delta(b, a)


def test_cliffs_delta_of_nothing_is_not_estimable() -> None:
    assert cliffs_delta([], [1.0]) is None
    assert cliffs_delta([1.0, 2.0], [3.0, 4.0]) == -1
