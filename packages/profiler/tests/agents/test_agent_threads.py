"""Agents of others in threads of their own: what blocks is told, ends in time, and costs no other session."""

import asyncio
import os
import subprocess
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from ghx_profiler import (
    Answer,
    BaseScenario,
    Evidence,
    Instruments,
    Mode,
    Profile,
    ProfileConfig,
    ProfileRow,
    Score,
    SessionProvider,
    SessionRequest,
    SessionTrace,
    TraceRecorder,
    read_rows,
)
from ghx_profiler.agents.agent_threads import ThreadedProvider
from ghx_profiler.agents.processes.process import process_group, program
from ghx_profiler.errors import ScopeError
from ghx_profiler.testing import SessionProviderContract, sample_cell

Work = Callable[[str], Awaitable[None]]
CALLER: ContextVar[str] = ContextVar("CALLER", default="nobody")


class Working:
    """An agent that does what it is made with."""

    name = "working"
    version = "7"

    def __init__(self, work: Work, *, blocking: bool = False) -> None:
        self.work, self.blocking = work, blocking
        self.left: list[str] = []

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["WorkingSession"]:
        try:
            async with process_group():
                yield WorkingSession(self.work)
        except BaseException as error:
            self.left.append(type(error).__name__)
            raise
        self.left.append("in order")


class WorkingSession:
    def __init__(self, work: Work) -> None:
        self._work, self._recorder = work, TraceRecorder()

    async def prompt(self, text: str) -> Answer:
        self._recorder.tool_call("work", {"text": text}, success=True)
        await self._work(text)
        return Answer(text=text)

    async def trace(self) -> SessionTrace:
        return self._recorder.trace()


class Always:
    async def score(self, evidence: Evidence[Any]) -> Score:
        return Score(success=True)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Keep what waits for it blocked as long as the test takes."""
    gate = threading.Event()
    yield gate
    gate.set()


async def run(provider: SessionProvider, folder: Path, *prompts: str, timeout_ms: int = 60_000) -> list[ProfileRow]:
    """Run one cell for each prompt, all at the same time, and return their rows in that order."""
    tasks = [
        BaseScenario(id=f"task-{number}", name="t", description="t", prompt=prompt, timeout_ms=timeout_ms)
        for number, prompt in enumerate(prompts)
    ]
    profile = Profile(
        scenarios=tasks, modes=[Mode(name="plain")], instruments=Instruments(provider=provider, scorer=Always())
    )
    execution = {"repetitions": 1, "warmup": False, "max_concurrency": len(prompts), "order": "sequential"}
    settings = {"modes": ["plain"], "execution": execution, "output": {"results_dir": str(folder)}}
    result = await profile.run(ProfileConfig.model_validate(settings))
    return sorted(read_rows(result.directory / "rows.jsonl"), key=lambda row: row.scenario_id)


@pytest.mark.slow
@pytest.mark.anyio
async def test_an_agent_that_blocks_past_its_deadline_is_left_to_itself_and_told_where(
    gate: threading.Event, tmp_path: Path
) -> None:
    async def work(text: str) -> None:
        gate.wait()

    [row] = await run(ThreadedProvider(Working(work)), tmp_path, "go", timeout_ms=100)

    assert (row.cause, row.success, row.completion_reason) == ("agent_timeout", False, "timeout")
    assert "its event loop stood still for " in (row.error or "")
    assert "test_agent_threads.py line " in (row.error or "")
    assert "in work: gate.wait()" in (row.error or "")
    assert "blocking = True" in (row.error or "")
    assert row.tool_calls.total == 1  # what it did until then is kept


class Holding(Working):
    """An agent that holds something for the whole run."""

    def __init__(self, work: Work, *, fails: bool = False) -> None:
        super().__init__(work)
        self.fails, self.log = fails, list[tuple[str, str]]()

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        if self.fails:
            raise OSError("no port")
        self.log.append(("enter", threading.current_thread().name))
        yield
        self.log.append(("leave", threading.current_thread().name))


@pytest.mark.anyio
async def test_what_an_agent_holds_for_the_run_lives_in_the_thread_of_its_sessions(tmp_path: Path) -> None:
    async def work(text: str) -> None:
        agent.log.append(("work", threading.current_thread().name))

    agent = Holding(work)
    [row] = await run(ThreadedProvider(agent), tmp_path, "go")

    assert row.success
    assert agent.log == [(each, "agent working") for each in ("enter", "work", "leave")]


@pytest.mark.anyio
async def test_what_an_agent_cannot_hold_in_its_thread_stops_the_run(tmp_path: Path) -> None:
    async def work(text: str) -> None:
        raise AssertionError

    with pytest.raises(ScopeError, match="agent 'working' could not be prepared, no cell was started: no port"):
        await run(ThreadedProvider(Holding(work, fails=True)), tmp_path, "go")


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_next_session_of_a_blocked_agent_has_another_thread(gate: threading.Event, tmp_path: Path) -> None:
    async def work(text: str) -> None:
        if text == "block":
            gate.wait()

    provider = ThreadedProvider(Working(work))

    [blocked] = await run(provider, tmp_path, "block", timeout_ms=100)
    [next_one] = await run(provider, tmp_path, "go")

    assert (blocked.cause, next_one.success) == ("agent_timeout", True)


@pytest.mark.slow
@pytest.mark.anyio
async def test_processes_of_a_session_that_cannot_be_stopped_are_ended(gate: threading.Event, tmp_path: Path) -> None:
    pids: list[int] = []

    async def work(text: str) -> None:
        async with program(["sleep", "600"], environment={"PATH": os.environ["PATH"]}) as process:
            pids.append(process.pid)
            gate.wait()

    await run(ThreadedProvider(Working(work)), tmp_path, "go", timeout_ms=100)

    assert not psutil.pid_exists(pids[0]) or psutil.Process(pids[0]).status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_run_with_a_blocked_agent_can_be_interrupted(gate: threading.Event, tmp_path: Path) -> None:
    started = anyio.Event()
    loop = asyncio.get_running_loop()

    async def work(text: str) -> None:
        loop.call_soon_threadsafe(started.set)
        gate.wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, ThreadedProvider(Working(work)), tmp_path, "go")
        await started.wait()
        tasks.cancel_scope.cancel()

    assert tasks.cancel_scope.cancelled_caught


@pytest.mark.anyio
async def test_sessions_of_an_agent_that_says_it_blocks_do_not_wait_for_each_other(tmp_path: Path) -> None:
    both = threading.Barrier(2)

    async def work(text: str) -> None:
        both.wait()  # returns once both sessions are here, each of which blocks its thread until then

    rows = await run(ThreadedProvider(Working(work, blocking=True)), tmp_path, "one", "other")

    assert [row.success for row in rows] == [True, True]
    assert [row.problems for row in rows] == [(), ()]


@pytest.mark.anyio
async def test_a_block_that_ends_is_noted_beside_the_result(tmp_path: Path) -> None:
    async def work(text: str) -> None:
        subprocess.run(["sleep", "2"], check=True, capture_output=True)  # noqa: ASYNC221 - what agents should not do

    [row] = await run(ThreadedProvider(Working(work)), tmp_path, "go")

    assert row.success is True
    [problem] = row.problems
    assert (problem.where, problem.code) == ("session", "AGENT_BLOCKED")
    assert "in work: subprocess.run(" in problem.message


@pytest.mark.anyio
async def test_sessions_of_an_agent_share_an_event_loop_which_is_not_that_of_the_bench(tmp_path: Path) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def work(text: str) -> None:
        loops.append(asyncio.get_running_loop())

    provider = ThreadedProvider(Working(work))
    await run(provider, tmp_path, "one", "other")
    await run(provider, tmp_path, "third")

    assert len(loops) == 3
    assert len(set(loops)) == 1
    assert loops[0] is not asyncio.get_running_loop()
    await provider.aclose()
    assert loops[0].is_closed()


@pytest.mark.anyio
async def test_an_agent_that_awaits_is_cancelled_at_its_deadline_and_leaves_in_order(tmp_path: Path) -> None:
    cancelled: list[str] = []

    async def work(text: str) -> None:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            cancelled.append(text)
            raise

    agent = Working(work)
    [row] = await run(ThreadedProvider(agent), tmp_path, "go", timeout_ms=100)

    assert (row.cause, cancelled, agent.left) == ("agent_timeout", ["go"], ["in order"])
    assert row.error == "the agent did not finish within the scenario's timeoutMs and was stopped"


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ValueError("no key"), SystemExit(3), asyncio.CancelledError()], ids=repr)
async def test_what_an_agent_raises_is_raised_where_it_was_asked(error: BaseException, tmp_path: Path) -> None:
    async def work(text: str) -> None:
        if text == "fail":
            raise error

    failed, fine = await run(ThreadedProvider(Working(work)), tmp_path, "fail", "go")

    assert failed.error_code == ("ValueError" if isinstance(error, ValueError) else "PLUGIN_MISBEHAVED")
    assert fine.success is True


@pytest.mark.anyio
async def test_variables_of_the_caller_s_context_are_the_agent_s(tmp_path: Path) -> None:
    seen: list[str] = []

    async def work(text: str) -> None:
        seen.append(CALLER.get())

    CALLER.set("test")
    await run(ThreadedProvider(Working(work)), tmp_path, "go")

    assert seen == ["test"]


@pytest.mark.anyio
async def test_an_agent_keeps_its_name_and_its_version() -> None:
    async def work(text: str) -> None: ...

    provider = ThreadedProvider(Working(work))

    assert (provider.name, provider.version) == ("working", "7")
    assert getattr(provider, "control_kind", None) is None


class Obedient:
    """Runs its prompt in bash."""

    name = "obedient"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["ObedientSession"]:
        yield ObedientSession(request)


class ObedientSession:
    def __init__(self, request: SessionRequest) -> None:
        self._request, self._recorder = request, TraceRecorder()

    async def prompt(self, text: str) -> Answer:
        if text == "fail":
            raise ValueError(text)
        with self._recorder.timed_tool_call("bash", {"command": text}) as call:
            async with program(["bash", "-c", text], environment=self._request.environment) as process:
                assert process.stdout is not None
                call.output = b"".join([chunk async for chunk in process.stdout]).decode()
        return Answer(text=str(call.output))

    async def trace(self) -> SessionTrace:
        return self._recorder.trace()


class Scoped(Obedient):
    """An agent that opens sessions only inside of its scope of the run."""

    is_held = False

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        assert directory.is_dir()
        self.is_held = True
        yield
        self.is_held = False

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[Any]:
        assert self.is_held
        async with super().session(request) as session:
            yield session


class TestThreadedProviderKeepsTheContract(SessionProviderContract):
    def make_provider(self) -> SessionProvider:
        return ThreadedProvider(Scoped())

    def make_prompt(self) -> str:
        return "echo hello"

    def make_slow_prompt(self) -> str:
        return "sleep 1000 & sleep 1000"

    def make_failing_prompt(self) -> str:
        return "fail"

    def make_environment_prompt(self, variable: str) -> str:
        return f"echo ${variable}"

    def make_request(self, environment: Any) -> SessionRequest:
        return SessionRequest(cell=sample_cell(), mode=Mode(name="plain"), environment=environment)
