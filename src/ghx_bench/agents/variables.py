"""Placeholders in solutions: `{{pr_number}}`, `{{threads.items.0.id}}`."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from ghx_bench._base.problems import did_you_mean, listed
from ghx_bench.agents.quoting import Quoting

VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
"""What the name of a variable looks like."""

PATH = rf"{VARIABLE}(?:\.[A-Za-z0-9_-]+)*"
"""A variable, and what leads on from there: keys, indices, `length`."""

_PLACEHOLDER = re.compile(rf"(?<!\$)\{{\{{\s*({PATH})\s*\}}\}}")
_LENGTH = "length"


class UnknownVariableError(LookupError):
    """A placeholder leads nowhere; the message says how far it got, and what there is."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Variables:
    """Values by name: what was bound, what steps saved, what a loop is at."""

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
            raise UnknownVariableError(f"nothing is called {name!r}; {did_you_mean(name, sorted(self.values))}")
        value, gone = self.values[name], name
        for step in steps:
            value = _inside(value, step, gone)
            gone = f"{gone}.{step}"
        return value

    def fill(self, value: JsonValue) -> JsonValue:
        """Put values where their placeholders stand; a text that is one placeholder becomes the value itself."""
        match value:
            case str():
                whole = _PLACEHOLDER.fullmatch(value)
                return self.look_up(whole[1]) if whole else self.fill_text(value)
            case list():
                return [self.fill(each) for each in value]
            case dict():
                return {key: self.fill(each) for key, each in value.items()}
            case _:
                return value

    def fill_text(self, text: str) -> str:
        """Put values where their placeholders stand, as text."""
        return _PLACEHOLDER.sub(lambda match: as_text(self.look_up(match[1])), text)

    def fill_shell(self, text: str) -> str:
        """Put values into shell text so that the shell reads each as it is, inside quotes and outside."""
        quoting = Quoting(text)
        return _PLACEHOLDER.sub(lambda match: quoting.quoted(as_text(self.look_up(match[1])), match.start()), text)


def names_in(value: JsonValue) -> Iterator[str]:
    """Yield the variables that a value's placeholders begin with."""
    match value:
        case str():
            yield from (path.partition(".")[0] for path in _PLACEHOLDER.findall(value))
        case list():
            for each in value:
                yield from names_in(each)
        case dict():
            for each in value.values():
                yield from names_in(each)
        case _:
            pass


def as_text(value: JsonValue) -> str:
    """Write a value into a text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _inside(value: JsonValue, step: str, gone: str) -> JsonValue:
    match value:
        case dict() if step in value:
            return value[step]
        case dict():
            raise UnknownVariableError(f"{gone} has no {step!r}; it has {listed(value) or 'nothing'}")
        case list() if step == _LENGTH:
            return len(value)
        case list() if step.isdecimal() and int(step) < len(value):
            return value[int(step)]
        case list():
            raise UnknownVariableError(f"{gone} is a list of {len(value)} and has no {step!r}")
        case _:
            raise UnknownVariableError(f"{gone} is {as_text(value)[:60]!r} and has no {step!r}")
