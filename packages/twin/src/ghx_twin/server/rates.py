"""Rate limits: counted and shown as on GitHub, and never enforced.

A test bench does not run out by itself, so at least one request remains unless a scripted fault says otherwise.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from ghx_twin.rest.request import RateLimit
from ghx_twin.viewer import Viewer

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
    _exhausted: dict[tuple[int, Resource], int] = field(default_factory=dict[tuple[int, Resource], int])

    def exhaust(self, viewer: Viewer, resource: Resource, until: int) -> None:
        """Show that nothing is left until a moment, or until a request is served again: a fault says so."""
        self._exhausted[viewer.id, resource] = until

    def count(self, viewer: Viewer, resource: Resource, now_s: float) -> Allowance:
        """Count one request and return what is left after it."""
        self._exhausted.pop((viewer.id, resource), None)
        before = self.allowance(viewer, resource, now_s)
        self._used[viewer.id, resource] = (before.reset, before.used + 1)
        return self.allowance(viewer, resource, now_s)

    def foresee(self, viewer: Viewer, resource: Resource, now_s: float) -> Allowance:
        """Return what will be left once the request at hand is counted."""
        before = self.allowance(viewer, resource, now_s)
        return replace(before, used=min(before.used + 1, before.limit - 1))

    def summarize(self, viewer: Viewer, now_s: float) -> RateLimit:
        """Return what is left of everything, as `GET /rate_limit` tells it."""
        core, search = self.allowance(viewer, "core", now_s), self.allowance(viewer, "search", now_s)
        graphql, code_search = self.allowance(viewer, "graphql", now_s), self.allowance(viewer, "code_search", now_s)
        return RateLimit(
            limit=core.limit,
            used=core.used,
            reset=core.reset,
            graphql_limit=graphql.limit,
            graphql_used=graphql.used,
            search_limit=search.limit,
            search_used=search.used,
            code_search_limit=code_search.limit,
            code_search_used=code_search.used,
            search_reset=search.reset,
            graphql_reset=graphql.reset,
            code_search_reset=code_search.reset,
        )

    def allowance(self, viewer: Viewer, resource: Resource, now_s: float) -> Allowance:
        """Return what is left."""
        limit, window_s = _ALLOWED[resource]
        limit = _ALLOWED_WITHOUT_TOKEN[resource] if viewer.is_anonymous else limit
        if (until := self._exhausted.get((viewer.id, resource), 0)) > now_s:
            return Allowance(resource=resource, limit=limit, used=limit, reset=until)
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
