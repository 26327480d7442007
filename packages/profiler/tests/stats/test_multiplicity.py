import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from ghx_profiler.stats import benjamini_hochberg, holm
from ghx_profiler.stats.errors import BadSampleError
from ghx_profiler.stats.methods.multiplicity import matching_alpha

p_values = st.lists(st.floats(1e-12, 1), min_size=1, max_size=12)
permutation_p = st.integers(1, 10_000).map(lambda count: count / 10_000)


def test_known_families_are_adjusted_to_known_values() -> None:
    assert holm([0.01, 0.02, 0.03, 0.2]) == pytest.approx((0.04, 0.06, 0.06, 0.2))
    assert benjamini_hochberg([0.01, 0.02, 0.03, 0.2]) == pytest.approx((0.04, 0.04, 0.04, 0.2))
    assert holm([]) == benjamini_hochberg([]) == ()


@given(p_values)
def test_benjamini_hochberg_is_scipys(values: list[float]) -> None:
    assert benjamini_hochberg(values) == pytest.approx(reference.false_discovery_control(values))


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@given(values=p_values, random=st.randoms())
def test_adjusting_only_raises_keeps_order_and_ignores_the_order_given(adjust, values, random) -> None:
    adjusted = adjust(values)
    order = list(range(len(values)))
    random.shuffle(order)

    assert all(raw <= new <= 1 for raw, new in zip(values, adjusted, strict=True))
    assert [adjusted[at] for at in sorted(order, key=lambda at: values[at])] == sorted(adjusted)
    assert adjust([values[at] for at in order]) == pytest.approx([adjusted[at] for at in order])


@pytest.mark.parametrize("bad", [[0.0], [1.5], [float("nan")]])
def test_what_is_no_p_value_is_refused(bad: list[float]) -> None:
    with pytest.raises(BadSampleError):
        holm(bad)


@given(st.sampled_from([0.01, 0.05, 0.1]), st.lists(permutation_p, min_size=1, max_size=12))
def test_the_plain_test_at_the_matching_level_decides_as_the_adjusted_one(alpha: float, values: list[float]) -> None:
    for p, adjusted in zip(values, holm(values), strict=True):
        level = matching_alpha(alpha, p, adjusted)

        assert (p <= level) == (adjusted <= alpha)
        assert level <= alpha * (1 + 1e-12)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_where_adjusted_p_and_alpha_are_equal_up_to_rounding_both_tests_still_agree(alpha: float) -> None:
    for comparisons in range(2, 60):
        for p in (alpha / comparisons, math.nextafter(alpha / comparisons, 1)):
            adjusted = p * comparisons

            assert (p <= matching_alpha(alpha, p, adjusted)) == (adjusted <= alpha)
