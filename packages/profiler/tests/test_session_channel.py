"""What a session knows beside its events, and how it gets on the row."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from profiler_fakes import SaysThree, scenario

from ghx_profiler import Instruments, Mode, Profile, ProfileConfig, read_rows
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import AgentError, Cause
from ghx_profiler.records.metrics import CustomMetric, TokenUsage
from ghx_profiler.records.model_calls import ModelCall, ModelSettings, RequestAnatomy, RequestedToolCall
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import NamedCause, SessionTrace
from ghx_profiler.runner.instruments import Backoff

pytestmark = pytest.mark.anyio

Work = Callable[[TraceRecorder], Awaitable[str]]


class RecordingSession:
    def __init__(self, work: Work) -> None:
        self.work, self.recorder = work, TraceRecorder()

    async def prompt(self, text: str) -> Answer:
        return Answer(text=await self.work(self.recorder))

    async def trace(self) -> SessionTrace:
        return self.recorder.trace()


class RecordingProvider:
    name = "recording"

    def __init__(self, work: Work, facts: Any = None) -> None:
        self.work, self.facts, self.opened = work, facts, 0

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[RecordingSession]:
        self.opened += 1
        yield RecordingSession(self.work)


async def row_of(provider: RecordingProvider, results: Path, **fields: Any) -> ProfileRow:
    profile = Profile(
        scenarios=[scenario(**fields)],
        modes=[Mode(name="plain")],
        instruments=Instruments(provider=provider, scorer=SaysThree(), backoff=Backoff(first_s=0)),
    )
    settings: dict[str, Any] = {
        "modes": ["plain"],
        "models": ["openai/gpt-5"],
        "execution": {"repetitions": 1, "warmup": False},
        "output": {"results_dir": str(results)},
    }
    result = await profile.run(ProfileConfig.model_validate(settings))
    [row] = read_rows(result.directory / "rows.jsonl")
    return row


def call(number: int, *, seconds_ago: float = 0.0, **fields: Any) -> ModelCall:
    usage = TokenUsage.of(input=100, output=10, reasoning=0, cache_read=50, cache_write=0)
    given: dict[str, Any] = {"usage": usage, "duration_ms": 500, "status": 200, "model_asked": "gpt-5", **fields}
    started_at = (datetime.now(UTC) - timedelta(seconds=seconds_ago)).isoformat()
    return ModelCall(number=number, wire="openai-chat", started_at=started_at, **given)


async def test_facts_and_metrics_of_a_session_are_on_its_row(tmp_path: Path) -> None:
    async def works(notes: TraceRecorder) -> str:
        notes.facts["binary"] = "2.1"
        notes.metrics.append(CustomMetric("hosts_refused", 4, "hosts"))
        return "3"

    row = await row_of(RecordingProvider(works, facts={"agent": "goose", "binary": "2.0"}), tmp_path)

    assert row.extensions["agent"] == {"agent": "goose", "binary": "2.1"}
    assert row.metrics["hosts_refused"] == 4


async def test_a_metric_that_is_no_number_costs_only_itself(tmp_path: Path) -> None:
    async def works(notes: TraceRecorder) -> str:
        notes.metrics.append(CustomMetric("refused", float("nan")))
        return "3"

    row = await row_of(RecordingProvider(works), tmp_path)

    assert row.success
    assert row.metrics == {"refused": None}


async def test_metered_numbers_are_on_the_row_with_their_source_and_the_agents_own_beside(tmp_path: Path) -> None:
    async def works(notes: TraceRecorder) -> str:
        notes.add_usage(TokenUsage.of(input=7, output=7, cache_read=0))
        anatomy = RequestAnatomy(instructions=100, tool_schemas=700, conversation=100, tool_results=100)
        asked = (RequestedToolCall(id="c1", name="bash", arguments={"command": "ls"}),)
        settings = ModelSettings(temperature=0.5)
        notes.model_calls += [
            call(1, tool_calls=asked, anatomy=anatomy, time_to_first_token_ms=30, settings=settings),
            call(2, side="no_tools"),
            call(3, error_kind="overloaded", status=529, usage=TokenUsage()),
            call(4, retry_of=3, attempt=2, time_to_first_token_ms=50, settings=settings),
        ]
        return "3"

    row = await row_of(RecordingProvider(works), tmp_path)

    assert (row.tokens.input, row.tokens.cache_read, row.tokens.output, row.agent_turns) == (300, 150, 30, 2)
    assert row.sources["tokens"] == row.sources["toolCalls"] == row.sources["agentTurns"] == "meter"
    assert row.sources["timing"] == "bench"
    assert row.reported is not None
    assert row.reported.tokens.total == 14
    assert row.model_calls is not None
    assert row.model_calls.settings == (ModelSettings(temperature=0.5),)
    known = row.known_metrics
    assert [known[f"model_calls_{each}"] for each in ("total", "side", "failed", "retried", "cut")] == [4, 1, 1, 1, 0]
    assert (known["time_to_first_token_ms"], known["side_tokens_total"]) == (40, 160)
    assert known["request_share_tool_schemas"] == pytest.approx(0.7)
    assert (row.cost.source, row.sources["cost"]) == ("computed", "prices")
    assert row.cost.total_usd == pytest.approx(3 * (100 * 1.25 + 50 * 0.125 + 10 * 10) / 1e6)


async def test_the_numbers_of_a_script_say_that_they_are(tmp_path: Path) -> None:
    class Scripted(RecordingProvider):
        @asynccontextmanager
        async def session(self, request: SessionRequest) -> AsyncGenerator[RecordingSession]:
            session = RecordingSession(self.work)
            session.recorder = TraceRecorder(source="script")
            yield session

    async def works(notes: TraceRecorder) -> str:
        notes.tool_call("bash", {"command": "ls"}, "a.txt", success=True)
        return "3"

    row = await row_of(Scripted(works), tmp_path)

    assert row.sources == {"timing": "bench", "toolCalls": "script", "agentTurns": "script"}


async def test_the_time_from_the_first_request_leaves_out_what_came_before(tmp_path: Path) -> None:
    async def works(notes: TraceRecorder) -> str:
        notes.model_calls.append(call(1, side="other_model"))
        await anyio.sleep(0.3)
        notes.model_calls.append(call(2))
        return "3"

    row = await row_of(RecordingProvider(works), tmp_path)

    wall, since_first = row.known_metrics["latency_wall_ms"], row.known_metrics["latency_from_first_request_ms"]
    assert wall >= 300
    assert 0 <= since_first <= wall - 290


async def test_tokens_of_a_call_that_was_cut_are_unknown_with_a_lower_bound(tmp_path: Path) -> None:
    async def works(notes: TraceRecorder) -> str:
        part = TokenUsage.of(input=60, output=1, cache_read=0)
        notes.model_calls += [call(1), call(2, cut=True, usage=TokenUsage(), usage_at_least=part)]
        return "3"

    row = await row_of(RecordingProvider(works), tmp_path)

    assert row.tokens == TokenUsage()
    assert row.model_calls is not None
    assert row.model_calls.tokens_at_least is not None
    assert (row.model_calls.tokens_at_least.input, row.model_calls.tokens_at_least.output) == (160, 11)


async def test_an_outage_that_looks_like_an_answer_is_not_the_agents(tmp_path: Path) -> None:
    async def gives_up(notes: TraceRecorder) -> str:
        notes.cause = NamedCause(kind=Cause.MODEL_PROVIDER, message="the last call of the model failed with 429")
        return "exceeded retry limit"

    row = await row_of(RecordingProvider(gives_up), tmp_path)

    assert (row.cause, row.success, row.was_measured) == (Cause.MODEL_PROVIDER, None, False)
    assert row.error == "the last call of the model failed with 429"
    assert row.error_code == "MODEL_PROVIDER_FAILED"


async def test_an_outage_that_looks_like_a_timeout_or_a_crash_is_not_the_agents(tmp_path: Path) -> None:
    async def hangs(notes: TraceRecorder) -> str:
        notes.cause = NamedCause(kind=Cause.MODEL_PROVIDER, message="no answer for 30 s")
        await anyio.sleep_forever()
        raise AssertionError

    async def crashes(notes: TraceRecorder) -> str:
        notes.cause = NamedCause(kind=Cause.ENVIRONMENT, message="ghx: tools not offered")
        raise AgentError("exit code 1")

    late = await row_of(RecordingProvider(hangs), tmp_path / "late", timeout_ms=50)
    crashed = await row_of(RecordingProvider(crashes), tmp_path / "crashed")

    assert (late.cause, late.success, late.completion_reason) == (Cause.MODEL_PROVIDER, None, "timeout")
    assert (crashed.cause, crashed.error) == (Cause.ENVIRONMENT, "ghx: tools not offered")


async def test_a_named_cause_that_may_pass_is_worth_another_attempt(tmp_path: Path) -> None:
    async def fails_once(notes: TraceRecorder) -> str:
        if provider.opened == 1:
            notes.cause = NamedCause(kind=Cause.MODEL_PROVIDER, message="overloaded", may_work_next_time=True)
        return "3"

    provider = RecordingProvider(fails_once)
    row = await row_of(provider, tmp_path, allowed_retries=1)

    assert row.success
    assert [attempt.cause for attempt in row.attempts] == [Cause.MODEL_PROVIDER, None]


async def test_a_stop_by_the_sessions_budget_is_scored_and_counts_against_the_agent(tmp_path: Path) -> None:
    async def is_stopped(notes: TraceRecorder) -> str:
        notes.cause = NamedCause(kind=Cause.AGENT_SPEND, message="max_tokens of 1,000 is reached (1,204)")
        return "3"

    row = await row_of(RecordingProvider(is_stopped), tmp_path)

    assert (row.cause, row.success, row.checkpoints_passed) == (Cause.AGENT_SPEND, False, 1)
    assert row.error == "the agent used up what a session may spend; max_tokens of 1,000 is reached (1,204)"
