"""Run a chain: each step starts as soon as the steps that it has to wait for are done.

A step waits for the steps that it refers to, and for those that it does not commute with, which keep their order. Steps
that need not wait for each other run at the same time and share their round trips (`batching`).
"""

import re
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, cast

from ghx_base.errors import ungrouped
from ghx_base.problems import describe_value, did_you_mean
from ghx_base.texts.templates import MISSING, dead_end, fill, follow, names_in, placeholder, strings_in
from ghx_tools.capabilities.chain.batching import Batcher
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.entries import Entry
from ghx_tools.capabilities.envelope import Envelope, Failure, Meta
from ghx_tools.capabilities.errors import CapabilityError, ErrorCode, InvalidInputError
from ghx_tools.capabilities.execution import check_input, execute_task
from ghx_tools.capabilities.index import ENTRIES
from ghx_tools.capabilities.models import InputModel
from ghx_tools.capabilities.registry import capability

ChangedObject = tuple[Literal["number", "thread", "issue"], str | int]
"""One object that is changed: its kind, and which one; objects of different kinds may be parts of each other."""

_NEW_ISSUE: Final[ChangedObject] = ("issue", "new")


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The effect of a step, as far as it is known; `changed` is `None` if a change may be of more than one object."""

    effect: Literal["nothing", "reads", "changes"]
    changed: ChangedObject | None = None


NOTHING: Final = Impact(effect="nothing")
"""The impact of a step that will only fail."""


def estimate_impact(entry: Entry) -> Impact:
    """Return the impact of a step whose input is not known yet: that of its furthest reach."""
    return Impact(effect="reads" if entry.effect == "reads" else "changes")


def find_impact(entry: Entry, inputs: InputModel) -> Impact:
    """Return the impact of a step with an input that was checked."""
    reach = entry.reach
    if reach is None or any(_is_given(inputs, condition) for condition in reach.unless):
        return estimate_impact(entry)
    match reach.scope:
        case "named object":
            return Impact(effect="changes", changed=_named_object(inputs))
        case "new issue":
            return Impact(effect="changes", changed=_NEW_ISSUE)
        case "anything":
            return Impact(effect="changes")


def must_follow(later: Impact, earlier: Impact) -> bool:
    """Return whether a step has to wait until an earlier one is done.

    Reads wait for changes and changes wait for reads; changes wait for each other unless they are of two different
    objects for sure.
    """
    if NOTHING in {later, earlier}:
        return False
    if "reads" in {later.effect, earlier.effect}:
        return later.effect != earlier.effect
    if later.changed == earlier.changed == _NEW_ISSUE:
        # Two new issues have the same predecessors, so they start together; mutations of one GraphQL document are
        # carried out in its order, so the earlier step still gets the lower number.
        return False
    one, other = later.changed, earlier.changed
    are_different = one is not None and other is not None and one[0] == other[0] and one != other
    return not are_different


def _is_given(inputs: InputModel, condition: str) -> bool:
    """Return whether an input has a value (`event=APPROVE`) or, if none is named, another one than its default."""
    wire_name, _, value = condition.partition("=")
    name, field = next(pair for pair in type(inputs).model_fields.items() if pair[1].alias == wire_name)
    return getattr(inputs, name) == value if value else getattr(inputs, name) != field.default


def _named_object(inputs: InputModel) -> ChangedObject | None:
    """Return the object that an input names; `None` if two of its names could not be compared."""
    thread: object = getattr(inputs, "thread_id", None)
    if isinstance(thread, str):
        # Ids of the older form (base64) may name the same thread as one of this form.
        return ("thread", thread) if thread.startswith("PRRT_") else None
    # The repository is left out: one that was renamed goes by two names. Equal numbers of two repositories wait for
    # each other without need, which costs a round trip and is never wrong.
    number: object = getattr(inputs, "issue_number", None) or getattr(inputs, "pr_number", None)
    return ("number", number) if isinstance(number, int) else None


Status = Literal["success", "partial", "failed"]

MOST_STEPS = 100
"""How long a chain may be."""

_KEYS = ("task", "input")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A capability and its input, which may refer to the data of earlier steps."""

    task: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainResult:
    """The envelopes of the steps, in their order; `requests` counts the round trips that they took."""

    steps: tuple[Envelope, ...]
    requests: int
    total_ms: float

    @property
    def status(self) -> Status:
        """Return whether all steps succeeded, or some, or none."""
        succeeded = sum(envelope.ok for envelope in self.steps)
        if succeeded == len(self.steps) and self.steps:
            return "success"
        return "partial" if succeeded else "failed"

    def to_wire(self) -> dict[str, Any]:
        """Return the whole result as JSON."""
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
        """Return the part of the result that agents need, as JSON."""
        results = [{"task": envelope.meta.capability_id, **envelope.to_compact()} for envelope in self.steps]
        return {"status": self.status, "results": results}


def read_steps(value: object) -> tuple[Step, ...]:
    """Read a list of `{"task": ..., "input": {...}}`, or raise `InvalidInputError` with the first mistake."""
    if not isinstance(value, list):
        raise InvalidInputError(f"steps are a list of {{task, input}}, got {describe_value(value)}")
    steps = cast("list[object]", value)
    if not 0 < len(steps) <= MOST_STEPS:
        raise InvalidInputError(f"a chain has between 1 and {MOST_STEPS} steps, this one has {len(steps)}")
    return tuple(_read_step(index, step) for index, step in enumerate(steps))


def _read_step(index: int, value: object) -> Step:
    if not isinstance(value, dict):
        raise InvalidInputError(f"step {index}: expected {{task, input}}, got {describe_value(value)}")
    step = cast("dict[str, Any]", value)
    for key in step:
        if key not in _KEYS:
            raise InvalidInputError(f"step {index}: unknown key {key!r}; {did_you_mean(key, _KEYS)}")
    task, step_input = step.get("task"), step.get("input", {})
    if not isinstance(task, str):
        raise InvalidInputError(f"step {index}: `task` names a capability, such as 'issue.view'")
    if not isinstance(step_input, dict):
        raise InvalidInputError(f"step {index}: `input` is an object, got {describe_value(step_input)}")
    return Step(task=task, input=cast("dict[str, Any]", step_input))


async def _ignore_step(_envelope: Envelope) -> None:
    pass


async def run_chain(
    client: GitHubClient,
    steps: Sequence[Step],
    *,
    offered: Container[str] = ENTRIES,
    on_step: Callable[[Envelope], Awaitable[None]] = _ignore_step,
) -> ChainResult:
    """Call the capabilities of a chain and return an envelope for each; `on_step` gets each as soon as it is there.

    A step that fails makes only those fail that refer to it. A step fails as well if its capability is not `offered`.
    """
    started = client.clock.monotonic()
    batcher = Batcher(client)
    chain = _Chain(steps, batcher, offered, on_step)
    with ungrouped():
        async with batcher:
            chain.start_ready_steps()
    return ChainResult(
        steps=tuple(cast("list[Envelope]", chain.done)),
        requests=batcher.requests,
        total_ms=round((client.clock.monotonic() - started) * 1000, 3),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A step whose references are resolved: its input, or the error that resolving them ended in, and its impact."""

    given: Mapping[str, Any]
    failure: CapabilityError | None = None
    impact: Impact = NOTHING


class _Chain:
    """Starts every step as soon as those it waits for are done."""

    def __init__(
        self,
        steps: Sequence[Step],
        batcher: Batcher,
        offered: Container[str],
        on_step: Callable[[Envelope], Awaitable[None]],
    ) -> None:
        self.done: list[Envelope | None] = [None] * len(steps)
        self._steps = steps
        self._batcher = batcher
        self._offered = offered
        self._on_step = on_step
        # A reference to a later step is left out here, or both would wait forever; resolving it says what is wrong.
        self._needed = [
            {steps_named for steps_named in steps_named_in(s.input) if steps_named < index}
            for index, s in enumerate(steps)
        ]
        self._calls: dict[int, _Call] = {}
        self._waiting = list(range(len(steps)))
        self._running: list[int] = []

    def start_ready_steps(self) -> None:
        """Start the steps that wait for no other; each step that ends starts the next ones."""
        for index in tuple(self._waiting):
            if self._may_start(index):
                self._waiting.remove(index)
                self._running.append(index)
                self._batcher.start(partial(self._run, index))

    async def _run(self, index: int) -> None:
        call, task = self._calls[index], self._steps[index].task
        if call.failure is None:
            envelope = await execute_task(self._batcher.make_client(index), task, call.given)
        else:
            meta = Meta(capability_id=task, reason="INPUT_VALIDATION")
            envelope = Envelope(ok=False, error=Failure.of(call.failure), meta=meta)
        self.done[index] = envelope
        self._running.remove(index)
        self.start_ready_steps()
        await self._on_step(envelope)

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
        """Return the impact of a step, as far as it is known by now."""
        call, task = self._known_call(index), self._steps[index].task
        if call is not None:
            return call.impact
        return estimate_impact(ENTRIES[task]) if task in ENTRIES and task in self._offered else NOTHING

    def _known_call(self, index: int) -> _Call | None:
        """Return a step with its references resolved; `None` until the steps that it refers to are done."""
        if index not in self._calls and all(self.done[needed] is not None for needed in self._needed[index]):
            self._calls[index] = self._call(index)
        return self._calls.get(index)

    def _call(self, index: int) -> _Call:
        step = self._steps[index]
        try:
            if step.task in ENTRIES and step.task not in self._offered:
                raise InvalidInputError(f"{step.task} is not offered here")
            references = resolve_references(step.input, self.done[:index])
        except CapabilityError as error:
            return _Call(given={}, failure=error)
        try:
            called = capability(step.task)
            impact = find_impact(called.entry, check_input(called, references))
        except InvalidInputError:
            impact = NOTHING  # it will fail before it asks GitHub anything, and its envelope says why
        return _Call(given=references, impact=impact)


_REFERENCE = re.compile(r"steps\.(\d{1,4})\.(\S+)")


def steps_named_in(value: object) -> set[int]:
    """Return the numbers of the steps that an input refers to, however deep."""
    names = (name for _, text in strings_in(value) for name in names_in(text))
    return {int(reference[1]) for name in names if (reference := _REFERENCE.fullmatch(name))}


def resolve_references(value: Any, done: Sequence[Envelope | None]) -> Any:
    """Return an input with its references replaced by what earlier steps returned; a whole string takes its type."""
    return fill(value, lambda name: _value_of(name, done))


def _value_of(name: str, done: Sequence[Envelope | None]) -> Any:
    reference = _REFERENCE.fullmatch(name)
    if reference is None:
        raise KeyError(name)  # left alone: a comment may well quote a template
    number, (first, *steps) = int(reference[1]), reference[2].split(".")
    envelope = done[number] if number < len(done) else None
    if envelope is None:
        raise InvalidInputError(f"{placeholder(name)}: a step can only refer to a step before it; the first one is 0")
    if first != "data":
        raise InvalidInputError(f"{placeholder(name)}: write {{{{steps.{number}.data.…}}}}")
    if envelope.error is not None:
        raise CapabilityError(
            f"{placeholder(name)}: step {number} failed, so there is no data",
            error_code=ErrorCode.VALIDATION,
            retryable=envelope.error.retryable,
            details={"step": number},
        )
    result = follow(envelope.data, steps)
    if result is MISSING:
        where = dead_end(envelope.data, steps, start=("steps", str(number), "data"))
        raise InvalidInputError(f"{placeholder(name)}: {where}")
    return result
