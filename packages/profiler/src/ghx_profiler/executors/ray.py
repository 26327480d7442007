"""Cells on the nodes of a Ray cluster: one actor for each node, and everything durable in this process."""

import pickle
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any, ClassVar

import anyio
from anyio.abc import TaskGroup

from ghx_base.errors import ungrouped
from ghx_profiler.contracts import WorkerSpec
from ghx_profiler.errors import ClusterError, MachinesLostError
from ghx_profiler.events import CellRetried, CellStarted
from ghx_profiler.executors.placement import Placement
from ghx_profiler.executors.ray_cluster import NO_NODE, connect, start_actors
from ghx_profiler.executors.ray_machine import LostError, Machine, last_line
from ghx_profiler.executors.ray_node import CellDone, Raised, Reply, WorkerMessage
from ghx_profiler.machine import versions_here
from ghx_profiler.plan.blocks import Block, CellInterrupted, CellMeasured, Message, Receive, Share
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.causes import Cause, RunBudgetError
from ghx_profiler.records.row import MACHINE_LOST, MACHINE_UNFIT, Attempt

_START_S = 120.0
_NOTICE_S = 30.0
"""How long Ray may take to notice that a node is gone, with its own settings."""
_LEAVE_S = 300.0
"""How long a worker may take to clear away; it has limits of its own, which are shorter."""
_MACHINES_OWN = (Cause.ENVIRONMENT, Cause.MODEL_PROVIDER, Cause.SCORER, Cause.BENCH)
"""What may be in the way of measuring a cell on one machine, and not on another."""


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
        with connect(self.address) as ray, start_actors(ray) as actors:
            workers = RayWorkers(
                ray=ray,
                machines=[
                    Machine(name=name, node_id=node_id, actor=actor, ray=ray)
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
class RayWorkers:
    """The actors of a run."""

    machines: Sequence[Machine]
    max_concurrency: int
    receive: Receive
    ray: Any
    _placement: Placement | None = None
    _stop: anyio.CancelScope | None = None
    _is_stopping: bool = True
    """Whether no cell may start any more; so it is also while none is to run."""
    _failure: Exception | None = None
    """What must stop the run, and has not been raised yet."""
    _is_spent: bool = False
    """Whether the run's budget is: then no cell need be sent to a machine to be refused there."""
    _is_judging: bool = True
    """Whether what a machine cannot measure may be its own fault; not where nothing could be measured anywhere."""
    _news: anyio.Event = field(default_factory=anyio.Event)
    """Set, and replaced, whenever there may be a verdict on what machines could not measure."""

    async def choose_machines(self, most: int | None) -> None:
        """Keep those that answer, the first `most` of them; refuse one on which something else would be measured.

        Those that are gone are left out: for a while Ray takes a node for alive that has just been lost.
        """
        chosen, refused = list[Machine](), list[ClusterError]()
        async with anyio.create_task_group() as asking:

            async def ask(machine: Machine) -> None:
                try:
                    if await self._answers(machine):
                        chosen.append(machine)
                except ClusterError as error:
                    refused.append(error)
                if len(chosen) == most:
                    asking.cancel_scope.cancel()

            for machine in self.machines:
                asking.start_soon(ask, machine)
        # Where there are enough others, whether one is refused must not depend on who answers first.
        if refused and (most is None or len(chosen) < most):
            raise refused[0]
        if not chosen:
            raise ClusterError(NO_NODE)
        chosen = chosen[:most]
        for machine in self.machines:
            if machine not in chosen:
                self.ray.kill(machine.actor)
        self.machines = [machine for machine in self.machines if machine in chosen]

    async def _answers(self, machine: Machine) -> bool:
        """Return whether a machine is there; raise where no worker of this version can be started."""
        here = versions_here()
        try:
            with anyio.fail_after(_START_S):
                there: Mapping[str, str] = await machine.call("versions")
        except (LostError, TimeoutError) as error:
            # Ray may learn of the loss from the call, and list it some seconds later.
            with anyio.move_on_after(_NOTICE_S):
                while machine.is_alive():  # noqa: ASYNC110 - Ray sends no event
                    await anyio.sleep(0.5)
                return False
            reason = last_line(error.__cause__ or TimeoutError(f"no answer in {_START_S:.0f} s"))
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
            with suppress(LostError):
                if not await machine.call("wait_until_open"):
                    raise await machine.find_failure()
                machine.is_open = True
        self._require_machine()

    async def leave(self) -> None:
        """Have all workers clear away, and wait until they have."""
        async with anyio.create_task_group() as leaving:
            for machine in self.machines:
                if machine.serving is not None:
                    leaving.start_soon(self._leave, machine)
        if self._failure is not None:
            raise self._failure

    async def _leave(self, machine: Machine) -> None:
        with suppress(LostError), anyio.move_on_after(_LEAVE_S):
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
                        slots.start_soon(self._work, machine, placement)
        finally:
            self._is_stopping, self._placement, self._stop = True, None, None
            with anyio.CancelScope(shield=True):
                for placed in placement.left():
                    await self._report_lost(placed.cell, placed.lost_attempts)
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    async def _work(self, home: Machine, placement: Placement) -> None:
        """Work off cells, one after the other: of one machine and, while that has nothing to do, of others."""
        while not self._is_spent:
            if home.is_lost:
                await home.is_given_up.wait()
            machine = self._choose_machine(home)
            if machine.failure is not None:
                raise machine.failure
            assignment = placement.take(machine.name)
            if assignment is None:
                return
            await machine.measure(assignment, self._note_stopping)

    def _choose_machine(self, home: Machine) -> Machine:
        """Return where a place measures its next cell: at home, unless that is lost, or under suspicion."""
        self._require_machine()
        if home.suspects and not any(each.is_cleared for each in self._alive()):
            home.suspects.clear()  # no machine is left that could report it
        if not home.is_lost and not home.suspects:
            return home
        others = [each for each in self._alive() if not each.suspects]
        cleared = [each for each in others if each.is_cleared]
        return min(cleared or others or self._alive(), key=lambda each: len(each.running))

    def _require_machine(self) -> None:
        if not self._alive():
            names = ", ".join(each.name for each in self.machines)
            raise MachinesLostError(f"no machine is left of {names}; start them again, or others, and resume the run")

    def _alive(self) -> list[Machine]:
        return [machine for machine in self.machines if not machine.is_lost]

    async def listen(self, machine: Machine) -> None:
        """Receive a machine's messages until its worker is gone; if it is lost, give its work to others."""
        # Shielded: when the run is cancelled, its cells report their spending. It ends with the worker.
        with anyio.CancelScope(shield=True):
            try:
                with ungrouped():
                    await self._talk_with(machine)
            except Exception as error:  # noqa: BLE001 - a mistake of ours, here or there: its cells may not be awaited
                self._fail(error)
                machine.lose(MACHINE_LOST, f"the worker on {machine.name} cannot be talked to")
            # Not before all its messages are on disk: what has a row is not measured again.
            if machine.is_lost:
                await self._give_up(machine)
            machine.is_silent.set()

    async def _talk_with(self, machine: Machine) -> None:
        async with anyio.create_task_group() as sending:
            sending.start_soon(machine.send)
            async with anyio.create_task_group() as taking:
                with suppress(LostError):
                    while (content := await machine.call("listen")) is not None:
                        self._receive(machine, pickle.loads(content), taking)  # noqa: S301 - what our own node has pickled
                    # Told to leave, or broken: a server that ends takes its worker along, and all cells there.
                    machine.fail(await machine.find_failure())
                self._report_news()  # its messages may wait for a receiver that is gone
            sending.cancel_scope.cancel()

    def _receive(self, machine: Machine, messages: Sequence[WorkerMessage | CellDone], taking: TaskGroup) -> None:
        for each in messages:
            match each:
                case WorkerMessage():
                    taking.start_soon(self._take, machine, each.number, each.message)
                case CellDone(cell=cell):
                    running = machine.end(each)
                    self._report_news()
                    # Not begun here, as the run is being stopped: no other message reports its earlier lost attempts.
                    if running.began_at is None and not running.is_done:
                        taking.start_soon(self._report_lost, cell, running.attempts)

    async def _report_lost(self, cell: Cell, attempts: Sequence[Attempt]) -> None:
        """Report the lost attempts of a cell without a row."""
        if attempts:
            await self.receive(CellInterrupted(cell=cell, attempts=tuple(attempts)))

    async def _take(self, machine: Machine, number: int, message: Message) -> None:
        """Hand a message on, and reply to it."""
        refusal: Exception | None = None
        try:
            if isinstance(message, CellStarted) and self._is_stopping:
                refusal = RunBudgetError("the run is being stopped")  # a worker takes that as: not to be measured
            else:
                if isinstance(message, CellMeasured):
                    judged = await self._judge(machine, message)
                    if judged is None:
                        return  # the machine is lost, and no call waits there
                    message = judged
                await self.receive(message)
        except RunBudgetError as error:
            refusal, self._is_spent = error, True
        except Exception as error:  # noqa: BLE001 - raised by `run`: the listener must receive what other cells spent
            self._fail(error)
        if refusal is None:
            machine.note(message)
        machine.post(Reply(number, refusal))

    async def _judge(self, machine: Machine, measured: CellMeasured) -> Message | None:
        """Return the message for a result: itself, or that others try; `None` if its machine is lost meanwhile.

        A machine on which nothing can be measured is done with its cells sooner than all others, and would take most
        of the run. So as long as it has measured none, what it cannot measure waits. Once nothing else runs there,
        others try the same cells, if any has measured something by then: if they succeed, the machine is given up; if
        they fail too, it was not the machine. If nothing was measured anywhere, this is unknown, and all results count.
        """
        cell, row = measured.cell, measured.files.row
        if not measured.was_scored and not cell.is_canary and row.cause in _MACHINES_OWN:
            running = machine.running[cell]
            running.result = row
            self._report_news()
            while not (self._is_known(machine) or machine.is_lost or cell in machine.suspects or self._is_stopping):
                if self._is_reachable(machine):
                    self._suspect(machine)
                elif all(each.result for other in self._alive() for each in other.running.values()):
                    self._is_judging = False
                    self._report_news()
                else:
                    await self._news.wait()
            if machine.is_lost:
                return None
            if cell in machine.suspects:
                attempt = running.attempts[-1]
                reason, now = (
                    f"others try what the machine {machine.name} could not: {attempt.error}",
                    datetime.now(UTC),
                )
                return CellRetried(at=now, cell=cell, attempt=attempt.number, error=reason, pause_s=0, made=attempt)
            if not self._is_known(machine):
                return CellInterrupted(cell=cell, attempts=row.attempts)  # the run is being stopped before that
            running.result = None
        machine.is_cleared = machine.is_cleared or measured.was_scored
        self._record_result(measured)
        self._report_news()
        return measured

    def _is_known(self, machine: Machine) -> bool:
        """Return whether a machine is known not to be the cause of its failed cells."""
        return machine.is_cleared or not self._is_judging or len(self._alive()) == 1

    def _is_reachable(self, machine: Machine) -> bool:
        """Return whether others can try what a machine could not; sessions that still run there may clear it first."""
        are_all_held = all(each.result for each in machine.running.values())
        return are_all_held and any(each.is_cleared for each in self._alive())

    def _suspect(self, machine: Machine) -> None:
        """Have others try what a machine could not measure, before it gets anything else to do."""
        assert self._placement is not None  # noqa: S101 - a run goes on, which waits for these cells
        machine.suspects = {
            cell: each.result.attempts[-1].error or str(each.result.cause)
            for cell, each in machine.running.items()
            if each.result is not None
        }
        self._placement.give_back(machine.name, [each.take_back(MACHINE_UNFIT) for each in machine.running.values()])
        for each in machine.running.values():
            each.is_done = True
        self._report_news()

    def _record_result(self, measured: CellMeasured) -> None:
        """Update both machines by the result of a cell that another machine could not measure."""
        for other in self._alive():
            if measured.cell not in other.suspects:
                continue
            error = other.suspects.pop(measured.cell)
            if measured.was_scored:
                reason = f"the machine {other.name} could measure nothing, and others can: {error}"
                other.lose(MACHINE_UNFIT, reason)
            other.is_cleared = not other.suspects

    def _report_news(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    def _note_stopping(self) -> None:
        self._is_stopping = True
        self._report_news()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._note_stopping()
        if self._stop is not None:
            self._stop.cancel()

    async def _give_up(self, machine: Machine) -> None:
        """Have the cells of a lost machine measured elsewhere."""
        assert machine.loss is not None  # noqa: S101 - it is lost
        lost, error = machine.give_up(), machine.loss.message
        if self._placement is not None:
            self._placement.give_back(machine.name, lost)
        try:
            await self.receive(machine.loss)
            for placed in (each.placed for each in lost if each.placed.lost_attempts):
                attempt, now = placed.lost_attempts[-1], datetime.now(UTC)
                await self.receive(
                    CellRetried(at=now, cell=placed.cell, attempt=attempt.number, error=error, pause_s=0, made=attempt)
                )
        except Exception as failure:  # noqa: BLE001 - as above
            self._fail(failure)
        machine.is_given_up.set()
        self._report_news()
