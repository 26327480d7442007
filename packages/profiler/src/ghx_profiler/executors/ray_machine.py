"""The driver's end of a node: the commands to it, and the state of its cells if it is lost."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import anyio

from ghx_base.clock import timestamp
from ghx_profiler.events import CellRetried, CellStarted
from ghx_profiler.executors.placement import Assignment
from ghx_profiler.executors.ray_node import Cancel, CellDone, Command, Measure, Raised
from ghx_profiler.plan.blocks import CellInterrupted, CellMeasured, Message
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.causes import Cause
from ghx_profiler.records.row import MACHINE_LOST, Attempt, Incident, ProfileRow


@dataclass(slots=True, kw_only=True)
class _Running:
    """A cell on a machine, and what is known of it if the machine is lost."""

    assignment: Assignment
    attempts: list[Attempt]
    began_at: datetime | None = None
    is_done: bool = False
    """Whether its end was reported and received."""
    result: ProfileRow | None = None
    """Its row, held back until it is known whether the machine is the cause."""
    has_ended: anyio.Event = field(default_factory=anyio.Event)
    raised: Exception | None = None

    def note(self, message: Message) -> None:
        match message:
            case CellMeasured() | CellInterrupted():
                self.is_done = True
            case CellStarted(at=at):
                self.began_at = at
            case CellRetried(at=at, made=Attempt() as attempt):
                self.attempts.append(attempt)
                self.began_at = at
            case _:
                pass

    def take_back(self, code: str) -> Assignment:
        """Return the assignment for another machine, as the result held back does not count."""
        assert self.result is not None  # noqa: S101 - as its name requires
        before = self.assignment.placed.lost_attempts
        here = [each.model_copy(update={"error_code": code}) for each in self.result.attempts[len(before) :]]
        self.attempts, self.began_at = [*before, *here], None
        return self.lose("")

    def lose(self, reason: str) -> Assignment:
        """Return the assignment for another machine; an attempt that had begun here stays on its row."""
        if self.began_at is not None:
            self.attempts.append(
                Attempt(
                    number=len(self.attempts) + 1,
                    started_at=timestamp(self.began_at),
                    cause=Cause.ENVIRONMENT,
                    error=reason,
                    error_code=MACHINE_LOST,
                )
            )
        placed = replace(self.assignment.placed, lost_attempts=tuple(self.attempts))
        return replace(self.assignment, placed=placed)


class LostError(Exception):
    """A machine is gone."""


@dataclass(slots=True, kw_only=True, eq=False)
class Machine:
    """The driver's end of a node."""

    name: str
    node_id: str
    actor: Any
    ray: Any
    serving: Any = None
    is_open: bool = False
    is_lost: bool = False
    loss: Incident | None = None
    """Why it is lost."""
    is_cleared: bool = False
    """Whether it has measured a cell, or others failed at the same cells: then it is not the cause."""
    suspects: dict[Cell, str] = field(default_factory=dict[Cell, str])
    """Its failed cells, with the reasons; others try them, and until then it gets no work."""
    is_given_up: anyio.Event = field(default_factory=anyio.Event)
    """Set when it is lost, all its messages were received, and its cells can be assigned again."""
    running: dict[Cell, _Running] = field(default_factory=dict[Cell, _Running])
    is_silent: anyio.Event = field(default_factory=anyio.Event)
    """Set when its last message was received."""
    failure: Exception | None = None
    """Why its worker is gone, though the machine is there: then no cell can be measured on it."""
    _outbox: list[Command] = field(default_factory=list[Command])
    _news: anyio.Event = field(default_factory=anyio.Event)

    def is_alive(self) -> bool:
        """Return whether Ray still knows the node."""
        return any(node["NodeID"] == self.node_id and node["Alive"] for node in self.ray.nodes())

    def start(self, method: str, *arguments: object) -> Any:
        """Call a method of the actor, and return what its result can be waited for with."""
        return self.actor.call.remote(method, *arguments)

    async def call(self, method: str, *arguments: object) -> Any:
        """Call a method of the actor; raise `LostError` if the machine is gone."""
        return await self.wait_for(self.start(method, *arguments))

    async def wait_for(self, result: Any) -> Any:
        """Wait for the result of a call."""
        try:
            return await result
        except self.ray.exceptions.RayTaskError:
            raise  # a mistake in the actor
        except self.ray.exceptions.RayError as error:
            # Also if it is only unavailable: whether a call was made is then unknown. Ended, so
            # that its listener learns of that as well.
            what = "the machine" if not self.is_alive() else "the worker on"
            self.lose(MACHINE_LOST, f"{what} {self.name} was lost ({last_line(error)})")
            raise LostError(self.name) from error

    def lose(self, code: str, reason: str) -> None:
        """Have nothing more to do with the machine, nor it with the run."""
        if not self.is_lost:
            self.is_lost, self.loss = True, Incident(where=f"machine {self.name}", code=code, message=reason)
            self.ray.kill(self.actor)

    def post(self, command: Command) -> None:
        """Queue a command to the node; queued commands are sent together."""
        self._outbox.append(command)
        self._news.set()

    async def send(self) -> None:
        """Send queued commands until cancelled; one call after the other, which keeps the order."""
        with suppress(LostError):
            while True:
                await self._news.wait()
                self._news, commands, self._outbox = anyio.Event(), self._outbox, []
                await self.call("command", pickle.dumps(commands))

    def note(self, message: Message) -> None:
        """Record the progress of a cell, to report it if the machine is lost."""
        if not isinstance(message, Incident) and message.cell in self.running:
            self.running[message.cell].note(message)

    def end(self, ended: CellDone) -> _Running:
        """Wake the waiter of a cell, and return the state of the cell."""
        running = self.running.pop(ended.cell)
        running.raised = ended.raised
        running.has_ended.set()
        return running

    def give_up(self) -> list[Assignment]:
        """Return the cells of a lost machine without a result; their waiters are gone."""
        assert self.loss is not None  # noqa: S101 - it is lost
        left = [each for each in self.running.values() if not each.is_done]
        lost = [
            each.lose(self.loss.message) if each.result is None else each.take_back(self.loss.code) for each in left
        ]
        for each in self.running.values():
            each.has_ended.set()
        self.running.clear()
        return lost

    async def find_failure(self) -> Exception:
        """Wait until its worker is gone, and return why."""
        raised = await self.wait_for(self.serving)
        return raised.error if isinstance(raised, Raised) else RuntimeError("a worker has left by itself")

    def fail(self, failure: Exception) -> None:
        """Make the waiter of a cell raise the reason why its end will not be reported."""
        self.failure = failure
        for cell in tuple(self.running):
            self.end(CellDone(cell, failure))

    async def measure(self, assignment: Assignment, note_stopping: Callable[[], None]) -> None:
        """Have a cell measured; if that is cancelled, wait until the cell has reported its spending.

        Returns also when the machine was lost.
        """
        placed = assignment.placed
        running = self.running[placed.cell] = _Running(assignment=assignment, attempts=list(placed.lost_attempts))
        self.post(Measure(assignment))
        try:
            await running.has_ended.wait()
        except anyio.get_cancelled_exc_class():
            note_stopping()
            self.post(Cancel(placed.cell))
            with anyio.CancelScope(shield=True):
                await running.has_ended.wait()
            raise
        if running.raised is not None:
            raise running.raised


def last_line(error: BaseException) -> str:
    """Return the message of an error that Ray wraps: the last line of a traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
