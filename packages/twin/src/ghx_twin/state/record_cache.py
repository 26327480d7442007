"""What was read from a world's tables, until they are written."""

from collections.abc import Hashable, Sequence
from operator import attrgetter
from typing import Any

MOST_CACHED_KB = 10_000  # of one world
_LONG = ("body", "summary")  # the columns that may hold much more than a KB


def weigh(records: Sequence[Any]) -> int:
    """Return about how many KB records of one table take: one each, and what their long texts hold."""
    # Not by the size of every value: the others are short, and every answer that is kept is weighed.
    weight = len(records)
    for name in _LONG:
        if records and hasattr(records[0], name):
            weight += sum(len(text) for text in map(attrgetter(name), records) if text) >> 10
    return weight


class RecordCache:
    """Answers by table, with at most `most_kb` of records in all of them; with 0 it keeps nothing.

    The database that owns it holds its lock around every call.
    """

    def __init__(self, most_kb: int) -> None:
        self.most_kb = most_kb
        self._answers: dict[str, dict[Hashable, Any]] = {}
        self._size = 0

    def get(self, table: str, key: Hashable) -> Any:
        """Return what was kept under a key; None if nothing was."""
        answers = self._answers.get(table)
        return None if answers is None else answers.get(key)

    def keep(self, table: str, key: Hashable, answer: Any, kb: int) -> None:
        """Keep an answer of this size, and drop all others where that makes too much."""
        cost = 1 + kb  # an answer without records takes memory as well
        if cost > self.most_kb:
            return
        if self._size + cost > self.most_kb:
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
