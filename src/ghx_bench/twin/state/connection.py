"""SQLite as a world uses it: connections in memory and to files, and databases as bytes."""

import sqlite3
from pathlib import Path
from typing import ClassVar

from ghx_bench._base.errors import InputError
from ghx_bench.twin.state.schema import APPLICATION, creation_sql, schema_fingerprint

_HEADER = 100  # bytes; the places below are in it
_FORMAT, _COUNTER, _COOKIE = slice(18, 20), slice(24, 28), slice(40, 44)
_VALID_FOR, _WRITER = slice(92, 96), slice(96, 100)
_ONE = (1).to_bytes(4, "big")


class NotAWorldError(InputError):
    """A file is there where a world is looked for, and it is none that this version reads."""

    code: ClassVar[str] = "NOT_A_WORLD"


def empty_in_memory() -> sqlite3.Connection:
    """Return a new database with the tables of a world and nothing in them."""
    connection = _connect(":memory:")
    connection.executescript(creation_sql())
    content = image(connection)
    connection.close()
    return from_image(content)  # SQLite copies what was made from bytes in one piece, and anything else page by page


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
    """Return a database in memory that holds what `image` gave."""
    connection = _connect(":memory:")
    connection.deserialize(content)
    return connection


def image(connection: sqlite3.Connection) -> bytes:
    """Return a whole database, the same bytes for the same history.

    SQLite counts in the header how often a file was written and copied, and by which version of it, which says nothing
    about the content; and a database in memory cannot be in the journal mode of a file.
    """
    content = memoryview(connection.serialize())
    header = bytearray(content[:_HEADER])
    header[_FORMAT] = b"\x01\x01"
    header[_COUNTER] = header[_COOKIE] = header[_VALID_FOR] = _ONE
    header[_WRITER] = bytes(4)
    return b"".join((header, content[_HEADER:]))


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, check_same_thread=False, cached_statements=512, isolation_level=None)
    connection.execute("PRAGMA page_size = 4096")  # the same in every build: pages are copied from one to another
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        connection.executescript(creation_sql())
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise NotAWorldError(f"{path} is a database, but not of a world; name another folder")
    if connection.execute("PRAGMA user_version").fetchone()[0] != schema_fingerprint():
        raise NotAWorldError(
            f"{path} was written by another version of ghx-bench; `ghx-twin export` it with that version, "
            "and start from the seed with this one"
        )
