import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from ghx_profiler.stats import bootstrap_ci, bootstrap_reduction_ci
from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.methods.arrays import FloatArray

SKEWED = np.exp(np.random.default_rng(5).normal(0, 1, 40))
amounts = st.floats(0.01, 1e6)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_the_interval_of_a_mean_is_scipys_up_to_resampling_noise(method: str) -> None:
    found = bootstrap_ci(SKEWED, statistic="mean", method=method, resamples=20_000)  # type: ignore[arg-type]

    theirs = reference.bootstrap(
        (SKEWED,), np.mean, method=method, n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.estimate == pytest.approx(SKEWED.mean())
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), rel=0.03)


def test_bca_leans_towards_the_long_tail_and_percentile_does_not() -> None:
    bca = bootstrap_ci(SKEWED, statistic="mean", method="bca")
    percentile = bootstrap_ci(SKEWED, statistic="mean", method="percentile")

    assert bca.low > percentile.low
    assert bca.high > percentile.high


def test_where_bca_is_not_defined_the_percentile_interval_is_given_and_named() -> None:
    found = bootstrap_ci([1, 2, 2, 2, 2, 2, 3], statistic="median", method="bca")

    assert found.method.startswith("percentile")
    assert found.low <= 2 <= found.high


def test_any_function_of_rows_can_be_bootstrapped() -> None:
    def spread(samples: FloatArray) -> FloatArray:
        return samples.std(axis=-1)

    found = bootstrap_ci(SKEWED, statistic=spread)

    assert found.estimate == pytest.approx(SKEWED.std())
    assert found.low < found.estimate < found.high
    assert "spread" in found.method


def test_a_large_sample_is_resampled_piece_by_piece() -> None:
    values = np.random.default_rng(0).normal(10, 1, 70_000)

    found = bootstrap_ci(values, statistic="mean", method="percentile", resamples=200)

    error = values.std(ddof=1) / 70_000**0.5
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=error)


def test_the_reduction_is_positive_when_a_is_lower_and_so_is_its_interval() -> None:
    lower, higher = [9.0, 10.0, 11.0, 10.5], [19.0, 20.0, 21.0, 20.5]

    down, up = bootstrap_reduction_ci(lower, higher), bootstrap_reduction_ci(higher, lower)

    assert down.estimate == pytest.approx(100 * (1 - 10.25 / 20.25))
    assert 0 < down.low <= down.estimate <= down.high
    assert up.low <= up.estimate <= up.high < 0


def test_bca_of_a_reduction_is_close_to_scipys() -> None:
    rng = np.random.default_rng(3)
    a, b = np.exp(rng.normal(0, 0.4, 30)), np.exp(rng.normal(0.5, 0.4, 30))

    def reduction(a: FloatArray, b: FloatArray, axis: int) -> FloatArray:
        return 100 * (1 - a.mean(axis=axis) / b.mean(axis=axis))

    found = bootstrap_reduction_ci(a, b, statistic="mean", method="bca", resamples=20_000)
    theirs = reference.bootstrap(
        (a, b), reduction, method="bca", n_resamples=20_000, rng=np.random.default_rng(1)
    ).confidence_interval

    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1.5)


@pytest.mark.parametrize("method", ["bca", "percentile"])
@given(values=st.lists(amounts, min_size=2, max_size=12))
def test_an_interval_contains_its_estimate_or_says_why_there_is_none(method: str, values: list[float]) -> None:
    found = bootstrap_ci(values, statistic="mean", method=method, resamples=499)  # type: ignore[arg-type]

    if found.low is None:
        assert found.reason
    else:
        assert found.low <= found.high
        assert min(values) <= found.low * (1 + 1e-9)
        assert found.high <= max(values) * (1 + 1e-9)


@given(
    st.lists(amounts, min_size=2, max_size=8), st.lists(amounts, min_size=2, max_size=8), st.sampled_from([2.0, 1024.0])
)
def test_a_reduction_does_not_depend_on_the_unit(a: list[float], b: list[float], factor: float) -> None:
    plain = bootstrap_reduction_ci(a, b, resamples=199)
    scaled = bootstrap_reduction_ci([factor * each for each in a], [factor * each for each in b], resamples=199)

    assert (scaled.estimate, scaled.low, scaled.high) == pytest.approx((plain.estimate, plain.low, plain.high))


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ([], [1.0, 2.0], "no values"),
        ([1.0], [1.0, 2.0], "single value"),
        ([1.0, 2.0], [0.0, 0.0], "not above 0"),
        ([1.0, 1.0], [2.0, 2.0], "zero variance"),
    ],
)
def test_a_reduction_without_an_interval_says_why(a: list[float], b: list[float], reason: str) -> None:
    found = bootstrap_reduction_ci(a, b)

    assert (found.low, found.high) == (None, None)
    assert reason in str(found.reason)


@pytest.mark.parametrize("values", [[], [1.0], [4.0, 4.0, 4.0]])
def test_no_interval_without_variance(values: list[float]) -> None:
    found = bootstrap_ci(values)

    assert (found.low, found.high) == (None, None)
    assert found.reason


def test_a_seed_gives_the_same_interval_again_and_another_seed_another() -> None:
    first, again, other = (bootstrap_ci(SKEWED, statistic="mean", seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first.low != other.low


@pytest.mark.parametrize("options", [{"method": "magic"}, {"confidence": 1.0}, {"resamples": 0}, {"statistic": "mode"}])
def test_options_nobody_knows_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(BadSampleError):
        bootstrap_ci([1.0, 2.0], **options)  # type: ignore[arg-type]
