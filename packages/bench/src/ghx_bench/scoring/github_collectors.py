"""Collected numbers of an evaluation: tool calls by category, and requests to GitHub."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ghx_bench.scoring.tool_categories import CATEGORIES
from ghx_profiler.contracts import Collector
from ghx_profiler.evidence import Evidence
from ghx_profiler.records.metrics import CustomMetric
from ghx_twin.journal import Entry

SURFACES = ("rest", "graphql", "git")
"""The interfaces of GitHub."""

_UNITS = {"calls": "calls", "errors": "calls", "faults": "calls", "mutations": "calls", "bytes": "bytes"}


@runtime_checkable
class JournalHolder(Protocol):
    """What the stage's handles have: what was asked of GitHub, where the bench sees it, as on the emulator."""

    @property
    def journal(self) -> Iterable[Entry] | None:
        """The requests of the session's world, the bench's own among them; `None` where they cannot be seen."""
        ...

    @property
    def agent(self) -> str:
        """The login of the agent, whose requests are counted."""
        ...


@dataclass(frozen=True, slots=True)
class CategoryCollector:
    """A zero for each category that the session had no call of; the others are counted on the row."""

    def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
        """Return the categories without calls."""
        calls = evidence.tool_calls
        # An agent can report its number of calls without the calls.
        absent = 0 if calls.total is not None and len(calls.records) == calls.total else None
        for category in CATEGORIES:
            if category not in calls.by_category:
                yield CustomMetric(f"tool_calls_category_{category}", absent, "calls")


@dataclass(frozen=True, slots=True)
class JournalCollector:
    """What the agent asked of GitHub: `api_calls`, `api_errors`, `api_faults`, `api_mutations`, `api_bytes`.

    In all and by surface. Bytes are those of requests and answers without their headers. Where there is no journal,
    nothing is known. A request with a token that is not valid (401) is in no journal, since the token says whose world
    is meant.
    """

    def collect(self, evidence: Evidence[Any]) -> Iterable[CustomMetric]:
        """Return the counted requests of the session."""
        handles = evidence.stage.handles
        entries: list[Entry] | None = None
        if isinstance(handles, JournalHolder) and (journal := handles.journal) is not None:
            # Not what the proxy refused, which was asked of others, and stands on the row as `refusedHosts`. Without an
            # actor are requests without a token, as git and curl make them for what is public: they are the agent's as
            # well.
            requests = (entry for entry in journal if entry.actor in (handles.agent, None))
            entries = [entry for entry in requests if entry.surface in SURFACES]
        yield from _count("api", entries)
        for surface in SURFACES:
            part = None if entries is None else [entry for entry in entries if entry.surface == surface]
            yield from _count(f"api_{surface}", part)


def eval_collectors() -> tuple[Collector[Any], ...]:
    """Return what every evaluation collects."""
    return (CategoryCollector(), JournalCollector())


def _count(prefix: str, entries: Sequence[Entry] | None) -> Iterator[CustomMetric]:
    for what, unit in _UNITS.items():
        yield CustomMetric(f"{prefix}_{what}", None if entries is None else sum(map(_AMOUNTS[what], entries)), unit)


_AMOUNTS: dict[str, Callable[[Entry], int]] = {
    "calls": lambda _: 1,
    "errors": lambda entry: int(entry.failed),
    "faults": lambda entry: int(entry.fault is not None),
    "mutations": lambda entry: int(entry.mutation),
    "bytes": lambda entry: entry.request_bytes + entry.response_bytes,
}
