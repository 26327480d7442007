"""What a step of a chain takes from the steps before it: `{{steps.0.data.id}}`."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ghx_bench._base.problems import did_you_mean
from ghx_bench.capabilities.envelope import Envelope
from ghx_bench.capabilities.errors import CapabilityError, ErrorCode, InvalidInputError

# Other things in braces are left alone: a comment may well quote a template or a workflow.
_REFERENCE = re.compile(r"\{\{\s*steps\.(\d{1,4})\.([^\s{}]+?)\s*\}\}")


def steps_named_in(value: object) -> set[int]:
    """Return the numbers of the steps that an input refers to, however deep."""
    match value:
        case str():
            return {int(reference[1]) for reference in _REFERENCE.finditer(value)}
        case dict():
            return {step for each in cast("dict[str, object]", value).values() for step in steps_named_in(each)}
        case list() | tuple():
            return {step for each in cast("list[object]", value) for step in steps_named_in(each)}
        case _:
            return set()


def resolved(value: Any, done: Sequence[Envelope | None]) -> Any:
    """Put what earlier steps came to in the place of references; one that is a whole string keeps its type."""
    match value:
        case str():
            return _resolved_text(value, done)
        case dict():
            return {name: resolved(each, done) for name, each in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [resolved(each, done) for each in cast("list[Any]", value)]
        case _:
            return value


def _resolved_text(text: str, done: Sequence[Envelope | None]) -> Any:
    whole = _REFERENCE.fullmatch(text)
    if whole:
        return _value(whole, done)
    return _REFERENCE.sub(lambda reference: _as_text(_value(reference, done)), text)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _value(reference: re.Match[str], done: Sequence[Envelope | None]) -> Any:
    number, path = int(reference[1]), reference[2].split(".")
    envelope = done[number] if number < len(done) else None
    if envelope is None:
        raise InvalidInputError(f"{reference[0]}: a step can only refer to a step before it; the first one is 0")
    if path[0] != "data":
        raise InvalidInputError(f"{reference[0]}: write {{{{steps.{number}.data.…}}}}")
    if envelope.error is not None:
        raise CapabilityError(
            f"{reference[0]}: step {number} failed, so there is no data",
            error_code=ErrorCode.VALIDATION,
            retryable=envelope.error.retryable,
            details={"step": number},
        )
    value: Any = envelope.data
    for name in path[1:]:
        value = _inside(value, name, reference[0])
    return value


def _inside(value: Any, name: str, reference: str) -> Any:
    match value:
        case dict():
            known = cast("Mapping[str, Any]", value)
            if name in known:
                return known[name]
            raise InvalidInputError(f"{reference}: no {name!r} there; {did_you_mean(name, known)}")
        case list():
            items = cast("list[Any]", value)
            if name.isascii() and name.isdigit() and int(name) < len(items):
                return items[int(name)]
            raise InvalidInputError(f"{reference}: no {name!r} in a list of {len(items)}; the first one is 0")
        case _:
            raise InvalidInputError(f"{reference}: nothing is inside {json.dumps(value)}, so there is no {name!r}")
