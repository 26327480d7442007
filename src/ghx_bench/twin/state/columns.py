"""How a record's fields become columns, and come back."""

import json
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ghx_bench.twin.state.records import Record

type_names = {int: "INTEGER", bool: "INTEGER", str: "TEXT"}
RecordT = TypeVar("RecordT", bound=Record)
Cell = int | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """One field of a record in its table."""

    name: str
    sql_type: str
    optional: bool
    write: Callable[[Any], Cell]
    read: Callable[[Any], Any]


@cache
def columns(model: type[Record]) -> tuple[Column, ...]:
    """Return the columns of a record's table in the order of its fields; `id` comes first."""
    hints = get_type_hints(model)
    return tuple(_make_column(field.name, hints[field.name]) for field in fields(model))


@cache
def defaults(model: type[Record]) -> dict[str, Any]:
    """Return the value of every field that may be left out when a record is made."""
    return {field.name: field.default for field in fields(model) if field.default is not MISSING}


@cache
def writers(model: type[Record]) -> dict[str, Callable[[Any], Cell]]:
    """Return how the value of each field is written."""
    return {column.name: column.write for column in columns(model)}


@cache
def select_list(model: type[Record]) -> str:
    """Return the columns as SQL selects them."""
    return ", ".join(f'"{model.table}"."{column.name}"' for column in columns(model))


def row_to_record(model: type[RecordT], row: Sequence[Any]) -> RecordT:
    """Build the record that a row of its table spells out."""
    names, readers = _row_readers(model)
    values = dict(zip(names, row, strict=True))
    for name, read in readers:
        values[name] = read(values[name])
    return model(**values)


@cache
def _row_readers(model: type[Record]) -> tuple[tuple[str, ...], tuple[tuple[str, Callable[[Any], Any]], ...]]:
    """Return the names of the columns, and those that do not hold their value as it is."""
    found = columns(model)
    return tuple(c.name for c in found), tuple((c.name, c.read) for c in found if c.read is not _same)


def _make_column(name: str, hint: Any) -> Column:
    bare, optional = _without_none(hint)
    if bare in type_names:
        write, read = (_flag, _truth) if bare is bool else (_same, _same)
        return Column(name, type_names[bare], optional, write, read)
    read = _read_tuple if get_origin(bare) is tuple else _read_json
    return Column(name, "TEXT", optional, _write_json, read)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in {Union, types.UnionType}:
        return hint, False
    return next(part for part in get_args(hint) if part is not type(None)), True


def _same(value: Any) -> Any:
    return value


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _write_json(value: object) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _read_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _read_tuple(text: str | None) -> tuple[Any, ...] | None:
    return None if text is None else tuple(json.loads(text))
