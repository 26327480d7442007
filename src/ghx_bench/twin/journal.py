"""The requests that a world has answered, one entry for each."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, overload

from ghx_bench.twin.faults import Surface


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One request and how it ended."""

    at: str  # wall clock, ISO 8601 with milliseconds
    surface: Surface | Literal["proxy"]  # "proxy": asked for a host that is not GitHub's, and refused
    actor: str | None  # login behind the token
    method: str
    path: str  # with query string, without credentials
    operation: str  # REST: the route's template; GraphQL: kind, name and root fields; git: the service
    status: int
    failed: bool  # 4xx or 5xx, or GraphQL answered with errors
    mutation: bool  # whether it changed the world
    duration_ms: float
    request_bytes: int
    response_bytes: int
    user_agent: str | None = None


class Journal:
    """The requests a world has answered, oldest first; safe to read while the server writes."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        with self._lock:
            self._entries.append(entry)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.since(0))  # of a copy: the server may add entries meanwhile

    @overload
    def __getitem__(self, at: int) -> Entry: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Entry, ...]: ...

    def __getitem__(self, at: int | slice) -> Entry | tuple[Entry, ...]:
        """Return one entry, as in `journal[-1]`, or several."""
        return self.since(0)[at]

    def since(self, position: int) -> tuple[Entry, ...]:
        """Return the entries after the first `position` ones: what `len(journal)` was before."""
        with self._lock:
            return tuple(self._entries[position:])
