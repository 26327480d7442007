"""The database of a world: reads at any time, writes inside a transaction that remembers who changed what."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from ghx_twin.state import connection as connections
from ghx_twin.state.changes import COLUMNS, Author, AutomaticEvent, Change, UnattributedChangeError
from ghx_twin.state.clock import ClockPolicy, WallClock, WorldClock, format_time, parse_time
from ghx_twin.state.columns import (
    Cell,
    RecordT,
    canonical_json,
    columns,
    defaults,
    row_to_record,
    select_list,
    where_clause,
)
from ghx_twin.state.record_cache import MOST_CACHED_KB, RecordCache, weigh
from ghx_twin.state.records import Record


@dataclass(slots=True)
class _Writing:
    author: Author
    at: str
    thread: int = field(default_factory=threading.get_ident)
    noted: bool = False


class Database:
    """The records of one world, in memory or in a file.

    One connection behind one lock: clients send mutations side by side and expect them to be done one after the other.
    Records that were read are cached until their table is written. Callers share them, so the values of JSON columns
    must not be changed in place.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        wall: WallClock = time.time,
        most_cached_kb: int = MOST_CACHED_KB,
    ) -> None:
        self._connection = connection
        self._clock = WorldClock(connection, wall)
        self._lock = threading.RLock()  # reentrant: acts nest, and commands read while their transaction holds it
        self._writing: _Writing | None = None
        self._is_sealed = False
        self._cache = RecordCache(most_cached_kb)
        self._image: bytes | None = None  # what `to_bytes` returned, until the next write

    @classmethod
    def in_memory(cls, *, wall: WallClock = time.time) -> Self:
        """Create an empty database that lives as long as this object."""
        return cls(connections.empty_in_memory(), wall=wall)

    @classmethod
    def in_file(cls, path: Path, *, wall: WallClock = time.time) -> Self:
        """Open the database in a file, creating it where there is none; a finished transaction survives a crash."""
        return cls(connections.open_file(path), wall=wall)

    @classmethod
    def from_bytes(cls, content: bytes, *, wall: WallClock = time.time) -> Self:
        """Create a database in memory that holds what `to_bytes` returned."""
        return cls(connections.from_image(content), wall=wall)

    def copy(self) -> Self:
        """Return an independent database in memory that holds the same, with the same clock."""
        connection = connections.from_image(self.to_bytes())
        return type(self)(connection, wall=self._clock.wall, most_cached_kb=self._cache.most_kb)

    def to_bytes(self) -> bytes:
        """Return the whole database between two transactions, the same bytes for the same history."""
        with self._lock:
            self._refuse_while_writing("copied")
            # Kept, because fresh pages for 10 MB of records cost ten times what copying them into a fork does.
            if self._image is None:
                self._image = connections.image(self._connection)
            return self._image

    def replace_with(self, content: bytes) -> None:
        """Go back to what `to_bytes` returned."""
        with self._lock:
            self._refuse_while_writing("replaced")
            # Not by deserialization, which would turn a connection to a file into one in memory.
            source = connections.from_image(content)
            self._forget_everything()
            source.backup(self._connection)
            source.close()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._forget_everything()  # a closed database answers nothing
            self._connection.close()

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other threads from reading and writing, where several reads must be of one moment."""
        with self._lock:
            yield

    def now(self) -> str:
        """Return the world's time: that of the transaction, else what its clock shows."""
        with self._lock:
            return self._writing.at if self._writing else format_time(self._clock.now())

    @property
    def clock(self) -> ClockPolicy:
        """Return what moves the clock of the world."""
        with self._lock:
            return self._clock.policy

    def set_clock(self, policy: ClockPolicy) -> None:
        """Set what moves the clock: each transaction (`ticking`) or the real time (`wall`); copies inherit it."""
        with self._lock:
            self._image = None
            self._clock.set_policy(policy)

    @property
    def is_writing(self) -> bool:
        """Return whether a transaction of this thread is open."""
        return self._writing is not None and self._writing.thread == threading.get_ident()

    def seal(self) -> None:
        """Refuse changes by the maker of the world from now on; copies are not sealed."""
        with self._lock:
            self._is_sealed = True

    @contextmanager
    def transaction(
        self, who: int | AutomaticEvent | None, *, cause_id: int | None = None, at: str | None = None
    ) -> Generator[str]:
        """Hold the world for writing as one author; everything is undone if the block raises.

        The author is a user (by id), an event that `cause_id` set off, or the maker of the world (None). The clock of
        the world moves one second for each transaction, or to `at` (never backwards), so that the same writes always
        get the same times, unless it shows the real time. A transaction inside another is part of it: author and time
        are those of the outer one, and if it raises, what it did is undone even where the outer one goes on.
        """
        moment = None if at is None else parse_time(at)
        with self._lock:
            if self._writing is not None:
                with self._scope("SAVEPOINT inner", "RELEASE inner", "ROLLBACK TO inner; RELEASE inner"):
                    yield self._writing.at
                return
            if who is None and self._is_sealed:
                raise UnattributedChangeError("a sealed world has no change without an author: act as one of its users")
            self._image = None  # here already: the clock is written even where no record is
            with self._scope("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"):
                moment = self._clock.next() if moment is None else moment
                self._writing = _Writing(Author.of(who, cause_id=cause_id), format_time(moment))
                try:
                    self._clock.advance(moment)
                    yield self._writing.at
                finally:
                    self._writing = None

    @contextmanager
    def attributed(self, who: int | AutomaticEvent) -> Generator[None]:
        """Record another author for what is written in the block: the present one has set it off."""
        writing = self._require_transaction()
        author, writing.author = writing.author, writing.author.hand_over(who)
        try:
            yield
        finally:
            writing.author = author

    def get(self, model: type[RecordT], identity: int | None) -> RecordT | None:
        """Return the record with this id."""
        return None if identity is None else self.one(model, id=identity)

    def one(self, model: type[RecordT], **equals: Any) -> RecordT | None:
        """Return the record whose columns have these values, the first by id where there are several."""
        result = self._find(model, "id", 1, equals)
        return result[0] if result else None

    def all(
        self, model: type[RecordT], *, order: str = "id", limit: int | None = None, **equals: object
    ) -> list[RecordT]:
        """Return the records whose columns have these values (None means null, a tuple any of its values)."""
        return self._find(model, order, limit, equals).copy()

    def select(self, model: type[RecordT], rest: str = "", values: Sequence[object] = ()) -> list[RecordT]:
        """Return records by SQL after the table's name: `rest` is written by us, `values` may come from anyone."""
        return [row_to_record(model, row) for row in self.rows(model, rest, values)]

    def ids(self, model: type[Record], rest: str, values: Sequence[object] = ()) -> tuple[int, ...]:
        """Return the ids of what `select` finds."""
        with self._lock:
            statement = f'SELECT "{model.table}".id FROM "{model.table}" {rest}'  # noqa: S608 - names are ours
            return tuple(row[0] for row in self._connection.execute(statement, tuple(values)))

    def rows(self, model: type[Record], rest: str = "", values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return what `select` finds as rows, for callers who look at many and need few as records."""
        with self._lock:
            return self._connection.execute(
                f'SELECT {select_list(model)} FROM "{model.table}" {rest}',  # noqa: S608 - names are ours
                tuple(values),
            ).fetchall()

    def count(self, model: type[Record], rest: str = "", values: Sequence[object] = (), **equals: object) -> int:
        """Return how many records have these column values, or fit this SQL after the table's name."""
        if not equals:  # `rest` may name other tables, so the answer belongs to none
            return self._count(model, rest, values)
        key = ("count", *equals.items())
        with self._lock:
            result = self._cache.get(model.table, key)
            if result is None:
                result = self._count(model, *where_clause(model, equals))
                self._cache.keep(model.table, key, result, 0)
            return result

    def insert(self, model: type[RecordT], **values: Any) -> RecordT:
        """Add a record under the next free id (or the given one) and return it."""
        self._require_transaction()
        complete = {**defaults(model), **values}
        stored = {c.name: c.write(complete[c.name]) for c in columns(model) if c.name != "id" or "id" in complete}
        names, marks = ", ".join(f'"{name}"' for name in stored), ", ".join("?" * len(stored))
        statement = f'INSERT INTO "{model.table}" ({names}) VALUES ({marks})'  # noqa: S608 - the same
        cursor = self._write(model.table, statement, tuple(stored.values()))
        identity = cursor.lastrowid
        assert identity is not None  # noqa: S101 - an INSERT always has one
        self._remember(model.table, identity, None, (None, canonical_json(stored)))
        return model(**{**complete, "id": identity})

    def update(self, record: RecordT, **values: Any) -> RecordT:
        """Set fields of a record and return it as it is now; a field that keeps its value is no change.

        The record may have been read before other changes: only what is named here is written.
        """
        current = self._current(record)
        changed = {name: value for name, value in values.items() if getattr(current, name) != value}
        if not changed:
            return current
        stored = {c.name: c for c in columns(type(record))}
        after = {name: stored[name].write(value) for name, value in changed.items()}
        fields = ", ".join(f'"{name}" = ?' for name in after)  # all at once: two of them may be unique together
        statement = f'UPDATE "{record.table}" SET {fields} WHERE id = ?'  # noqa: S608 - the same
        self._write(record.table, statement, (*after.values(), record.id))
        for name, value in after.items():
            self._remember(record.table, record.id, name, (stored[name].write(getattr(current, name)), value))
        return replace(current, **changed)

    def delete(self, record: Record) -> None:
        """Remove a record; its id is not given out again."""
        current = self._current(record)
        self._write(record.table, f'DELETE FROM "{record.table}" WHERE id = ?', (record.id,))  # noqa: S608 - the same
        stored = {c.name: c.write(getattr(current, c.name)) for c in columns(type(record))}
        self._remember(record.table, record.id, None, (canonical_json(stored), None))

    def note(self, table: str, identity: int, field: str, before: Cell, after: Cell) -> None:
        """Remember a change outside the tables (of a git ref), so that a diff knows who made it."""
        self._require_transaction().noted = True
        self._remember(table, identity, field, (before, after))

    @property
    def has_notes(self) -> bool:
        """Return whether the open transaction has noted a change outside the tables."""
        return self._require_transaction().noted

    def changes(self, *, after: int = 0) -> list[Change]:
        """Return the changes after a sequence number, oldest first."""
        return [Change.of(row) for row in self.change_rows(after=after)]

    def creations(self, model: type[Record], identities: Collection[int]) -> dict[int, int]:
        """Return the sequence numbers of the changes that added these records, by their ids."""
        with self._lock:
            rows = self._connection.execute(
                # As JSON: a statement takes a limited number of values.
                "SELECT object_id, seq FROM changes WHERE object_id IN (SELECT value FROM json_each(?)) "
                'AND "table" = ? AND field IS NULL AND "before" IS NULL ORDER BY seq',
                (json.dumps(list(identities)), model.table),
            ).fetchall()
        return dict(rows)

    def field_changes(self, table: str, identity: int, field: str) -> list[Change]:
        """Return the changes of a field of a record, or of a ref in the table `refs`, oldest first."""
        with self._lock:
            rows = self._connection.execute(
                f'SELECT seq, {COLUMNS} FROM changes WHERE "table" = ? AND object_id = ? AND field = ? ORDER BY seq',  # noqa: S608 - the same
                (table, identity, field),
            ).fetchall()
        return [Change.of(row) for row in rows]

    def change_rows(self, *, after: int = 0, limit: int = -1) -> list[tuple[Any, ...]]:
        """Return changes as rows, the sequence number first; at most `limit` unless that is negative."""
        with self._lock:
            return self._connection.execute(
                f"SELECT seq, {COLUMNS} FROM changes WHERE seq > ? ORDER BY seq LIMIT ?",  # noqa: S608 - the same
                (after, limit),
            ).fetchall()

    def last_change(self) -> int:
        """Return the sequence number of the newest change, 0 in a world without any."""
        with self._lock:
            seq = self._cache.get("changes", "last")
            if seq is None:
                seq = self._connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()[0]
                self._cache.keep("changes", "last", seq, 0)
            return seq

    def find_until_change(self, key: Hashable, find: Callable[[], tuple[int, ...]]) -> tuple[int, ...]:
        """Return the ids that `find` returns; asked once under a key, until anything in the world changes."""
        with self._lock:
            ids: tuple[int, ...] | None = self._cache.get("changes", key)
            if ids is None:
                ids = find()
                self._cache.keep("changes", key, ids, len(ids) >> 5)  # 32 bytes each
            return ids

    def store_refs(self, refs: Mapping[int, Mapping[str, str]]) -> None:
        """Store the refs of git at the end of a transaction: after a crash they are put back."""
        self._require_transaction()
        stored, new_refs = self.stored_refs(), {identity: dict(each) for identity, each in refs.items()}
        for identity in stored.keys() - new_refs.keys():
            self._connection.execute("DELETE FROM git_refs WHERE repository_id = ?", (identity,))
        for identity, each in new_refs.items():
            if stored.get(identity) != each:
                self._connection.execute("REPLACE INTO git_refs VALUES (?, ?)", (identity, canonical_json(each)))

    def stored_refs(self) -> dict[int, dict[str, str]]:
        """Return the refs that were stored last, by repository id."""
        with self._lock:
            rows = self._connection.execute("SELECT repository_id, refs FROM git_refs ORDER BY 1").fetchall()
        return {identity: json.loads(text) for identity, text in rows}

    @contextmanager
    def _scope(self, begin: str, end: str, undo: str) -> Generator[None]:
        self._connection.execute(begin)
        try:
            yield
            self._connection.execute(end)
        except BaseException:
            self._forget_everything()
            if self._connection.in_transaction:  # a full disk has ended it already
                for statement in undo.split("; "):
                    self._connection.execute(statement)
            raise

    def _require_transaction(self) -> _Writing:
        if self._writing is None or not self.is_writing:
            raise RuntimeError("writes happen inside Database.transaction(), in the thread that began it")
        return self._writing

    def _refuse_while_writing(self, deed: str) -> None:
        # A copy in the middle of a transaction would hold half an act, and no git refs that fit.
        if self._writing is not None:
            raise RuntimeError(f"a database cannot be {deed} in the middle of a transaction")

    def _current(self, record: RecordT) -> RecordT:
        self._require_transaction()
        current = self.get(type(record), record.id)
        if current is None:
            raise LookupError(f"{record.table} {record.id} is not there any more")
        return current

    def _find(self, model: type[RecordT], order: str, limit: int | None, equals: dict[str, object]) -> list[RecordT]:
        """Return records from the cache or the table; the list is the cache's own."""
        key = (order, limit, *equals.items())
        with self._lock:
            records = self._cache.get(model.table, key)
            if records is None:
                where, values = where_clause(model, equals)
                bound = "" if limit is None else f" LIMIT {limit}"
                records = self.select(model, f"{where} ORDER BY {order}{bound}", values)
                self._cache.keep(model.table, key, records, weigh(records))
            return records

    def _count(self, model: type[Record], rest: str, values: Sequence[object]) -> int:
        with self._lock:
            return self._connection.execute(f'SELECT count(*) FROM "{model.table}" {rest}', tuple(values)).fetchone()[0]  # noqa: S608 - the same

    def _write(self, table: str, statement: str, values: tuple[Cell, ...]) -> sqlite3.Cursor:
        """Execute the statement that writes into a table: every one goes through here, or the cache would be old."""
        self._cache.forget(table)
        return self._connection.execute(statement, values)

    def _forget_everything(self) -> None:
        self._cache.clear()
        self._image = None

    def _remember(self, table: str, identity: int, field: str | None, values: tuple[Cell, Cell]) -> None:
        writing = self._require_transaction()
        author = writing.author
        author.require(table)
        self._write(
            "changes",
            f"INSERT INTO changes ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - the same
            (writing.at, author.actor_id, author.cause_id, table, identity, field, *values),
        )
