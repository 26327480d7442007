"""Run against run: one verdict over all arms, then arm by arm only where it showed something."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from stats_rows import row

from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats import AnalysisPlan, Observations, observe
from ghx_profiler.stats.comparison import planned_pairs
from ghx_profiler.stats.methods.permutation import permutation_curve
from ghx_profiler.stats.pairs import PairedBlock, PairedSample
from ghx_profiler.stats.result_records import OverallComparison, RunComparison
from ghx_profiler.stats.run_comparison import ComparedRuns, compare_overall, compare_runs

PLAN = AnalysisPlan(resamples=1_999)


def run_of(
    name: str, failures: int, *, modes: str = "xyz", scenarios: int = 2, repetitions: int = 5, seed: int = 1
) -> list[tuple[Arm, ProfileRow]]:
    """Return rows of a run of which the first repetitions fail, in all modes alike; wall time has 30 % noise."""
    chance = random.Random(f"{name}/{seed}")
    cells = [(mode, f"s{n}", r) for r in range(repetitions) for n in range(scenarios) for mode in modes]
    failed = set(cells[:failures])
    return [
        (
            Arm(mode=cell[0], run=name),
            row(*cell, success=cell not in failed, latency_wall_ms=1000 * chance.lognormvariate(0, 0.3)),
        )
        for cell in cells
    ]


def compare(*runs: Sequence[tuple[Arm, ProfileRow]], plan: AnalysisPlan = PLAN) -> ComparedRuns:
    observations, labels, pairs = arranged(runs, plan)
    return compare_runs(observations, plan, runs=labels, pairs=pairs)


def arranged(
    runs: Iterable[Sequence[tuple[Arm, ProfileRow]]], plan: AnalysisPlan = PLAN
) -> tuple[Observations, list[str], Sequence[tuple[Arm, Arm]]]:
    rows = [each for run in runs for each in run]
    arms = list(dict.fromkeys(arm for arm, _ in rows))
    labels = list(dict.fromkeys(arm.run or "" for arm in arms))
    observations = observe([each for _, each in rows], arms=[arm for arm, _ in rows])
    return observations, labels, planned_pairs(arms, plan, runs=labels)


def success_of(compared: ComparedRuns) -> OverallComparison:
    (run,) = compared.runs
    result = run.of("success")
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("modes", "scenarios", "repetitions", "failures", "words"),
    [
        ("xyz", 2, 5, 9, "Worse: 21 of 30 solved instead of 30 (-30 points; 95 % interval "),
        ("xy", 2, 5, 6, "Worse: 14 of 20 solved instead of 20 (-30 points; 95 % interval "),
    ],
)
def test_a_drop_that_no_mode_shows_by_itself_is_called_worse(modes, scenarios, repetitions, failures, words) -> None:
    shape = {"modes": modes, "scenarios": scenarios, "repetitions": repetitions}

    compared = compare(run_of("before", 0, **shape), run_of("after", failures, **shape))

    success = success_of(compared)
    assert (success.tier, success.tier_alone) == ("worse", "worse")
    assert success.words.startswith(words)
    assert not [each for each in compared.arms if each.metric == "success" and each.verdict == "worse"]
    # A difference over all arms was shown, so that each arm is tested: with Holm, over the arms alone.
    tested = [each for each in compared.arms if each.family == "primary"]
    assert {(each.metric, each.adjustment, each.family_planned) for each in tested} == {("success", "holm", len(modes))}


def test_the_overall_test_is_the_stratified_permutation_test() -> None:
    before, after = run_of("before", 2), run_of("after", 11)

    success = success_of(compare(before, after)).comparison

    strata: dict[tuple[str, str], tuple[list[float], list[float]]] = {}
    for side, run in enumerate((after, before)):
        for arm, each in run:
            strata.setdefault((arm.mode, each.scenario_id), ([], []))[side].append(float(each.success is True))
    blocks = (
        PairedBlock(scenario=f"{mode} {scenario}", model="", a=np.sort(a), b=np.sort(b))
        for (mode, scenario), (a, b) in strata.items()
    )
    reference = permutation_curve(
        PairedSample(blocks=tuple(blocks), scale="raw"), resamples=9_999, rng=np.random.default_rng(0)
    )
    assert success.reduction_pct == pytest.approx(100 * reference.estimate)
    assert success.p == pytest.approx(reference.p(), abs=0.01)
    assert (success.headline.rows_a, success.n) == (30, 2)


def test_an_arm_is_exploratory_where_nothing_was_shown_overall() -> None:
    compared = compare(run_of("before", 1), run_of("after", 2))

    assert success_of(compared).tier in {"equivalent", "inconclusive"}
    assert {each.family for each in compared.arms} == {"exploratory"}
    assert {each.adjustment for each in compared.arms} == {"benjamini-hochberg"}


def test_opposite_changes_of_two_modes_are_no_change_overall() -> None:
    before = [*run_of("before", 8, modes="x"), *run_of("before", 0, modes="y")]
    after = [*run_of("after", 0, modes="x"), *run_of("after", 8, modes="y")]

    assert success_of(compare(before, after)).comparison.reduction_pct == 0


def test_success_is_tested_at_alpha_and_the_others_by_holm_among_themselves() -> None:
    (run,) = compare(run_of("before", 0), run_of("after", 9)).runs

    assert [each.metric for each in run.metrics] == list(PLAN.primary)
    success, *others = (each.comparison for each in run.metrics)
    assert (success.adjustment, success.p_adjusted) == ("none", success.p)
    assert {(each.adjustment, each.family_planned) for each in others} == {("holm", 3)}


def test_each_later_run_is_held_against_the_first_and_all_of_them_are_adjusted_together() -> None:
    compared = compare(run_of("one", 0), run_of("two", 9), run_of("three", 0))

    assert [(run.before.run, run.after.run) for run in compared.runs] == [("one", "two"), ("one", "three")]
    two, three = (run.metrics[0] for run in compared.runs)
    assert two.tier == "worse"
    assert two.comparison.adjustment == "holm"
    # Nothing varies between the first and the third: no test could be made, and none is counted.
    assert two.comparison.family_size == 1
    assert three.tier == "equivalent"


def test_counts_are_of_the_cases_that_both_runs_have() -> None:
    before, after = run_of("before", 3, modes="xyz"), run_of("after", 4, modes="xy", scenarios=3)

    (run,) = compare(before, after).runs

    assert (run.before.rows, run.after.rows) == (20, 20)
    solved = sum(each.success is True for arm, each in after if each.scenario_id != "s2")
    assert run.after.solved == solved
    success = success_of(compare(before, after))
    assert f"{solved} of 20 solved" in success.words
    assert [(each.mode, each.cause, each.rows) for each in success.comparison.headline.left_out] == [
        ("after", "scenario without rows of the other run", 10)
    ]


def test_labels_change_no_number() -> None:
    plain = compare(run_of("a", 2), run_of("b", 9))
    renamed = [
        [(replace(arm, run=label), each) for arm, each in run]
        for label, run in (("later", run_of("a", 2)), ("earlier", run_of("b", 9)))
    ]

    again = compare(*renamed)

    assert [each.comparison.p for each in again.runs[0].metrics] == [
        each.comparison.p for each in plain.runs[0].metrics
    ]


def test_swapped_runs_swap_the_word() -> None:
    better = success_of(compare(run_of("after", 9), run_of("before", 0)))

    assert better.tier == "better"
    assert better.words.startswith("Better: 30 of 30 solved instead of 21 (+30 points; 95 % interval +")


def tier_of(before: Sequence[tuple[Arm, ProfileRow]], after: Sequence[tuple[Arm, ProfileRow]]) -> tuple[str, str]:
    result = success_of(compare(before, after))
    return result.tier, result.words


def test_all_rows_solved_in_both_is_equivalent_only_if_a_drop_of_the_margin_would_have_been_seen() -> None:
    enough = tier_of(run_of("before", 0), run_of("after", 0))
    few = tier_of(run_of("before", 0, modes="xy"), run_of("after", 0, modes="xy"))

    assert enough == ("equivalent", "Equivalent: 30 of 30 solved, as before.")
    assert few[0] == "inconclusive"
    assert "20 of 20 solved, as before; a change by up to 12 points could have gone unseen" in few[1]


def test_rows_too_few_for_any_difference_to_be_shown_are_insufficient() -> None:
    shape = {"modes": "x", "scenarios": 1, "repetitions": 3}

    tier, words = tier_of(run_of("before", 0, **shape), run_of("after", 3, **shape))

    assert tier == "insufficient data"
    assert words.startswith("Insufficient data: with so few rows p cannot be below 0.1, and 0.05 is needed. 0 of 3")


def unmeasured(run: Sequence[tuple[Arm, ProfileRow]], count: int) -> list[tuple[Arm, ProfileRow]]:
    """Return the run with the first rows spoiled by the environment."""
    lost = {"success": None, "error": "down", "cause": "environment"}
    return [
        (arm, row(each.mode, each.scenario_id, each.iteration, **lost)) if number < count else (arm, each)
        for number, (arm, each) in enumerate(run)
    ]


def test_a_baseline_of_which_a_fifth_could_not_be_measured_is_unreliable_unless_the_word_holds_without_these() -> None:
    spoiled, good = unmeasured(run_of("before", 0), 10), run_of("after", 0)

    tier, words = tier_of(spoiled, good)
    assert tier == "unreliable baseline"
    assert words.startswith(
        "Unreliable baseline: 10 of the 30 rows of before could not be measured. 30 of 30 solved, 20 before (+33 points"
    )
    assert tier_of(unmeasured(run_of("before", 0), 6), good)[0] == "better"
    assert tier_of(unmeasured(run_of("before", 0), 7), run_of("after", 24))[0] == "worse"


def test_a_later_run_that_was_not_measured_is_not_worse_for_it() -> None:
    tier, words = tier_of(run_of("before", 0), unmeasured(run_of("after", 0), 10))

    assert tier == "insufficient data"
    assert "10 of the 30 rows of after could not be measured" in words


def test_a_baseline_that_succeeds_only_sometimes_is_unreliable_where_nothing_was_shown() -> None:
    flaky = run_of("before", 14)

    assert tier_of(flaky, run_of("after", 15))[0] == "unreliable baseline"
    assert tier_of(flaky, run_of("after", 30))[0] == "worse"


def test_the_population_is_refused_below_six_scenarios_and_speaks_with_six() -> None:
    plan = PLAN.model_copy(update={"target": "population"})

    few = success_of(compare(run_of("before", 0), run_of("after", 9), plan=plan))
    six = success_of(compare(run_of("before", 0, scenarios=6), run_of("after", 45, scenarios=6), plan=plan))

    assert few.tier == "insufficient data"
    assert "at least 6 scenarios" in (few.reason or "")
    assert few.comparison.headline.suite.verdict == "worse"
    assert (six.tier, six.comparison.n) == ("worse", 6)


def test_a_metric_asked_alone_is_not_adjusted_for_others() -> None:
    observations, labels, pairs = arranged((run_of("before", 0), run_of("after", 9)))

    (wall,) = compare_overall(observations, "latency_wall_ms", PLAN, runs=labels, pairs=pairs)

    assert wall.comparison.p == wall.comparison.p_adjusted
    assert wall.tier == wall.tier_alone
    assert wall.words.partition(": ")[2].startswith("wall time ")


def test_attacks_are_compared_where_the_first_run_or_the_later_one_knows_them() -> None:
    attacked = [
        (arm, each.model_copy(update={"metrics": {"attack_success": 1}})) for arm, each in run_of("two", 0, modes="x")
    ]

    two, three = compare(run_of("one", 0, modes="x"), attacked, run_of("three", 0, modes="x")).runs

    assert two.attacks is not None
    assert two.attacks.tier == "insufficient data"
    assert three.attacks is None


def test_a_renamed_agent_is_compared_all_the_same() -> None:
    def by(agent: str, run: list[tuple[Arm, ProfileRow]]) -> list[tuple[Arm, ProfileRow]]:
        return [(arm, each.model_copy(update={"provider": agent})) for arm, each in run]

    same = success_of(compare(run_of("before", 0), run_of("after", 9)))
    renamed = success_of(compare(by("old", run_of("before", 0)), by("new", run_of("after", 9))))

    assert (renamed.words, renamed.comparison.p) == (same.words, same.comparison.p)


def test_records_survive_the_wire() -> None:
    (run,) = compare(run_of("before", 0), run_of("after", 9)).runs

    assert RunComparison.model_validate_json(run.to_bytes()) == run


@pytest.mark.parametrize(
    ("agents", "models", "modes", "reference", "expected"),
    [
        ([None], [None], "bac", None, {("a", "b"), ("c", "b")}),
        ([None], [None], "bac", "c", {("b", "c"), ("a", "c")}),
        ([None], ["m", "k"], "b", None, {("k / b", "m / b")}),
        (
            ["q", "p"],
            [None],
            "ba",
            None,
            {("q / a", "q / b"), ("p / a", "p / b"), ("p / b", "q / b"), ("p / a", "q / a")},
        ),
    ],
)
def test_arms_are_held_against_the_first_listed_in_one_thing_alone(agents, models, modes, reference, expected) -> None:
    arms = [Arm(agent=agent, model=model, mode=mode) for agent in agents for model in models for mode in modes]
    plan = PLAN.model_copy(update={"reference_mode": reference})

    assert {(str(a), str(b)) for a, b in planned_pairs(arms, plan)} == expected


def test_all_pairs_are_compared_on_request() -> None:
    arms = [Arm(mode=mode) for mode in "bac"]

    pairs = planned_pairs(arms, PLAN.model_copy(update={"all_pairs": True}))

    assert [(str(a), str(b)) for a, b in pairs] == [("a", "b"), ("c", "b"), ("c", "a")]
