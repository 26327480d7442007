"""The agent `loop`: sessions with a scripted model, whatever goes wrong there, and whole scenarios."""

import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from agent_rows import assert_all_passed
from metered_conversations import StandingClock
from nightly import mostly_nightly
from scripted_sessions import MODEL, REAL_KEY, run_scripted
from wire_clients import wait_until

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.drivers.loop import LoopProvider, LoopSession
from ghx_profiler.agents.drivers.loop_limits import LoopLimits, ModelRoute
from ghx_profiler.agents.metering.meter import ModelProvider
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.agents.testing import Fault, Pace, Script, ScriptedEndpoint
from ghx_profiler.agents.tools.toolset import ToolSet
from ghx_profiler.config import Budget, Budgets, ModelService
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Mode
from ghx_profiler.records.causes import (
    Cause,
    EnvironmentFailure,
    MeasurementError,
    ModelProviderError,
    TransientError,
)
from ghx_profiler.records.model_calls import WireKind, usage_of
from ghx_profiler.records.trace import ReasoningEvent, TextOutputEvent
from ghx_profiler.testing import SessionProviderContract, sample_cell

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PATIENCE_S = 60
WIRES: tuple[WireKind, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")
PLAIN = Mode(name="some")
TELLING = Solution.model_validate(
    {"steps": [{"shell": "printenv GHX_BENCH_CONTRACT_PROBE", "save": "value"}], "answer": "{{value}}"}
)


def loop(
    providers: Mapping[WireKind, ModelProvider],
    wire: WireKind = "openai-chat",
    budget: Budget | None = None,
    queue: ServiceQueue | None = None,
    **limits: Any,
) -> LoopProvider:
    routes = {each: ModelRoute(wire=wire, model=MODEL) for each in (MODEL, sample_cell().model)}
    chosen = LoopLimits.model_validate(limits)
    budgets = Budgets(session=budget or Budget())
    return LoopProvider(routes, {wire: providers[wire]}, limits=chosen, budgets=budgets, queue=queue)


def steps(*commands: str) -> Solution:
    return Solution.model_validate({"steps": [{"shell": each} for each in commands], "answer": "done"})


@asynccontextmanager
async def opened(
    folder: Path, script: Script, mode: Mode = PLAIN, **settings: Any
) -> AsyncGenerator[tuple[LoopSession, ScriptedEndpoint]]:
    """Hold a session whose model follows a script."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    wanted = SessionRequest(cell=sample_cell(), mode=mode, environment=variables, directory=folder)
    async with ScriptedEndpoint.open(script) as endpoint:
        agent = loop(endpoint.providers(key=REAL_KEY), **settings)
        with anyio.fail_after(PATIENCE_S):
            async with agent.run(folder), agent.session(wanted) as session:
                yield session, endpoint


@pytest.mark.parametrize("wire", mostly_nightly(WIRES, keep=1))
async def test_what_it_does_is_in_the_trace_and_in_the_next_request(tmp_path: Path, wire: WireKind) -> None:
    instructed = Mode(name="told", instructions="Beware of the xylophone.")
    script = Script(solution=steps("echo hello; exit 3"))
    async with opened(tmp_path, script, instructed, wire=wire) as (session, endpoint):
        answer = await session.prompt("Do it.")
        trace = await session.trace()

    assert (answer.text, answer.reason) == ("done", "stop")
    (call,) = trace.tool_calls
    assert (call.name, call.input, call.success) == ("bash", {"command": "echo hello; exit 3"}, False)
    first, last = trace.turns
    assert isinstance(first.events[0], ReasoningEvent)
    assert last.events == (TextOutputEvent(content="done"),)
    assert usage_of(trace.model_calls) == endpoint.claimed_usage()
    assert [each.side for each in trace.model_calls] == [None, None]
    first_call, told_result = endpoint.calls
    assert told_result.results == ("hello\n\n(exit code 3)",)
    assert "Beware of the xylophone." in json.dumps(first_call.body)
    assert first_call.tools_offered == ("read_file", "write_file", "edit_file", "bash")
    assert {key for each in endpoint.calls for key in each.keys} == {REAL_KEY}
    assert all(each.is_streamed for each in endpoint.calls)


async def test_a_mode_without_a_shell_offers_none(tmp_path: Path) -> None:
    mode = Mode(name="bare", settings=ToolSet(shell=False).settings())
    async with opened(tmp_path, Script(solution=steps("echo hello")), mode) as (session, endpoint):
        await session.prompt("Do it.")

    assert endpoint.calls[0].tools_offered == ("read_file", "write_file", "edit_file")


async def test_failures_that_pass_are_waited_out_as_long_as_the_provider_asks_for(tmp_path: Path) -> None:
    fault = Fault(status=429, times=2, retry_after="0.3")
    async with opened(tmp_path, Script(solution=steps("true"), faults=(fault,))) as (session, endpoint):
        began = anyio.current_time()
        answer = await session.prompt("Do it.")
        took = anyio.current_time() - began
        trace = await session.trace()

    assert answer.text == "done"
    assert took >= 0.6
    assert [each.retry_of for each in trace.model_calls] == [None, 1, 1, None]
    assert usage_of(trace.model_calls) == endpoint.claimed_usage()
    assert len(trace.turns) == 2
    assert trace.cause is None


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("fault", "calls", "may_work_next_time"),
    [
        (Fault(status=500), 2, True),
        (Fault(status=429, retry_after="3600"), 1, True),
        (Fault(status=401), 1, False),
    ],
)
async def test_a_model_that_is_down_is_never_the_agents_fault(
    tmp_path: Path, wire: WireKind, fault: Fault, calls: int, may_work_next_time: bool
) -> None:
    async with opened(tmp_path, Script(faults=(fault,)), wire=wire, max_attempts=2) as (session, endpoint):
        with pytest.raises(MeasurementError, match=str(fault.status)) as raised:
            await session.prompt("Do it.")
        trace = await session.trace()

    assert isinstance(raised.value, TransientError) == may_work_next_time
    assert len(endpoint.calls) == calls
    assert trace.cause is not None
    assert (trace.cause.kind, trace.cause.may_work_next_time) == (Cause.MODEL_PROVIDER, may_work_next_time)


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_is_cut_off_is_asked_for_again_and_leaves_the_tokens_unknown(
    tmp_path: Path, wire: WireKind
) -> None:
    script = Script(solution=steps("true"), pace=Pace(cut_after=1))
    async with opened(tmp_path, script, wire=wire, max_attempts=2) as (session, endpoint):
        with pytest.raises(TransientError):
            await session.prompt("Do it.")
        trace = await session.trace()

    assert len(endpoint.calls) == 2
    assert usage_of(trace.model_calls).output is None
    assert trace.cause is not None
    assert trace.cause.kind == Cause.MODEL_PROVIDER


async def test_a_first_request_that_the_provider_refuses_says_nothing_about_the_agent(tmp_path: Path) -> None:
    refused = Fault(status=400, message="no such parameter")
    async with opened(tmp_path, Script(faults=(refused,))) as (session, endpoint):
        with pytest.raises(ModelProviderError, match="no such parameter"):
            await session.prompt("Do it.")

    assert len(endpoint.calls) == 1


@pytest.mark.parametrize("wire", WIRES)
async def test_at_the_deadline_in_a_stream_the_call_is_over_and_its_tokens_unknown(
    tmp_path: Path, wire: WireKind
) -> None:
    script = Script(solution=steps("true"), pace=Pace(between_s=30))
    async with opened(tmp_path, script, wire=wire) as (session, endpoint):
        with anyio.move_on_after(0.5) as deadline:
            await session.prompt("Do it.")
        trace = await session.trace()

    assert deadline.cancelled_caught
    (call,) = trace.model_calls
    assert call.cut
    assert usage_of(trace.model_calls).output is None
    assert endpoint.cut_offs == 1


async def test_a_model_that_never_answers_is_to_blame_at_the_deadline(tmp_path: Path) -> None:
    clock = StandingClock()
    async with opened(tmp_path, Script(pace=Pace(before_first_s=PATIENCE_S))) as (session, _):
        session.tap.clock = clock
        async with anyio.create_task_group() as until_deadline:
            until_deadline.start_soon(session.prompt, "Do it.")
            await wait_until(lambda: session.tap.call_count == 1)
            clock.stands_at = 10
            until_deadline.cancel_scope.cancel()
        trace = await session.trace()

    assert trace.cause is not None
    assert trace.cause.kind is Cause.MODEL_PROVIDER


async def test_a_session_that_has_spent_its_budget_ends_with_what_it_did(tmp_path: Path) -> None:
    budget = Budget(max_model_calls=1)
    async with opened(tmp_path, Script(solution=steps("true")), budget=budget) as (session, endpoint):
        answer = await session.prompt("Do it.")
        trace = await session.trace()

    assert answer.reason == "stop"
    assert trace.cause is not None
    assert (trace.cause.kind, trace.cause.message) == (
        Cause.AGENT_SPEND,
        "max_model_calls of the session is used up (1 of 1)",
    )
    assert len(trace.tool_calls) == len(endpoint.calls) == 1


async def test_a_session_waits_for_its_place_at_the_model_service(tmp_path: Path) -> None:
    wanted = SessionRequest(cell=sample_cell(), mode=PLAIN, environment={"HOME": str(tmp_path)}, directory=tmp_path)
    happened: list[str] = []

    async def ask(name: str) -> None:
        async with agent.session(wanted) as session:
            happened.append(f"{name} opened")
            await session.prompt("Do it.")
            happened.append(f"{name} done")

    async with ScriptedEndpoint.open(Script(solution=steps())) as endpoint:
        agent = loop(endpoint.providers(), queue=ServiceQueue(ModelService(sessions_at_once=1)))
        async with agent.run(tmp_path), anyio.create_task_group() as group:
            group.start_soon(ask, "first")
            group.start_soon(ask, "second")

    assert happened in (
        ["first opened", "first done", "second opened", "second done"],
        ["second opened", "second done", "first opened", "first done"],
    )


async def test_after_its_last_turn_it_gives_up(tmp_path: Path) -> None:
    async with opened(tmp_path, Script(solution=steps("echo 1", "echo 2", "echo 3")), max_turns=2) as (session, _):
        answer = await session.prompt("Do it.")
        trace = await session.trace()

    assert answer.reason == "tool_limit"
    assert [each.output for each in trace.tool_calls] == ["1\n", "2\n"]


async def test_a_long_result_reaches_the_model_without_its_middle(tmp_path: Path) -> None:
    script = Script(solution=steps("printf '%0600d' 7"))
    async with opened(tmp_path, script, max_result_chars=100) as (session, endpoint):
        await session.prompt("Do it.")
        trace = await session.trace()

    assert endpoint.calls[1].results == (f"{50 * '0'}\n(500 characters left out)\n{49 * '0'}7",)
    assert len(str(trace.tool_calls[0].output)) == 600


@pytest.mark.parametrize("wire", WIRES)
async def test_a_long_conversation_loses_its_early_results_and_then_ends(tmp_path: Path, wire: WireKind) -> None:
    script = Script(solution=steps(*(f"echo {number}" for number in range(8))))
    # The scripted model claims 1,230 tokens for its first answer and more for each that follows.
    async with opened(tmp_path, script, wire=wire, max_context_tokens=1700) as (session, endpoint):
        answer = await session.prompt("Do it.")

    assert answer.reason == "stop"
    seen = [[result.strip() for result in each.results] for each in endpoint.calls]
    assert seen[4] == ["0", "1", "2", "3"]
    first, *_, last = seen[-1]
    assert first.startswith("(left out")
    assert last == "7"

    async with opened(tmp_path, script, max_context_tokens=10) as (session, endpoint):
        answer = await session.prompt("Do it.")

    assert answer.reason == "tool_limit"
    assert len(endpoint.calls) == 1


class TestLoopKeepsTheContract(SessionProviderContract):
    @pytest.fixture(autouse=True)
    def _endpoint(self, tmp_path: Path) -> Iterator[None]:
        self.folder = tmp_path
        self.endpoint = ScriptedEndpoint(
            [
                Script(solution=steps()),
                Script(prompt="slow", solution=steps("sleep 1000 & setsid sleep 1000 & sleep 1000")),
                Script(prompt="fail", faults=(Fault(status=401),)),
                Script(prompt="tell", solution=TELLING),
            ]
        )
        self.endpoint.start()
        yield
        self.endpoint.stop()

    def make_provider(self) -> LoopProvider:
        return loop(self.endpoint.providers())

    def make_request(self, environment: Mapping[str, str]) -> SessionRequest:
        return SessionRequest(cell=sample_cell(), mode=PLAIN, environment=environment, directory=self.folder)

    def make_slow_prompt(self) -> str:
        return "slow"

    def make_failing_prompt(self) -> str:
        return "fail"

    def make_environment_prompt(self, variable: str) -> str:
        assert variable == "GHX_BENCH_CONTRACT_PROBE"
        return "tell"


async def test_its_rows_are_metered_and_it_does_with_a_shell_what_it_does_with_a_server(tmp_path: Path) -> None:
    ran = await run_scripted([partial(loop, temperature=0.3)], tmp_path, modes=["baseline", "ghx-mcp"])

    assert_all_passed(ran, 2)
    for row in ran.rows:
        assert row.model_calls is not None
        assert ([each.temperature for each in row.model_calls.settings], row.model_calls.models) == ([0.3], (MODEL,))
    assert [row.tool_calls.by_category.keys() for row in ran.rows] == [{"gh_cli"}, {"mcp"}]


async def test_it_is_not_measured_in_a_mode_with_skills(tmp_path: Path) -> None:
    skilled = Mode(name="skilled", settings=ToolSet(skills={"triage": str(tmp_path)}).settings())
    with pytest.raises(EnvironmentFailure, match="'skilled' has skills, which loop knows nothing of"):
        async with opened(tmp_path, Script(), skilled):
            pass
