"""Records as rows: how fields become columns and come back, and which rows to look for, as SQL."""

import json
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ghx_twin.state.records import Record

RecordT = TypeVar("RecordT", bound=Record)
Cell = int | str | None
_SQL_TYPES = {int: "INTEGER", bool: "INTEGER", str: "TEXT"}
_NOWHERE = "0"  # the condition that no row meets
_PAST_INTEGER = 2**63


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
    """Return the default of every field that may be left out when a record is made."""
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
    """Return the names of all columns, and the readers of those whose cells are not the values themselves."""
    readers = columns(model)
    return tuple(c.name for c in readers), tuple((c.name, c.read) for c in readers if c.read is not _same)


def _make_column(name: str, hint: Any) -> Column:
    optional = get_origin(hint) in {Union, types.UnionType}
    bare = next(part for part in get_args(hint) if part is not type(None)) if optional else hint
    if bare is bool:  # SQLite has no booleans: a row would come back with 0 and 1
        return Column(name, _SQL_TYPES[bare], optional, _optional(int), _optional(bool))
    if bare in _SQL_TYPES:
        return Column(name, _SQL_TYPES[bare], optional, _same, _same)
    read = _optional(json.loads)
    if get_origin(bare) is tuple:
        read = _optional(lambda text: tuple(json.loads(text)))
    return Column(name, "TEXT", optional, _optional(canonical_json), read)


def _same(value: Any) -> Any:
    return value


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def where_clause(model: type[Record], equals: dict[str, object]) -> tuple[str, list[Cell]]:
    """Return a WHERE clause and its values: None means null, a tuple any of its values."""
    written = writers(model)
    parts: list[str] = []
    values: list[Cell] = []
    for name, value in equals.items():
        if value is None:
            parts.append(f'"{name}" IS NULL')
            continue
        members = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        # Clients send numbers past 64 bits and halves of surrogate pairs. SQLite would raise on either; no column can
        # hold them, so they are found nowhere.
        cells = [cell for member in members if _is_storable(cell := written[name](member))]
        parts.append(f'"{name}" IN ({", ".join("?" * len(cells))})' if cells else _NOWHERE)
        values += cells
    return ("WHERE " + " AND ".join(parts) if parts else ""), values


def canonical_json(value: object) -> str:
    """Return JSON that is the same text for equal values: rows of equal records must be equal."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _is_storable(cell: Cell) -> bool:
    if isinstance(cell, int):
        return -_PAST_INTEGER <= cell < _PAST_INTEGER
    if cell is None or cell.isascii():
        return True
    return not any("\ud800" <= character <= "\udfff" for character in cell)
