"""What the driver of a run on Ray does when things go wrong; actors are objects of this process, and Ray is none."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from ghx_base.errors import ungrouped
from ghx_base.wire import JsonObject
from ghx_profiler.errors import MachinesLostError, ScopeError
from ghx_profiler.events import CellRetried, CellStarted
from ghx_profiler.executors import RayExecutor, ray, ray_cluster
from ghx_profiler.executors.ray_node import NodeWorker
from ghx_profiler.plan.blocks import (
    WHOLE,
    Block,
    CellFiles,
    CellInterrupted,
    CellMeasured,
    Message,
    PlacedCell,
    Receive,
    Share,
    blocks_of,
)
from ghx_profiler.records.causes import Cause, RunBudgetError
from ghx_profiler.records.outcome import Failed, RowContext, attempt_of, row_of
from ghx_profiler.records.row import Attempt, Incident, ProfileRow
from ghx_profiler.testing.executors import SampleSpec, SampleWorker
from ghx_profiler.testing.samples import sample_cell, sample_scenario

pytestmark = pytest.mark.anyio
PATIENCE_S = 10.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as Ray has it


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class Actor:
    """A node of this process, which can be lost."""

    def __init__(self) -> None:
        self.worker = NodeWorker()
        self._is_lost = asyncio.Event()
        self.call = SimpleNamespace(remote=self._start)

    def lose(self) -> None:
        self._is_lost.set()

    def _start(self, method: str, *arguments: object) -> asyncio.Future[object]:
        return asyncio.ensure_future(self._call(method, *arguments))

    async def _call(self, method: str, *arguments: object) -> object:
        done = asyncio.ensure_future(self._run(method, *arguments))
        lost = asyncio.ensure_future(self._is_lost.wait())
        await asyncio.wait([done, lost], return_when=asyncio.FIRST_COMPLETED)
        if self._is_lost.is_set():
            done.cancel()
            raise RayError("the actor died")
        lost.cancel()
        return done.result()

    async def _run(self, method: str, *arguments: object) -> object:
        try:
            return await getattr(self.worker, method)(*arguments)
        except Exception as error:
            raise RayTaskError(str(error)) from error


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Actor]:
    actors: dict[str, Actor] = {}

    @contextmanager
    def connect(_address: str | None) -> Generator[Any]:
        errors = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        yield SimpleNamespace(exceptions=errors, kill=Actor.lose, nodes=list)

    @contextmanager
    def start_actors(_ray: Any) -> Generator[Any]:
        actors.update(one=Actor(), other=Actor())
        yield {name: (name, actor) for name, actor in actors.items()}

    monkeypatch.setattr(ray, "connect", connect)
    monkeypatch.setattr(ray, "start_actors", start_actors)
    return actors


def on_start(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Have something done when the actors are there, and nothing was asked of them."""
    start = ray.start_actors

    @contextmanager
    def start_and_act(here: Any) -> Generator[Any]:
        with start(here) as actors:
            act()
            yield actors

    monkeypatch.setattr(ray, "start_actors", start_and_act)


def blocks(count: int) -> tuple[Block, ...]:
    scenario = sample_scenario()
    cells = [sample_cell(scenario_id=scenario.id, iteration=number) for number in range(count)]
    placed = [PlacedCell(cell=cell, start_order=place) for place, cell in enumerate(cells)]
    return blocks_of(placed, {scenario.id: scenario.to_wire()})


async def ignore(_message: Message) -> None:
    pass


@dataclass(frozen=True)
class BreakingSpec:
    """The spec of workers whose server breaks while cells run."""

    raises: bool
    """Whether leaving the worker raises that, rather than the cancellation that came of it."""
    most_workers: int | None = None

    @asynccontextmanager
    async def open(
        self, receive: Receive, *, machine: str | None = None, share: Share = WHOLE
    ) -> AsyncGenerator["BreakingWorker"]:
        del machine, share
        cancelled: BaseException | None = None
        try:
            async with anyio.create_task_group() as servers:
                try:
                    yield BreakingWorker(receive, servers)
                except BaseException as error:
                    cancelled = error
                    raise
        except ExceptionGroup:
            if self.raises or cancelled is None:
                raise
            raise cancelled from None


@dataclass(frozen=True)
class BreakingWorker:
    receive: Receive
    servers: TaskGroup

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        del scenario
        await self.receive(CellStarted(at=datetime.now(UTC), cell=placed.cell))
        self.servers.start_soon(_break)
        await anyio.sleep_forever()


async def _break() -> None:
    raise ScopeError("the server is gone")


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(("raises", "told"), [(True, "the server is gone"), (False, "has broken")])
async def test_a_worker_that_breaks_while_it_measures_ends_the_run(raises: bool, told: str) -> None:
    with anyio.fail_after(PATIENCE_S), pytest.raises(ScopeError, match=told), ungrouped():
        async with RayExecutor(max_concurrency=4).open(BreakingSpec(raises), ignore) as workers:
            await workers.run(blocks(8))


async def test_machines_that_are_all_lost_between_warm_ups_and_cells_end_the_run(nodes: Mapping[str, Actor]) -> None:
    are_known_lost = anyio.Event()
    incidents: list[Incident] = []

    async def receive(message: Message) -> None:
        if isinstance(message, Incident):
            incidents.append(message)
            if len(incidents) == len(nodes):
                are_known_lost.set()

    async def run_and_lose_all() -> None:
        async with RayExecutor(max_concurrency=4).open(SampleSpec(), receive) as workers:
            await workers.run(blocks(1))
            for actor in nodes.values():
                actor.lose()
            await are_known_lost.wait()
            await workers.run(blocks(8))

    with anyio.fail_after(PATIENCE_S), pytest.raises(MachinesLostError), ungrouped():
        await run_and_lose_all()


async def test_a_lost_attempt_is_told_of_where_its_cell_is_not_started_again(nodes: Mapping[str, Actor]) -> None:
    messages: list[Message] = []

    async def receive(message: Message) -> None:
        if isinstance(message, CellStarted):
            if any(isinstance(each, CellStarted) for each in messages):
                raise RunBudgetError("nothing is left")
            nodes["one"].lose()
        messages.append(message)

    # A worker of samples raises what it is refused with; others leave the cell out.
    with anyio.fail_after(PATIENCE_S), suppress(RunBudgetError), ungrouped():
        async with RayExecutor(max_concurrency=1).open(SampleSpec(works_for_s=PATIENCE_S), receive) as workers:
            await workers.run(blocks(1))

    assert not any(isinstance(each, CellMeasured) for each in messages)
    (interrupted,) = (each for each in messages if isinstance(each, CellInterrupted))
    assert [each.error_code for each in interrupted.attempts] == ["MACHINE_LOST"]


@pytest.mark.parametrize("method", ["listen", "command"])
async def test_a_mistake_in_an_actor_ends_the_run_instead_of_hanging_it(
    method: str, nodes: Mapping[str, Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_arguments: object) -> None:
        raise ValueError("a mistake")

    async def receive(message: Message) -> None:
        if isinstance(message, CellStarted):
            monkeypatch.setattr(nodes["one"].worker, method, fail)

    with anyio.fail_after(PATIENCE_S), pytest.raises(RayTaskError, match="a mistake"), ungrouped():
        async with RayExecutor(max_concurrency=4).open(SampleSpec(works_for_s=PATIENCE_S), receive) as workers:
            await workers.run(blocks(8))


async def test_a_node_that_is_gone_without_ray_knowing_takes_no_place_of_one_that_is_there(
    nodes: Mapping[str, Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_start(monkeypatch, lambda: nodes["one"].lose())  # noqa: PLW0108 - there is no actor yet
    measured: list[CellMeasured] = []

    async def receive(message: Message) -> None:
        if isinstance(message, CellMeasured):
            measured.append(message)

    with anyio.fail_after(PATIENCE_S), ungrouped():
        async with RayExecutor(max_concurrency=4).open(SampleSpec(most_workers=1), receive) as workers:
            await workers.run(blocks(3))

    assert len(measured) == 3


@dataclass(frozen=True)
class PartlyBrokenSpec:
    """The spec of workers on some of whose machines nothing can be measured."""

    broken: tuple[str, ...]
    fails_at: tuple[int, ...] = ()
    """Which repetitions cannot be measured anywhere."""
    works_for_s: Mapping[str, float] = field(default_factory=dict[str, float])
    """How long sessions take, by machine."""
    cause: Cause = Cause.ENVIRONMENT
    most_workers: int | None = None

    @asynccontextmanager
    async def open(
        self, receive: Receive, *, machine: str | None = None, share: Share = WHOLE
    ) -> AsyncGenerator["PartlyBrokenWorker"]:
        del share
        assert machine is not None
        yield PartlyBrokenWorker(self, receive, machine)


@dataclass(frozen=True)
class PartlyBrokenWorker:
    spec: PartlyBrokenSpec
    receive: Receive
    machine: str

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        fails = self.machine in self.spec.broken or placed.cell.iteration in self.spec.fails_at
        if not fails:
            works_for_s = self.spec.works_for_s.get(self.machine, 0.05)
            worker = SampleWorker(works_for_s=works_for_s, receive=self.receive, machine=self.machine)
            await worker.measure(placed, scenario)
            return
        await self.receive(CellStarted(at=datetime.now(UTC), cell=placed.cell))
        await self.receive(failure_of(placed, self.machine, self.spec.cause))


def failure_of(placed: PlacedCell, machine: str, cause: Cause) -> CellMeasured:
    now = datetime.now(UTC)
    failed = Failed(cell=placed.cell, started_at=now, cause=cause, error=OSError("no disk"))
    attempts = [*placed.lost_attempts, attempt_of(failed, len(placed.lost_attempts) + 1)]
    context = RowContext(run_id="run", agent_version=None, start_order=placed.start_order, machine=machine)
    files = CellFiles(row=row_of(failed, attempts, now, context))
    return CellMeasured(cell=placed.cell, files=files, was_scored=False)


async def run_partly_broken(spec: PartlyBrokenSpec, *, cells: int, at_once: int = 4) -> list[Message]:
    messages: list[Message] = []

    async def receive(message: Message) -> None:
        messages.append(message)

    with anyio.fail_after(PATIENCE_S), ungrouped():
        async with RayExecutor(max_concurrency=at_once).open(spec, receive) as workers:
            await workers.run(blocks(cells))
    return messages


def rows_in(told: Sequence[Message]) -> list[ProfileRow]:
    return [each.files.row for each in told if isinstance(each, CellMeasured)]


@pytest.mark.slow
@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize("at_once", [2, 8])
@pytest.mark.parametrize("cause", [Cause.ENVIRONMENT, Cause.MODEL_PROVIDER])
@pytest.mark.parametrize("broken", ["one", "other"])
async def test_a_machine_on_which_nothing_can_be_measured_is_given_up_and_spoils_no_row(
    broken: str, cause: Cause, at_once: int
) -> None:
    messages = await run_partly_broken(PartlyBrokenSpec((broken,), cause=cause), cells=40, at_once=at_once)

    rows = rows_in(messages)
    assert sorted(row.iteration for row in rows) == list(range(40))
    assert all(row.success for row in rows)
    assert {row.machine for row in rows} == {"one", "other"} - {broken}
    (incident,) = (each for each in messages if isinstance(each, Incident))
    assert (incident.code, incident.where) == ("MACHINE_UNFIT", f"machine {broken}")
    assert "no disk" in incident.message
    retried = [each.made for each in messages if isinstance(each, CellRetried)]
    assert {(made.cause, made.error_code) for made in retried if made} == {(cause, "MACHINE_UNFIT")}


@pytest.mark.usefixtures("nodes")
async def test_what_can_be_measured_nowhere_is_nobodys_machine_to_blame() -> None:
    messages = await run_partly_broken(PartlyBrokenSpec(("one", "other")), cells=10)

    assert sorted(row.iteration for row in rows_in(messages)) == list(range(10))
    assert {row.cause for row in rows_in(messages)} == {Cause.ENVIRONMENT}
    assert not any(isinstance(each, Incident) for each in messages)


@pytest.mark.usefixtures("nodes")
async def test_a_machine_that_has_measured_something_is_not_given_up_for_what_it_cannot_measure() -> None:
    messages = await run_partly_broken(PartlyBrokenSpec((), fails_at=(10, 11, 20)), cells=30)

    assert sorted(row.iteration for row in rows_in(messages) if not row.was_measured) == [10, 11, 20]
    assert not any(isinstance(each, Incident) for each in messages)


@pytest.mark.slow
@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize("at_once", [1, 2, 8])
async def test_a_sound_machine_is_not_given_up_for_a_cell_that_can_be_measured_nowhere(at_once: int) -> None:
    messages = await run_partly_broken(PartlyBrokenSpec((), fails_at=(0, 1, 2)), cells=30, at_once=at_once)

    assert sorted(row.iteration for row in rows_in(messages)) == list(range(30))
    assert sorted(row.iteration for row in rows_in(messages) if not row.was_measured) == [0, 1, 2]
    assert not any(isinstance(each, Incident) for each in messages)
    if at_once > 1:
        assert {row.machine for row in rows_in(messages)} == {"one", "other"}


@pytest.mark.usefixtures("nodes")
async def test_sessions_that_run_beside_one_that_cannot_be_measured_come_to_their_end() -> None:
    spec = PartlyBrokenSpec((), fails_at=(0,), works_for_s={"one": 0.3, "other": 0.05})

    messages = await run_partly_broken(spec, cells=12, at_once=8)

    assert not [
        attempt for row in rows_in(messages) for attempt in row.attempts if attempt.error_code == "MACHINE_LOST"
    ]
    assert not any(isinstance(each, Incident) for each in messages)


@pytest.mark.usefixtures("nodes")
async def test_where_nothing_can_be_measured_as_many_cells_run_at_once_as_may() -> None:
    messages: list[Message] = []
    most = running = 0

    async def receive(message: Message) -> None:
        nonlocal most, running
        messages.append(message)
        running += isinstance(message, CellStarted) - isinstance(message, CellMeasured)
        most = max(most, running)

    with anyio.fail_after(PATIENCE_S), ungrouped():
        async with RayExecutor(max_concurrency=20).open(PartlyBrokenSpec(("one", "other")), receive) as workers:
            await workers.run(blocks(20))
            most = running = 0
            await workers.run(blocks(60)[20:])

    assert len(rows_in(messages)) == 60
    assert most == 20


async def test_results_that_wait_for_a_verdict_on_their_machine_do_not_keep_a_run_from_being_stopped(
    nodes: Mapping[str, Actor],
) -> None:
    messages: list[Message] = []

    async def receive(message: Message) -> None:
        messages.append(message)

    spec = PartlyBrokenSpec(("one",))
    with anyio.fail_after(PATIENCE_S), ungrouped():
        async with RayExecutor(max_concurrency=2).open(spec, receive) as workers:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(workers.run, blocks(8))
                    while not any(each.result for machine in workers.machines for each in machine.running.values()):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

    assert nodes
    assert not any(not row.was_measured for row in rows_in(messages))
    interrupted = [each for each in messages if isinstance(each, CellInterrupted)]
    assert any(attempt.cause is Cause.ENVIRONMENT for each in interrupted for attempt in each.attempts)


async def test_a_machine_that_is_lost_while_it_is_prepared_is_left_out(
    nodes: Mapping[str, Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose() -> bool:
        nodes["one"].lose()
        await anyio.sleep_forever()
        return True

    on_start(monkeypatch, lambda: monkeypatch.setattr(nodes["one"].worker, "wait_until_open", lose))
    measured: list[CellMeasured] = []

    async def receive(message: Message) -> None:
        if isinstance(message, CellMeasured):
            measured.append(message)

    with anyio.fail_after(PATIENCE_S), ungrouped():
        async with RayExecutor(max_concurrency=4).open(SampleSpec(), receive) as workers:
            await workers.run(blocks(3))

    assert [each.files.row.machine for each in measured] == ["other"] * 3


@dataclass(frozen=True)
class RetryingSpec:
    """The spec of workers that make an attempt, begin another, and do not end it, unless others have before."""

    made: Attempt
    most_workers: int | None = None

    @asynccontextmanager
    async def open(
        self, receive: Receive, *, machine: str | None = None, share: Share = WHOLE
    ) -> AsyncGenerator["RetryingWorker"]:
        del share
        yield RetryingWorker(self.made, receive, machine or "")


@dataclass(frozen=True)
class RetryingWorker:
    made: Attempt
    receive: Receive
    machine: str

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        del scenario
        now = datetime.now(UTC)
        await self.receive(CellStarted(at=now, cell=placed.cell))
        if placed.lost_attempts:
            await self.receive(failure_of(placed, self.machine, Cause.AGENT_CRASH))
            return
        await self.receive(CellRetried(at=now, cell=placed.cell, attempt=1, error="503", pause_s=0, made=self.made))
        await anyio.sleep_forever()


async def test_an_attempt_that_was_made_again_on_a_lost_machine_keeps_its_cause_and_what_it_cost(
    nodes: Mapping[str, Actor],
) -> None:
    made = Attempt(number=1, started_at="2026-01-01T00:00:00Z", cause=Cause.MODEL_PROVIDER, error="503", cost_usd=0.5)
    rows: list[ProfileRow] = []

    async def receive(message: Message) -> None:
        if isinstance(message, CellRetried) and message.made == made:
            nodes["one"].lose()
        elif isinstance(message, CellMeasured):
            rows.append(message.files.row)

    with anyio.fail_after(PATIENCE_S), ungrouped():
        async with RayExecutor(max_concurrency=1).open(RetryingSpec(made), receive) as workers:
            await workers.run(blocks(1))

    (row,) = rows
    assert [(each.error_code, each.cause, each.cost_usd) for each in row.attempts[:2]] == [
        (None, Cause.MODEL_PROVIDER, 0.5),
        ("MACHINE_LOST", Cause.ENVIRONMENT, None),
    ]
    assert "the actor died" in (row.attempts[1].error or "")


class LeavingOutSpec(SampleSpec):
    """The spec of workers that leave out a cell which they are refused, as those of runs do."""

    @asynccontextmanager
    async def open(
        self, receive: Receive, *, machine: str | None = None, share: Share = WHOLE
    ) -> AsyncGenerator["LeavingOutWorker"]:
        del machine, share
        yield LeavingOutWorker(receive)


@dataclass(frozen=True)
class LeavingOutWorker:
    receive: Receive

    async def measure(self, placed: PlacedCell, scenario: JsonObject) -> None:
        del scenario
        with suppress(RunBudgetError):
            await self.receive(CellStarted(at=datetime.now(UTC), cell=placed.cell))


@pytest.mark.usefixtures("nodes")
async def test_no_cell_is_sent_to_a_machine_once_the_budget_is_spent() -> None:
    calls = 0

    async def receive(message: Message) -> None:
        nonlocal calls
        if isinstance(message, CellStarted):
            calls += 1
            raise RunBudgetError("nothing is left")

    with anyio.fail_after(PATIENCE_S), suppress(RunBudgetError), ungrouped():
        async with RayExecutor(max_concurrency=4).open(LeavingOutSpec(), receive) as workers:
            await workers.run(blocks(400))

    assert calls <= 8


def test_nodes_of_one_host_are_numbered_past_the_names_of_other_hosts() -> None:
    nodes = [{"NodeManagerHostname": host, "NodeID": str(place)} for place, host in enumerate(("w", "w", "w-1", "v"))]

    assert [(name, node["NodeID"]) for name, node in ray_cluster.name_nodes(nodes)] == [
        ("w-2", "0"),
        ("w-3", "1"),
        ("w-1", "2"),
        ("v", "3"),
    ]
