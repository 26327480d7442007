"""The built-in scenarios as a whole: enough of each kind, all different, each with a trap, none with a hint."""

import re
from collections import Counter
from itertools import chain
from typing import get_args

import pytest

from ghx_bench.loader import LoadedScenario, load_scenario_files
from ghx_bench.project.config_file import DEFAULT_MODES
from ghx_bench.project.folders import BUILT_IN_SCENARIOS
from ghx_bench.project.sets import load_scenario_sets
from ghx_bench.scenario.allowed_changes import check_ids
from ghx_bench.scenario.eval_scenario import Category, Difficulty
from ghx_bench.scenario.session_answer import ANSWER_TASK
from ghx_bench.scenario.variants import expand_variants
from ghx_profiler.agents.controls.solution import SUFFIX, SolutionFile, load_solution_file

LIBRARY = load_scenario_files(BUILT_IN_SCENARIOS)
SETS = load_scenario_sets(BUILT_IN_SCENARIOS).root
CONDITIONAL = {
    "pr-draft-to-ready-001": "pr-draft-unfinished-001",
    "pr-merge-ready-001": "pr-merge-not-ready-001",
    "issue-find-and-close-001": "issue-find-not-fixed-001",
}
"""Tasks to be done if something is so, where it is, and the same tasks where it is not."""
TOOLS = re.compile(r"\b(?:(?i:gh|ghx|mcp|git|curl|graphql|cli|tool|command line)|REST)\b")


def name(loaded: LoadedScenario) -> str:
    return loaded.scenario.id


def solution_of(loaded: LoadedScenario) -> SolutionFile:
    return load_solution_file(loaded.path.with_name(f"{loaded.scenario.id}{SUFFIX}"))


def test_there_are_enough_of_each_category_and_difficulty() -> None:
    categories = Counter(each.scenario.category for each in LIBRARY)
    difficulties = Counter(each.scenario.difficulty for each in LIBRARY)

    assert len(LIBRARY) >= 40
    assert {kind for kind in get_args(Category) if categories[kind] < 6} == set()
    assert {kind for kind in get_args(Difficulty) if difficulties[kind] < 12} == set()


def test_no_two_share_both_their_fixtures_and_the_tasks_of_their_checkpoints() -> None:
    found = Counter(
        (frozenset(each.scenario.fixture.requires), frozenset(one.task for one in each.scenario.assertions.checkpoints))
        for each in LIBRARY
        if each.scenario.fixture
    )

    assert [what for what, count in found.items() if count > 1] == []


@pytest.mark.parametrize("mode", DEFAULT_MODES)
def test_half_of_them_take_more_than_four_steps(mode: str) -> None:
    # A loop is one step here, whatever it does for each item.
    steps = {name(each): len(solution_of(each).modes[mode]) for each in LIBRARY}

    assert sum(count > 4 for count in steps.values()) * 2 >= len(LIBRARY), steps


@pytest.mark.parametrize(("met", "unmet"), CONDITIONAL.items())
def test_a_task_with_a_condition_is_also_there_where_the_condition_is_not_met(met: str, unmet: str) -> None:
    by_id = {name(each): each.scenario for each in LIBRARY}

    assert by_id[unmet].prompt == by_id[met].prompt, "or the prompt would say which of the two it is"
    assert by_id[unmet].known_extensions.allowed_changes == ()
    assert unmet in SETS["full"]
    assert unmet not in SETS["default"]


@pytest.mark.parametrize("loaded", LIBRARY, ids=name)
def test_each_has_a_trap_that_one_of_its_checks_guards(loaded: LoadedScenario) -> None:
    traps = solution_of(loaded).traps

    assert traps
    assert set(chain.from_iterable(each.fails for each in traps)) <= check_ids(loaded.scenario)


@pytest.mark.parametrize("loaded", LIBRARY, ids=name)
def test_no_prompt_names_a_tool(loaded: LoadedScenario) -> None:
    assert {form.id: found for form in expand_variants(loaded.scenario) if (found := TOOLS.findall(form.prompt))} == {}


@pytest.mark.parametrize("loaded", LIBRARY, ids=name)
def test_each_stands_in_the_folder_of_its_category_and_says_what_may_change(loaded: LoadedScenario) -> None:
    scenario = loaded.scenario
    is_question = all(each.task == ANSWER_TASK for each in scenario.assertions.checkpoints)

    assert loaded.path.parent.name == scenario.category
    assert scenario.known_extensions.allowed_changes is not None
    assert not is_question or scenario.known_extensions.allowed_changes == ()


def test_the_sets_have_what_their_names_say() -> None:
    ids = {name(each): each.scenario for each in LIBRARY}

    assert set(SETS) == {"default", "quick", "full", "safety", *get_args(Category)}
    forms = {form.id for each in LIBRARY for form in expand_variants(each.scenario)}
    assert {id_ for each in SETS.values() for id_ in each} - forms == set()
    assert set(SETS["full"]) == set(ids)
    # As docs/methodology.md says.
    assert len(SETS["default"]) == 8
    assert len(SETS["quick"]) == 2
    assert set(SETS["quick"]) < set(SETS["default"])
    for category in get_args(Category):
        assert set(SETS[category]) == {id_ for id_, each in ids.items() if each.category == category}
    assert all(set(ids[id_].known_extensions.targets) == {"twin", "github"} for id_ in SETS["default"]), "run anywhere"
