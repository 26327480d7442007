"""Several capabilities in one call: in order where that matters, together where it does not.

A step waits for the steps that it refers to; what reads waits for every change before it, and what changes something
waits for everything before it that was to be read, and for changes of the same thing. Steps that need not wait for each
other run at the same time and share their round trips.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from ghx_bench._base.errors import ungrouped
from ghx_bench._base.problems import did_you_mean, in_words
from ghx_bench.capabilities.catalogue import ENTRIES
from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.envelope import Envelope, Failure, Meta
from ghx_bench.capabilities.errors import CapabilityError, InvalidInputError
from ghx_bench.capabilities.execution import execute_task
from ghx_bench.capabilities.gathering import Gathering
from ghx_bench.capabilities.references import resolved, steps_named_in

Status = Literal["success", "partial", "failed"]

MOST_STEPS = 100
"""How long a chain may be."""

_FAR_REACHING = frozenset({"pr.branch.update", "pr.merge"})
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


class _Chain:
    """Starts every step as soon as those it waits for are done."""

    def __init__(self, steps: Sequence[Step], gathering: Gathering, offered: Container[str]) -> None:
        self.done: list[Envelope | None] = [None] * len(steps)
        self._steps = steps
        self._gathering = gathering
        self._offered = offered
        self._waits = [_waits_for(index, steps) for index in range(len(steps))]

    def start(self) -> None:
        """Start the steps that wait for none."""
        for index, waits in enumerate(self._waits):
            if not waits:
                self._start(index)

    def _start(self, index: int) -> None:
        async def run() -> None:
            self.done[index] = await self._call(index)
            for later, waits in enumerate(self._waits):
                if index in waits:
                    waits.remove(index)
                    if not waits:
                        self._start(later)

        self._gathering.start(run)

    async def _call(self, index: int) -> Envelope:
        step = self._steps[index]
        try:
            if step.task in ENTRIES and step.task not in self._offered:
                raise InvalidInputError(f"{step.task} is not offered here")
            given = resolved(step.input, self.done[:index])
        except CapabilityError as error:
            meta = Meta(capability_id=step.task, reason="INPUT_VALIDATION")
            return Envelope(ok=False, error=Failure.of(error), meta=meta)
        return await execute_task(self._gathering.client_of(index), step.task, given)


def _waits_for(index: int, steps: Sequence[Step]) -> set[int]:
    """Return the earlier steps that have to be done before a step may begin."""
    step = steps[index]
    named = {number for number in steps_named_in(step.input) if number < index}
    return named | {number for number in range(index) if _must_follow(step, steps[number])}


def _must_follow(step: Step, earlier: Step) -> bool:
    """Tell whether a step could notice that it does not come after an earlier one."""
    entry, before = ENTRIES.get(step.task), ENTRIES.get(earlier.task)
    if entry is None or before is None:
        return False  # it will do nothing but fail
    if entry.effect == "reads" or before.effect == "reads":
        return entry.effect != before.effect
    if entry.id == before.id == "issue.create":
        return False
    targets = _target(entry, step), _target(before, earlier)
    return None in targets or targets[0] == targets[1] or not _are_comparable(*targets)


Target = tuple[str, ...]


def _target(entry: Entry, step: Step) -> Target | None:
    """Return the one thing that a step changes; `None` if it may be more, or is not known."""
    if entry.effect == "destructive" or entry.id in _FAR_REACHING:
        return None
    given = {entry.signature.name_of(name): str(value).casefold() for name, value in step.input.items()}
    if "threadId" in given:
        return ("thread", str(step.input.get("threadId") or step.input.get("thread_id")))
    number = given.get("issueNumber") or given.get("prNumber")
    if number is None or not {"owner", "name"} <= given.keys():
        return None
    return ("number", given["owner"], given["name"], number)


def _are_comparable(one: Target | None, other: Target | None) -> bool:
    """Tell whether two targets that are written differently are different things."""
    if one is None or other is None or one[0] != other[0]:
        return False
    return bool(steps_named_in(list(one))) == bool(steps_named_in(list(other)))
