"""A model API on loopback that speaks all four wires and follows scripts; no model is involved."""

import json
import threading
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count

import anyio
import anyio.to_thread
from pydantic import JsonValue
from starlette.types import Receive, Scope, Send

from ghx_base.wire import JsonObject
from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.metering.loopback_server import LoopbackServer, cut_off, read_body, reply
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.upstream import HttpUpstream
from ghx_profiler.agents.testing.decisions import Decision, Say, decide, find_tool
from ghx_profiler.agents.testing.scripted_answers import ScriptedAnswer, ScriptedTokens, write_stream, write_whole
from ghx_profiler.agents.wires.loose_json import parse_object
from ghx_profiler.agents.wires.model_request import ModelRequest
from ghx_profiler.agents.wires.protocol import KEY_HEADERS, Route, find_route, read_request, write_error
from ghx_profiler.records.metrics import TokenUsage
from ghx_profiler.records.model_calls import WireKind, add_usage

SESSION_HEADER = "x-ghx-session"
"""The header in which the meter sends the session of a request."""

_MOST_BODY_BYTES = 64 * 2**20
_WIRES: tuple[WireKind, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")
_SIDE = ScriptedAnswer(text="A scripted aside", tokens=ScriptedTokens(input=10, output=3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An error instead of an answer, for the first calls of a conversation or, without `times`, for ever."""

    status: int
    times: int | None = None
    retry_after: str | None = None
    """As the header has it: seconds, or a date."""
    message: str = "a scripted fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast an answer comes, and whether it comes to its end."""

    before_first_s: float = 0.0
    between_s: float = 0.0
    cut_after: int | None = None
    """The number of events after which the connection is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the endpoint decides in a conversation: the steps of a solution, one for each tool result in the request.

    `session`, `model` and `prompt` select conversations; of the scripts that match, the most specific one
    is taken. Side calls, which offer no tools, get an answer of their own.
    """

    solution: Solution = field(default_factory=Solution)
    bindings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    session: str | None = None
    model: str | None = None
    prompt: str | None = None
    """A text that the user's messages hold."""
    faults: tuple[Fault, ...] = ()
    pace: Pace = Pace()
    side_pace: Pace = Pace()
    """That of side calls."""

    def fits(self, request: ModelRequest, session: str | None) -> bool:
        """Return whether the script is for a request."""
        return (
            self.session in (None, session)
            and self.model in (None, request.model)
            and (self.prompt is None or request.mentions([self.prompt]))
        )

    @property
    def criteria(self) -> int:
        """How specific the script is."""
        return sum(each is not None for each in (self.session, self.model, self.prompt))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCall:
    """A call as the endpoint saw it, and what it answered."""

    wire: WireKind
    path: str
    session: str | None
    model: str | None
    keys: tuple[str, ...]
    """The keys that came with it."""
    is_side: bool
    is_streamed: bool
    tools_offered: tuple[str, ...]
    results: tuple[str, ...]
    body: JsonObject
    status: int
    decision: Decision | None = None
    tokens: ScriptedTokens | None = None
    """Those claimed; `None` for an error."""


class ScriptedEndpoint:
    """Serves scripts: `async with ScriptedEndpoint.open(script) as endpoint:`.

    `calls` are the requests in order; `claimed_usage()` is the usage that all answers together reported.
    """

    def __init__(self, scripts: Iterable[Script] = ()) -> None:
        self.calls: list[AskedCall] = []
        self.cut_offs = 0
        """How many streams a client has left before their end."""
        self._scripts = list(scripts)
        self._faulted: dict[int, count[int]] = {}
        self._lock = threading.Lock()
        self._server = LoopbackServer(self._serve_request, name="ghx-scripted-model")

    @classmethod
    @asynccontextmanager
    async def open(cls, *scripts: Script) -> AsyncGenerator["ScriptedEndpoint"]:
        """Serve for the length of a block."""
        endpoint = cls(scripts)
        endpoint.start()
        try:
            yield endpoint
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(endpoint.stop)

    @property
    def url(self) -> str:
        """Return the address; OpenAI's clients want `/v1` added."""
        return self._server.url

    def start(self) -> None:
        """Serve until `stop`."""
        self._server.start()

    def stop(self) -> None:
        """End the server."""
        self._server.stop()

    def add(self, script: Script) -> None:
        """Take one more script."""
        with self._lock:
            self._scripts.append(script)

    def providers(self, *, key: str | None = None) -> dict[WireKind, ModelProvider]:
        """Return this endpoint as the model provider of every wire, for a meter."""
        return {
            wire: ModelProvider(
                name="scripted",
                upstream=HttpUpstream(f"{self.url}/v1" if wire.startswith("openai") else self.url),
                key=key,
                session_header=SESSION_HEADER,
            )
            for wire in _WIRES
        }

    def claimed_usage(self, *, session: str | None = None, with_side_calls: bool = True) -> TokenUsage:
        """Return the tokens that the answers claimed, of one session or of all, as a meter should have counted them."""
        return add_usage(
            call.tokens.as_metered(call.wire)
            for call in list(self.calls)
            if call.tokens is not None
            and (session is None or call.session == session)
            and (with_side_calls or not call.is_side)
        )

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive, most_bytes=_MOST_BODY_BYTES)
        if body is None:
            return  # a client that was stopped during its request has sent no call
        path = scope["path"]
        route = find_route(scope["method"], path)
        if route is None:
            await reply(send, 404, write_error("openai-chat", 404, f"nothing is scripted at {path}"))
        elif not route.is_model_call:
            models: list[JsonValue] = [
                {"id": script.model or "scripted-1", "object": "model"} for script in self._scripts
            ]
            await reply(send, 200, json.dumps({"data": models, "input_tokens": 100, "totalTokens": 100}).encode())
        else:
            await self._answer(route, body, scope, receive, send)

    async def _answer(self, route: Route, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        request = read_request(route, body)
        call = _describe_call(request, body, scope)
        match = self._find_script(request, call.session)
        script = None if call.is_side else match
        fault = None if script is None else self._next_fault(script)
        if fault is not None:
            self.calls.append(replace(call, status=fault.status))
            extra = [] if fault.retry_after is None else [(b"retry-after", fault.retry_after.encode())]
            await reply(send, fault.status, write_error(route.wire, fault.status, fault.message), extra)
            return
        pace = Pace() if match is None else match.side_pace
        answer, decision, model = _SIDE, None, request.model or "scripted-1"
        if script is not None:
            decision, pace = decide(script.solution, script.bindings, call.results), script.pace
            answer = _make_answer(decision, len(call.results), request.tools_offered)
        self.calls.append(replace(call, decision=decision, tokens=answer.tokens))
        if request.is_streamed:
            pieces, kind = list(write_stream(route.wire, answer, model)), b"text/event-stream"
        else:
            pieces, kind = [json.dumps(write_whole(route.wire, answer, model)).encode()], b"application/json"
        await self._deliver(pieces, kind, pace, receive, send)
        if pace.cut_after is not None and pace.cut_after < len(pieces):
            await cut_off(scope, receive)

    async def _deliver(self, pieces: Sequence[bytes], kind: bytes, pace: Pace, receive: Receive, send: Send) -> None:
        """Send a response at its pace, up to where it is to be cut, unless the client goes away before."""
        is_done = False

        async def watch() -> None:
            await receive()  # which returns when the client has gone, or everything was sent
            if not is_done:
                self.cut_offs += 1
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            await anyio.sleep(pace.before_first_s)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
            for number, piece in enumerate(pieces[: pace.cut_after]):
                if number:
                    await anyio.sleep(pace.between_s)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            is_done = True
            if pace.cut_after is None or pace.cut_after >= len(pieces):
                await send({"type": "http.response.body", "body": b""})
            group.cancel_scope.cancel()

    def _find_script(self, request: ModelRequest, session: str | None) -> Script | None:
        with self._lock:
            fitting = [script for script in self._scripts if script.fits(request, session)]
        # Of equally specific scripts, the one that was added last.
        return max(reversed(fitting), key=lambda script: script.criteria, default=None)

    def _next_fault(self, script: Script) -> Fault | None:
        with self._lock:
            number = next(self._faulted.setdefault(id(script), count()))
        for fault in script.faults:
            if fault.times is None or number < fault.times:
                return fault
            number -= fault.times
        return None


def _describe_call(request: ModelRequest, body: bytes, scope: Scope) -> AskedCall:
    headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
    return AskedCall(
        wire=request.wire,
        path=scope["path"],
        session=headers.get(SESSION_HEADER),
        model=request.model,
        keys=tuple(headers[name].removeprefix("Bearer ") for name in KEY_HEADERS if name in headers),
        is_side=not request.tools_offered,
        is_streamed=request.is_streamed,
        tools_offered=request.tools_offered,
        results=tuple(result.text for result in request.tool_results),
        body=parse_object(body),
        status=200,
    )


def _make_answer(decision: Decision, step: int, offered: Sequence[str]) -> ScriptedAnswer:
    # Numbers that differ from step to step, so that a call counted twice or not at all cannot go unnoticed.
    tokens = ScriptedTokens(
        input=200 + 10 * step, cache_read=1000 + 90 * step, output=30 + step, reasoning=7 if step == 0 else 0
    )
    thought = "I look first." if step == 0 else ""
    if isinstance(decision, Say):
        return ScriptedAnswer(tokens=tokens, thought=thought, text=decision.text, number=step)
    call = find_tool(decision, offered)
    if call is None:
        text = f"No tool for {decision} is offered, only: {', '.join(offered)}"
        return ScriptedAnswer(tokens=tokens, thought=thought, text=text, number=step)
    return ScriptedAnswer(tokens=tokens, thought=thought, calls=(call,), number=step)
