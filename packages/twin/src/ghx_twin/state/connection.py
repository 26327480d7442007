"""SQLite as a world uses it: its tables, connections in memory and to files, and databases as bytes."""

import re
import sqlite3
import zlib
from collections.abc import Generator
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar

from ghx_base.errors import InputError
from ghx_twin.state.columns import Column, columns
from ghx_twin.state.records import RECORDS, Record

_EPOCH = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())  # when the clock of a new world starts
# Ids have GitHub's ten digits, and each table numbers of its own: a client that takes the id of a comment for that of a
# review, or for the number of a pull request, finds nothing. All of them fit GraphQL's `databaseId`, which has 31 bits.
_FIRST_ID, _IDS_OF_A_TABLE = 1_000_000_001, 15_000_000
_APPLICATION = 0x67687874  # "ghxt" in the file's header
_HEADER = 100  # bytes; the places below are in it
_FORMAT, _COUNTER, _COOKIE = slice(18, 20), slice(24, 28), slice(40, 44)
_VALID_FOR, _WRITER = slice(92, 96), slice(96, 100)
_VERSION_MARK, _APPLICATION_MARK = slice(60, 64), slice(68, 72)
_ONE = (1).to_bytes(4, "big")


class NotAWorldError(InputError):
    """A file is there where a world is looked for, and it is none that this version reads."""

    code: ClassVar[str] = "NOT_A_WORLD"


def empty_in_memory() -> sqlite3.Connection:
    """Return a new database with the tables of a world and nothing in them."""
    connection = _connect(":memory:")
    connection.executescript(_creation_sql())
    content = image(connection)
    connection.close()
    # SQLite serializes a database that was deserialized in one piece, and any other page by page: forks are faster.
    return from_image(content)


def open_file(path: Path) -> sqlite3.Connection:
    """Open the database in a file, creating it where there is none; a finished transaction survives a crash."""
    connection = _connect(str(path))
    try:
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise NotAWorldError(f"{path} is not the database of a world ({error}); name another folder") from error
    except BaseException:
        connection.close()
        raise
    return connection


def from_image(content: bytes) -> sqlite3.Connection:
    """Return a database in memory that holds what `image` returned."""
    connection = _connect(":memory:")
    connection.deserialize(content)
    return connection


def read_image(path: Path) -> bytes:
    """Return the database in a file that `image` was written to; raise `NotAWorldError` if it is none of ours."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise NotAWorldError(f"{path} is not there; name a folder with a world in it") from None
    if int.from_bytes(content[_APPLICATION_MARK], "big") != _APPLICATION:
        raise NotAWorldError(f"{path} is not the database of a world; name another folder")
    if int.from_bytes(content[_VERSION_MARK], "big") != _fingerprint():
        raise NotAWorldError(f"{path} was written by another version of ghx-bench; open it with that one")
    return content


def image(connection: sqlite3.Connection) -> bytes:
    """Return a whole database, the same bytes for the same history."""
    content = memoryview(connection.serialize())
    header = bytearray(content[:_HEADER])
    # SQLite counts in the header how often a file was written and copied, and by which version of SQLite: two worlds
    # with the same history would differ. And a database in memory cannot be in WAL mode, which a file's header says.
    header[_FORMAT] = b"\x01\x01"
    header[_COUNTER] = header[_COOKIE] = header[_VALID_FOR] = _ONE
    header[_WRITER] = bytes(4)
    return b"".join((header, content[_HEADER:]))


def _connect(address: str) -> sqlite3.Connection:
    # Shared by the threads of a server, behind the lock of `Database`; transactions are begun by hand, not by sqlite3.
    connection = sqlite3.connect(address, check_same_thread=False, cached_statements=512, isolation_level=None)
    # SQLite's own `lower` knows ASCII alone.
    connection.create_function("unicode_lower", 1, _lower, deterministic=True)
    connection.create_function("has_words", 2, _has_words, deterministic=True)
    connection.execute("PRAGMA page_size = 4096")  # the same in every build: pages are copied from one to another
    return connection


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def _has_words(text: str | None, words: str) -> bool:
    """Return whether a text has words, in lower case with a space between them, one after the other."""
    if not words:
        return True
    folded = (text or "").casefold()
    # Most texts lack the first word even as part of another, which is quicker to see.
    return words.partition(" ")[0] in folded and _words_pattern(words).search(folded) is not None


@lru_cache(maxsize=256)
def _words_pattern(words: str) -> re.Pattern[str]:
    between = r"\W+".join(map(re.escape, words.split(" ")))
    return re.compile(rf"(?<!\w){between}(?!\w)")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # WAL alone may lose the last commits with the power; an answered request must survive it.
    connection.execute("PRAGMA synchronous = FULL")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        connection.executescript(_creation_sql())
    if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise NotAWorldError(f"{path} is a database, but not of a world; name another folder")
    if connection.execute("PRAGMA user_version").fetchone()[0] != _fingerprint():
        raise NotAWorldError(
            f"{path} was written by another version of ghx-bench; `ghx-twin export` it with that version, "
            "and start from the seed with this one"
        )
    connection.executescript(f"BEGIN; {'; '.join(_list_indexes())}; COMMIT;")  # an older file lacks them


@cache
def _creation_sql() -> str:
    marks = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_fingerprint()}"
    return f"BEGIN; {'; '.join((*_definitions(), *_list_indexes()))}; {marks}; COMMIT;"


@cache
def _fingerprint() -> int:
    """Return a number for these tables and columns: a file with another one was made by another version."""
    return zlib.crc32(";".join(_definitions()).encode()) >> 1 or 1


def _definitions() -> Generator[str]:
    yield "CREATE TABLE world (now INTEGER NOT NULL, clock TEXT NOT NULL)"
    yield f"INSERT INTO world VALUES ({_EPOCH}, 'ticking')"  # noqa: S608 - a number of ours
    yield "CREATE TABLE git_refs (repository_id INTEGER PRIMARY KEY, refs TEXT NOT NULL)"
    yield (
        "CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, actor_id INTEGER, "
        'cause_id INTEGER, "table" TEXT NOT NULL, object_id INTEGER NOT NULL, field TEXT, "before", "after")'
    )
    for model in RECORDS:
        yield f'CREATE TABLE "{model.table}" ({", ".join(_definition(model, column) for column in columns(model))})'
        for kind, groups in (("UNIQUE INDEX", model.unique), ("INDEX", model.indexed)):
            for group in groups:
                name, names = "_".join((model.table, *group)), ", ".join(f'"{column}"' for column in group)
                yield f'CREATE {kind} "{name}" ON "{model.table}" ({names})'
    for place, model in enumerate(RECORDS):
        before = _FIRST_ID - 1 + place * _IDS_OF_A_TABLE
        yield f"INSERT INTO sqlite_sequence VALUES ('{model.table}', {before})"  # noqa: S608 - names and numbers of ours


def _list_indexes() -> Generator[str]:
    """Yield the indexes that answers do not need and long lists do; they are no part of the fingerprint."""
    yield 'CREATE INDEX IF NOT EXISTS changes_of ON changes (object_id, "table")'
    for model in RECORDS:
        for group in model.listed:
            name, names = "_".join((model.table, *group)), ", ".join(f'"{column}"' for column in group)
            yield f'CREATE INDEX IF NOT EXISTS "{name}" ON "{model.table}" ({names})'


def _definition(model: type[Record], column: Column) -> str:
    if column.name == "id":
        # AUTOINCREMENT: the id of a deleted record is not given out again, so an old address leads nowhere.
        return "id INTEGER PRIMARY KEY AUTOINCREMENT"
    collation = " COLLATE NOCASE" if column.name in model.caseless else ""
    return f'"{column.name}" {column.sql_type}{collation}{"" if column.optional else " NOT NULL"}'
