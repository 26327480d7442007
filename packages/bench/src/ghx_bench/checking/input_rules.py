"""Whether what a checkpoint is given is what its capability takes, as far as that is known before it is bound."""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from pydantic import JsonValue, ValidationError

from ghx_base.documents import Complaint, explain
from ghx_base.problems import Tokens
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.registry import capability

_BEGINS = "{{"
PLACEHOLDER = re.compile(r"\{\{.*?\}\}")


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
