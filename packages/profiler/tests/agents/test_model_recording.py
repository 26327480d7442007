"""Model traffic is recorded without secrets, and replayed without a model; a difference is told, not papered over."""

import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nightly import mostly_nightly
from wire_clients import WIRES, Conversation, WireClient, wire_client

from ghx_base.errors import InputError, OperationError
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.metering.meter import Meter
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.model_recording import ModelRecorder, load_recording, recording_path
from ghx_profiler.agents.metering.model_replay import ReplayUpstream
from ghx_profiler.agents.metering.upstream import UpstreamRequest
from ghx_profiler.agents.testing import Fault, Pace, Script, ScriptedEndpoint
from ghx_profiler.records.causes import Cause, EnvironmentFailure, MeasurementError
from ghx_profiler.records.model_call_summary import summarise_model_calls
from ghx_profiler.records.model_calls import ModelCall, RequestedToolCall, WireKind

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOLUTION = Solution.model_validate(
    {
        "steps": [{"shell": "gh issue view 7 --json title", "save": "issue"}, {"shell": "echo {{issue.title}}"}],
        "answer": "The title is {{issue.title}}. Grüße!",
    }
)
TOLD_NOTHING = Solution.model_validate({"steps": [{"shell": "env"}], "answer": "Done."})
PROMPT = "What is the title of issue 7?"
NAME = "issue-title-001/baseline 1"
REAL_KEY = "sk-real-and-secret-1"


def tell(title: str) -> Callable[[RequestedToolCall], str]:
    return lambda call: json.dumps({"title": title}) if "view" in str(call.arguments) else title


def ask_for(wire: WireKind, prompt: str = PROMPT, **settings: object) -> Conversation:
    conversation = Conversation(wire, **settings)  # pyright: ignore[reportArgumentType]
    conversation.say(prompt)
    return conversation


@asynccontextmanager
async def recorded(
    folder: Path, *, script: Script | None = None, secrets: tuple[str, ...] = ()
) -> AsyncIterator[WireClient]:
    recorder = ModelRecorder(folder)
    async with ScriptedEndpoint.open(script or Script(solution=SOLUTION)) as endpoint:
        providers = {
            wire: ModelProvider(name="scripted", upstream=recorder.wrap(provider.upstream), key=REAL_KEY)
            for wire, provider in endpoint.providers().items()
        }
        async with Meter(providers) as meter:
            with meter.session(NAME, secrets=secrets) as session:
                async with wire_client(session.base_url, session.key) as client:
                    yield client


async def replay(
    folder: Path,
    conversation: Conversation,
    run: Callable[[RequestedToolCall], str],
    *,
    secrets: tuple[str, ...] = (),
) -> tuple[MeasurementError | None, tuple[ModelCall, ...]]:
    upstream = ReplayUpstream(folder)
    async with Meter({wire: ModelProvider(name="replay", upstream=upstream) for wire in WIRES}) as meter:
        with meter.session(NAME, secrets=secrets) as session:
            async with wire_client(session.base_url, session.key) as client:
                try:
                    await client.work(conversation, run)
                except AssertionError as error:
                    assert "replay:" in str(error)  # noqa: PT017 - a refusal, of which the report tells more
            return session.verdict(), session.calls


def verdicts_of(calls: Sequence[ModelCall]) -> list[str]:
    return [str(call.replayed.verdict) for call in calls if call.replayed is not None]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [True, False])
async def test_what_was_recorded_is_replayed_to_the_byte_without_a_model(
    wire: WireKind, stream: bool, tmp_path: Path
) -> None:
    async with recorded(tmp_path) as client:
        await client.work(ask_for(wire, stream=stream), tell("Übung macht den Meister"))
    _, exchanges = load_recording(tmp_path, NAME)

    verdict, calls = await replay(tmp_path, ask_for(wire, stream=stream), tell("Übung macht den Meister"))

    assert verdicts_of(calls) == ["exact"] * 3
    assert verdict is None
    assert summarise_model_calls(calls).replayed == {"exact": 3}
    assert [call.response_bytes for call in calls] == [len(b"".join(each.response_pieces())) for each in exchanges]
    assert [call.tool_calls[0].arguments for call in calls[:2]] == [
        {"command": "gh issue view 7 --json title", "description": "Run a command"},
        {"command": "value_1='Übung macht den Meister'\necho \"${value_1}\"", "description": "Run a command"},
    ]
    assert not any(call.cut or call.has_failed for call in calls)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_result_that_has_changed_is_a_divergence_with_both_texts(wire: WireKind, tmp_path: Path) -> None:
    async with recorded(tmp_path) as client:
        await client.work(ask_for(wire), tell("The old title"))

    verdict, calls = await replay(tmp_path, ask_for(wire), tell("The new title"))

    assert verdicts_of(calls) == ["exact", "divergence"]
    second = calls[1].replayed
    assert second is not None
    assert "The new title" in (second.asked or "")
    assert "The old title" in (second.recorded or "")
    assert verdict is not None
    assert (verdict.code, verdict.cause) == ("REPLAY_DIVERGED", Cause.REPLAY_DIVERGED)
    assert "The new title" in str(verdict)
    assert calls[-1].status == 400


async def test_what_differs_from_run_to_run_is_a_blind_spot_by_name(tmp_path: Path) -> None:
    def run(pgid: int, port: int) -> Callable[[RequestedToolCall], str]:
        return lambda _: f'{{"title": "http://127.0.0.1:{port}/x"}}\nProcess Group PGID: {pgid}'

    async with recorded(tmp_path) as client:
        await client.work(ask_for("gemini"), run(4711, 40001))

    _, calls = await replay(tmp_path, ask_for("gemini"), run(4712, 40001))
    spots = [call.replayed.blind_spots for call in calls if call.replayed]
    assert spots == [(), ("process groups",), ("process groups",)]

    _, calls = await replay(tmp_path, ask_for("gemini"), run(4712, 50002))
    assert verdicts_of(calls) == ["exact", "blind_spot", "blind_spot"]
    assert str(calls[1].replayed) == "equal but for ports, process groups"


async def test_a_secret_that_is_another_in_each_run_is_a_blind_spot(tmp_path: Path) -> None:
    async with recorded(tmp_path, script=Script(solution=TOLD_NOTHING), secrets=("ghs_first-token",)) as client:
        await client.work(ask_for("anthropic"), lambda _: "GH_TOKEN=ghs_first-token")

    def tell_token(_: RequestedToolCall) -> str:
        return "GH_TOKEN=ghs_second-token"

    _, calls = await replay(tmp_path, ask_for("anthropic"), tell_token, secrets=("ghs_second-token",))
    assert [str(call.replayed) for call in calls] == ["exact", "equal but for secrets"]

    _, calls = await replay(tmp_path, ask_for("anthropic"), tell_token)
    assert verdicts_of(calls) == ["exact", "divergence"]


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("call ids", "call_0a1b2c", "call_ffeedd"),
        ("uuids", "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
        ("temporary paths", "cwd: /tmp/ghx-tmp-a1_b2/work", "cwd: /var/folders/x/T/ghx-tmp-zz9/work"),
        ("ports", "http://127.0.0.1:40001/x", "http://127.0.0.1:50002/x"),
        ("dates", "Today is Sunday, November 15, 2026", "Today is Monday, November 16, 2026"),
        ("dates", "Sun Nov 15 2026", "Mon Nov 16 2026"),
        ("dates", "<current_date>2026-11-15</current_date>", "<current_date>2026-11-16</current_date>"),
        ("process groups", "Process Group PGID: 4711", "Process Group PGID: 12"),
        ("chunk ids", "Chunk ID: a39f4f", "Chunk ID: 571d78"),
        ("wall times", "Wall time: 0.0000 seconds", "Wall time: 1.5 seconds"),
        ("token counts", "Original token count: 69", "Original token count: 70"),
    ],
)
async def test_each_blind_spot_is_needed_for_what_it_is_for(name: str, one: str, other: str, tmp_path: Path) -> None:
    async with recorded(tmp_path) as client:
        await client.ask(ask_for("anthropic", f"{PROMPT} {one}"))

    _, calls = await replay(tmp_path, ask_for("anthropic", f"{PROMPT} {other}"), tell("x"))

    assert str(calls[0].replayed) == f"equal but for {name}"


SYSTEM = "You are a careful engineer in /tmp/ghx-tmp-a1/work, on 2026-11-15."
SURROUNDINGS: tuple[tuple[dict[str, object], str], ...] = (
    ({}, "exact"),
    ({"tools": ("python", "bash")}, "exact"),  # in another order
    ({"tools": ("bash",)}, "equal but for tool set"),
    ({"tools": ("bash", "python", "read")}, "equal but for tool set"),
    ({"description": "Run a command of the shell."}, "equal but for tool schemas"),
    ({"system": SYSTEM.replace("careful", "quick")}, "equal but for instructions"),
    ({"system": SYSTEM.replace("a1", "zz").replace("15", "16")}, "equal but for temporary paths, dates"),
    ({"temperature": 1}, "equal but for settings"),
    ({"system": "Hurry.", "description": "Runs."}, "equal but for instructions, tool schemas"),
    ({"tools": ("python",)}, "the recording has 'a call of the tool bash', the agent asked '(without that tool)'"),
)


@pytest.mark.slow
@pytest.mark.parametrize("wire", mostly_nightly(WIRES, keep=1))
async def test_what_surrounds_the_news_of_a_call_is_compared_too(wire: WireKind, tmp_path: Path) -> None:
    before: dict[str, object] = {"system": SYSTEM, "tools": ("bash", "python")}
    async with recorded(tmp_path) as client:
        await client.ask(ask_for(wire, **before))

    requests: list[str] = []
    async with Meter({wire: ModelProvider(name="replay", upstream=ReplayUpstream(tmp_path))}) as meter:
        for changes, _ in SURROUNDINGS:
            with meter.session(NAME) as session:
                async with wire_client(session.base_url, session.key) as client:
                    await client.ask(ask_for(wire, **before | changes))
                requests.append(str(session.calls[0].replayed))

    assert requests == [expected for _, expected in SURROUNDINGS]


async def test_a_prompt_that_has_changed_is_a_divergence(tmp_path: Path) -> None:
    async with recorded(tmp_path) as client:
        await client.work(ask_for("anthropic"), tell("x"))

    _, calls = await replay(tmp_path, ask_for("anthropic", "What is the title of issue 8?"), tell("x"))

    (call,) = [call.replayed for call in calls]
    assert call is not None
    assert (call.verdict, call.asked) == ("divergence", "What is the title of issue 8?")


async def test_another_model_or_another_number_of_results_is_not_answered(tmp_path: Path) -> None:
    async with recorded(tmp_path) as client:
        await client.work(ask_for("anthropic"), tell("x"))

    verdict, calls = await replay(tmp_path, ask_for("anthropic", model="another"), tell("x"))

    assert verdicts_of(calls) == ["divergence"]
    assert "no call like this one" in str(verdict)


async def test_calls_that_failed_or_were_cut_are_not_replayed(tmp_path: Path) -> None:
    async with recorded(tmp_path, script=Script(solution=SOLUTION, faults=(Fault(status=529, times=1),))) as client:
        assert (await client.ask(ask_for("anthropic"))).status_code == 529
        await client.work(ask_for("anthropic"), tell("x"))

    _, calls = await replay(tmp_path, ask_for("anthropic"), tell("x"))

    assert [call.status for call in calls] == [200, 200, 200]
    assert verdicts_of(calls) == ["exact"] * 3


async def test_an_answer_that_was_cut_is_not_replayed(tmp_path: Path) -> None:
    async with recorded(tmp_path, script=Script(solution=SOLUTION, pace=Pace(cut_after=4))) as client:
        with pytest.raises(Exception, match="closed"):
            await client.ask(ask_for("anthropic"))
    _, (exchange,) = load_recording(tmp_path, NAME)
    assert exchange.cut

    verdict, calls = await replay(tmp_path, ask_for("anthropic"), tell("x"))

    assert verdicts_of(calls) == ["divergence"]
    assert "an answer that failed or was cut" in str(verdict)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stream", [True, False])
async def test_no_secret_is_written(wire: WireKind, stream: bool, tmp_path: Path) -> None:
    token, other = "ghs_0123456789abcdef", "pass word/42"
    async with recorded(tmp_path, secrets=(token, other)) as client:
        await client.work(ask_for(wire, f"{PROMPT} With {token}.", stream=stream), tell(f"see {other}"))

    text = recording_path(tmp_path, NAME).read_text()
    assert "***" in text
    for secret in (token, other, REAL_KEY, client.key):
        assert secret not in text
    _, exchanges = load_recording(tmp_path, NAME)
    # The model repeats the title, and on a stream a few characters at a time.
    assert exchanges[1].withheld
    assert not exchanges[0].withheld


@pytest.mark.parametrize("depth", [1, 900])
async def test_no_secret_is_written_that_a_request_has_in_parts_however_deep(depth: int, tmp_path: Path) -> None:
    token = "ghs_0123456789abcdef"
    parts: Any = [token[:9], token[9:], *["x"] * 50_000]
    for _ in range(depth):
        parts = [parts]
    recorder = ModelRecorder(tmp_path)
    recorder.begin(NAME, secrets=[token])

    for body in (parts, {"index": 1, "parts": parts}):
        content = json.dumps(body).encode()
        request = UpstreamRequest(
            session_name=NAME, wire="anthropic", method="POST", path="/v1/messages", query="", headers=[], body=content
        )
        recorder.write(request, cut=True)

    _, exchanges = load_recording(tmp_path, NAME)
    assert [each.withheld for each in exchanges] == [True, True]


async def test_a_session_that_was_not_recorded_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model traffic of session"):
        load_recording(tmp_path, NAME)
    recording_path(tmp_path, "torn").write_text('{"version": 1,')
    with pytest.raises(InputError, match="is damaged"):
        load_recording(tmp_path, "torn")

    with pytest.raises(EnvironmentFailure, match=f"cannot be replayed: no model traffic of session '{NAME}'"):
        await replay(tmp_path, ask_for("anthropic"), tell("x"))


async def test_a_recording_that_cannot_be_written_costs_no_session_and_is_told(tmp_path: Path) -> None:
    has_answered = False
    with pytest.raises(OperationError, match="cannot record model traffic"):  # noqa: PT012 - raised on leaving
        async with recorded(tmp_path) as client:
            shutil.rmtree(recording_path(tmp_path, NAME).parent)
            await client.work(ask_for("anthropic"), tell("x"))
            has_answered = True
    assert has_answered


async def test_a_replay_begins_anew_with_each_attempt(tmp_path: Path) -> None:
    async with recorded(tmp_path) as client:
        await client.work(ask_for("anthropic"), tell("x"))
    provider = ModelProvider(name="replay", upstream=ReplayUpstream(tmp_path))
    async with Meter({"anthropic": provider}) as meter:
        for _ in range(2):
            with meter.session(NAME) as session:
                async with wire_client(session.base_url, session.key) as client:
                    await client.work(ask_for("anthropic"), tell("x"))
                assert verdicts_of(session.calls) == ["exact"] * 3
