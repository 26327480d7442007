"""Faults on purpose: errors and delays that a world answers with instead of handling a request."""

import fnmatch
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

Surface = Literal["rest", "graphql", "git"]
"""The interface a request is for; the journal and the metrics of a run use the same names."""

_STATUSES = range(100, 600)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error or delay, and the requests that get it; each use counts against `times`."""

    surface: Surface | None = None  # None: any
    method: str | None = None
    path: str = "*"  # shell pattern on the path
    times: int | None = None  # how often before it is over; None: for good
    skip: int = 0  # how many fitting requests pass first
    latency_ms: float = 0
    status: int | None = None  # None: only slow
    message: str = "Server Error"  # `{user_id}` in it is who asked
    graphql_type: str | None = None  # GraphQL says it with status 200 and an error of this type
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Refuse a fault that no request could meet, or that would do nothing."""
        # At once, where it is scripted: a fault that never fires would make a test pass for the wrong reason.
        if problem := _find_problem(self):
            raise ValueError(f"a fault's {problem}")

    def fits(self, surface: Surface, method: str, path: str) -> bool:
        """Return whether a request would get this fault."""
        return (
            (self.surface is None or self.surface == surface)
            and (self.method is None or self.method.upper() == method)
            and fnmatch.fnmatchcase(path, self.path)
        )


def _find_problem(fault: Fault) -> str | None:
    """Return what is wrong with a fault, if anything."""
    if fault.surface is not None and fault.surface not in get_args(Surface):
        return f"surface is {', '.join(get_args(Surface))} or None, not {fault.surface!r}"
    if fault.method is not None and fault.method.upper() not in _METHODS:
        return f"method is one of {', '.join(sorted(_METHODS))}, not {fault.method!r}"
    if not fault.path.startswith(("/", "*")):
        return f"path is a pattern that begins with / or *, not {fault.path!r}"
    if fault.times is not None and fault.times < 1:
        return f"times is at least 1, or None for good, not {fault.times}"
    if fault.skip < 0:
        return f"skip is at least 0, not {fault.skip}"
    return _find_harmlessness(fault)


def _find_harmlessness(fault: Fault) -> str | None:
    """Return why a fault would have no effect that a client can see."""
    if not 0 <= fault.latency_ms < math.inf:
        return f"latency_ms is at least 0, not {fault.latency_ms}"
    if fault.status is None:
        return None if fault.latency_ms else "status or latency_ms must be given, else it does nothing"
    return None if fault.status in _STATUSES else f"status is from 100 to 599, not {fault.status}"


def primary_rate_limit(*, times: int | None = None, reset_in_s: int = 60, now_s: int) -> Fault:
    """Return the fault of a used-up hourly budget."""
    return Fault(
        status=403,
        times=times,
        message="API rate limit exceeded for user ID {user_id}.",
        graphql_type="RATE_LIMITED",
        headers={
            "x-ratelimit-remaining": "0",
            "x-ratelimit-used": "5000",
            "x-ratelimit-reset": str(now_s + reset_in_s),
        },
    )


def secondary_rate_limit(*, times: int | None = None, retry_after_s: int = 1) -> Fault:
    """Return the fault of asking too fast."""
    return Fault(
        status=403,
        times=times,
        message="You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        headers={"retry-after": str(retry_after_s)},
    )


class Faults:
    """The faults scripted for one world; a request gets the first that fits."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many faults are left."""
        with self._lock:
            return len(self._faults)

    def add(self, *faults: Fault) -> None:
        """Add faults after those that are there."""
        with self._lock:
            self._faults += faults

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._faults.clear()

    def take(self, surface: Surface, method: str, path: str) -> Fault | None:
        """Return the fault that a request gets, and count it."""
        with self._lock:  # clients send requests side by side: `times` and `skip` must be counted exactly
            for index, fault in enumerate(self._faults):
                if not fault.fits(surface, method, path):
                    continue
                if fault.skip:
                    self._faults[index] = replace(fault, skip=fault.skip - 1)
                    continue
                if fault.times is not None and fault.times > 1:
                    self._faults[index] = replace(fault, times=fault.times - 1)
                elif fault.times is not None:
                    del self._faults[index]
                return fault
            return None
