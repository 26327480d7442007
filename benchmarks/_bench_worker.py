"""Runs our own suite once with an agent that answers after a given time, and prints the seconds it took."""

import argparse
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from ghx_profiler.config import Execution, Output, ProfileConfig
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer, Evidence, Mode
from ghx_profiler.profile import Profile
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.score import CheckpointDetail, Score
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.runner.instruments import Instruments
from ghx_profiler.scenario import BaseScenario

ANSWER = "42"


class SleepyAgent:
    """Says the answer after `sleep_s`, with the tokens of one model call."""

    name = "sleepy"

    def __init__(self, sleep_s: float) -> None:
        self._sleep_s = sleep_s

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["SleepySession"]:
        yield SleepySession(str(request.cell), self._sleep_s)


class SleepySession:
    """One turn of one text."""

    def __init__(self, session_id: str, sleep_s: float) -> None:
        self._recorder = TraceRecorder(session_id=session_id)
        self._sleep_s = sleep_s

    async def prompt(self, text: str) -> Answer:  # noqa: ARG002 - the contract's signature
        self._recorder.begin_turn()
        await anyio.sleep(self._sleep_s)
        self._recorder.text(ANSWER)
        self._recorder.add_usage(TokenUsage.of(input=10, output=1, cache_read=0))
        self._recorder.end_turn()
        return Answer(text=ANSWER)

    async def trace(self) -> SessionTrace:
        return self._recorder.trace()


class ExactScorer:
    """One checkpoint: the answer is the expected one."""

    async def score(self, evidence: Evidence[BaseScenario]) -> Score:
        is_right = evidence.answer is not None and evidence.answer.text == ANSWER
        return Score.of((CheckpointDetail(id="answer", description="says 42", passed=is_right),))


def build_instruments(sleep_s: float) -> Instruments[BaseScenario]:
    return Instruments(provider=SleepyAgent(sleep_s), scorer=ExactScorer())


async def measure(scenarios: int, repetitions: int, concurrency: int, sleep_s: float, results: Path) -> float:
    profile = Profile(
        scenarios=[
            BaseScenario(id=f"s{n}", name=f"Scenario {n}", description="x", prompt="6 x 7?", timeout_ms=60_000)
            for n in range(scenarios)
        ],
        modes=[Mode(name="baseline")],
        instruments=build_instruments(sleep_s),
    )
    config = ProfileConfig(
        modes=("baseline",),
        execution=Execution(repetitions=repetitions, warmup=False, max_concurrency=concurrency),
        output=Output(results_dir=results),
    )
    began = time.perf_counter()
    result = await profile.run(config)
    seconds = time.perf_counter() - began
    if result.measured != scenarios * repetitions:
        raise SystemExit(f"only {result.measured} of {result.total} iterations could be measured")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind in (("scenarios", int), ("repetitions", int), ("concurrency", int), ("sleep", float)):
        parser.add_argument(f"--{name}", type=kind, required=True)
    parser.add_argument("--results", type=Path, required=True)
    given = parser.parse_args()
    print(anyio.run(measure, given.scenarios, given.repetitions, given.concurrency, given.sleep, given.results))


if __name__ == "__main__":
    main()
