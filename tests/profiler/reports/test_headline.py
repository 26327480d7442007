"""The rules of the headline over made-up verdicts: arms of one fate share a sentence, success first, then what it costs."""

from typing import Any

import pytest

from ghx_bench.profiler.reports.sections.headline_rules import (
    Contrast,
    Successes,
    choose_chips,
    write_open,
    write_scope,
    write_sentences,
)

LABELS = {
    "success": "success",
    "tokens_active": "active tokens",
    "latency_wall_ms": "wall time",
    "cost_total_usd": "cost",
    "api_calls": "API calls",
}


def contrast(arm: str, metric: str, verdict: Any, change: float | None = 0.0, **more: Any) -> Contrast:
    return Contrast(
        arm=arm, reference="gh", metric=metric, label=LABELS[metric], verdict=verdict, change=change, **more
    )


def rates(**counts: tuple[int, int]) -> dict[str, Successes]:
    return {name: Successes(k=k, n=n) for name, (k, n) in counts.items()}


@pytest.mark.parametrize(
    ("success", "change", "own", "said"),
    [
        ("better", 14.0, (20, 20), "axi succeeds more often than gh: 100 % instead of 75 %."),
        ("worse", -25.0, (10, 20), "axi succeeds less often than gh: 50 % instead of 75 %."),
        ("equivalent", 0.0, (15, 20), "axi succeeds as often as gh (75 %, gh 75 %)."),
        ("inconclusive", 5.0, (16, 20), "axi solves 80 %, no clear difference from gh (75 %)."),
        ("not estimable", None, (16, 20), "axi solves 80 %, gh 75 %: too little was measured to compare."),
    ],
)
def test_every_fate_of_success_has_its_sentence(success: str, change: float | None, own: Any, said: str) -> None:
    told = [contrast("axi", "success", success, change), contrast("axi", "cost_total_usd", "inconclusive", 3.0)]

    assert write_sentences(told, rates(gh=(15, 20), axi=own))[0] == said


@pytest.mark.parametrize(("k", "said"), [(20, "axi and gh solve every task."), (0, "axi and gh solve no task.")])
def test_where_both_solve_all_or_nothing_no_test_is_needed_to_say_so(k: int, said: str) -> None:
    told = [contrast("axi", "success", "not estimable", None)]

    assert write_sentences(told, rates(gh=(k, 20), axi=(k, 20)))[0] == said


@pytest.mark.parametrize(
    ("metric", "verdict", "change", "low", "high", "said"),
    [
        ("tokens_active", "better", -31.0, -46.0, -12.0, "axi needs 31 % fewer tokens (12 to 46 %)"),
        ("tokens_active", "worse", 31.0, 12.0, 46.0, "axi needs 31 % more tokens (12 to 46 %)"),
        ("tokens_active", "worse", 131.0, 112.0, 146.0, "axi needs 2.3 times the tokens"),
        ("cost_total_usd", "better", -3.25, -4.0, -1.5, "axi costs 3.2 % less (1.5 to 4 %)"),
        ("cost_total_usd", "worse", 98.0, 80.0, 120.0, "axi costs 2 times as much"),
        ("cost_total_usd", "worse", None, None, None, "axi costs less"),
        ("latency_wall_ms", "better", -20.0, None, None, "axi takes 20 % less time"),
        ("latency_wall_ms", "worse", 20.0, 10.0, 30.0, "axi takes 20 % longer (10 to 30 %)"),
        ("latency_wall_ms", "worse", 141.0, 100.0, 200.0, "axi takes 2.4 times as long"),
        ("api_calls", "better", -50.0, -60.0, -40.0, "axi needs 50 % fewer API calls (40 to 60 %)"),
    ],
)
def test_an_amount_is_told_with_its_size_and_interval(
    metric: str, verdict: str, change: float | None, low: float | None, high: float | None, said: str
) -> None:
    told = [contrast("axi", "success", "not estimable", None), contrast("axi", metric, verdict, change, low=low, high=high)]

    assert write_sentences(told, rates(gh=(9, 9), axi=(9, 9))) == (f"axi and gh solve every task; {said}.",)
