"""Records of a query as a sequence, of which only a page is read."""

from collections.abc import Iterator, Sequence
from typing import Generic, overload

from ghx_twin.state.columns import RecordT
from ghx_twin.state.database import Database

_LARGEST_PAGE = 100  # as on GitHub; more is a whole list, and SQLite limits the ids in a statement


class Records(Sequence[RecordT], Generic[RecordT]):
    """Records with these ids, in their order, read only as far as a page needs them."""

    def __init__(self, database: Database, model: type[RecordT], ids: Sequence[int]) -> None:
        self._database, self._model, self._ids = database, model, ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> RecordT: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RecordT]: ...
    def __getitem__(self, index: int | slice) -> RecordT | Sequence[RecordT]:
        if isinstance(index, slice):
            return Records(self._database, self._model, self._ids[index])
        return self._fetch((self._ids[index],))[0]

    def __iter__(self) -> Iterator[RecordT]:
        for start in range(0, len(self._ids), _LARGEST_PAGE):
            yield from self._fetch(self._ids[start : start + _LARGEST_PAGE])

    def _fetch(self, ids: Sequence[int]) -> list[RecordT]:
        records = {record.id: record for record in self._database.all(self._model, id=tuple(ids))}
        return [records[identity] for identity in ids]


class Rows(Sequence[RecordT], Generic[RecordT]):
    """Records of a table, counted and fetched only as far as a page needs them."""

    def __init__(self, database: Database, model: type[RecordT], rest: str, values: Sequence[object] = ()) -> None:
        self._database, self._model = database, model
        self._rest, self._values = rest, tuple(values)
        self._count: int | None = None

    def __len__(self) -> int:
        if self._count is None:
            # Counting needs no order.
            self._count = self._database.count(self._model, self._rest.partition("ORDER BY")[0], self._values)
        return self._count

    @overload
    def __getitem__(self, index: int) -> RecordT: ...
    @overload
    def __getitem__(self, index: slice) -> list[RecordT]: ...
    def __getitem__(self, index: int | slice) -> RecordT | list[RecordT]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return self[:][index]
            return self._fetch(start, max(0, stop - start))
        place = index + len(self) if index < 0 else index
        records = self._fetch(place, 1) if 0 <= place < len(self) else []
        if not records:
            raise IndexError(index)
        return records[0]

    def __iter__(self) -> Iterator[RecordT]:
        return iter(self[:])  # at once: one by one, each would be a query

    def _fetch(self, start: int, count: int) -> list[RecordT]:
        rest = f"{self._rest} LIMIT {count} OFFSET {start}"
        if count > _LARGEST_PAGE:
            return self._database.select(self._model, rest, self._values)
        # The ids first: filtering and sorting then happen on an index, and no row is read that is not on the page.
        with self._database.locked():  # or what an id names could be deleted in between
            ids = self._database.ids(self._model, rest, self._values)
            records = {record.id: record for record in self._database.all(self._model, id=ids)}
        return [records[identity] for identity in ids]
