"""What to look for in a table, as SQL."""

from typing import cast

from ghx_bench.twin.state.columns import Cell, writers
from ghx_bench.twin.state.records import Record

_NOTHING = "0"
_LARGEST = 2**63


def where_clause(model: type[Record], equals: dict[str, object]) -> tuple[str, list[Cell]]:
    """Return a WHERE clause and its values: None means null, a tuple any of its values.

    What no column can hold (a number past 64 bits, half of a surrogate pair) is found nowhere; clients send both.
    """
    written = writers(model)
    parts: list[str] = []
    values: list[Cell] = []
    for name, value in equals.items():
        if value is None:
            parts.append(f'"{name}" IS NULL')
            continue
        members = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        cells = [cell for member in members if is_storable(cell := written[name](member))]
        parts.append(f'"{name}" IN ({", ".join("?" * len(cells))})' if cells else _NOTHING)
        values += cells
    return ("WHERE " + " AND ".join(parts) if parts else ""), values


def is_storable(cell: Cell) -> bool:
    """Tell whether SQLite can hold a value."""
    if isinstance(cell, int):
        return -_LARGEST <= cell < _LARGEST
    if cell is None or cell.isascii():
        return True
    return not any("\ud800" <= character <= "\udfff" for character in cell)
