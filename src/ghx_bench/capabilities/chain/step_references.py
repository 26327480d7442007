"""What a step of a chain takes from the steps before it: `{{steps.0.data.id}}`."""

import re
from collections.abc import Sequence
from typing import Any

from ghx_bench._base.templates import MISSING, dead_end, fill, follow, names_in, placeholder, strings_in
from ghx_bench.capabilities.envelope import Envelope
from ghx_bench.capabilities.errors import CapabilityError, ErrorCode, InvalidInputError

_REFERENCE = re.compile(r"steps\.(\d{1,4})\.(\S+)")


def steps_named_in(value: object) -> set[int]:
    """Return the numbers of the steps that an input refers to, however deep."""
    names = (name for _, text in strings_in(value) for name in names_in(text))
    return {int(reference[1]) for name in names if (reference := _REFERENCE.fullmatch(name))}


def resolve_references(value: Any, done: Sequence[Envelope | None]) -> Any:
    """Return an input with its references replaced by what earlier steps returned; a whole string takes its type."""
    return fill(value, lambda name: _value_of(name, done))


def _value_of(name: str, done: Sequence[Envelope | None]) -> Any:
    reference = _REFERENCE.fullmatch(name)
    if reference is None:
        raise KeyError(name)  # left alone: a comment may well quote a template
    number, (first, *steps) = int(reference[1]), reference[2].split(".")
    envelope = done[number] if number < len(done) else None
    if envelope is None:
        raise InvalidInputError(f"{placeholder(name)}: a step can only refer to a step before it; the first one is 0")
    if first != "data":
        raise InvalidInputError(f"{placeholder(name)}: write {{{{steps.{number}.data.…}}}}")
    if envelope.error is not None:
        raise CapabilityError(
            f"{placeholder(name)}: step {number} failed, so there is no data",
            error_code=ErrorCode.VALIDATION,
            retryable=envelope.error.retryable,
            details={"step": number},
        )
    found = follow(envelope.data, steps)
    if found is MISSING:
        where = dead_end(envelope.data, steps, start=("steps", str(number), "data"))
        raise InvalidInputError(f"{placeholder(name)}: {where}")
    return found
