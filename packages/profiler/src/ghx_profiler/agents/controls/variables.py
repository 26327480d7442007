"""The values that a solution works with, and how they get into its texts and its shell commands."""

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from ghx_base.texts.templates import (
    MISSING,
    as_text,
    dead_end,
    fill,
    fill_text,
    follow,
    names_in,
    replace_placeholders,
    unknown_name,
)

if TYPE_CHECKING:  # loaded for the first value that a shell could misread
    from tree_sitter import Node

_MARK = "ghx_bench_placeholder_"
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


class UnknownVariableError(LookupError):
    """A placeholder has no value; the message names the last part that exists and the keys there."""


class UnfitValueError(ValueError):
    """A value cannot be put where its placeholder stands."""


@dataclass(frozen=True, slots=True)
class Variables:
    """Values by name: what was bound, what steps saved, and the item of a loop."""

    values: Mapping[str, JsonValue]

    def with_value(self, name: str, value: JsonValue) -> "Variables":
        """Return these variables and one more."""
        return Variables({**self.values, name: value})

    def as_outside(self, outside: "Variables", name: str) -> "Variables":
        """Return these variables as they are behind a loop: the name of its item is again what it was before."""
        values = {each: value for each, value in self.values.items() if each != name}
        return Variables({**values, **({name: outside.values[name]} if name in outside.values else {})})

    def look_up(self, path: str) -> JsonValue:
        """Return what a path leads to: a variable, then keys, indices, or the `length` of a list."""
        name, *steps = path.split(".")
        if name not in self.values:
            raise UnknownVariableError(str(unknown_name(name, self.values)))
        value = follow(self.values[name], steps)
        if value is MISSING:
            raise UnknownVariableError(str(dead_end(self.values[name], steps, start=(name,))))
        return value

    def fill(self, value: JsonValue) -> JsonValue:
        """Return a value with its placeholders replaced; a text that is one placeholder becomes the value itself."""
        return fill(value, self.look_up)

    def fill_text(self, text: str) -> str:
        """Return a text with its placeholders replaced by text."""
        return fill_text(text, self.look_up)

    def fill_shell(self, text: str) -> str:
        """Return a command in which the shell reads each value as it is, wherever its placeholder stands.

        A value of plain characters means the same everywhere, and is written into the text. Any other reaches the shell
        in a variable that is assigned before the text: what a variable expands to is never read as shell again, so that
        no value can become a command. The text stays one that can be run again as it is, which replaying relies on.
        """
        values = {name: as_text(self.look_up(name)) for name in names_in(text)}
        special = [name for name, value in values.items() if not _PLAIN.fullmatch(value)]
        if not special and "<<" not in text:
            return replace_placeholders(text, values.__getitem__)
        variables = {name: f"value_{number}" for number, name in enumerate(special, start=1)}
        places = _places_of_placeholders(text)
        filled = replace_placeholders(text, lambda name: next(places).write(values[name], variables.get(name)))
        return "".join(f"{variables[name]}={shlex.quote(values[name])}\n" for name in special) + filled


class _Place(NamedTuple):
    """Where in a shell text a placeholder stands: what an expansion needs around it there, or that none happens."""

    before: str
    after: str
    here_document: str | None = None
    """The word that ends the here-document in which nothing is expanded, if it is in one."""

    def write(self, value: str, variable: str | None) -> str:
        """Return what stands there for a value, which is plain or else assigned to a variable."""
        if self.here_document is not None:
            if self.here_document in value:
                raise UnfitValueError(f"a value has {self.here_document!r} in it, which would end the here-document")
            return value
        return value if variable is None else f"{self.before}${{{variable}}}{self.after}"


_IN_WORDS = _Place('"', '"')
_IN_QUOTES = {
    "string": _Place("", ""),
    "raw_string": _Place("'\"", "\"'"),
    "ansi_c_string": _Place("'\"", "\"$'"),
    "command_substitution": _IN_WORDS,
}


def _places_of_placeholders(text: str) -> Iterator[_Place]:
    """Yield how the shell reads each place with a placeholder, as bash's own grammar has it."""
    import tree_sitter_bash  # noqa: PLC0415 - most values are plain, and need no parser
    from tree_sitter import Language, Parser  # noqa: PLC0415 - the same

    # Braces are grammar to bash: they are parsed as words, which any place takes.
    marks = (f"{_MARK}{number}_" for number in itertools.count())
    marked = replace_placeholders(text, lambda _: next(marks)).encode()
    root = Parser(Language(tree_sitter_bash.language())).parse(marked).root_node
    for mark in re.finditer(rf"{_MARK}\d+_".encode(), marked):
        yield _place_of(root.descendant_for_byte_range(mark.start(), mark.end()))


def _place_of(node: "Node | None") -> _Place:
    while node is not None:
        if node.type in _IN_QUOTES:
            return _IN_QUOTES[node.type]
        if node.type == "heredoc_body" and node.parent is not None:
            starts = (each for each in node.parent.children if each.type == "heredoc_start")
            word = next((each.text or b"" for each in starts), b"").decode()
            bare = re.sub(r"[\\'\"]", "", word)
            return _Place("", "", None if bare == word else bare)  # with any of it quoted, nothing is expanded
        node = node.parent
    return _IN_WORDS
