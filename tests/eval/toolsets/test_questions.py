"""The table of questions: what is asked of each mode is the same."""

import json

from ghx_bench.eval.toolsets.calls import WORLDS
from ghx_bench.eval.toolsets.questions import PLACEHOLDERS, built_in_table, values_of
from ghx_bench.twin.seed.worlds import open_world


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
