"""The tables of a world, derived from its records."""

import zlib
from collections.abc import Generator
from datetime import UTC, datetime
from functools import cache

from ghx_bench.twin.state.columns import Column, columns
from ghx_bench.twin.state.records import RECORDS, Record

EPOCH = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())  # when the clock of a new world starts
APPLICATION = 0x67687874  # "ghxt" in the file's header


@cache
def creation_sql() -> str:
    """Return the SQL that makes an empty world."""
    marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {schema_fingerprint()}"
    return f"BEGIN; {'; '.join(_definitions())}; {marks}; COMMIT;"


@cache
def schema_fingerprint() -> int:
    """Return a number for these tables and columns: a file with another one was made by another version."""
    return zlib.crc32(";".join(_definitions()).encode()) >> 1 or 1


def _definitions() -> Generator[str]:
    yield "CREATE TABLE world (now INTEGER NOT NULL, clock TEXT NOT NULL)"
    yield f"INSERT INTO world VALUES ({EPOCH}, 'ticking')"  # noqa: S608 - a number of ours
    yield "CREATE TABLE git_refs (repository_id INTEGER PRIMARY KEY, refs TEXT NOT NULL)"
    yield (
        "CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, actor_id INTEGER, "
        '"table" TEXT NOT NULL, object_id INTEGER NOT NULL, field TEXT, "before", "after")'
    )
    for model in RECORDS:
        yield f'CREATE TABLE "{model.table}" ({", ".join(_definition(model, column) for column in columns(model))})'
        for kind, groups in (("UNIQUE INDEX", model.unique), ("INDEX", model.indexed)):
            for group in groups:
                name, names = "_".join((model.table, *group)), ", ".join(f'"{column}"' for column in group)
                yield f'CREATE {kind} "{name}" ON "{model.table}" ({names})'


def _definition(model: type[Record], column: Column) -> str:
    if column.name == "id":
        return "id INTEGER PRIMARY KEY AUTOINCREMENT"
    collation = " COLLATE NOCASE" if column.name in model.caseless else ""
    return f'"{column.name}" {column.sql_type}{collation}{"" if column.optional else " NOT NULL"}'
