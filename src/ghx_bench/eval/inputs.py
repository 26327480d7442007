"""What a checkpoint gives its capability, as far as it is written out: whether it is of the kind that is taken."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from pydantic import JsonValue, ValidationError

from ghx_bench.capabilities.index import ENTRIES
from ghx_bench.capabilities.registry import capability
from ghx_bench.documents import Finding, explain
from ghx_bench.eval.templates import Tokens

_BEGINS = "{{"


def mistakes_in_value(task: str, name: str, value: JsonValue, tokens: Tokens) -> Iterator[Finding]:
    """Yield what is wrong with one input of a capability.

    A value with a placeholder in it is known only once that is replaced, and left for then. So is whether several
    inputs go together.
    """
    if task not in ENTRIES:
        return
    if isinstance(value, dict | list):
        found = () if _BEGINS in json.dumps(value) else _mistakes(task, name, value)
    else:
        found = () if isinstance(value, str) and _BEGINS in value else _mistakes_once(task, name, value)
    for each in found:
        yield replace(each, tokens=(*tokens, *each.tokens[1:]))


@lru_cache(maxsize=4096, typed=True)
def _mistakes_once(task: str, name: str, value: str | float | bool | None) -> tuple[Finding, ...]:
    """Judge a value once, however many checkpoints have it."""
    return _mistakes(task, name, value)


def _mistakes(task: str, name: str, value: JsonValue) -> tuple[Finding, ...]:
    model, given = capability(task).operation.input, {name: value}
    try:
        model.model_validate(given)
    except ValidationError as error:
        return tuple(each for each in explain(error, model, given) if each.tokens[:1] == (name,))
    return ()
