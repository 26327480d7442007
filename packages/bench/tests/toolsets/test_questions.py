"""The table of questions: what is asked of each mode is the same."""

import json
from pathlib import Path

import pytest

from ghx_base.errors import GhxBenchError
from ghx_bench.modes.definitions import BUILT_IN
from ghx_bench.toolsets.calls import WORLDS
from ghx_bench.toolsets.questions import (
    PLACEHOLDERS,
    QuestionTable,
    built_in_table,
    require_known_modes,
    values_of,
    with_own_questions,
)
from ghx_twin.seed.worlds import open_world


def test_placeholders_of_calls_are_those_of_the_fixed_world() -> None:
    with open_world(WORLDS / "tidewatch.seed.yaml") as world:
        assert {*values_of(world)} == {*PLACEHOLDERS}


def test_every_mode_looks_up_in_a_call_of_its_own_what_the_question_does_not_say() -> None:
    """No call has an id, a commit or labels of the world that neither the question gives nor an earlier step finds."""
    found: dict[str, set[str]] = {}
    for question in built_in_table().questions:
        for name in question.calls:
            first, *_ = question.steps(name, {}) or ("",)
            text = first if isinstance(first, str) else json.dumps(first.arguments)
            for word in ("{{job}}", "{{main_sha}}", "area/3"):
                if word in text:
                    found.setdefault(question.id, set()).add(name)

    assert found == {}


def test_a_door_to_the_raw_api_is_asked_for_the_fields_of_the_question_in_every_mode() -> None:
    raw = [
        (question.id, name, step)
        for question in built_in_table().questions
        if question.kind != "error"
        for name in question.calls
        for step in question.steps(name, {})
        if isinstance(step, str) and " api " in step and "--jq" not in step and "vnd.github.raw" not in step
    ]

    assert raw == []


def own_table(folder: Path, question: dict[str, object]) -> QuestionTable:
    file = folder / "own.yaml"
    file.write_text(json.dumps({"version": 1, "questions": [question]}))
    return with_own_questions(built_in_table(), [file])


def test_a_call_of_a_mode_that_there_is_not_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    modes = {*BUILT_IN, "mine"}
    for name in ("mine", "mine@./build/head", "ghx"):
        require_known_modes(own_table(tmp_path, {"id": "issue-view", "calls": {name: "look"}}), modes)

    with pytest.raises(GhxBenchError, match="did you mean 'ghx-mcp'"):
        require_known_modes(own_table(tmp_path, {"id": "issue-view", "calls": {"ghx-mpc": "look"}}), modes)


@pytest.mark.parametrize(
    "more", [{"kind": "change"}, {"items": {"pattern": "x", "total": 2}}, {"races": ["ghx"]}, {"asks": "Look."}]
)
def test_a_question_of_the_bench_can_be_given_calls_and_nothing_else(more: dict[str, object], tmp_path: Path) -> None:
    (name,) = more
    with pytest.raises(GhxBenchError, match=f"`{name}`"):
        own_table(tmp_path, {"id": "issue-view", "calls": {"ghx": "look"}, **more})


def test_a_pattern_that_is_none_is_refused_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(GhxBenchError, match="/questions/0/items/pattern"):
        own_table(tmp_path, {"id": "new", "asks": "Look.", "items": {"pattern": "(", "total": 2}})
