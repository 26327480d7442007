"""Placeholders: one language for scenarios, fixtures, solutions and chains."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_base.texts.templates import (
    MISSING,
    PLACEHOLDER,
    as_text,
    dead_end,
    fill,
    fill_text,
    follow,
    in_braces,
    keys_in,
    names_in,
    only_name_in,
    replace_placeholders,
    steps_of,
    strings_in,
    unknown_name,
)

VALUES: dict[str, Any] = {"n": 7, "ratio": 3.0, "text": "x {{n}}", "list": [1, 2.0, {"a": 0.5}], "none": None, "a.b": 1}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{n}}", ["n"]),
        ("{{ n }} and {{\tn\n}}", ["n", "n"]),
        ("{{checkpoints.pr-created.items.0.number}}", ["checkpoints.pr-created.items.0.number"]),
        ("{{branches.feature/a_b}} {{ steps.0.data.id }}", ["branches.feature/a_b", "steps.0.data.id"]),
        ("{{checkpoints.an id with spaces.x }}", ["checkpoints.an id with spaces.x"]),
        ("{{{n}}}", ["n"]),
        ("{{0}}", ["0"]),
        ("${{n}} ${{ github.ref }} $${{n}}", []),
        ("$ {{n}}", ["n"]),
        ("{{pr-number}} {{.title}} {{range .}} {{}} {{ }} {n} {{n} {n}} {{a b}}", []),
        ("{{" + "x" * 129 + "}}", []),
        ("no braces", []),
    ],
)
def test_the_names_in_a_text(text: str, names: list[str]) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize(("text", "name"), [("{{n}}", "n"), ("{{ a.b }}", "a.b"), (" {{n}}", None), ("${{n}}", None)])
def test_a_text_may_be_one_placeholder(text: str, name: str | None) -> None:
    assert only_name_in(text) == name


def test_what_stands_in_braces_is_found_whether_it_is_a_placeholder_or_not() -> None:
    names = list(in_braces("{{ n }} {{pr-number}} ${{ x }} {n}"))

    assert names == [("{{ n }}", "n"), ("{{pr-number}}", "pr-number")]


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("{{n}}", 7),
        ("{{ ratio }}", 3.0),
        ("{{list}}", VALUES["list"]),
        ("{{none}}", None),
        ("#{{n}} {{ratio}} {{list}} {{none}}", '#7 3 [1, 2, {"a": 0.5}] null'),
        ("{{text}}", "x {{n}}"),
        ("{{unknown}} {{n}}", "{{unknown}} 7"),
        ("{{ unknown }}", "{{ unknown }}"),
        ("${{n}}", "${{n}}"),
        ({"{{n}}": ["{{n}}", ("{{n}}",)], "b": 1.5}, {"{{n}}": [7, [7]], "b": 1.5}),
    ],
)
def test_a_value_takes_the_place_of_its_name_and_keeps_its_type_where_it_stands_alone(value: Any, filled: Any) -> None:
    assert fill(value, VALUES.__getitem__) == filled


def test_where_only_text_can_stand_a_placeholder_becomes_text() -> None:
    assert fill_text("{{ratio}}", VALUES.__getitem__) == "3"
    assert fill_text("a{{text}}", VALUES.__getitem__, write=str.upper) == "aX {{N}}"
    assert replace_placeholders("{{n}}-{{ a.b }}", lambda name: f"<{name}>") == "<n>-<a.b>"


@pytest.mark.parametrize(
    ("value", "text"),
    [("é", "é"), (3.0, "3"), (0.5, "0.5"), (True, "true"), (None, "null"), (["é", 1.0], '["é", 1]')],
)
def test_values_are_written_as_json_but_strings_bare_and_whole_numbers_without_a_point(value: Any, text: str) -> None:
    assert as_text(value).startswith(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_what_is_written_into_a_text_is_json(value: Any) -> None:
    assert isinstance(value, str) or json.loads(as_text(value)) == value


def test_strings_and_keys_are_found_with_their_places() -> None:
    value = {"a": ["x", {"b": "y"}], "c": 1}

    assert list(strings_in(value, ("at",))) == [(("at", "a", 0), "x"), (("at", "a", 1, "b"), "y")]
    assert [key for _, key in keys_in(value)] == ["a", "b", "c"]


DATA: Any = {"items": [{"id": "a", "a.b": 1}], "title": None}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("items.0.id", "a"),
        ("items.length", 1),
        ("/items/0/a.b", 1),
        ("title", None),
        ("items.1", MISSING),
        ("items.-1", MISSING),
        ("items.00", MISSING),
        ("items." + "9" * 5_000, MISSING),
        ("items.first", MISSING),
        ("title.x", MISSING),
        ("titel", MISSING),
    ],
)
def test_a_path_leads_to_keys_indices_and_lengths(path: str, found: Any) -> None:
    assert follow(DATA, steps_of(path)) == found


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("titel", "it has no 'titel'; did you mean 'title'?"),
        ("zzz", "it has no 'zzz'; it has 'items', 'title'"),
        ("items.0.x.y", "it.items.0 has no 'x'; it has 'id', 'a.b'"),
        ("items.4", "it.items is a list of 1 and has no '4'"),
        ("items.0.id.x", "it.items.0.id is 'a' and has no 'x'"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_got(path: str, said: str) -> None:
    assert str(dead_end(DATA, path.split("."), start=("it",))) == said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "numbr"}, "nothing is bound to {{numbr}}; did you mean {{number}}? known: 'number', 'repo'"),
        ({"name": "x"}, "nothing is bound to {{x}}; known: 'number', 'repo'"),
        ({"name": "x", "remedy": "bind it"}, "nothing is bound to {{x}}; bind it; known: 'number', 'repo'"),
        (
            {"name": "numbr", "source": "the runner gives it"},
            "nothing is bound to {{numbr}}; the runner gives it; known: 'number', 'repo'",
        ),
    ],
)
def test_an_unknown_name_is_told_in_one_way(more: dict[str, str], said: str) -> None:
    assert str(unknown_name(known=["repo", "number"], **more)) == said


def test_hostile_texts_are_read_in_no_time() -> None:
    for text in ("{{a." + " " * 50_000, "{{" * 50_000, "{{a.b " * 20_000, "{{" + " " * 50_000 + "}}"):
        assert names_in(text) == []


def test_the_grammar_needs_no_look_behind_in_a_schema() -> None:
    assert "(?<" not in PLACEHOLDER


def test_it_loads_neither_pydantic_nor_yaml() -> None:
    code = "import sys, ghx_base.texts.templates; print({'pydantic', 'yaml'} & set(sys.modules))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
