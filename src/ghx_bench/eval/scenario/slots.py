"""Where placeholders may stand in a checkpoint, and how they are filled there."""

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Literal, NamedTuple, cast

from pydantic import JsonValue

from ghx_bench._base.wire import JsonObject
from ghx_bench.eval.scenario.eval_scenario import Checkpoint, EvalScenario
from ghx_bench.eval.scenario.templates import (
    CHECKPOINTS,
    Tokens,
    fill,
    fill_text,
    is_placeholder,
    keys_in,
    names_in,
    strings_in,
)

PROMPT: Tokens = ("prompt",)
CHECKPOINT_LIST: Tokens = ("assertions", "checkpoints")

Values = Callable[[str], JsonValue]
"""Knows the value of each placeholder by its name; raises `KeyError` for those that are to stay."""


Text = tuple[Tokens, str]
"""A text that may contain placeholders, and where it is."""


class Slot(NamedTuple):
    """A text in which placeholders are filled.

    In an `any` slot, a text that is one placeholder takes the type of its value; in a `text` slot it stays text; in a
    `pattern` slot what is filled in means itself, whatever it means in regular expressions.
    """

    tokens: Tokens
    text: str
    kind: Literal["any", "text", "pattern"]

    @property
    def takes_anything(self) -> bool:
        """Whether the slot becomes the value itself, of whatever type, rather than text with the value in it."""
        return self.kind == "any" and is_placeholder(self.text)


class Fixed(NamedTuple):
    """A text in which nothing is filled, and in which somebody may think otherwise."""

    tokens: Tokens
    text: str
    is_key: bool


class Use(NamedTuple):
    """A placeholder in a scenario: where it stands, and its name."""

    tokens: Tokens
    name: str


def uses_in(texts: Iterable[Text]) -> list[Use]:
    """Return the placeholders in texts, each once for each text."""
    return [Use(tokens, name) for tokens, text in texts for name in dict.fromkeys(names_in(text))]


def texts_of(scenario: EvalScenario) -> Iterator[Text]:
    """Yield the texts of a scenario that may contain placeholders, the prompt first, but for `fixture.repo`."""
    yield PROMPT, scenario.prompt
    for index, checkpoint in enumerate(scenario.assertions.checkpoints):
        for slot in slots_of(checkpoint):
            yield (*CHECKPOINT_LIST, index, *slot.tokens), slot.text


def slots_of(checkpoint: Checkpoint) -> Iterator[Slot]:
    """Yield the texts of a checkpoint's input and condition that may contain placeholders."""
    return _slots_in(checkpoint.input, checkpoint.condition.to_wire())


def references_in(checkpoint: Checkpoint) -> list[str]:
    """Return the names of the placeholders in a checkpoint that stand for outputs of earlier ones."""
    names = (name for slot in slots_of(checkpoint) for name in names_in(slot.text))
    return [name for name in names if name.startswith(CHECKPOINTS)]


def fixed_texts_of(checkpoint: Checkpoint) -> Iterator[Fixed]:
    """Yield the texts beside the slots of a checkpoint: keys, and what conditions name."""
    yield from (Fixed(tokens, key, is_key=True) for tokens, key in keys_in(checkpoint.input, ("input",)))
    yield from _fixed_in_condition(checkpoint.condition.to_wire(), ("condition",))


def filled(checkpoint: Checkpoint, values_for: Callable[[Slot], Values]) -> JsonObject | None:
    """Return a checkpoint, not yet validated again, with its placeholders filled; `None` where it has none.

    `values_for` is asked for each slot. A placeholder for which it has no value (`KeyError`) stays.
    """
    slots = [slot for slot in slots_of(checkpoint) if names_in(slot.text)]
    if not slots:
        return None
    changed = deepcopy(checkpoint.to_wire())
    for slot in slots:
        _put(changed, slot.tokens, _fill(slot, values_for(slot)))
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


def _fixed_in_condition(condition: JsonObject, at: Tokens) -> Iterator[Fixed]:
    for key, value in condition.items():
        match key, value:
            case "path" | "scorer", str():
                yield Fixed((*at, key), value, is_key=False)
            case "value" | "params", _:
                yield from (Fixed(tokens, text, is_key=True) for tokens, text in keys_in(value, (*at, key)))
            case "condition" | "where", dict():
                yield from _fixed_in_condition(value, (*at, key))
            case "conditions", list():
                for index, each in enumerate(value):
                    yield from _fixed_in_condition(cast("JsonObject", each), (*at, key, index))
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
