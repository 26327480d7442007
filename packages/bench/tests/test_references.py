"""References: outputs of earlier checkpoints in later ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_bench import BindingError, Checkpoint, bind_references
from ghx_bench.scenario.checkpoint_references import Reference, check_references, reference_of
from ghx_bench.scenario.placeholders import CHECKPOINT_LIST, Use


def checkpoint(id_: str = "later", *, given: Any = None, condition: Any = None) -> Checkpoint:
    return Checkpoint.model_validate(
        {
            "id": id_,
            "description": "d",
            "task": "pr.view",
            "input": given or {},
            "condition": condition or {"type": "non_empty"},
        }
    )


OUTPUTS = {"pr-created": {"items": [{"number": 7, "title": "a.b"}]}, "count": 3, "null": None}


def test_a_reference_becomes_what_the_checkpoint_returned() -> None:
    given = {
        "prNumber": "{{checkpoints.pr-created.items.0.number}}",
        "text": "#{{checkpoints.pr-created.items.0.number}} of {{checkpoints.count}}",
        "whole": ["{{checkpoints.pr-created}}"],
        "null": "{{checkpoints.null}}",
        "length": "{{checkpoints.pr-created.items.length}}",
    }

    result = bind_references(checkpoint(given=given), OUTPUTS)

    assert result.input == {
        "prNumber": 7,
        "text": "#7 of 3",
        "whole": [OUTPUTS["pr-created"]],
        "null": None,
        "length": 1,
    }


def test_conditions_may_refer_as_well() -> None:
    condition = {
        "type": "all",
        "conditions": [
            {"type": "count_eq", "value": "{{checkpoints.count}}"},
            {"type": "matches", "path": "t", "pattern": "^{{checkpoints.pr-created.items.0.title}}$"},
        ],
    }

    result = bind_references(checkpoint(condition=condition), OUTPUTS)

    assert result.condition.to_wire()["conditions"] == [
        {"type": "count_eq", "value": 3},
        {"type": "matches", "path": "t", "pattern": r"^a\.b$"},
    ]


def test_what_is_no_reference_stays() -> None:
    given = {"a": "{{owner}} {{checkpoints.count}}", "b": "{{owner}}"}

    assert bind_references(checkpoint(given=given), OUTPUTS).input == {"a": "{{owner}} 3", "b": "{{owner}}"}


def test_a_checkpoint_without_references_is_itself() -> None:
    plain = checkpoint(given={"a": 1})

    assert bind_references(plain, OUTPUTS) is plain


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            "{{checkpoints.pr-created.items.1.number}}",
            "checkpoint later: /input/a: checkpoint 'pr-created' returned nothing at 'items.1.number'",
        ),
        ("{{checkpoints.unknown.x}}", "checkpoint later: /input/a: nothing is known of {{checkpoints.unknown.x}}"),
        (
            "a {{checkpoints.null}}",
            "checkpoint later: /input/a: {{checkpoints.null}} is null, which cannot be put into a text",
        ),
    ],
)
def test_what_an_earlier_checkpoint_did_not_return_is_told(value: str, said: str) -> None:
    with pytest.raises(BindingError) as caught:
        bind_references(checkpoint(given={"a": value}), OUTPUTS)

    assert str(caught.value) == said


def test_an_output_of_the_wrong_type_is_told() -> None:
    condition = {"type": "count_eq", "value": "{{checkpoints.pr-created}}"}

    with pytest.raises(BindingError, match="checkpoint later: /condition/value: expected an integer, got an object"):
        bind_references(checkpoint(condition=condition), OUTPUTS)


def test_an_id_with_dots_is_taken_as_long_as_possible() -> None:
    ids = ["a", "a.b", "a.b.c.d"]

    assert reference_of("checkpoints.a.b.c", ids) == Reference("a.b", ("c",))
    assert reference_of("checkpoints.a.b", ids) == Reference("a.b", ())
    assert reference_of("checkpoints.a.x", ids) == Reference("a", ("x",))
    assert reference_of("checkpoints.ab", ids) is None


def complaints(references: dict[int, list[int]], count: int) -> list[str]:
    """What is said of checkpoints that refer to each other by their numbers."""
    checkpoints = [checkpoint(f"c{index}") for index in range(count)]
    uses = [
        Use((*CHECKPOINT_LIST, source, "input", "a"), f"checkpoints.c{target}.x")
        for source, targets in references.items()
        for target in targets
    ]
    return [finding.reason for finding in check_references(checkpoints, uses)]


def test_a_long_circle_is_shown_shortened() -> None:
    first, *_ = complaints({index: [(index + 1) % 500] for index in range(500)}, 500)

    assert first == "checkpoints refer to each other in a circle: c0 -> c1 -> c2 -> c3 -> c4 -> c5 -> … -> c0"


def test_circles_are_shown_whole() -> None:
    assert complaints({0: [2], 1: [0], 2: [1]}, 3) == [
        "checkpoints refer to each other in a circle: c0 -> c2 -> c1 -> c0"
    ]
    assert complaints({0: [1]}, 2) == ["checkpoint 'c1' comes after 'c0'"]
    assert complaints({0: [0]}, 1) == ["checkpoint 'c0' refers to its own output"]


@given(st.dictionaries(st.integers(0, 5), st.lists(st.integers(0, 5), max_size=4, unique=True)))
def test_references_are_fine_exactly_if_all_of_them_go_back(references: dict[int, list[int]]) -> None:
    wrong = sum(target >= source for source, targets in references.items() for target in targets)

    assert len(complaints(references, 6)) == wrong
