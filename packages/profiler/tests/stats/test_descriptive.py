import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from ghx_profiler.stats import (
    clustered_mean,
    clustered_standard_error,
    compute_descriptive,
    median_interval,
)
from ghx_profiler.stats.errors import BadSampleError

numbers = st.floats(-1e6, 1e6)


def test_a_sample_is_described_by_known_numbers() -> None:
    described = compute_descriptive([4, 1, 3, 2])

    assert (described.n, described.mean, described.min, described.max) == (4, 2.5, 1, 4)
    assert (described.p25, described.p50, described.p75, described.iqr) == (1.75, 2.5, 3.25, 1.5)
    assert described.p90 == pytest.approx(3.7)
    assert described.sd == pytest.approx((5 / 3) ** 0.5)
    assert described.cv == pytest.approx((5 / 3) ** 0.5 / 2.5)


def test_an_empty_sample_has_no_numbers_and_one_value_has_no_spread() -> None:
    empty, single = compute_descriptive([]), compute_descriptive([7.0])

    assert empty.n == 0
    assert {value for name, value in empty if name != "n"} == {None}
    assert (single.mean, single.p50, single.p90, single.sd, single.cv) == (7, 7, 7, None, None)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(BadSampleError, match="value 1 is"):
        compute_descriptive([1.0, bad])


@given(st.lists(numbers, min_size=1, max_size=30), st.randoms())
def test_the_order_of_values_changes_nothing(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined] - hypothesis' Random

    assert compute_descriptive(values) == compute_descriptive(shuffled)


def test_clustered_errors_are_the_errors_of_scenario_means_when_balanced() -> None:
    values, clusters = [1.0, 1.0, 3.0, 3.0], ["x", "x", "y", "y"]

    assert clustered_standard_error(values, clusters) == pytest.approx(1.0)  # means 1 and 3: sd sqrt(2), over sqrt(2)
    assert clustered_standard_error(values, [1, 2, 3, 4]) == pytest.approx(np.std(values, ddof=1) / 2)


def test_a_clustered_mean_has_a_t_interval_with_one_df_less_than_scenarios() -> None:
    result = clustered_mean([1.0, 1.0, 3.0, 3.0, 5.0, 5.0], list("xxyyzz"))

    expected = reference.t.interval(0.95, 2, loc=3, scale=reference.sem([1, 3, 5]))
    assert (result.low, result.high) == pytest.approx(expected)
    assert result.n == 6


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [([], [], "no values"), ([1.0, 2.0], ["x", "x"], "one scenario"), ([0.1, 0.1, 0.1], list("xyz"), "zero variance")],
)
def test_a_mean_without_an_interval_says_why(values: list[float], clusters: list[str], reason: str) -> None:
    result = clustered_mean(values, clusters)

    assert (result.low, result.high) == (None, None)
    assert reason in str(result.reason)


def test_clusters_that_do_not_match_the_values_are_refused() -> None:
    with pytest.raises(BadSampleError, match="3 values, but 1 clusters"):
        clustered_standard_error([1, 2, 3], ["x"])


def test_the_interval_of_a_median_lies_between_values_and_tells_its_real_confidence() -> None:
    five, many = median_interval([5, 1, 4, 2, 3]), median_interval(list(range(1, 101)))

    assert (five.estimate, five.low, five.high, five.confidence) == (3, 1, 5, 1 - 2 / 2**5)
    # Binomial tables: of 100 values the 40th and the 61st enclose the median with 96.5 % confidence.
    assert (many.low, many.high) == (40, 61)
    assert many.confidence == pytest.approx(0.9648, abs=1e-4)


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0, 2.0]])
def test_a_median_without_spread_has_no_interval(values: list[float]) -> None:
    result = median_interval(values)

    assert (result.low, result.high) == (None, None)
    assert result.reason
