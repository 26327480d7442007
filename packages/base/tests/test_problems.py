import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_base.errors import DocumentError, FlagError, InputError
from ghx_base.problems import (
    Problem,
    describe_value,
    did_you_mean,
    listed,
    nearest,
    one_line,
    plural,
    pointer_of,
    shortened,
    shortened_pointer,
    tokens_of,
)

PROBLEM = Problem(
    file="eval.config.yaml",
    line=12,
    column=3,
    pointer="/execution/repetitons",
    reason="unknown key 'repetitons'",
    suggestion="did you mean 'repetitions'?",
)


def test_a_problem_is_one_line_that_an_editor_can_jump_to() -> None:
    assert str(PROBLEM) == (
        "eval.config.yaml:12:3: /execution/repetitons: unknown key 'repetitons'; did you mean 'repetitions'?"
    )


def test_a_problem_of_a_whole_file_has_neither_line_nor_pointer() -> None:
    assert str(Problem(file="a.yaml", reason="the file is empty")) == "a.yaml: the file is empty"


def test_machines_are_told_what_is_known_and_nothing_else() -> None:
    assert PROBLEM.to_dict() == {
        "file": "eval.config.yaml",
        "line": 12,
        "column": 3,
        "pointer": "/execution/repetitons",
        "reason": "unknown key 'repetitons'",
        "suggestion": "did you mean 'repetitions'?",
    }


@given(file=st.text(), pointer=st.text(), reason=st.text())
def test_nothing_in_a_problem_breaks_the_line_or_moves_the_cursor(file: str, pointer: str, reason: str) -> None:
    shown = str(Problem(file=file, pointer=pointer, reason=reason))

    assert len(shown.splitlines()) <= 1
    assert "\x1b" not in shown
    shown.encode()


@pytest.mark.parametrize("mark", "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_marks_of_direction_are_escaped_as_controls_are(mark: str) -> None:
    assert one_line(f"a{mark}b\x1b") == f"a\\u{ord(mark):04x}b\\x1b"


def test_an_error_lists_every_problem_on_a_line_of_its_own() -> None:
    other = Problem(file="b.json", reason="the file is empty")
    error = DocumentError([PROBLEM, other])

    assert isinstance(error, InputError)
    assert error.exit_code == 2
    assert str(error) == f"{PROBLEM}\n{other}"


@pytest.mark.parametrize("error", [DocumentError([PROBLEM]), FlagError("--seed", "expected an integer")])
def test_an_error_survives_the_way_to_another_process(error: Exception) -> None:
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@given(st.lists(st.text()))
def test_keys_survive_the_way_through_a_pointer(tokens: list[str]) -> None:
    assert tokens_of(pointer_of(tokens)) == tuple(tokens)


def test_slashes_and_tildes_are_escaped_in_pointers() -> None:
    assert pointer_of(["a/b", 0, "m~n", ""]) == "/a~1b/0/m~0n/"


@given(st.text() | st.lists(st.integers()) | st.dictionaries(st.text(), st.text()))
def test_a_shortened_value_is_short_and_stays_on_its_line(value: object) -> None:
    assert len(shortened(value)) < 500
    assert len(one_line(shortened(value)).splitlines()) == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        (0, "the number 0"),
        (1.5, "the number 1.5"),
        ("x" * 1000, "the string '" + "x" * 59 + "…'"),
        ([], "a list"),
        ({}, "an object"),
    ],
)
def test_values_are_told_in_the_words_of_json(value: object, words: str) -> None:
    assert describe_value(value) == words


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("repetitons", "repetitions"),
        ("maxConcurrency", "max_concurrency"),
        ("MAX-CONCURRENCY", "max_concurrency"),
        ("timeout", "timeoutMs"),
        ("re", None),
        ("max", None),
        ("colour", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_found_across_case_and_hyphens_but_not_invented(name: str, meant: str | None) -> None:
    assert nearest(name, ["repetitions", "max_concurrency", "max_retries", "seed", "timeoutMs"]) == meant


def test_long_lists_of_names_are_cut() -> None:
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(map(str, range(18))).endswith("'15' and 2 more")


def test_a_suggestion_is_the_name_that_was_meant_or_those_there_are() -> None:
    assert did_you_mean("ownr", ["owner", "name"]) == "did you mean 'owner'?"
    assert did_you_mean("zzz", ["owner", "name"]) == "known: 'owner', 'name'"
    assert did_you_mean("zzz", []) == "known: none"
    assert did_you_mean("zzz", ["owner"], otherwise="add it") == "add it"


def test_a_long_pointer_is_shown_by_its_ends() -> None:
    assert shortened_pointer("/a/b") == "/a/b"
    shown = shortened_pointer("/first/" + "x" * 10_000 + "/last")
    assert shown.startswith("/first/xx")
    assert shown.endswith("xx/last")
    assert len(shown) <= 301


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (1, "repository", "1 repository"),
        (2, "repository", "2 repositories"),
        (0, "key", "0 keys"),
        (2, "status", "2 statuses"),
        (1200, "token", "1,200 tokens"),
    ],
)
def test_a_count_has_its_noun_in_the_right_number(count: int, noun: str, words: str) -> None:
    assert plural(count, noun) == words
