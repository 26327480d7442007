"""The worker on a node of a Ray cluster: an actor, whose methods the driver calls; nothing here imports Ray."""

import asyncio
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

import anyio
from anyio.abc import TaskGroup
from anyio.from_thread import start_blocking_portal

from ghx_base.errors import InputError, OperationError, ungrouped
from ghx_base.garbage import without_collecting_loaded
from ghx_base.problems import one_line
from ghx_profiler.contracts import Worker, WorkerSpec
from ghx_profiler.errors import ClusterError, ScopeError
from ghx_profiler.executors.placement import Assignment
from ghx_profiler.machine import versions_here
from ghx_profiler.plan.blocks import Message, Share
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.causes import describe_error


@dataclass(frozen=True, slots=True)
class Raised:
    """An error of a node, to be raised at the driver.

    Returned, since Ray would wrap what is raised: its text then is that of a whole traceback.
    """

    error: Exception


@dataclass(frozen=True, slots=True)
class Measure:
    """Command to a node: measure a cell."""

    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Cancel:
    """Command to a node: cancel a cell."""

    cell: Cell


@dataclass(frozen=True, slots=True)
class Reply:
    """Command to a node: its worker may go on after a message, or the message is refused."""

    number: int
    refusal: Exception | None = None


Command = Measure | Cancel | Reply


@dataclass(frozen=True, slots=True)
class WorkerMessage:
    """Message from a node: a message of its worker, which waits for the reply."""

    number: int
    message: Message


@dataclass(frozen=True, slots=True)
class CellDone:
    """Message from a node: a cell is done, and all its messages were sent."""

    cell: Cell
    raised: Exception | None = None


@dataclass(slots=True)
class _Waiting:
    """A message without a reply."""

    has_reply: anyio.Event = field(default_factory=anyio.Event)
    refusal: Exception | None = None


class NodeActor:
    """What Ray makes an actor of: calls methods of a `NodeWorker`, in a thread with an event loop of anyio's.

    Not in that of Ray: anyio does not know it for one of its own, and what blocks it keeps Ray from answering.
    """

    def __init__(self) -> None:
        self._portal_context = start_blocking_portal()  # until this process ends, which is there for it alone
        self._portal = self._portal_context.__enter__()
        self._worker = NodeWorker()

    async def call(self, method: str, *arguments: object) -> object:
        """Call a method."""
        return await asyncio.wrap_future(self._portal.start_task_soon(getattr(self._worker, method), *arguments))


class NodeWorker:
    """Holds the worker of one node, with its servers and folders, and has it measure many cells at a time.

    The driver calls `serve` once, then has one call of `listen` waiting at any time, and one of `command` on its way at
    the most: so its commands come in their order, and many of them, as many messages, cross in one call. In the end it
    calls `leave`. What crosses is pickled here: Ray's own pickling takes several times as long for our records.
    """

    def __init__(self) -> None:
        self._outbox: list[WorkerMessage | CellDone] = []
        self._waiting: dict[int, _Waiting] = {}
        self._numbers = count()
        self._news = anyio.Event()
        self._worker: Worker | None = None
        self._cells: TaskGroup | None = None
        self._opening: anyio.CancelScope | None = None
        self._has_begun, self._is_leaving, self._is_over = anyio.Event(), anyio.Event(), False
        self._running: dict[Cell, anyio.CancelScope] = {}

    async def versions(self) -> Mapping[str, str]:
        """Return the versions that have to be those of the driver."""
        return versions_here()

    async def serve(self, spec: bytes, machine: str, share: Share) -> Raised | None:
        """Hold the worker until `leave`; return the error if it could not be opened."""
        raised: Raised | None = None
        try:
            with ungrouped(), anyio.CancelScope() as self._opening:
                sent = _unpickle(spec, machine)
                if not self._is_leaving.is_set():
                    async with (
                        sent.open(self._send, machine=machine, share=share) as self._worker,
                        anyio.create_task_group() as cells,
                    ):
                        self._cells = cells
                        self._has_begun.set()
                        try:
                            with without_collecting_loaded():
                                await self._is_leaving.wait()
                            cells.cancel_scope.cancel()
                        finally:
                            self._cells = None  # its scopes are left, or broken: no cell begins there any more
        except Exception as error:  # noqa: BLE001 - a request of the driver, which gets the error
            raised = Raised(_portable(error))
        except anyio.get_cancelled_exc_class():
            # Not cancelled from outside: a scope of the worker has broken, and reported the reason as an incident.
            raised = Raised(ScopeError(f"machine {machine}: what its cells share has broken, see the run's problems"))
        self._worker, self._is_over = None, True
        self._has_begun.set()
        self._news.set()
        return raised

    async def wait_until_open(self) -> bool:
        """Wait until the worker is open or has failed to open; return whether it is open."""
        await self._has_begun.wait()
        return self._worker is not None

    async def listen(self) -> bytes | None:
        """Wait for messages, and return all of them; `None` once the worker is gone and has sent all."""
        while not self._outbox and not self._is_over:
            await self._news.wait()
            self._news = anyio.Event()
        messages, self._outbox = self._outbox, []
        return pickle.dumps(messages) if messages else None

    async def command(self, content: bytes) -> None:
        """Execute commands of the driver."""
        commands: list[Command] = pickle.loads(content)  # noqa: S301 - what our own driver has pickled
        for each in commands:
            match each:
                case Measure(assignment=assignment) if self._cells is not None:
                    # Made here: it may be cancelled before its task has begun.
                    scope = self._running[assignment.placed.cell] = anyio.CancelScope()
                    self._cells.start_soon(self._measure, assignment, scope)
                case Cancel(cell=cell) if cell in self._running:
                    self._running[cell].cancel()
                case Reply(number=number, refusal=refusal) if number in self._waiting:
                    waiting = self._waiting.pop(number)
                    waiting.refusal = refusal
                    waiting.has_reply.set()
                case _:
                    pass  # of what is over by now

    async def leave(self) -> None:
        """Have the worker leave its scopes; one that is still being opened is cancelled."""
        self._is_leaving.set()
        if self._opening is not None and not self._has_begun.is_set():
            self._opening.cancel()

    async def _measure(self, assignment: Assignment, scope: anyio.CancelScope) -> None:
        cell, raised = assignment.placed.cell, None
        assert self._worker is not None  # noqa: S101 - its scope is around that of all cells
        try:
            with ungrouped(), scope:
                await self._worker.measure(assignment.placed, assignment.scenario)
        except Exception as error:  # noqa: BLE001 - a request of the driver, which gets the error
            raised = _portable(error)
        del self._running[cell]
        self._enqueue(CellDone(cell, raised))

    async def _send(self, message: Message) -> None:
        number = next(self._numbers)
        waiting = self._waiting[number] = _Waiting()
        self._enqueue(WorkerMessage(number, message))
        # Shielded, and soon over: the driver must learn the end of each reported start, and a result is paid
        # for. A driver that is gone takes this process along.
        with anyio.CancelScope(shield=True):
            await waiting.has_reply.wait()
        if waiting.refusal is not None:
            raise waiting.refusal

    def _enqueue(self, message: WorkerMessage | CellDone) -> None:
        self._outbox.append(message)
        self._news.set()


def _unpickle(spec: bytes, machine: str) -> WorkerSpec:
    try:
        return pickle.loads(spec)  # noqa: S301 - what our own driver has pickled
    except Exception as error:
        # Plugin call: third-party modules are imported here, which may be missing, or differ from those at the driver.
        reason = one_line(describe_error(error))
        raise ClusterError(
            f"machine {machine}: what the run is made of cannot be loaded there ({reason}); install it on that machine"
        ) from error


def _portable(error: Exception) -> Exception:
    """Return an error, or a picklable error in place of it."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - plugin call: third-party errors may raise anything when pickled
        kind = InputError if isinstance(error, InputError) else OperationError
        return kind(describe_error(error))
    return error
