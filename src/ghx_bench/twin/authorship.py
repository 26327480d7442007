"""Who made one world different from another, from the worlds' own memory of changes."""

from itertools import takewhile
from typing import Any

from ghx_bench.twin.state.database import Change, Database
from ghx_bench.twin.state.records import User

_CHANGES_PER_READ = 2000


class Authors:
    """Who changed what last in `after`, since it parted from `before`."""

    def __init__(self, before: Database, after: Database) -> None:
        self._logins = {user.id: user.login for user in (*before.all(User), *after.all(User))}
        self._last: dict[tuple[str, int, str | None], Change] = {}
        self._latest: dict[tuple[str, int], Change] = {}
        for change in after.changes(after=_last_shared_change(before, after)):
            self._last[change.table, change.object_id, change.field] = change
            self._latest[change.table, change.object_id] = change

    def of(self, table: str, identity: int, field: str | None) -> tuple[str | None, str | None]:
        """Return who changed a field (None: made or deleted the whole object) last, and when."""
        return self._told(self._last.get((table, identity, field)))

    def latest(self, *objects: tuple[str, int], ref: tuple[int, str] | None = None) -> tuple[str | None, str | None]:
        """Return who was the last to change anything of some objects, or a ref of a repository, and when."""
        changes = [self._latest.get(each) for each in objects]
        changes += [] if ref is None else [self._last.get(("refs", *ref))]
        return self._told(max((each for each in changes if each), key=lambda each: each.seq, default=None))

    def _told(self, change: Change | None) -> tuple[str | None, str | None]:
        if change is None:
            return None, None
        return None if change.actor_id is None else self._logins.get(change.actor_id), change.at


def _last_shared_change(before: Database, after: Database) -> int:
    """Return the sequence number of the last change that both remember alike: up to there they were one world."""
    shared = 0
    while True:
        first = before.change_rows(after=shared, limit=_CHANGES_PER_READ)
        second = after.change_rows(after=shared, limit=_CHANGES_PER_READ)
        if not first or not second:
            return shared
        if first == second:
            shared = first[-1][0]
            continue
        alike = list(takewhile(_is_alike, zip(first, second, strict=False)))
        return alike[-1][0][0] if alike else shared


def _is_alike(pair: tuple[tuple[Any, ...], tuple[Any, ...]]) -> bool:
    return pair[0] == pair[1]
