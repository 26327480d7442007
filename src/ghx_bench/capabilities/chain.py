"""Several capabilities in one call: in order where that matters, together where it does not.

A step waits for the steps that it refers to; what reads waits for every change before it, and what changes something
waits for everything before it that was to be read, and for changes of what may be the same thing. Steps that need not
wait for each other run at the same time and share their round trips.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from ghx_bench._base.errors import ungrouped
from ghx_bench._base.problems import did_you_mean, in_words
from ghx_bench.capabilities.catalogue import ENTRIES
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.envelope import Envelope, Failure, Meta
from ghx_bench.capabilities.errors import CapabilityError, InvalidInputError
from ghx_bench.capabilities.execution import checked_input, execute_task
from ghx_bench.capabilities.gathering import Gathering
from ghx_bench.capabilities.references import resolve_references, steps_named_in
from ghx_bench.capabilities.registry import capability
from ghx_bench.capabilities.targets import NOTHING, Impact, expected_impact, impact_of, must_follow

Status = Literal["success", "partial", "failed"]

MOST_STEPS = 100
"""How long a chain may be."""

_KEYS = ("task", "input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A capability and its input, which may refer to what earlier steps came to."""

    task: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainResult:
    """What became of the steps, in their order; `requests` counts the round trips that they took."""

    steps: tuple[Envelope, ...]
    requests: int
    total_ms: float

    @property
    def status(self) -> Status:
        """Return whether all steps went well, or some, or none."""
        succeeded = sum(envelope.ok for envelope in self.steps)
        if succeeded == len(self.steps) and self.steps:
            return "success"
        return "partial" if succeeded else "failed"

    def to_wire(self) -> dict[str, Any]:
        """Return everything that is known, as JSON."""
        succeeded = sum(envelope.ok for envelope in self.steps)
        routes = {envelope.meta.route_used for envelope in self.steps}
        meta = {
            "route_used": "rest" if routes == {"rest"} else "graphql",
            "total": len(self.steps),
            "succeeded": succeeded,
            "failed": len(self.steps) - succeeded,
            "requests": self.requests,
            "timings": {"total_ms": self.total_ms},
        }
        results = [{"task": envelope.meta.capability_id, **envelope.to_wire()} for envelope in self.steps]
        return {"status": self.status, "results": results, "meta": meta}

    def to_compact(self) -> dict[str, Any]:
        """Return what an agent needs."""
        results = [{"task": envelope.meta.capability_id, **envelope.to_compact()} for envelope in self.steps]
        return {"status": self.status, "results": results}


def read_steps(value: object) -> tuple[Step, ...]:
    """Read a list of `{"task": ..., "input": {...}}`, or raise `InvalidInputError` with the first mistake."""
    if not isinstance(value, list):
        raise InvalidInputError(f"steps are a list of {{task, input}}, got {in_words(value)}")
    steps = cast("list[object]", value)
    if not 0 < len(steps) <= MOST_STEPS:
        raise InvalidInputError(f"a chain has between 1 and {MOST_STEPS} steps, this one has {len(steps)}")
    return tuple(_read_step(index, step) for index, step in enumerate(steps))


def _read_step(index: int, value: object) -> Step:
    if not isinstance(value, dict):
        raise InvalidInputError(f"step {index}: expected {{task, input}}, got {in_words(value)}")
    step = cast("dict[str, Any]", value)
    for key in step:
        if key not in _KEYS:
            raise InvalidInputError(f"step {index}: unknown key {key!r}; {did_you_mean(key, _KEYS)}")
    task, given = step.get("task"), step.get("input", {})
    if not isinstance(task, str):
        raise InvalidInputError(f"step {index}: `task` names a capability, such as 'issue.view'")
    if not isinstance(given, dict):
        raise InvalidInputError(f"step {index}: `input` is an object, got {in_words(given)}")
    return Step(task=task, input=cast("dict[str, Any]", given))


async def run_chain(client: GitHubClient, steps: Sequence[Step], *, offered: Container[str] = ENTRIES) -> ChainResult:
    """Call the capabilities of a chain and say what came of each; a step that fails spoils only those that need it.

    A step fails as well if its capability is not among those `offered`.
    """
    started = client.clock.monotonic()
    gathering = Gathering(client)
    chain = _Chain(steps, gathering, offered)
    with ungrouped():
        async with gathering:
            chain.start()
    return ChainResult(
        steps=tuple(cast("list[Envelope]", chain.done)),
        requests=gathering.requests,
        total_ms=round((client.clock.monotonic() - started) * 1000, 3),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A step whose references are known: its input, or why there is none, and what it will do."""

    given: Mapping[str, Any]
    failure: CapabilityError | None = None
    impact: Impact = NOTHING


class _Chain:
    """Starts every step as soon as those it waits for are done."""

    def __init__(self, steps: Sequence[Step], gathering: Gathering, offered: Container[str]) -> None:
        self.done: list[Envelope | None] = [None] * len(steps)
        self._steps = steps
        self._gathering = gathering
        self._offered = offered
        self._needed = [{named for named in steps_named_in(s.input) if named < index} for index, s in enumerate(steps)]
        self._calls: dict[int, _Call] = {}
        self._waiting = list(range(len(steps)))
        self._running: list[int] = []

    def start(self) -> None:
        """Start the steps that wait for none; those that are done start the others."""
        for index in tuple(self._waiting):
            if self._may_start(index):
                self._waiting.remove(index)
                self._running.append(index)
                self._gathering.start(partial(self._run, index))

    async def _run(self, index: int) -> None:
        call, task = self._calls[index], self._steps[index].task
        if call.failure is None:
            self.done[index] = await execute_task(self._gathering.client_of(index), task, call.given)
        else:
            meta = Meta(capability_id=task, reason="INPUT_VALIDATION")
            self.done[index] = Envelope(ok=False, error=Failure.of(call.failure), meta=meta)
        self._running.remove(index)
        self.start()

    def _may_start(self, index: int) -> bool:
        call = self._known_call(index)
        if call is None:
            return False
        return not any(
            must_follow(call.impact, self._impact(earlier))
            for earlier in (*self._running, *self._waiting)
            if earlier < index
        )

    def _impact(self, index: int) -> Impact:
        """Return what a step does, as far as that is known by now."""
        call, task = self._known_call(index), self._steps[index].task
        if call is not None:
            return call.impact
        return expected_impact(ENTRIES[task]) if task in ENTRIES and task in self._offered else NOTHING

    def _known_call(self, index: int) -> _Call | None:
        """Return what a step comes to; `None` until those that it refers to are done."""
        if index not in self._calls and all(self.done[needed] is not None for needed in self._needed[index]):
            self._calls[index] = self._call(index)
        return self._calls.get(index)

    def _call(self, index: int) -> _Call:
        step = self._steps[index]
        try:
            if step.task in ENTRIES and step.task not in self._offered:
                raise InvalidInputError(f"{step.task} is not offered here")
            given = resolve_references(step.input, self.done[:index])
        except CapabilityError as error:
            return _Call(given={}, failure=error)
        return _Call(given=given, impact=_impact_of(step.task, given))


def _impact_of(task: str, given: Mapping[str, Any]) -> Impact:
    try:
        called = capability(task)
        return impact_of(called.entry, checked_input(called, given))
    except InvalidInputError:
        return NOTHING  # calling it says what is wrong
