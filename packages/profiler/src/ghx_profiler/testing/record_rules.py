"""What must hold of the records that a plugin gives: they are written to files, and read again."""

import math
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from ghx_base.wire import WireModel
from ghx_profiler.evidence import Evidence

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def assert_survives_json(record: WireModel, what: str) -> None:
    """Hold that a record that was written to a file and read again is the same."""
    try:
        # With every key: a record made in code need not spell out its defaults.
        again = type(record).model_validate_json(record.model_dump_json(exclude_unset=False))
    except ValueError as error:
        raise AssertionError(f"{what} cannot be written as JSON and read again: {error}") from None
    assert again == record, f"{what} is not the same after it was written as JSON and read again"


def assert_is_json(value: Mapping[str, JsonValue], what: str) -> None:
    """Hold that a mapping can be written as JSON."""
    try:
        _JSON.validate_python(dict(value), strict=True)
    except ValidationError:
        raise AssertionError(f"{what} must be JSON, got {value!r}") from None


def assert_is_environment(value: Mapping[str, str], what: str) -> None:
    """Hold that a mapping can be the environment of a process."""
    pairs = cast("Mapping[object, object]", value).items()
    bad = [name for name, text in pairs if not (isinstance(name, str) and isinstance(text, str))]
    assert not bad, f"{what} must map text to text, and does not for {bad}"


def assert_finite(numbers: Iterable[tuple[str, float | None]], what: str) -> None:
    """Hold that none of these is NaN or infinite, which no file can hold and no statistic survives."""
    bad = [name for name, number in numbers if number is not None and not math.isfinite(number)]
    assert not bad, f"{what} must be finite or None, and is not for {bad}"


def assert_unique_names(names: Iterable[str], what: str) -> None:
    """Hold that each of these is there, and there once."""
    name_list = list(names)
    assert all(name_list), f"{what} must not be empty, got {name_list}"
    assert len(set(name_list)) == len(name_list), f"{what} must be different from each other, got {name_list}"


def snapshot(evidence: Evidence[Any]) -> object:
    """Return a copy of the evidence to compare with later; live handles stay out of it."""
    return deepcopy(without_handles(evidence))


def without_handles(evidence: Evidence[Any]) -> Evidence[Any]:
    """Return the evidence as far as it can be compared."""
    return replace(evidence, stage=replace(evidence.stage, handles=None))
