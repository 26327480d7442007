"""A small agent that does as it is told, and what it takes to run it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ghx_profiler.config import ProfileConfig
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer, Evidence, Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.profile import Profile
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.score import CheckpointDetail, Score
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent, ToolCallEvent, TraceSummary, Turn
from ghx_profiler.runner.instruments import Backoff, Instruments
from ghx_profiler.scenario import BaseScenario


@dataclass
class FakeSession:
    request: SessionRequest
    behave: "Behaviour"
    number: int
    tool_calls: list[ToolCallEvent] = field(default_factory=list)
    texts: list[TextOutputEvent] = field(default_factory=list)
    export_error: Exception | None = None

    async def prompt(self, text: str) -> Answer:
        answer = await self.behave(self, text)
        self.texts.append(TextOutputEvent(content=answer.text))
        return answer

    def call(self, name: str = "add", *, success: bool = True) -> None:
        self.tool_calls.append(ToolCallEvent(name=name, input={"n": len(self.tool_calls)}, output="3", success=success))

    async def trace(self) -> SessionTrace:
        if self.export_error is not None:
            raise self.export_error
        calls = len(self.tool_calls)
        usage = TokenUsage.of(input=100 * calls, output=10 * calls, reasoning=0, cache_read=0, cache_write=0)
        events = (*self.tool_calls, *self.texts)
        return SessionTrace(
            session_id=f"ses-{self.number}",
            events=events,
            turns=(Turn(number=1, events=events),),
            summary=TraceSummary(total_turns=1, total_tool_calls=calls, total_tokens=usage),
        )


Behaviour = Callable[[FakeSession, str], Awaitable[Answer]]


async def answers_three(session: FakeSession, _text: str) -> Answer:
    session.call()
    return Answer(text="3")


@dataclass
class FakeProvider:
    behave: Behaviour = answers_three
    name: str = "fake"
    opened: int = 0
    open_sessions: int = 0
    requests: list[SessionRequest] = field(default_factory=list)
    close_error: Exception | None = None
    open_error: Exception | None = None

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[FakeSession]:
        if self.open_error is not None:
            raise self.open_error
        self.opened += 1
        self.open_sessions += 1
        self.requests.append(request)
        try:
            yield FakeSession(request=request, behave=self.behave, number=self.opened)
        finally:
            self.open_sessions -= 1
        if self.close_error is not None:
            raise self.close_error


class SaysThree:
    """Scores an answer of "3" as right."""

    async def score(self, evidence: Evidence[BaseScenario]) -> Score:
        answer = evidence.answer.text if evidence.answer else None
        check = CheckpointDetail(id="three", description="says 3", passed=answer == "3", actual=answer, expected="3")
        return Score.of((check,))


@dataclass
class FakeLifecycle:
    """Remembers what it was asked for; raises where it is told to."""

    fail: dict[str, Exception] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def _do(self, what: str) -> None:
        self.log.append(what)
        if what in self.fail:
            raise self.fail[what]

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        self._do("enter run")
        yield
        self._do("leave run")

    @asynccontextmanager
    async def mode(self, mode: Mode) -> AsyncGenerator[None]:
        self._do(f"enter mode {mode.name}")
        yield
        self._do(f"leave mode {mode.name}")

    @asynccontextmanager
    async def cell(self, cell: Cell, scenario: BaseScenario, mode: Mode) -> AsyncGenerator[Stage[Any]]:
        self._do(f"enter {scenario.id}")
        yield Stage(scenario=scenario, environment=self.environment)
        self._do(f"leave {scenario.id}")


def scenario(id: str = "add-001", **fields: Any) -> BaseScenario:  # noqa: A002
    given = {"name": "Add", "description": "adds", "prompt": "What is 1 + 2?", "timeout_ms": 10_000, **fields}
    return BaseScenario(id=id, **given)


def instruments(provider: FakeProvider | None = None, **fields: Any) -> Instruments[Any]:
    given = {"scorer": SaysThree(), "backoff": Backoff(first_s=0), **fields}
    return Instruments(provider=provider or FakeProvider(), **given)


def profile(
    provider: FakeProvider | None = None,
    *,
    scenarios: Iterable[BaseScenario] = (scenario(),),
    modes: Iterable[str | Mode] = ("plain",),
    **fields: Any,
) -> Profile[Any]:
    return Profile(
        scenarios=tuple(scenarios),
        modes=tuple(mode if isinstance(mode, Mode) else Mode(name=mode) for mode in modes),
        instruments=instruments(provider, **fields),
    )


def config(results: Path, **sections: Any) -> ProfileConfig:
    given: dict[str, Any] = {"modes": ["plain"], **sections}
    given["output"] = {"results_dir": str(results), **given.get("output", {})}
    given["execution"] = {"repetitions": 1, "warmup": False, **given.get("execution", {})}
    return ProfileConfig.model_validate(given)
