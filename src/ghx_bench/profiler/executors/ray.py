"""Cells on the nodes of a Ray cluster: one actor for each node, and everything durable in this process."""

import pickle
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any, ClassVar

import anyio
from anyio.abc import TaskGroup

from ghx_bench._base.clock import timestamp
from ghx_bench._base.errors import ungrouped
from ghx_bench.profiler.blocks import Block, CellInterrupted, CellMeasured, Message, Receive, Share
from ghx_bench.profiler.causes import Cause, RunBudgetError
from ghx_bench.profiler.cell import Cell
from ghx_bench.profiler.contracts import WorkerSpec
from ghx_bench.profiler.errors import ClusterError, MachinesLostError
from ghx_bench.profiler.events import CellRetried, CellStarted
from ghx_bench.profiler.executors.placement import Assignment, Placement
from ghx_bench.profiler.executors.ray_cluster import NO_NODE, connect, start_actors
from ghx_bench.profiler.executors.ray_node import Cancel, Command, Ended, Measure, Raised, Reply, Told
from ghx_bench.profiler.machine import versions_here
from ghx_bench.profiler.row import Attempt, Incident

_LOST = "MACHINE_LOST"
_START_S = 120.0
_LEAVE_S = 300.0
"""How long a worker may take to clear away; it has limits of its own, which are shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayExecutor:
    """Runs up to `max_concurrency` cells at once on all nodes of a cluster together, each with as many as the others.

    Without an address, Ray is started here, with this machine as its only node. Where this process is connected to Ray
    already, that cluster is used.
    """

    sends_spec: ClassVar[bool] = True
    max_concurrency: int = 1
    address: str | None = None
    """`auto`, or host and port."""

    @asynccontextmanager
    async def open(self, spec: WorkerSpec, receive: Receive) -> AsyncGenerator["RayWorkers"]:
        """Hold a worker on each node."""
        content = pickle.dumps(spec)
        # Not in a thread: Ray has its processes end with the thread that started them.
        with (
            connect(self.address) as ray,
            start_actors(ray) as actors,
        ):
            workers = RayWorkers(
                ray=ray,
                machines=[
                    _Machine(name=name, node_id=node_id, actor=actor, ray=ray)
                    for name, (node_id, actor) in actors.items()
                ],
                max_concurrency=self.max_concurrency,
                receive=receive,
            )
            await workers.choose_machines(spec.most_workers)
            async with anyio.create_task_group() as listening:
                try:
                    for number, machine in enumerate(workers.machines, start=1):
                        share = Share(number=number, count=len(workers.machines))
                        machine.serving = machine.start("serve", content, machine.name, share)
                        listening.start_soon(workers.listen, machine)
                    await workers.wait_until_open()
                    yield workers
                finally:
                    with anyio.CancelScope(shield=True):
                        await workers.leave()


@dataclass(slots=True, kw_only=True)
class _Running:
    """A cell on a machine, and what is known of it if the machine is lost."""

    assignment: Assignment
    attempts: list[Attempt]
    began_at: datetime | None = None
    is_done: bool = False
    """Whether its end was told, and taken."""
    has_ended: anyio.Event = field(default_factory=anyio.Event)
    raised: Exception | None = None

    def note(self, message: Message) -> None:
        match message:
            case CellMeasured() | CellInterrupted():
                self.is_done = True
            case CellStarted(at=at):
                self.began_at = at
            case CellRetried(at=at, error=error):
                self.attempts.append(self._attempt(error))
                self.began_at = at
            case _:
                pass

    def lose(self, machine: str) -> Assignment:
        """Return the assignment for another machine; an attempt that had begun here stays on its row."""
        if self.began_at is not None:
            lost = {"cause": Cause.ENVIRONMENT, "error_code": _LOST}
            self.attempts.append(self._attempt(_describe_loss(machine)).model_copy(update=lost))
        placed = replace(self.assignment.placed, lost_attempts=tuple(self.attempts))
        return replace(self.assignment, placed=placed)

    def _attempt(self, error: str) -> Attempt:
        assert self.began_at is not None  # noqa: S101 - a cell starts before it is told of otherwise
        return Attempt(number=len(self.attempts) + 1, started_at=timestamp(self.began_at), error=error)


class _LostError(Exception):
    """A machine is gone."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Machine:
    """The driver's end of a node."""

    name: str
    node_id: str
    actor: Any
    ray: Any
    serving: Any = None
    is_open: bool = False
    is_lost: bool = False
    is_given_up: anyio.Event = field(default_factory=anyio.Event)
    """Set when it is lost, everything it told has been taken, and its cells are anybody's."""
    running: dict[Cell, _Running] = field(default_factory=dict[Cell, _Running])
    is_silent: anyio.Event = field(default_factory=anyio.Event)
    """Set when everything it will ever tell has been taken."""
    failure: Exception | None = None
    """Why its worker is gone, though the machine is there: then no cell can be measured on it."""
    slots: int = 0
    _outbox: list[Command] = field(default_factory=list[Command])
    _news: anyio.Event = field(default_factory=anyio.Event)

    def is_alive(self) -> bool:
        """Return whether Ray still knows the node."""
        return any(node["NodeID"] == self.node_id and node["Alive"] for node in self.ray.nodes())

    def start(self, method: str, *arguments: object) -> Any:
        """Call a method of the actor, and return what its result can be waited for with."""
        return self.actor.call.remote(method, *arguments)

    async def call(self, method: str, *arguments: object) -> Any:
        """Call a method of the actor; raise `_LostError` if the machine is gone."""
        return await self.wait_for(self.start(method, *arguments))

    async def wait_for(self, result: Any) -> Any:
        """Wait for the result of a call."""
        try:
            return await result
        except self.ray.exceptions.RayTaskError:
            raise  # a mistake in the actor
        except self.ray.exceptions.RayError as error:
            # Also if it is only unavailable: whether a call was made is not known then, and cannot be asked. Ended, so
            # that whoever listens to it hears of that as well.
            self.lose()
            raise _LostError(self.name) from error

    def lose(self) -> None:
        """Have nothing more to do with the machine, nor it with the run."""
        if not self.is_lost:
            self.is_lost = True
            self.ray.kill(self.actor)

    def post(self, command: Command) -> None:
        """Have something said to the node soon, with all else that is to be said then."""
        self._outbox.append(command)
        self._news.set()

    async def send(self) -> None:
        """Say what is posted until that is cancelled; one call after the other, which keeps the order."""
        with suppress(_LostError):
            while True:
                await self._news.wait()
                self._news, commands, self._outbox = anyio.Event(), self._outbox, []
                await self.call("command", pickle.dumps(commands))

    def note(self, message: Message) -> None:
        """Remember how far a cell has come: it may have to be told if the machine is lost."""
        if not isinstance(message, Incident) and message.cell in self.running:
            self.running[message.cell].note(message)

    def end(self, ended: Ended) -> _Running:
        """Let whoever waits for a cell go on, and return what is known of it."""
        running = self.running.pop(ended.cell)
        running.raised = ended.raised
        running.has_ended.set()
        return running

    def give_up(self) -> list[Assignment]:
        """Return what of a lost machine's cells has no result; nobody waits for them any more."""
        lost = [each.lose(self.name) for each in self.running.values() if not each.is_done]
        for each in self.running.values():
            each.has_ended.set()
        self.running.clear()
        return lost

    async def find_failure(self) -> Exception:
        """Wait until its worker is gone, and return why."""
        raised = await self.wait_for(self.serving)
        return raised.error if isinstance(raised, Raised) else RuntimeError("a worker has left by itself")

    def fail(self, failure: Exception) -> None:
        """Let whoever waits for a cell raise why its end will not be told."""
        self.failure = failure
        for cell in tuple(self.running):
            self.end(Ended(cell, failure))

    async def measure(self, assignment: Assignment, note_stopping: Callable[[], None]) -> None:
        """Have a cell measured; if that is cancelled, wait until the cell has told what it spent.

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


@dataclass(slots=True, kw_only=True)
class RayWorkers:
    """The actors of a run."""

    machines: Sequence[_Machine]
    max_concurrency: int
    receive: Receive
    ray: Any
    _placement: Placement | None = None
    _stop: anyio.CancelScope | None = None
    _is_stopping: bool = True
    """Whether no cell may start any more; so it is also while none is to run."""
    _failure: Exception | None = None
    """What must stop the run, and has not been raised yet."""

    async def choose_machines(self, most: int | None) -> None:
        """Keep those that answer, the first `most` of them; refuse one on which something else would be measured.

        Those that are gone are left out: for a while Ray takes a node for alive that has just been lost.
        """
        chosen: list[_Machine] = []
        with ungrouped():
            async with anyio.create_task_group() as asking:

                async def ask(machine: _Machine) -> None:
                    if await self._answers(machine):
                        chosen.append(machine)
                        if len(chosen) == most:
                            asking.cancel_scope.cancel()

                for machine in self.machines:
                    asking.start_soon(ask, machine)
        if not chosen:
            raise ClusterError(NO_NODE)
        chosen = chosen[:most]
        for machine in self.machines:
            if machine not in chosen:
                self.ray.kill(machine.actor)
        self.machines = [machine for machine in self.machines if machine in chosen]

    async def _answers(self, machine: _Machine) -> bool:
        """Return whether a machine is there; raise where no worker of this version can be started."""
        here = versions_here()
        try:
            with anyio.fail_after(_START_S):
                there: Mapping[str, str] = await machine.call("versions")
        except (_LostError, TimeoutError) as error:
            if not machine.is_alive():
                return False
            reason = _last_line(error.__cause__ or TimeoutError(f"no answer in {_START_S:.0f} s"))
            raise ClusterError(
                f"machine {machine.name}: a worker cannot be started there ({reason}); install ghx-bench "
                f"{here['ghxBench']} on it"
            ) from error
        if there != here:
            names = ", ".join(f"{name} {there.get(name)}" for name in here)
            own = ", ".join(f"{name} {value}" for name, value in here.items())
            raise ClusterError(f"machine {machine.name}: has {names}, and this one {own}; install the same on both")
        return True

    async def wait_until_open(self) -> None:
        """Wait for all workers; raise what one of them cannot be opened for."""
        for machine in self.machines:
            try:
                if not await machine.call("begun"):
                    raise await machine.find_failure()
                machine.is_open = True
            except _LostError as error:
                raise MachinesLostError(
                    f"{_describe_loss(machine.name)} while it was being prepared, no cell was started; start it again, "
                    "and resume the run"
                ) from error

    async def leave(self) -> None:
        """Have all workers clear away, and wait until they have."""
        async with anyio.create_task_group() as leaving:
            for machine in self.machines:
                if machine.serving is not None:
                    leaving.start_soon(self._leave, machine)
        if self._failure is not None:
            raise self._failure

    async def _leave(self, machine: _Machine) -> None:
        with suppress(_LostError), anyio.move_on_after(_LEAVE_S):
            await machine.call("leave")
            raised = await machine.wait_for(machine.serving)
            if isinstance(raised, Raised) and machine.is_open:
                self._fail(raised.error)
            await machine.is_silent.wait()
        self.ray.kill(machine.actor)

    async def run(self, blocks: Sequence[Block]) -> None:
        """Measure every cell; a block stays on its machine, unless that is lost."""
        width = min(self.max_concurrency, sum(len(block.cells) for block in blocks))
        if width:
            self._require_machine()
        self._placement = placement = Placement(blocks)
        try:
            with anyio.CancelScope() as self._stop:
                self._is_stopping = False
                async with anyio.create_task_group() as slots:
                    for machine in islice(cycle(self._alive()), width):
                        machine.slots += 1
                        slots.start_soon(self._work, machine, placement)
        finally:
            self._is_stopping, self._placement, self._stop = True, None, None
            for machine in self.machines:
                machine.slots = 0
            with anyio.CancelScope(shield=True):
                for placed in placement.left():
                    await self._tell_lost(placed.cell, placed.lost_attempts)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    async def _work(self, machine: _Machine, placement: Placement) -> None:
        """Work off cells, one after the other: of one machine and, if that is lost, of another."""
        try:
            while True:
                if machine.is_lost:
                    await machine.is_given_up.wait()
                    machine = self._choose_other()
                if machine.failure is not None:
                    raise machine.failure
                assignment = placement.take(machine.name)
                if assignment is None:
                    return
                await machine.measure(assignment, self._note_stopping)
        finally:
            machine.slots -= 1

    def _choose_other(self) -> _Machine:
        self._require_machine()
        chosen = min(self._alive(), key=lambda each: each.slots)
        chosen.slots += 1
        return chosen

    def _require_machine(self) -> None:
        if not self._alive():
            names = ", ".join(each.name for each in self.machines)
            raise MachinesLostError(f"no machine is left of {names}; start them again, or others, and resume the run")

    def _alive(self) -> list[_Machine]:
        return [machine for machine in self.machines if not machine.is_lost]

    async def listen(self, machine: _Machine) -> None:
        """Take what a machine tells until its worker is gone; if it is lost, have others do its work."""
        # Shielded: when the run is cancelled, its cells tell what they have spent. It ends with the worker.
        with anyio.CancelScope(shield=True):
            try:
                with ungrouped():
                    await self._talk_with(machine)
            except Exception as error:  # noqa: BLE001 - a mistake of ours, here or there: nobody may wait for its cells
                self._fail(error)
                machine.lose()
            # Not before all that it told is on disk: what has a row is not measured again.
            if machine.is_lost:
                await self._give_up(machine)
            machine.is_silent.set()

    async def _talk_with(self, machine: _Machine) -> None:
        async with anyio.create_task_group() as sending:
            sending.start_soon(machine.send)
            async with anyio.create_task_group() as taking:
                with suppress(_LostError):
                    while (content := await machine.call("listen")) is not None:
                        self._hear(machine, pickle.loads(content), taking)  # noqa: S301 - what our own node has pickled
                    # Asked to leave, or broken: a server that ends takes its worker along, and all cells there.
                    machine.fail(await machine.find_failure())
            sending.cancel_scope.cancel()

    def _hear(self, machine: _Machine, told: Sequence[Told | Ended], taking: TaskGroup) -> None:
        for each in told:
            match each:
                case Told():
                    taking.start_soon(self._take, machine, each.number, each.message)
                case Ended(cell=cell):
                    running = machine.end(each)
                    # Not begun here, as the run is being stopped: nobody else tells what it had lost before.
                    if running.began_at is None:
                        taking.start_soon(self._tell_lost, cell, running.attempts)

    async def _tell_lost(self, cell: Cell, attempts: Sequence[Attempt]) -> None:
        """Tell of attempts of which the row would have told that a cell has not got."""
        if attempts:
            await self.receive(CellInterrupted(cell=cell, attempts=tuple(attempts)))

    async def _take(self, machine: _Machine, number: int, message: Message) -> None:
        """Hand a message on, and reply to it."""
        refusal: Exception | None = None
        try:
            if isinstance(message, CellStarted) and self._is_stopping:
                refusal = RunBudgetError("the run is being stopped")  # a worker takes that as: not to be measured
            else:
                await self.receive(message)
        except RunBudgetError as error:
            refusal = error
        except Exception as error:  # noqa: BLE001 - raised by `run`: who listens has to hear what other cells spent
            self._fail(error)
        if refusal is None:
            machine.note(message)
        machine.post(Reply(number, refusal))

    def _note_stopping(self) -> None:
        self._is_stopping = True

    def _fail(self, error: Exception) -> None:
        self._failure, self._is_stopping = self._failure or error, True
        if self._stop is not None:
            self._stop.cancel()

    async def _give_up(self, machine: _Machine) -> None:
        """Have the cells of a lost machine measured elsewhere."""
        lost = machine.give_up()
        if self._placement is not None:
            self._placement.give_back(machine.name, lost)
        error = _describe_loss(machine.name)
        try:
            await self.receive(Incident(where=f"machine {machine.name}", code=_LOST, message=error))
            for placed in (each.placed for each in lost if each.placed.lost_attempts):
                attempt, now = len(placed.lost_attempts), datetime.now(UTC)
                await self.receive(CellRetried(at=now, cell=placed.cell, attempt=attempt, error=error, pause_s=0))
        except Exception as failure:  # noqa: BLE001 - as above
            self._fail(failure)
        machine.is_given_up.set()


def _describe_loss(machine: str) -> str:
    return f"the machine {machine} was lost"


def _last_line(error: BaseException) -> str:
    """Return what Ray says of an error that it wraps: the last line of a traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
