"""Checks a checkpoint against its capability: its inputs, and the paths into its output."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, NamedTuple, cast

from pydantic import JsonValue, ValidationError

from ghx_base.documents import Complaint, explain
from ghx_base.problems import Tokens, did_you_mean, listed, shortened
from ghx_base.texts.templates import LENGTH, steps_of
from ghx_bench.scenario.condition_base import Way
from ghx_bench.scenario.conditions import ITEMS
from ghx_bench.scenario.eval_scenario import Checkpoint
from ghx_bench.scenario.session_answer import ANSWER_TASK, SessionAnswer
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.registry import capability

_BEGINS = "{{"
PLACEHOLDER = re.compile(r"\{\{.*?\}\}")
Schema = dict[str, Any]
_ANYTHING: Schema = {}
_NUMBER: Schema = {"type": "integer"}


def input_errors(task: str, name: str, value: JsonValue, tokens: Tokens) -> Iterator[Complaint]:
    """Yield what is wrong with one input of a capability.

    A text with a placeholder in it is known only once that is replaced, and left for then, unless the text around it
    keeps it from being the number that is asked for. So is whether several inputs go together.
    """
    if task not in ENTRIES:
        return
    is_nested = isinstance(value, dict | list)
    errors = _input_errors(task, name, value) if is_nested else _input_errors_once(task, name, value)
    for each in errors:
        yield replace(each, tokens=(*tokens, *each.tokens[1:]))


@lru_cache(maxsize=4096, typed=True)  # typed: 1 and True are equal, and are not both a number
def _input_errors_once(task: str, name: str, value: str | float | bool | None) -> tuple[Complaint, ...]:
    """Validate a value once, however many checkpoints have it."""
    return _input_errors(task, name, value)


def _input_errors(task: str, name: str, value: JsonValue) -> tuple[Complaint, ...]:
    model, inputs = capability(task).operation.input, {name: value}
    try:
        model.model_validate(inputs)
    except ValidationError as error:
        return tuple(
            each
            for each in explain(error, model, inputs)
            if each.tokens[:1] == (name,) and not _is_left_open(_value_at(inputs, each.tokens), error)
        )
    return ()


def _value_at(value: JsonValue, tokens: Tokens) -> JsonValue:
    """Return the value that a complaint is about; `None` where it is about something that is missing."""
    for token in tokens:
        if isinstance(value, dict) and str(token) in value:
            value = value[str(token)]
        elif isinstance(value, list) and isinstance(token, int) and token < len(value):
            value = value[token]
        else:
            return None
    return value


def _is_left_open(value: JsonValue, error: ValidationError) -> bool:
    """Return whether a value may be right once its placeholders are replaced."""
    if not isinstance(value, str) or _BEGINS not in value:
        return False
    around = PLACEHOLDER.sub("", value).strip()
    wants_number = any(each["input"] == value and each["type"].startswith("int_") for each in error.errors())
    return not wants_number or not around or around.isdigit()


class _DeadEnd(NamedTuple):
    """Why a step leads nowhere, and what to write instead."""

    reason: str
    suggestion: str | None


def path_warnings(checkpoint: Checkpoint, place: Tokens) -> Iterator[Complaint]:
    """Yield the paths of a checkpoint's condition that lead nowhere, whatever its capability returns."""
    if checkpoint.task in ENTRIES or checkpoint.task == ANSWER_TASK:
        for part in checkpoint.condition.walk((*place, "condition")):
            for key, path in part.condition.paths():
                if end := _follow(checkpoint.task, part.way, path):
                    yield Complaint(tokens=(*part.tokens, key), reason=end.reason, suggestion=end.suggestion)


@lru_cache(maxsize=4096)
def _follow(task: str, way: Way, path: str) -> _DeadEnd | None:
    """Follow a path through the schema of an output; return why it ends early."""
    output = _Output(_schema_of(task))
    parts = output.start
    for step in way:
        parts = output.items(parts) if step is None else output.inside(parts, step)
    steps = steps_of(path)
    for index, step in enumerate(steps):
        results = output.inside(parts, step)
        if parts and not results:
            whose = f"an item of what {task} returns" if way and way[-1] is None else f"what {task} returns"
            return _explain(whose, steps[:index], steps[index:], parts)
        parts = results
    return None


@cache
def _schema_of(task: str) -> Schema:
    if task == ANSWER_TASK:
        return SessionAnswer.model_json_schema(mode="serialization")
    return capability(task).operation.output.model_json_schema(mode="serialization")


class _Output:
    """The schema of an output, in which each place may hold one of several kinds of values."""

    def __init__(self, root: Schema) -> None:
        self._named: dict[str, Schema] = root.get("$defs", {})
        self.start = self._kinds(root)

    def inside(self, parts: Sequence[Schema], step: str) -> list[Schema]:
        """Return what a step can lead to."""
        return [kind for part in parts for schema in _behind(part, step) for kind in self._kinds(schema)]

    def items(self, parts: Sequence[Schema]) -> list[Schema]:
        """Return what the items of lists are, or of objects that have `items`."""
        lists = [inner for part in parts for inner in (self.inside([part], ITEMS) if _is_object(part) else [part])]
        return self.inside(lists, "0")

    def _kinds(self, schema: Schema) -> list[Schema]:
        """Follow references, and take choices apart."""
        if "$ref" in schema:
            return self._kinds(self._named[schema["$ref"].rpartition("/")[2]])
        choices = cast("list[Schema]", schema.get("anyOf") or schema.get("oneOf") or ())
        return [kind for each in choices for kind in self._kinds(each)] if choices else [schema]


def _behind(part: Schema, step: str) -> Iterator[Schema]:
    if _is_object(part):
        other = part.get("additionalProperties", True)
        if step in part.get("properties", {}):
            yield part["properties"][step]
        elif other is not False:
            yield _ANYTHING if other is True else other
    elif part.get("type") == "array":
        if step == LENGTH:
            yield _NUMBER
        elif step.isdecimal():
            yield part.get("items", _ANYTHING)
    elif "type" not in part and "const" not in part and "enum" not in part:
        yield _ANYTHING


def _is_object(part: Schema) -> bool:
    return part.get("type") == "object"


def _explain(whose: str, missing: Sequence[str], rest: Sequence[str], parts: Sequence[Schema]) -> _DeadEnd:
    there, step = ".".join(missing), rest[0]
    place = f"in {whose}, {there}" if there else whose
    keys = [key for part in parts for key in part.get("properties", ())]
    if keys:
        return _DeadEnd(
            f"{place} has no {shortened(step)}", did_you_mean(step, keys, otherwise=f"it has {listed(keys)}")
        )
    if any(part.get("type") == "array" for part in parts):
        better = ".".join((*missing, "0", *rest))
        return _DeadEnd(f"{place} is a list", f"write {better} for its first item")
    return _DeadEnd(f"{place} has nothing inside", None)
