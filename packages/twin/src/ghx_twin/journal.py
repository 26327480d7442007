"""The requests that a world has answered, one entry for each."""

import threading
from collections import Counter, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, overload

from ghx_twin.faults import Injected, Surface

MOST_ENTRIES = 100_000
"""Entries that are kept, the latest: at 1.5 kB each, a world that is served for weeks would take all memory."""

LONGEST_TEXT = 2_000
"""Characters of a path, an operation or a user agent; they come from clients, which may send any length."""


MOST_LACKS = 100
"""Different things that the twin lacks and a journal names; GraphQL has tens of thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One request and how it ended."""

    at: str  # wall clock, ISO 8601 with milliseconds
    surface: Surface | Literal["proxy"]  # "proxy": asked for a host that is not GitHub's, and refused
    actor: str | None  # login behind the token
    method: str
    path: str  # with query string, without credentials
    operation: str  # REST: the route's template; GraphQL: kind, name and root fields; git: the service
    status: int  # 0: a scripted fault has reset the connection
    failed: bool  # 4xx or 5xx, or GraphQL answered with errors
    mutation: bool  # whether it changed the world
    duration_ms: float
    request_bytes: int
    response_bytes: int
    user_agent: str | None = None
    not_implemented: str | None = None  # what it asked for and the twin lacks: an operation, or what GraphQL calls it
    token_name: str | None = None  # what its token is called, where the server issued it under a name
    is_signed: bool = False  # it opened a signed address, to which an earlier request was redirected
    fault: Injected | None = None  # the scripted fault that it met, or that made this change


class Journal:
    """The latest requests a world has answered, oldest first; safe to read while the server writes."""

    def __init__(self, most_entries: int = MOST_ENTRIES) -> None:
        self.dropped = 0
        """How many entries were there once, and had to make room for later ones."""
        self._entries: deque[Entry] = deque(maxlen=most_entries)
        self._lock = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        with self._lock:
            self.dropped += len(self._entries) == self._entries.maxlen
            self._entries.append(entry)

    def __len__(self) -> int:
        return self.dropped + len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.since(0))  # of a copy: the server may add entries meanwhile

    @overload
    def __getitem__(self, at: int) -> Entry: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Entry, ...]: ...

    def __getitem__(self, at: int | slice) -> Entry | tuple[Entry, ...]:
        """Return one entry, as in `journal[-1]`, or several."""
        return self.since(0)[at]

    def count_not_implemented(self, actors: Collection[str | None] | None = None) -> dict[str, int]:
        """Return how often these actors, or all, asked for each thing that the twin lacks; the most frequent first."""
        entries = (each for each in self if actors is None or each.actor in actors)
        return dict(Counter(each.not_implemented for each in entries if each.not_implemented).most_common(MOST_LACKS))

    def since(self, position: int) -> tuple[Entry, ...]:
        """Return what is kept of the entries after the first `position` ones: what `len(journal)` was before."""
        with self._lock:
            return tuple(islice(self._entries, max(0, position - self.dropped), None))
