"""Why a block is the unit of placement: the speed of a machine cancels within it, and not over single cells."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from profiler_fakes import FakeProvider, FakeSession, config, instruments, scenario

from ghx_profiler.contracts import Worker, WorkerSpec
from ghx_profiler.evidence import Answer, Mode
from ghx_profiler.plan.blocks import Block, PlacedCell, Receive
from ghx_profiler.profile import ModeTable
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.machines import MachineTally
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.stats import AnalysisPlan, compare_modes
from ghx_profiler.store.merging import merge_runs, open_shards
from ghx_profiler.store.rows import read_rows
from ghx_profiler.suite import run_profile_suite

pytestmark = pytest.mark.anyio

TASKS = tuple(f"task-{number}" for number in range(6))
WORK_S = {"plain": 10.0, "fancy": 8.0}
"""What a session takes on a machine at full speed: `fancy` takes 20 % less, which is the truth to be found."""
SLOWNESS = {"healthy": 1.0, "throttled": 3.0}


@dataclass
class HandClock:
    """Stands still, but for the work of agents."""

    passed_s: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.passed_s)

    def monotonic(self) -> float:
        return self.passed_s


async def _load(ids: Sequence[str]) -> list[BaseScenario]:
    return [scenario(each, timeout_ms=3_600_000) for each in ids]


@dataclass
class Bench:
    """An agent that works for as long as its mode, its task and the machine that it is on make it."""

    machine: str = "healthy"
    clock: HandClock = field(default_factory=HandClock)

    async def work(self, session: FakeSession, _text: str) -> Answer:
        task = 1 + TASKS.index(session.request.cell.scenario_id)
        self.clock.passed_s += WORK_S[session.request.mode.name] * task * SLOWNESS[self.machine]
        return Answer(text="3")

    async def run(self, results: Path, executor: "TwoMachines | None" = None, shard: str | None = None) -> Path:
        result = await run_profile_suite(
            config(
                results,
                scenarios={"ids": TASKS},
                modes=[*WORK_S],
                execution={"repetitions": 4, "shard": shard},
            ),
            loader=_load,
            modes=ModeTable(tuple(Mode(name=each) for each in WORK_S)),
            instruments=instruments(FakeProvider(self.work), clock=self.clock),
            executor=executor,
        )
        return result.directory


@dataclass(frozen=True)
class TwoMachines:
    """A healthy and a throttled machine, which get whole blocks in turns, or each of them the cells of one mode."""

    bench: Bench
    deal: Literal["blocks", "cells"]

    @asynccontextmanager
    async def open(self, spec: WorkerSpec, receive: Receive) -> AsyncGenerator["TwoMachines._Workers"]:
        async with spec.open(receive, machine="healthy") as healthy, spec.open(receive, machine="throttled") as other:
            yield self._Workers(self.bench, self.deal, (healthy, other))

    @dataclass(frozen=True)
    class _Workers:
        bench: Bench
        deal: str
        workers: tuple[Worker, Worker]

        async def run(self, blocks: Sequence[Block]) -> None:
            for block in blocks:
                for placed in block.cells:
                    choice = _block_by_block(placed) if self.deal == "blocks" else _mode_by_mode(placed)
                    self.bench.machine = [*SLOWNESS][choice]
                    await self.workers[choice].measure(placed, block.scenario)


def _block_by_block(placed: PlacedCell) -> int:
    return (TASKS.index(placed.cell.scenario_id) + placed.cell.iteration) % 2


def _mode_by_mode(placed: PlacedCell) -> int:
    return [*WORK_S].index(placed.cell.mode)


def reduction_of(rows: Sequence[ProfileRow]) -> float:
    """Return by how many per cent `fancy` takes less time than `plain`."""
    result = compare_modes(rows, "fancy", "plain", "latency_wall_ms", AnalysisPlan(resamples=999))
    reduction = result.intention_to_treat.suite.reduction_pct
    assert reduction is not None
    return reduction


async def test_a_throttled_machine_does_not_bias_a_difference_of_modes_that_share_their_blocks(tmp_path: Path) -> None:
    bench = Bench()
    rows = list(read_rows(await bench.run(tmp_path, TwoMachines(bench, "blocks")) / "rows.jsonl"))

    tally = MachineTally()
    for row in rows:
        tally.add(row)
    assert (tally.cells, tally.split_blocks) == ({"healthy": 24, "throttled": 24}, 0)
    assert tally.compare_speed("throttled") == pytest.approx(3)
    assert reduction_of(rows) == pytest.approx(20)


async def test_shards_on_a_healthy_and_a_throttled_machine_are_not_biased_either(tmp_path: Path) -> None:
    shards = [
        await Bench(machine).run(tmp_path / machine, shard=shard)
        for machine, shard in (("healthy", "1/2"), ("throttled", "2/2"))
    ]

    merge_runs(tmp_path / "out", open_shards(shards))

    rows = list(read_rows(tmp_path / "out" / "rows.jsonl"))
    assert len(rows) == 48
    # Shards are not even: what is measured on either machine differs from task to task, and still cancels.
    assert len(list(read_rows(shards[0] / "rows.jsonl"))) != 24
    assert reduction_of(rows) == pytest.approx(20)


async def test_without_blocks_the_throttled_machine_is_taken_for_the_mode(tmp_path: Path) -> None:
    bench = Bench()
    rows = list(read_rows(await bench.run(tmp_path, TwoMachines(bench, "cells")) / "rows.jsonl"))

    # 8 s on the slow machine against 10 s on the other: the better mode looks more than twice as slow.
    assert reduction_of(rows) == pytest.approx(-140)
    tally = MachineTally()
    for row in rows:
        tally.add(row)
    assert tally.split_blocks == 24
    assert "differences of machines" in tally.remarks()[-1]
