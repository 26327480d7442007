"""Placeholders in solutions, and what a real shell reads where they stood."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghx_profiler.agents.controls.reference import STRICT
from ghx_profiler.agents.controls.variables import UnfitValueError, UnknownVariableError, Variables

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
        (
            "pr_numbr",
            "nothing is bound to {{pr_numbr}}; did you mean {{pr_number}}? "
            "known: 'nothing', 'pr_number', 'repo', 'threads'",
        ),
        ("threads.item", "threads has no 'item'; did you mean 'items'?"),
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


HOSTILE = [
    "",
    "it's",
    'a "b" c',
    "$HOME $(touch stolen) `touch stolen` ${HOME}",
    "two\nlines\n",
    "; touch stolen #",
    "\\ \\n \\'",
    "!! *? ~ {a,b}",
    "naïve 測試 🎉",
    "-n",
    "'; touch stolen; '",
]

TEMPLATES = {
    "bare": ("printf %s {{value}}", "{}"),
    "inside a word": ("printf %s a={{value}}/b", "a={}/b"),
    "in single quotes": ("printf %s '<{{value}}>'", "<{}>"),
    "in double quotes": ('printf %s "<{{value}}>"', "<{}>"),
    "in single quotes of bash": ("printf %s $'<\\x41{{value}}>'", "<A{}>"),
    "behind quotes": ("printf %s 'it'\"'\"''{{value}}", "it'{}"),
    "behind an escape": ("printf %s \\'{{value}}", "'{}"),
    "in a command in double quotes": ('printf %s "$(printf "%s." "{{value}}")"', "{}."),
    "bare in a command in double quotes": ('printf %s "$(printf "%s." {{value}})"', "{}."),
    "in single quotes in a command in double quotes": ("""printf %s "$(printf %s. '{{value}}')\"""", "{}."),
    "in a here-document that is expanded": ("cat <<EOF\n<{{value}}>\nEOF", "<{}>\n"),
    "in a here-document with a strange end": ("cat <<E-F\n<{{value}}>\nE-F", "<{}>\n"),
    "in a here-document whose end is half quoted": ("cat <<E'O'F\n<{{value}}>\nEOF", "<{}>\n"),
    "in a here-document that is not": ("cat <<'EOF'\n<{{value}}>\nEOF", "<{}>\n"),
    "behind a here-document": ("cat <<EOF >/dev/null\nit's \"open\nEOF\nprintf %s {{value}}", "{}"),
    "twice": ("printf %s {{value}} '{{value}}'", "{0}{0}"),
}


@pytest.mark.parametrize("where", TEMPLATES)
def test_a_real_shell_reads_a_hostile_value_as_it_is(where: str, tmp_path: Path) -> None:
    template, printed = TEMPLATES[where]
    commands = [Variables({"value": value}).fill_shell(template) for value in HOSTILE]

    said = run("\n".join(f"(\n{command}\n)\nprintf '\\0'" for command in commands), tmp_path)

    assert said.split("\0")[:-1] == [printed.format(value) for value in HOSTILE]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "where", ["bare", "in single quotes", "in double quotes", "in a here-document that is expanded"]
)
@given(value=texts)
@settings(max_examples=30)
def test_a_real_shell_reads_any_value_as_it_is(where: str, value: str) -> None:
    template, printed = TEMPLATES[where]

    assert run(Variables({"value": value}).fill_shell(template)) == printed.format(value)


def test_a_plain_value_stands_in_the_command_itself() -> None:
    assert VARIABLES.fill_shell("gh pr view {{pr_number}} --repo '{{ repo }}'") == "gh pr view 7 --repo 'octo/box'"


def test_a_command_with_other_values_can_be_run_again_as_it_is() -> None:
    command = Variables({"title": "it's", "n": 7}).fill_shell('gh issue create --title "{{title}}" --label {{n}}')

    assert command == """value_1='it'"'"'s'\ngh issue create --title "${value_1}" --label 7"""


@pytest.mark.parametrize("value", ["EOF", "a\nEOF\ntouch stolen"])
def test_a_value_that_would_end_its_here_document_is_refused(value: str) -> None:
    with pytest.raises(UnfitValueError, match="'EOF' in it, which would end the here-document"):
        Variables({"value": value}).fill_shell("cat <<'EOF'\n{{value}}\nEOF")


def test_json_in_single_quotes_stays_json() -> None:
    variables = Variables({"owner": "octo", "number": 7, "body": "it's fine"})
    command = variables.fill_shell("""printf %s '{"owner": "{{owner}}", "number": {{number}}, "body": "{{body}}"}'""")

    assert json.loads(run(command)) == {"owner": "octo", "number": 7, "body": "it's fine"}


def test_a_solutions_shell_is_strict_and_values_do_not_disturb_it(tmp_path: Path) -> None:
    command = Variables({"value": "a b"}).fill_shell('show() { printf %s. "$1" {{value}}; }; show first')

    assert run(command, tmp_path, *STRICT) == "first.a b."


def run(command: str, directory: Path | None = None, *options: str) -> str:
    words = ["bash", *options, "-c", command]
    return subprocess.run(words, check=True, capture_output=True, cwd=directory).stdout.decode()
