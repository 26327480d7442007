"""Where placeholders may stand in a checkpoint, and how they are filled there."""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Literal, NamedTuple, cast

from pydantic import JsonValue

from ghx_bench._base.wire import JsonObject
from ghx_bench.eval.scenario import Checkpoint, EvalScenario
from ghx_bench.eval.templates import Tokens, fill, fill_text, names_in, strings_in

PROMPT: Tokens = ("prompt",)
CHECKPOINT_LIST: Tokens = ("assertions", "checkpoints")

Values = Callable[[str], JsonValue]
"""Knows the value of each placeholder by its name; raises `KeyError` for those that are to stay."""


class Slot(NamedTuple):
    """A text in which placeholders are filled.

    In an `any` slot, a text that is one placeholder takes the type of its value; in a `text` slot it stays text; in a
    `pattern` slot what is filled in means itself, whatever it means in regular expressions.
    """

    tokens: Tokens
    text: str
    kind: Literal["any", "text", "pattern"]


class Use(NamedTuple):
    """A placeholder in a scenario: where it stands, and its name."""

    tokens: Tokens
    name: str


def uses_in(scenario: EvalScenario) -> list[Use]:
    """Return the placeholders in a scenario's prompt and checkpoints, each once for each text."""
    return [Use(tokens, name) for tokens, text in texts_of(scenario) for name in dict.fromkeys(names_in(text))]


def texts_of(scenario: EvalScenario) -> Iterator[tuple[Tokens, str]]:
    """Yield the texts of a scenario that may contain placeholders, but for `fixture.repo`."""
    yield PROMPT, scenario.prompt
    for index, checkpoint in enumerate(scenario.assertions.checkpoints):
        for slot in slots_of(checkpoint):
            yield (*CHECKPOINT_LIST, index, *slot.tokens), slot.text


def slots_of(checkpoint: Checkpoint) -> Iterator[Slot]:
    """Yield the texts of a checkpoint's input and condition that may contain placeholders."""
    return _slots_in(checkpoint.input, checkpoint.condition.to_wire())


def filled(checkpoint: Checkpoint, values_for: Callable[[Tokens], Values]) -> JsonObject | None:
    """Return a checkpoint, not yet validated again, with its placeholders filled; `None` where it has none.

    `values_for` is told the place of each slot. A placeholder for which it has no value (`KeyError`) stays.
    """
    slots = [slot for slot in slots_of(checkpoint) if names_in(slot.text)]
    if not slots:
        return None
    changed = deepcopy(checkpoint.to_wire())
    for slot in slots:
        _put(changed, slot.tokens, _fill(slot, values_for(slot.tokens)))
    return changed


def _fill(slot: Slot, value_of: Values) -> JsonValue:
    match slot.kind:
        case "any":
            return fill(slot.text, value_of)
        case "text":
            return fill_text(slot.text, value_of)
        case "pattern":
            return fill_text(slot.text, value_of, write=re.escape)


def _slots_in(given: JsonObject, condition: JsonObject) -> Iterator[Slot]:
    for tokens, text in strings_in(given, ("input",)):
        yield Slot(tokens, text, "any")
    yield from _slots_in_condition(condition, ("condition",))


def _slots_in_condition(condition: JsonObject, at: Tokens) -> Iterator[Slot]:
    for key, value in condition.items():
        match key, value:
            case "value", str() if condition["type"] == "field_contains":
                yield Slot((*at, key), value, "text")
            case "pattern", str():
                yield Slot((*at, key), value, "pattern")
            case "value" | "params", _:
                yield from (Slot(tokens, text, "any") for tokens, text in strings_in(value, (*at, key)))
            case "condition" | "where", dict():
                yield from _slots_in_condition(value, (*at, key))
            case "conditions", list():
                for index, each in enumerate(value):
                    yield from _slots_in_condition(cast("JsonObject", each), (*at, key, index))
            case _:
                pass


def _put(value: JsonValue, tokens: Tokens, new: JsonValue) -> None:
    *way, last = tokens
    for token in way:
        value = _inner(value, token)
    if isinstance(value, list):
        value[cast("int", last)] = new
    else:
        cast("JsonObject", value)[cast("str", last)] = new


def _inner(value: JsonValue, token: str | int) -> JsonValue:
    return value[cast("int", token)] if isinstance(value, list) else cast("JsonObject", value)[cast("str", token)]
