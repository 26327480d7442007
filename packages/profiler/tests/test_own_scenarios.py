"""The profiler with scenarios of its user's own: a class with more fields, and a loader that reads them."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from profiler_fakes import config

from ghx_profiler import (
    Answer,
    BaseScenario,
    CheckpointDetail,
    Evidence,
    Instruments,
    Mode,
    ScenarioLoader,
    ScenarioSets,
    Score,
    SessionRequest,
    SessionTrace,
    TraceRecorder,
    read_rows,
    run_profile_suite,
)

pytestmark = pytest.mark.anyio

SETS: ScenarioSets = {"default": ("sum-001", "sum-002"), "quick": ("sum-001",)}
TASKS = {"sum-001": (1, 2), "sum-002": (3, 4)}


class SumScenario(BaseScenario):
    """A task with a field that the profiler does not know."""

    terms: tuple[int, ...]


class AddingSession:
    def __init__(self) -> None:
        self.recorder = TraceRecorder()

    async def prompt(self, text: str) -> Answer:
        self.recorder.begin_turn()
        return Answer(text=str(sum(int(word) for word in text.split("+"))))

    async def trace(self) -> SessionTrace:
        return self.recorder.trace()


class Adding:
    name = "adding"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[AddingSession]:
        yield AddingSession()


class OneMode:
    async def resolve(self, name: str) -> Mode:
        return Mode(name=name)


class SumScorer:
    """Reads a field of the scenario's own class, and the extensions, which the profiler passes on."""

    def __init__(self) -> None:
        self.units: set[object] = set()

    async def score(self, evidence: Evidence[SumScenario]) -> Score:
        self.units.add(evidence.scenario.extensions["unit"])
        answer = evidence.answer.text if evidence.answer else ""
        passed = answer == str(sum(evidence.scenario.terms))
        return Score.of([CheckpointDetail(id="sum", description="The sum is right", passed=passed, actual=answer)])


async def test_a_loader_is_called_once_and_its_scenarios_reach_the_scorer_whole(tmp_path: Path) -> None:
    calls: list[tuple[str, ...]] = []

    async def load(ids: Sequence[str]) -> list[SumScenario]:
        calls.append(tuple(ids))
        return [
            SumScenario(
                id=each,
                name=each,
                description="Adds numbers",
                prompt="+".join(map(str, TASKS[each])),
                timeout_ms=10_000,
                tags=("sum",),
                extensions={"unit": f"unit of {each}"},
                terms=TASKS[each],
            )
            for each in ids
        ]

    loader: ScenarioLoader[SumScenario] = load
    scorer = SumScorer()
    result = await run_profile_suite(
        config(tmp_path).override(set="default", repetitions=2, modes=["plain"]),
        loader=loader,
        modes=OneMode(),
        instruments=Instruments(provider=Adding(), scorer=scorer),
        sets=SETS,
    )

    rows = list(read_rows(result.directory / "rows.jsonl"))
    assert calls == [("sum-001", "sum-002")]
    assert [(row.scenario_id, row.success) for row in rows].count(("sum-001", True)) == 2
    assert {row.success for row in rows} == {True}
    assert scorer.units == {"unit of sum-001", "unit of sum-002"}
