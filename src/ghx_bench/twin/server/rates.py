"""Rate limits: counted and shown as on GitHub, and never enforced.

A test bench does not run out by itself, so at least one request always remains; running out is a fault to script.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from ghx_bench.twin.viewer import Viewer

Resource = Literal["core", "graphql", "search", "code_search"]
_HOUR_S, _MINUTE_S = 3600, 60
_ALLOWED: dict[Resource, tuple[int, int]] = {
    "core": (5000, _HOUR_S),
    "graphql": (5000, _HOUR_S),
    "search": (30, _MINUTE_S),
    "code_search": (10, _MINUTE_S),
}

# Without a token there is no GraphQL and no search of code; the latter's limit is shown all the same.
_ALLOWED_WITHOUT_TOKEN: dict[Resource, int] = {"core": 60, "graphql": 0, "search": 10, "code_search": 60}


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a user may ask of one resource until `reset`, in seconds since 1970."""

    resource: Resource
    limit: int
    used: int
    reset: int

    @property
    def remaining(self) -> int:
        """Return how many requests are left."""
        return self.limit - self.used


@dataclass(slots=True)
class Rates:
    """The requests of the users of one world in the present hour, or minute for searches."""

    _used: dict[tuple[int, Resource], tuple[int, int]] = field(
        default_factory=dict[tuple[int, Resource], tuple[int, int]]
    )

    def count(self, viewer: Viewer, resource: Resource, now_s: float) -> Allowance:
        """Count one request and return what is left after it."""
        before = self.allowance(viewer, resource, now_s)
        self._used[viewer.id, resource] = (before.reset, before.used + 1)
        return self.allowance(viewer, resource, now_s)

    def foresee(self, viewer: Viewer, resource: Resource, now_s: float) -> Allowance:
        """Return what will be left once the request at hand is counted."""
        before = self.allowance(viewer, resource, now_s)
        return replace(before, used=min(before.used + 1, before.limit - 1))

    def allowance(self, viewer: Viewer, resource: Resource, now_s: float) -> Allowance:
        """Return what is left."""
        limit, window_s = _ALLOWED[resource]
        limit = _ALLOWED_WITHOUT_TOKEN[resource] if viewer.is_anonymous else limit
        reset = (int(now_s) // window_s + 1) * window_s
        counted_until, used = self._used.get((viewer.id, resource), (reset, 0))
        used = max(0, min(used, limit - 1)) if counted_until == reset else 0
        return Allowance(resource=resource, limit=limit, used=used, reset=reset)


def resource_of(surface: str, path: str) -> Resource:
    """Return which budget a request counts against."""
    if surface == "graphql":
        return "graphql"
    if path.startswith("/search/code"):
        return "code_search"
    return "search" if path.startswith("/search/") else "core"
