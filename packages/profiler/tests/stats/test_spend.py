import numpy as np
import pytest
from stats_rows import row

from ghx_profiler.stats import AnalysisPlan, cost_per_success

PLAN = AnalysisPlan()


def attempt(number: int, cost: float | None) -> dict[str, object]:
    return {"number": number, "startedAt": "2026-03-03T16:37:17.710Z", "costUsd": cost}


def test_failures_are_paid_for_too() -> None:
    rows = [row("a", f"s{n}", r, cost_total_usd=1 + r, success=r > 0) for n in range(3) for r in range(4)]

    result = cost_per_success(rows, "a", PLAN)

    assert result.estimate == pytest.approx(30 / 9)
    assert result.low < result.estimate < result.high
    assert result.n == 12


def test_retried_attempts_are_part_of_the_price_and_a_row_of_unknown_spend_is_left_out() -> None:
    rows = [
        row("a", "s1", 0, cost_total_usd=1.0),
        row("a", "s1", 1, cost_total_usd=1.0, attempts=[attempt(0, 2.0), attempt(1, 1.0)]),
        row("a", "s1", 2, cost_total_usd=1.0, attempts=[attempt(0, None), attempt(1, 1.0)]),
        row("a", "s1", 3),
    ]

    result = cost_per_success(rows, "a", PLAN)

    assert (result.n, result.estimate) == (2, 2.0)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    plan = AnalysisPlan(resamples=999)
    covered = 0
    for number in range(100):
        rows = [
            row("a", f"s{n}", r, cost_total_usd=cost, success=bool(rng.random() < 0.6))
            for n in range(5)
            for r, cost in enumerate(np.exp(rng.normal(0, 0.5, 6)).tolist())
        ]
        result = cost_per_success(rows, "a", plan, seed=number)
        covered += result.low <= np.exp(0.125) / 0.6 <= result.high
    assert 85 <= covered <= 100


def test_scenarios_as_a_sample_make_the_price_less_certain() -> None:
    rows = [
        row("a", f"s{n}", r, cost_total_usd=(1 + n) * (1 + r / 10), success=r > 0) for n in range(8) for r in range(4)
    ]

    suite, population = (
        cost_per_success(rows, "a", PLAN.model_copy(update={"target": target})) for target in ("suite", "population")
    )

    assert suite.estimate == population.estimate
    assert population.high - population.low > suite.high - suite.low


@pytest.mark.parametrize(
    ("costs", "successes", "reason"),
    [
        ([None, None], [True, True], "no row knows"),
        ([1.0, 2.0], [False, False], "no success for 3 USD"),
        ([0.0, 0.0], [True, True], "zero variance"),
    ],
)
def test_a_price_that_cannot_be_told_says_why(costs: list[float | None], successes: list[bool], reason: str) -> None:
    rows = [
        row("a", "s1", r, cost_total_usd=cost, success=won)
        for r, (cost, won) in enumerate(zip(costs, successes, strict=True))
    ]

    result = cost_per_success(rows, "a", PLAN)

    assert (result.low, result.high) == (None, None)
    assert reason in str(result.reason)


def test_if_success_is_rare_the_price_has_no_upper_bound() -> None:
    rows = [row("a", "s1", r, cost_total_usd=1.0, success=r == 0) for r in range(5)]

    result = cost_per_success(rows, "a", PLAN)

    assert (result.estimate, result.high) == (5.0, None)
    assert result.low < 5


def test_few_scenarios_give_no_price_for_tasks_like_these_and_the_order_of_rows_changes_nothing() -> None:
    rows = [row("a", f"s{n}", r, cost_total_usd=1 + r) for n in range(5) for r in range(3)]

    refused = cost_per_success(rows, "a", PLAN.model_copy(update={"target": "population"}))

    assert refused.low is None
    assert "at least 6" in str(refused.reason)
    assert cost_per_success(rows, "a", PLAN) == cost_per_success(rows[::-1], "a", PLAN)
