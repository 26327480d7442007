import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ghx_base.documents import (
    Document,
    Position,
    parse_document,
    problem,
)
from ghx_base.documents import document as document_module
from ghx_base.problems import pointer_of

JSON = Path("a.json")
YAML = Path("a.yaml")


def parse(text: str | bytes, path: Path = YAML) -> Document:
    return parse_document(text.encode() if isinstance(text, str) else text, path=path)


TEXT = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Cn", "Zl", "Zp"], exclude_characters="\ufeff\u0085"), max_size=20
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=25,
)

Expected = dict[tuple[str | int, ...], tuple[Position, Position]]
"""Where the key and the value at a path begin."""


class Writer:
    """Writes a value as indented JSON or as block YAML, and notes where each part of it went."""

    def __init__(self, *, block: bool, newline: str) -> None:
        self.block, self.newline = block, newline
        self.text = ""
        self.expected: Expected = {}

    def write(self, value: object, path: tuple[str | int, ...] = (), key_at: Position | None = None) -> None:
        self.expected[path] = (key_at or self._here(), self._here())
        match value:
            case dict() if value:
                self._write_items("{", "}", [(key, each) for key, each in value.items()], path)
            case list() if value:
                self._write_items("[", "]", list(enumerate(value)), path)
            case _:
                self.text += json.dumps(value, ensure_ascii=False)

    def _write_items(
        self, opening: str, closing: str, items: list[tuple[str | int, object]], path: tuple[str | int, ...]
    ) -> None:
        column = self._here().column
        self.text += "" if self.block else opening
        for index, (key, value) in enumerate(items):
            if index and self.block:
                self.text += self.newline + " " * (column - 1)
            elif not self.block:
                self.text += ("," if index else "") + self.newline + "  " * (len(path) + 1)
            self._write_item(key, value, (*path, key))
        self.text += "" if self.block else self.newline + "  " * len(path) + closing

    def _write_item(self, key: str | int, value: object, path: tuple[str | int, ...]) -> None:
        key_at = self._here() if isinstance(key, str) else None
        if key_at:
            self.text += json.dumps(key, ensure_ascii=False) + ":"
            # A block below its key, everything else beside it.
            nested = self.block and isinstance(value, dict | list) and value
            self.text += self.newline + " " * (key_at.column + 1) if nested else " "
        elif self.block:
            self.text += "- "
        self.write(value, path, key_at)

    def _here(self) -> Position:
        last = self.text.rpartition(self.newline)[2]
        return Position(self.text.count(self.newline) + 1, len(last) + 1)


@given(
    value=VALUES, newline=st.sampled_from(["\n", "\r\n"]), form=st.sampled_from(["json", "json as yaml", "block yaml"])
)
@example(value={"é😀": [{"": 1}, []], "b": {"c": {}}}, newline="\r\n", form="block yaml")
def test_every_key_and_value_is_found_where_it_was_written(value: object, newline: str, form: str) -> None:
    writer = Writer(block=form == "block yaml", newline=newline)
    writer.write(value)

    document = parse(writer.text, JSON if form == "json" else YAML)

    assert document.value == value
    for path, (key_at, value_at) in writer.expected.items():
        pointer = pointer_of(path)
        assert (document.key_position(pointer), document.position(pointer)) == (key_at, value_at)


def test_what_an_alias_repeats_stands_where_the_anchor_is() -> None:
    document = parse("a: &x\n  n: 1\nb: *x\n")

    assert document.position("/b") == Position(3, 4)
    assert document.position("/b/n") == Position(2, 6)


def test_a_pointer_that_leads_nowhere_has_no_position() -> None:
    document = parse("a: [1]")

    assert [document.position(pointer) for pointer in ("/b", "/a/1", "/a/0/x", "/a/-1")] == [None] * 4


def test_a_check_of_ones_own_points_at_its_value() -> None:
    located = problem(parse("a:\n  b: [x, y]"), "/a/b/1", "unknown capability", "did you mean 'z'?")

    assert str(located) == "a.yaml:2:10: /a/b/1: unknown capability; did you mean 'z'?"
    assert located.value == "'y'"


def test_a_check_of_ones_own_can_point_at_a_key() -> None:
    located = problem(parse("a:\n  b: [x, y]"), "/a/b", "not now", at_key=True)

    assert (located.line, located.column, located.value) == (2, 3, None)


def test_a_check_of_what_is_not_there_points_at_what_is() -> None:
    located = problem(parse('{"a": {}}', JSON), "/a/b/c", "should be there")

    assert str(located) == "a.json:1:7: /a/b/c: should be there"


def test_positions_are_not_worked_out_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(document_module, "json_places", calls.append)

    parse('{"a": 1}', JSON)

    assert calls == []
