"""Placeholders in solutions, and what a real shell reads where they stood."""

import json
import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghx_bench.agents.variables import UnknownVariableError, Variables, names_in

THREADS = {"items": [{"id": "T1", "line": 4}, {"id": "T2", "line": 9}], "done": False}
VARIABLES = Variables({"pr_number": 7, "repo": "octo/box", "threads": THREADS, "nothing": None})

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("{{pr_number}}", 7),
        ("{{ pr_number }}", 7),
        ("PR #{{pr_number}} of {{repo}}", "PR #7 of octo/box"),
        ("{{threads.items.1.id}}", "T2"),
        ("{{threads.items.length}}", 2),
        ("{{threads.items.0}}", {"id": "T1", "line": 4}),
        ("is it {{threads.done}}, or {{nothing}}?", "is it false, or null?"),
        (
            {"n": ["{{pr_number}}", {"m": "{{threads.items.0.line}}"}], "{{repo}}": 1},
            {"n": [7, {"m": 4}], "{{repo}}": 1},
        ),
        ("${{ github.ref }} {{.title}} {pr_number}", "${{ github.ref }} {{.title}} {pr_number}"),
        (3.5, 3.5),
    ],
)
def test_values_take_the_place_of_their_names_and_keep_their_type_where_they_stand_alone(
    value: Any, filled: Any
) -> None:
    assert VARIABLES.fill(value) == filled


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("pr_numbr", "nothing is called 'pr_numbr'; did you mean 'pr_number'?"),
        ("threads.item", "threads has no 'item'; it has 'items', 'done'"),
        ("threads.items.2.id", "threads.items is a list of 2 and has no '2'"),
        ("threads.items.first", "threads.items is a list of 2 and has no 'first'"),
        ("repo.owner", "repo is 'octo/box' and has no 'owner'"),
    ],
)
def test_a_placeholder_that_leads_nowhere_says_how_far_it_got(path: str, message: str) -> None:
    with pytest.raises(UnknownVariableError) as caught:
        VARIABLES.fill_shell(f"echo {{{{{path}}}}}")

    assert str(caught.value) == message


def test_the_item_of_a_loop_is_forgotten_behind_it_and_what_was_saved_in_it_is_not() -> None:
    outside = Variables({"item": "before"})
    inside = outside.with_value("item", 1).with_value("saved", 2)

    assert inside.as_outside(outside, "item").values == {"item": "before", "saved": 2}
    assert inside.as_outside(Variables({}), "item").values == {"saved": 2}


def test_the_names_in_a_value_are_those_its_placeholders_begin_with() -> None:
    assert list(names_in({"a": ["{{one.two}}", "{{ three }}"], "b": "$" + "{{four}}"})) == ["one", "three"]


TEMPLATES = {
    "bare": "printf %s {{value}}",
    "in single quotes": "printf %s '{{value}}'",
    "in double quotes": 'printf %s "{{value}}"',
    "behind quotes": "printf %s 'it'\"'\"''{{value}}",
    "behind an escape": "printf %s \\'{{value}}",
    "in a here-document": "cat <<'EOF'\n{{value}}\nEOF",
    "behind a here-document": "cat <<EOF >/dev/null\nit's \"open\nEOF\nprintf %s {{value}}",
}


@pytest.mark.parametrize("where", ["bare", "in single quotes", "in double quotes"])
@given(value=texts)
@settings(max_examples=30)
def test_a_real_shell_reads_the_value_as_it_is(where: str, value: str) -> None:
    command = Variables({"value": value}).fill_shell(TEMPLATES[where])

    assert run(command) == value


@pytest.mark.parametrize(
    ("where", "printed"),
    [
        ("behind quotes", "it'{}"),
        ("behind an escape", "'{}"),
        ("in a here-document", "{}\n"),
        ("behind a here-document", "{}"),
    ],
)
def test_quotes_and_here_documents_before_a_value_do_not_confuse(where: str, printed: str) -> None:
    value = "a 'b' \"c\" $HOME `id` \\ d"

    assert run(Variables({"value": value}).fill_shell(TEMPLATES[where])) == printed.format(value)


def test_json_in_single_quotes_stays_json() -> None:
    variables = Variables({"owner": "octo", "number": 7, "body": "it's fine"})
    command = variables.fill_shell("""printf %s '{"owner": "{{owner}}", "number": {{number}}, "body": "{{body}}"}'""")

    assert json.loads(run(command)) == {"owner": "octo", "number": 7, "body": "it's fine"}


def run(command: str) -> str:
    return subprocess.run(["bash", "-c", command], check=True, capture_output=True).stdout.decode()
