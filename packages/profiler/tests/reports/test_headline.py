"""The rules of the headline, over made-up verdicts."""

from dataclasses import replace
from typing import Any

import pytest

from ghx_profiler.reports.sections.headline_rules import (
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
    "attack_success": "attack success",
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
    contrasts = [contrast("axi", "success", success, change), contrast("axi", "cost_total_usd", "inconclusive", 3.0)]

    assert write_sentences(contrasts, rates(gh=(15, 20), axi=own))[0] == said


@pytest.mark.parametrize(("k", "said"), [(20, "axi and gh solve every task."), (0, "axi and gh solve no task.")])
def test_where_both_solve_all_or_nothing_no_test_is_needed_to_say_so(k: int, said: str) -> None:
    contrasts = [contrast("axi", "success", "not estimable", None)]

    assert write_sentences(contrasts, rates(gh=(k, 20), axi=(k, 20)))[0] == said


def test_where_every_row_of_each_task_ended_alike_both_succeed_as_often() -> None:
    equal = [contrast("axi", "success", "not estimable", None, is_always_the_same=True)]

    assert write_sentences(equal, rates(gh=(12, 18), axi=(12, 18)))[0] == "axi succeeds as often as gh (67 %, gh 67 %)."
    unequal = write_sentences(equal, rates(gh=(12, 18), axi=(12, 20)))[0]
    assert unequal.endswith("too little was measured to compare.")


def test_all_arms_that_solve_every_task_are_one_sentence_whatever_they_are_held_against() -> None:
    pairs = (("a / ghx", "a / gh"), ("b / ghx", "b / gh"), ("b / gh", "a / gh"), ("b / ghx", "a / ghx"))
    contrasts = [replace(contrast(arm, "success", "not estimable", None), reference=other) for arm, other in pairs]
    counts = {name: Successes(k=4, n=4) for pair in pairs for name in pair}

    assert write_sentences(contrasts, counts)[0] == "a / ghx, b / ghx, b / gh and a / gh solve every task."
    slower = [
        replace(contrast("b / ghx", "latency_wall_ms", "worse", change), reference=other)
        for other, change in (("b / gh", 202.0), ("a / ghx", 100.0))
    ]
    assert write_sentences([*contrasts, *slower], counts) == (
        "a / ghx, b / ghx, b / gh and a / gh solve every task; against b / gh, b / ghx takes 3 times as long; "
        "against a / ghx, b / ghx takes 2 times as long.",
    )


@pytest.mark.parametrize(
    ("metric", "verdict", "size", "said"),
    [
        ("tokens_active", "better", (-31.0, -46.0, -12.0), "axi needs 31 % fewer tokens (12 to 46 %)"),
        ("tokens_active", "worse", (31.0, 12.0, 46.0), "axi needs 31 % more tokens (12 to 46 %)"),
        ("tokens_active", "worse", (131.0, 112.0, 146.0), "axi needs 2.3 times the tokens"),
        ("cost_total_usd", "better", (-3.25, -4.0, -1.5), "axi costs 3.2 % less (1.5 to 4 %)"),
        ("cost_total_usd", "worse", (98.0, 80.0, 120.0), "axi costs 2 times as much"),
        ("cost_total_usd", "worse", (None, None, None), "axi costs more"),
        ("cost_total_usd", "better", (None, None, None), "axi costs less"),
        ("latency_wall_ms", "better", (-20.0, None, None), "axi takes 20 % less time"),
        ("latency_wall_ms", "worse", (20.0, 10.0, 30.0), "axi takes 20 % longer (10 to 30 %)"),
        ("latency_wall_ms", "worse", (141.0, 100.0, 200.0), "axi takes 2.4 times as long"),
        ("api_calls", "better", (-50.0, -60.0, -40.0), "axi needs 50 % fewer API calls (40 to 60 %)"),
    ],
)
def test_an_amount_is_told_with_its_size_and_interval(
    metric: str, verdict: str, size: tuple[float | None, float | None, float | None], said: str
) -> None:
    change, low, high = size
    amount = contrast("axi", metric, verdict, change, low=low, high=high)
    contrasts = [contrast("axi", "success", "not estimable", None), amount]

    assert write_sentences(contrasts, rates(gh=(9, 9), axi=(9, 9))) == (f"axi and gh solve every task; {said}.",)


def test_a_metric_that_is_0_or_1_is_told_in_points() -> None:
    contrasts = [contrast("axi", "attack_success", "worse", 60.0, low=40.0, high=75.0)]

    (sentence,) = write_sentences(contrasts, rates(gh=(20, 20), axi=(20, 20)))

    assert sentence == "axi and gh solve every task; axi needs 60 points more attack success (40 to 75 points)."
    assert [each.text for each in choose_chips(contrasts)] == ["axi: attack success +60 points (+40 to +75)"]


def test_arms_of_one_fate_share_a_sentence_and_the_rest_are_called_the_others() -> None:
    counts = rates(gh=(73, 85), axi=(85, 85), search=(70, 85), all=(74, 85), code=(71, 85))
    contrasts = [contrast("axi", "success", "better", 14.0), contrast("axi", "cost_total_usd", "equivalent", -3.0)]
    for arm, change, success in (
        ("search", 64.0, "inconclusive"),
        ("all", 98.0, "inconclusive"),
        ("code", 62.0, "equivalent"),
    ):
        contrasts += [contrast(arm, "success", success), contrast(arm, "cost_total_usd", "worse", change)]

    assert write_sentences(contrasts, counts) == (
        "axi succeeds more often than gh: 100 % instead of 86 %, at the same price.",
        "The other three solve 82 % to 87 %, no clear difference from gh (86 %), and cost 1.6 to 2 times as much.",
    )


def test_of_arms_that_solve_everything_those_that_need_more_or_less_are_told_apart() -> None:
    contrasts = [
        *(contrast(arm, "success", "not estimable", None) for arm in ("ghx", "mcp")),
        contrast("ghx", "latency_wall_ms", "worse", 250.0),
        contrast("mcp", "latency_wall_ms", "inconclusive", 5.0),
    ]

    assert write_sentences(contrasts, rates(gh=(16, 16), ghx=(16, 16), mcp=(16, 16))) == (
        "ghx, mcp and gh solve every task; ghx takes 3.5 times as long.",
    )
    assert write_open(contrasts) == "Open whether they differ: wall time of mcp."


@pytest.mark.parametrize(
    ("success", "change", "cost", "link"),
    [("better", 20.0, 30.0, "but costs"), ("better", 20.0, -30.0, "and costs"), ("worse", -20.0, -30.0, "but costs")],
)
def test_what_goes_against_success_is_told_with_a_but(success: str, change: float, cost: float, link: str) -> None:
    verdict = "worse" if cost > 0 else "better"
    contrasts = [contrast("axi", "success", success, change), contrast("axi", "cost_total_usd", verdict, cost)]

    (sentence,) = write_sentences(contrasts, rates(gh=(10, 20), axi=(14, 20)))

    assert f", {link} 30 %" in sentence


def test_what_rises_and_what_falls_are_both_told_and_what_goes_along_is_not() -> None:
    contrasts = [
        contrast("axi", "success", "equivalent"),
        contrast("axi", "tokens_active", "better", -20.0),
        contrast("axi", "latency_wall_ms", "worse", 20.0),
        contrast("axi", "cost_total_usd", "better", -20.0),
    ]

    (sentence,) = write_sentences(contrasts, rates(gh=(10, 20), axi=(10, 20)))

    assert sentence.endswith(", and costs 20 % less and takes 20 % longer.")


def test_where_nothing_is_shown_that_is_said() -> None:
    contrasts = [contrast("axi", "success", "inconclusive"), contrast("axi", "cost_total_usd", "inconclusive", 9.0)]

    assert write_sentences(contrasts, rates(gh=(10, 20), axi=(12, 20)))[-1] == "No other difference is shown."
    assert write_scope(contrasts, tasks=5, is_suite=True) == "On these 5 tasks."


def test_of_many_arms_and_references_the_headline_stays_short() -> None:
    arms = [f"mode-{number}" for number in range(8)]
    contrasts = [contrast(arm, "success", "better", 5.0) for arm in arms]
    counts = rates(gh=(10, 20)) | {arm: Successes(k=15, n=20) for arm in arms}

    assert write_sentences(contrasts, counts) == (
        "mode-0, mode-1, mode-2 and 5 others succeed more often than gh: 75 % instead of 50 %.",
    )
    others = [
        Contrast(arm="a", reference=f"b{number}", metric="success", label="success", verdict="better", change=1.0)
        for number in range(5)
    ]
    counts = rates(a=(9, 10)) | {f"b{number}": Successes(k=1, n=10) for number in range(5)}
    assert write_sentences(others, counts)[3:] == ("More comparisons are below.",)


@pytest.mark.parametrize(
    ("success_holds", "cost_holds", "said"),
    [
        (True, True, "On these 17 tasks, and for tasks like these too."),
        (False, False, "On these 17 tasks. For tasks like these it is open: it comes from 3 of 17 tasks."),
        (
            False,
            True,
            "On these 17 tasks. For tasks like these success is open: it comes from 3 of 17 tasks; cost holds too.",
        ),
    ],
)
def test_both_targets_are_said(success_holds: bool, cost_holds: bool, said: str) -> None:
    contrasts = [
        contrast(
            "axi", "success", "better", 14.0, holds_elsewhere=success_holds, why_open="it comes from 3 of 17 tasks"
        ),
        contrast("axi", "cost_total_usd", "better", -9.0, holds_elsewhere=cost_holds),
    ]

    assert write_scope(contrasts, tasks=17, is_suite=True) == said


def test_where_some_arms_hold_for_tasks_like_these_it_is_said_of_which() -> None:
    contrasts = [contrast(f"m{n}", "cost_total_usd", "worse", 90.0, holds_elsewhere=n > 0) for n in range(3)]

    said = "On these 9 tasks. For tasks like these cost holds for m1 and m2, is open for m0."
    assert write_scope(contrasts, tasks=9, is_suite=True) == said
    assert write_scope(contrasts, tasks=9, is_suite=False).startswith(
        "For tasks like these. On these 9 tasks cost holds"
    )


def test_of_what_is_paid_one_amount_is_told_and_of_time_whether_it_differs_too() -> None:
    contrasts = [
        contrast("mcp", "success", "inconclusive", 1.0),
        contrast("mcp", "cost_total_usd", "worse", 64.0),
        contrast("mcp", "tokens_active", "worse", 90.0),
        contrast("mcp", "latency_wall_ms", "worse", 75.0),
    ]

    assert write_sentences(contrasts, rates(gh=(15, 20), mcp=(16, 20))) == (
        "mcp solves 80 %, no clear difference from gh (75 %), and costs 1.6 times as much and takes 1.8 times as long.",
    )


def test_many_arms_of_one_verdict_are_counted_in_their_chip() -> None:
    contrasts = [contrast(f"m{n}", "cost_total_usd", "worse", 50.0 + n) for n in range(6)]

    assert [chip.text for chip in choose_chips(contrasts)] == ["6 of them: cost, at least +50 %, at most +55"]


def test_chips_tell_success_first_and_arms_of_one_verdict_together() -> None:
    contrasts = [
        *(contrast(arm, "cost_total_usd", "worse", change) for arm, change in (("a", 62.0), ("b", 98.0), ("c", 64.0))),
        contrast("axi", "cost_total_usd", "equivalent", -3.0, low=-7.0, high=1.0),
        contrast("axi", "success", "better", 14.1, low=5.0, high=23.2),
        contrast("axi", "latency_wall_ms", "inconclusive", -4.0),
    ]

    assert [(chip.text, chip.tone) for chip in choose_chips(contrasts)] == [
        ("axi: success +14 points (+5 to +23)", "good"),
        ("a, b and c: cost +62, +98 and +64 %", "bad"),
        ("axi: cost equivalent -3 % (-7 to +1)", "neutral"),
    ]


def test_what_is_open_names_an_arm_once_whatever_it_is_held_against() -> None:
    contrasts = [
        replace(contrast(arm, "latency_wall_ms", verdict, 1.0), reference=other)
        for arm, other, verdict in (
            ("b / ghx", "b / gh", "inconclusive"),
            ("b / ghx", "a / ghx", "inconclusive"),
            ("b / gh", "a / gh", "worse"),
        )
    ]

    assert write_open(contrasts) == "Open whether they differ: wall time of b / ghx."
    assert write_open(contrasts[:2]) == "Open whether they differ: wall time."


def test_chips_of_arms_that_are_held_against_different_ones_say_against_which() -> None:
    contrasts = [
        replace(contrast("b / ghx", "latency_wall_ms", verdict, change), reference=other)
        for other, verdict, change in (("b / gh", "worse", 202.0), ("a / ghx", "better", -45.0))
    ]

    assert [chip.text for chip in choose_chips(contrasts)] == [
        "b / ghx against b / gh: wall time +202 %",
        "b / ghx against a / ghx: wall time -45 %",
    ]
    assert choose_chips(contrasts, names_references=False)[0].text == "b / ghx: wall time +202 %"
