import numpy as np
import pytest
from stats_rows import row

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats import drift_over_run


def run_of(slope: float, *, noise: float = 0.05, seed: int = 0) -> list[ProfileRow]:
    rng = np.random.default_rng(seed)
    cells = [(mode, scenario) for _ in range(6) for scenario in range(4) for mode in "ab"]
    return [
        row(
            mode,
            f"s{scenario}",
            number,
            latency_wall_ms=float(np.exp(5 + scenario + (mode == "a") + slope * number + rng.normal(0, noise))),
            startOrder=number,
        )
        for number, (mode, scenario) in enumerate(cells)
    ]


def test_a_service_that_slows_down_is_noticed_by_how_much() -> None:
    result = drift_over_run(run_of(np.log(1.5) / 47), "latency_wall_ms")

    assert result.p < 0.001
    assert result.change == pytest.approx(50, abs=10)
    assert result.low < 50 < result.high
    assert (result.scale, result.n) == ("log", 48)


def test_scenarios_and_modes_that_differ_are_no_drift() -> None:
    result = drift_over_run(run_of(0.0, seed=3), "latency_wall_ms")

    assert result.p > 0.05
    assert result.low < 0 < result.high


def test_old_rows_without_a_recorded_order_are_ordered_by_their_timestamps() -> None:
    rows = run_of(0.01)
    undated = [each.model_copy(update={"start_order": None}) for each in rows]
    dated = [
        each.model_copy(update={"started_at": f"2026-03-03T16:{at:02}:00.000Z"}) for at, each in enumerate(undated)
    ]

    assert drift_over_run(dated, "latency_wall_ms") == drift_over_run(rows, "latency_wall_ms")
    assert drift_over_run(undated, "latency_wall_ms").reason


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "repeated"),
        ([row("a", "s1", 0, latency_wall_ms=1.0, startOrder=0)], "repeated"),
        ([row("a", "s1", n, latency_wall_ms=0.1, startOrder=n) for n in range(9)], "zero variance"),
    ],
)
def test_drift_that_cannot_be_told_says_why(rows: list[ProfileRow], reason: str) -> None:
    result = drift_over_run(rows, "latency_wall_ms")

    assert (result.p, result.change, result.low, result.high) == (None, None, None, None)
    assert reason in str(result.reason)


def test_success_drifts_on_the_raw_scale() -> None:
    rows = [row("a", "s1", n, success=n < 20, startOrder=n) for n in range(40)]

    result = drift_over_run(rows, "success")

    assert result.scale == "raw"
    assert -1 <= result.low <= result.change < -0.9
    assert result.p < 0.001
