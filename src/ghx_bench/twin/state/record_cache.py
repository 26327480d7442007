"""What was read from a world's tables, until they are written."""

from collections.abc import Hashable
from typing import Any

MOST_CACHED_RECORDS = 10_000  # of one world; about 1 KB each


class RecordCache:
    """Answers by table, with at most `most_records` records in all of them; with 0 it keeps nothing.

    The database that owns it holds its lock around every call.
    """

    def __init__(self, most_records: int) -> None:
        self.most_records = most_records
        self._answers: dict[str, dict[Hashable, Any]] = {}
        self._size = 0

    def get(self, table: str, key: Hashable) -> Any:
        """Return what was kept under a key; None if nothing was."""
        answers = self._answers.get(table)
        return None if answers is None else answers.get(key)

    def keep(self, table: str, key: Hashable, answer: Any, records: int) -> None:
        """Keep an answer that holds so many records, and drop all others where that makes too many."""
        cost = 1 + records  # an answer without records takes memory as well
        if cost > self.most_records:
            return
        if self._size + cost > self.most_records:
            self.clear()
        self._answers.setdefault(table, {})[key] = answer
        self._size += cost

    def forget(self, table: str) -> None:
        """Drop what was read from a table."""
        # Its share of the size stays counted: summing it up would cost more than clearing a little early does.
        self._answers.pop(table, None)

    def clear(self) -> None:
        """Drop everything."""
        self._answers.clear()
        self._size = 0
