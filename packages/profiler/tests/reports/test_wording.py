import pytest

from ghx_base.problems import plural
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.reports.wording import amount, change, percent
from ghx_profiler.stats.methods.scales import format_natural_span, format_span


@pytest.mark.parametrize(
    ("metric", "value", "said"),
    [
        ("latency_wall_ms", -0.2, "0 ms"),
        ("cost_total_usd", -0.000_001, "$0.0000"),
        ("cost_total_usd", -0.25, "-$0.2500"),
        ("balance", -1e-17, "0"),
        ("balance", -0.25, "-0.25"),
        ("tokens_active", None, "unknown"),
    ],
)
def test_what_rounds_to_zero_has_no_sign(metric: str, value: float | None, said: str) -> None:
    assert amount(value, METRICS.unit(metric)) == said


def test_a_change_that_rounds_to_zero_has_no_sign() -> None:
    assert change(-0.04, "percent") == "0.0 %"
    assert change(-0.06, "percentage points") == "+0.1 points"
    assert change(30.0, "percentage points") == "-30.0 points"


@pytest.mark.parametrize(
    ("milliseconds", "said"), [(340, "340 ms"), (1_200, "1.2 s"), (80_271, "80.3 s"), (750_000, "12.5 min")]
)
def test_times_are_told_in_the_unit_that_people_would_say(milliseconds: float, said: str) -> None:
    assert amount(milliseconds, "ms") == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1_899.0, "+1899.0 %"),
        (-1_900.0, "20 times as much"),
        (-123_456.0, "1,236 times as much"),
        (-9.8e9, "98 million times as much"),
        (-1e40, "1e+38 times as much"),
        (99.96, "-> 99.9 %"),
        (100.0, "-100.0 %"),
    ],
)
def test_beyond_a_factor_of_twenty_per_cent_become_a_multiple(value: float, said: str) -> None:
    assert change(value, "percent") == said


@pytest.mark.parametrize(
    ("share", "said"), [(0.0, "0 %"), (0.004, "< 1 %"), (0.57, "57 %"), (0.999, "> 99 %"), (1.0, "100 %")]
)
def test_nearly_all_is_not_called_all(share: float, said: str) -> None:
    assert percent(share) == said


def test_one_is_not_many() -> None:
    assert (plural(1, "row"), plural(2, "row"), plural(0, "row")) == ("1 row", "2 rows", "0 rows")


@pytest.mark.parametrize(
    ("low", "high", "falls", "said"),
    [
        (5.2, 33.0, True, "5.2 to 33.0 % lower"),
        (-551.6, -406.8, False, "406.8 to 551.6 % higher"),
        (-5.2, 33.0, True, "5.2 % higher to 33.0 % lower"),
        (-33.0, 5.2, False, "5.2 % lower to 33.0 % higher"),
        (-0.01, 33.0, True, "0.0 to 33.0 % lower"),
        (-33.0, 0.0, False, "0.0 to 33.0 % higher"),
        (-0.01, 0.01, True, "0.0 to 0.0 % different"),
        (40.0, 99.96, True, "40.0 to > 99.9 % lower"),
        (-4_900.0, -2_900.0, False, "30 to 50 times as much"),
        (-4_900.0, -400.0, False, "400.0 % higher to 50 times as much"),
        (-4_900.0, 5.0, False, "5.0 % lower to 50 times as much"),
    ],
)
def test_the_bounds_of_a_reduction_are_told_as_changes(low: float, high: float, falls: bool, said: str) -> None:
    assert format_span(low, high, "percent", falls=falls) == said


def test_bounds_in_a_metrics_own_unit_are_told_as_changes_too() -> None:
    assert format_natural_span("latency_wall_ms", -20.5, -3, falls=False) == "3 to 20.5 ms higher"
    assert format_natural_span("agent_turns", -1, 2, falls=True) == "1 higher to 2 lower"
    assert format_natural_span("agent_turns", 1, 2, falls=True) == "1 to 2 lower"
    assert format_span(5, 12, "percentage points", falls=True) == "5.0 to 12.0 percentage points lower"
