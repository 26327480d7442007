"""What the driver of a run on Ray does when things go wrong; actors are objects of this process, and Ray is none."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from ghx_bench._base.errors import ungrouped
from ghx_bench._base.wire import JsonObject
from ghx_bench.profiler.blocks import (
    WHOLE,
    Block,
    CellInterrupted,
    CellMeasured,
    Message,
    PlacedCell,
    Receive,
    Share,
    blocks_of,
)
from ghx_bench.profiler.causes import RunBudgetError
from ghx_bench.profiler.errors import MachinesLostError, ScopeError
from ghx_bench.profiler.events import CellStarted
from ghx_bench.profiler.executors import RayExecutor, ray, ray_cluster
from ghx_bench.profiler.executors.ray_node import NodeWorker
from ghx_bench.profiler.row import Incident
from ghx_bench.profiler.testing.executors import SampleSpec
from ghx_bench.profiler.testing.samples import sample_cell, sample_scenario

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
    told: list[Message] = []

    async def receive(message: Message) -> None:
        if isinstance(message, CellStarted):
            if any(isinstance(each, CellStarted) for each in told):
                raise RunBudgetError("nothing is left")
            nodes["one"].lose()
        told.append(message)

    # A worker of samples raises what it is refused with; others leave the cell out.
    with anyio.fail_after(PATIENCE_S), suppress(RunBudgetError), ungrouped():
        async with RayExecutor(max_concurrency=1).open(SampleSpec(works_for_s=PATIENCE_S), receive) as workers:
            await workers.run(blocks(1))

    assert not any(isinstance(each, CellMeasured) for each in told)
    (interrupted,) = (each for each in told if isinstance(each, CellInterrupted))
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
    started = ray.start_actors

    @contextmanager
    def lose_first(here: Any) -> Generator[Any]:
        with started(here) as actors:
            nodes["one"].lose()
            yield actors

    monkeypatch.setattr(ray, "start_actors", lose_first)
    measured: list[CellMeasured] = []

    async def receive(message: Message) -> None:
        if isinstance(message, CellMeasured):
            measured.append(message)

    with anyio.fail_after(PATIENCE_S), ungrouped():
        async with RayExecutor(max_concurrency=4).open(SampleSpec(most_workers=1), receive) as workers:
            await workers.run(blocks(3))

    assert len(measured) == 3


def test_nodes_of_one_host_are_numbered_past_the_names_of_other_hosts() -> None:
    nodes = [{"NodeManagerHostname": host, "NodeID": str(place)} for place, host in enumerate(("w", "w", "w-1", "v"))]

    assert [(name, node["NodeID"]) for name, node in ray_cluster.name_nodes(nodes)] == [
        ("w-2", "0"),
        ("w-3", "1"),
        ("w-1", "2"),
        ("v", "3"),
    ]
