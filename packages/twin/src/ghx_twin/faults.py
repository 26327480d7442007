"""Faults on purpose: rules by which a world answers late, wrongly, or not at all."""

import fnmatch
import math
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

Surface = Literal["rest", "graphql", "git"]
"""The interface a request is for; the journal and the metrics of a run use the same names."""

FaultKind = Literal["latency", "status", "reset", "rate_limit", "stale", "change"]
"""What a fault does to a request, by the key of the rule that says so."""

Reset = Literal["unanswered", "halfway"]
RateLimitKind = Literal["primary", "secondary"]

MOST_STALE_WRITES = 50
"""How far back stale reads reach: a copy of the world is kept for each write."""

_ERRORS = range(400, 600)
_GRAPHQL_PATHS = ("/graphql", "/api/graphql")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_CHANGING_METHODS = ("POST", "PUT", "PATCH", "DELETE")
# Files hold faults as well. Pydantic reads plain dataclasses, so that a world without a seed starts without loading it.
_IN_FILES: dict[str, Any] = {"extra": "forbid", "use_attribute_docstrings": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedChange:
    """A change that another user makes while the client reads: one request of the REST API."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _IN_FILES

    actor: str
    """The login of the user who makes it."""
    method: str
    """POST, PUT, PATCH or DELETE."""
    path: str
    """The path of the request, such as `/repos/acme/widgets/issues/7`."""
    body: Mapping[str, Any] | None = None
    """The JSON body."""

    def __post_init__(self) -> None:
        """Refuse what would change nothing."""
        if self.method not in _CHANGING_METHODS:
            raise ValueError(f"a change's method is one of {', '.join(_CHANGING_METHODS)}, not {self.method!r}")
        if not self.path.startswith("/"):
            raise ValueError(f"a change's path begins with /, not {self.path!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A rule: the requests that it is for, how many of them meet it, and what happens to these."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _IN_FILES

    name: str | None = None
    """What the journal calls the rule; its number if left out."""
    surface: Surface | None = None
    """`rest`, `graphql` or `git`; any if left out."""
    method: str | None = None
    """The HTTP method; any if left out."""
    path: str = "*"
    """A shell pattern for the path; `*` stands for slashes too."""
    operation: str = "*"
    """A shell pattern for what the journal calls the request: route, GraphQL operation with its fields, git service."""
    skip: int = 0
    """How many fitting requests pass first."""
    times: int | None = None
    """How many requests meet the fault before it is over; all that follow if left out."""
    probability: float = 1.0
    """Of the requests after `skip`, how many meet the fault: from 0 to 1, drawn for each in turn."""
    seed: int = 0
    """What the draws begin with: the same requests in the same order meet the same faults."""
    latency_ms: float = 0
    """How much later the answer comes; also beside another effect."""
    status: int | None = None
    """The status of an error that is answered."""
    message: str | None = None
    """What the error says, if not what GitHub would; `{user_id}` in it is who asked."""
    graphql_type: str | None = None
    """GraphQL says it with status 200 and an error of this type."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers of the error."""
    after: bool = False
    """Whether the request is carried out before its answer is replaced by `status` or lost by `reset`."""
    reset: Reset | None = None
    """The connection is reset: `unanswered`, or `halfway` through the answer, when the request was carried out."""
    rate_limit: RateLimitKind | None = None
    """A 403 as GitHub sends it: `primary` (a used-up budget) or `secondary` (asked too fast)."""
    wait_s: int | None = None
    """After how many seconds the rate limit says that it ends; 60 if left out."""
    stale_writes: int | None = None
    """A read is answered as of so many writes ago."""
    stale_s: int | None = None
    """A read is answered as of so many seconds ago, by the clock of the world."""
    change: InjectedChange | None = None
    """What another user changes just before a read is answered."""
    then: tuple[InjectedChange, ...] = ()
    """What is changed right after `change`, before the same read."""

    def __post_init__(self) -> None:
        """Refuse a fault that no request could meet, or that would do nothing."""
        # At once, where it is scripted: a fault that never fires would make a test pass for the wrong reason.
        if problem := _find_misfit(self) or _find_bad_count(self) or _find_bad_effect(self):
            raise ValueError(f"a fault's {problem}")

    @property
    def kind(self) -> FaultKind:
        """Return what the fault does to a request."""
        effects = _effects(self)
        return effects[0] if effects else "latency"

    @property
    def changes(self) -> tuple[InjectedChange, ...]:
        """Return everything that is changed before a read, in order."""
        return () if self.change is None else (self.change, *self.then)

    @property
    def is_for_reads(self) -> bool:
        """Return whether only reads can meet it."""
        return self.kind in {"stale", "change"}

    def fits(self, surface: Surface, method: str, path: str, *, operation: str = "", reads: bool = True) -> bool:
        """Return whether a request is one that the rule is for."""
        if self.rate_limit is not None and path == "/rate_limit":
            return False  # asking what is left is free
        return (
            (self.surface is None or self.surface == surface)
            and (self.method is None or self.method.upper() == method)
            and fnmatch.fnmatchcase(path, self.path)
            and fnmatch.fnmatchcase(operation, self.operation)
            and (not self.is_for_reads or (reads and surface != "git"))
        )


def _effects(fault: Fault) -> list[FaultKind]:
    effects: dict[FaultKind, bool] = {
        "status": fault.status is not None,
        "reset": fault.reset is not None,
        "rate_limit": fault.rate_limit is not None,
        "stale": fault.stale_writes is not None or fault.stale_s is not None,
        "change": fault.change is not None,
    }
    return [kind for kind, is_asked in effects.items() if is_asked]


def _find_misfit(fault: Fault) -> str | None:
    """Return why no request could be one that a fault is for."""
    if fault.surface is not None and fault.surface not in get_args(Surface):
        return f"surface is {', '.join(get_args(Surface))} or None, not {fault.surface!r}"
    if fault.method is not None and fault.method.upper() not in _METHODS:
        return f"method is one of {', '.join(sorted(_METHODS))}, not {fault.method!r}"
    if not fault.path.startswith(("/", "*")):
        return f"path is a pattern that begins with / or *, not {fault.path!r}"
    return _find_unmet_surface(fault) or _find_unknown_route(fault.operation)


def _find_unmet_surface(fault: Fault) -> str | None:
    """Return why no surface has a request that a fault is for."""
    if fault.is_for_reads and fault.surface == "git":
        return f"surface is rest or graphql where it is {fault.kind}, not git"
    may_be_graphql = fault.surface in {None, "graphql"} and any(
        fnmatch.fnmatchcase(path, fault.path) for path in _GRAPHQL_PATHS
    )
    if fault.surface == "graphql" and not may_be_graphql:
        return f"path is {_GRAPHQL_PATHS[0]} in GraphQL, which {fault.path!r} does not fit"
    if fault.is_for_reads and (fault.method or "").upper() in _CHANGING_METHODS and not may_be_graphql:
        return f"method is one that reads where it is {fault.kind}, not {fault.method!r}"
    return None


def _find_unknown_route(operation: str) -> str | None:
    """Return that a pattern is for a route, and that there is none which it fits."""
    method, _, template = operation.partition(" ")
    if method not in _METHODS or not template.startswith("/"):
        return None
    # Here: few rules name a route, and the names of all of them are in a file.
    from ghx_twin.rest.catalogue import is_operation  # noqa: PLC0415

    if is_operation(operation):
        return None
    return f"operation is a route of GitHub, such as 'GET /repos/{{owner}}/{{repo}}', which {operation!r} does not fit"


def _find_bad_count(fault: Fault) -> str | None:
    """Return why a fault would never have its turn."""
    if fault.then and fault.change is None:
        return "then follows a change; write the first under change"
    if fault.times is not None and fault.times < 1:
        return f"times is at least 1, or left out for good, not {fault.times}"
    if fault.skip < 0:
        return f"skip is at least 0, not {fault.skip}"
    if not 0 < fault.probability <= 1:
        return f"probability is above 0 and at most 1, not {fault.probability}"
    return None


def _find_bad_effect(fault: Fault) -> str | None:
    """Return why a fault would have no effect that a client can see, or two that exclude each other."""
    effects = _effects(fault)
    if len(effects) > 1:
        return f"effect is one of {' and '.join(effects)}; write a rule for each"
    if not 0 <= fault.latency_ms < math.inf:
        return f"latency_ms is at least 0, not {fault.latency_ms}"
    if not effects and not fault.latency_ms:
        return "status or latency_ms must be given, or another effect, else it does nothing"
    if fault.status is not None and fault.status not in _ERRORS:
        return f"status is that of an error, from 400 to 599, not {fault.status}"
    if fault.after and (fault.kind not in {"status", "reset"} or fault.reset == "halfway"):
        return "after is for status, and for reset: unanswered"
    return _find_bad_amount(fault)


def _find_bad_amount(fault: Fault) -> str | None:
    for key, value, allowed in (("reset", fault.reset, Reset), ("rate_limit", fault.rate_limit, RateLimitKind)):
        if value is not None and value not in get_args(allowed):
            return f"{key} is {' or '.join(get_args(allowed))}, not {value!r}"
    if fault.wait_s is not None and fault.rate_limit is None:
        return "wait_s is for rate_limit"
    if fault.wait_s is not None and fault.wait_s < 0:
        return f"wait_s is at least 0, not {fault.wait_s}"
    if fault.stale_writes is not None and not 1 <= fault.stale_writes <= MOST_STALE_WRITES:
        return f"stale_writes is from 1 to {MOST_STALE_WRITES}, not {fault.stale_writes}"
    if fault.stale_s is not None and fault.stale_s < 1:
        return f"stale_s is at least 1, not {fault.stale_s}"
    return "stale_writes or stale_s is given, not both" if fault.stale_writes and fault.stale_s else None


def primary_rate_limit(*, times: int | None = None, reset_in_s: int = 60, now_s: int | None = None) -> Fault:
    """Return the fault of a used-up hourly budget; `now_s` fixes the moment from which the reset is counted."""
    fixed = {} if now_s is None else {"x-ratelimit-reset": str(now_s + reset_in_s)}
    return Fault(rate_limit="primary", times=times, wait_s=reset_in_s, headers=fixed)


def secondary_rate_limit(*, times: int | None = None, retry_after_s: int = 1) -> Fault:
    """Return the fault of asking too fast."""
    return Fault(rate_limit="secondary", times=times, wait_s=retry_after_s)


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault that a request met, as the journal notes it."""

    kind: FaultKind
    rule: str
    """The name of the rule, or its number from 1 on."""

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.kind} ({self.rule})"


@dataclass(slots=True, eq=False)
class _Rule:
    """A fault, and what is left of it."""

    fault: Fault
    name: str
    draws: random.Random
    skip: int
    times: int | None

    def trigger(self) -> bool:
        """Count one fitting request, and return whether it meets the fault."""
        if self.skip:
            self.skip -= 1
            return False
        if self.draws.random() >= self.fault.probability:
            return False
        if self.times is not None:
            self.times -= 1
        return True


class Faults:
    """The faults scripted for one world; a request meets the first that fits and whose turn it is."""

    def __init__(self) -> None:
        self._rules: list[_Rule] = []
        self._scripted: list[Fault] = []
        self._spared: frozenset[str] = frozenset()
        self._hits: dict[str, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many faults are left."""
        with self._lock:
            return len(self._rules)

    @property
    def scripted(self) -> tuple[Fault, ...]:
        """Return the faults as they were added, whatever has become of them: what a copy of the world begins with."""
        with self._lock:
            return tuple(self._scripted)

    @property
    def past_writes(self) -> int:
        """Return how many moments before writes have to be kept for stale reads."""
        with self._lock:
            stale = [each.fault for each in self._rules if each.fault.kind == "stale"]
            return max((each.stale_writes or MOST_STALE_WRITES for each in stale), default=0)

    def count_hits(self) -> dict[str, int]:
        """Return how many requests met each rule, in the order of the rules: `{"status (1)": 2, "stale (2)": 0}`."""
        with self._lock:
            return dict(self._hits)

    def add(self, *faults: Fault) -> None:
        """Add faults after those that are there."""
        with self._lock:
            for fault in faults:
                self._scripted.append(fault)
                name = fault.name or str(len(self._scripted))
                self._hits.setdefault(str(Injected(fault.kind, name)), 0)
                # As a text: Python seeds alike for a number and its negative.
                draws = random.Random(str(fault.seed))  # noqa: S311 - must be predictable
                self._rules.append(_Rule(fault, name, draws, fault.skip, fault.times))

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._rules.clear()
            self._scripted.clear()
            self._hits.clear()

    def spare(self, *logins: str) -> None:
        """Let requests of these users meet no fault, nor be counted: those of somebody who looks on."""
        with self._lock:
            self._spared |= {login.casefold() for login in logins}

    def take(
        self,
        surface: Surface,
        method: str,
        path: str,
        *,
        operation: str = "",
        reads: bool = True,
        login: str | None = None,
    ) -> tuple[Fault, Injected] | None:
        """Return the fault that a request meets, and count it; `reads` says that it changes nothing."""
        with self._lock:  # clients send requests side by side: `times` and `skip` must be counted exactly
            if login is not None and login.casefold() in self._spared:
                return None
            for rule in self._rules:
                fault = rule.fault
                if fault.fits(surface, method, path, operation=operation, reads=reads) and rule.trigger():
                    if rule.times == 0:
                        self._rules.remove(rule)
                    injected = Injected(fault.kind, rule.name)
                    self._hits[str(injected)] += 1
                    return fault, injected
            return None
