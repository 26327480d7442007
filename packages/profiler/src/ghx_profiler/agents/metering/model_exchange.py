"""One call through the meter: passed on with the real key, passed back as it comes, and noted."""

import asyncio
import math
from collections.abc import Callable, Iterable
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from ghx_profiler.agents.metering.call_in_progress import CallInProgress
from ghx_profiler.agents.metering.loopback_server import cut_off, reply
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.model_replay import ReplayedAnswer
from ghx_profiler.agents.metering.upstream import (
    Headers,
    UpstreamAnswer,
    UpstreamLostError,
    UpstreamRequest,
)
from ghx_profiler.agents.wires.protocol import (
    KEY_HEADERS,
    Route,
    classify_status,
    key_header,
    make_reader,
    read_error,
    read_request,
    read_retry_delay,
    write_error,
)
from ghx_profiler.runner.redaction import StreamRedaction, is_secret_key

_HOP_BY_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split()
)
# Compressed answers could not be read in passing.
_NOT_SENT_ON = (
    _HOP_BY_HOP | {b"host", b"content-length", b"accept-encoding", b"expect"} | {name.encode() for name in KEY_HEADERS}
)
# A large request takes a millisecond to read: that is done while the model thinks, not before it gets the request.
_READING_WAITS_S = 0.005
_OVER_BUDGET = 400  # not 429: agents would try again, some of them for minutes


class Exchange:
    """One request on its way to a provider, and the answer on its way back.

    `hold` receives the provider, and for how long to pause calls to it.
    """

    def __init__(
        self,
        session: MeteredSession,
        provider: ModelProvider,
        route: Route,
        request: UpstreamRequest,
        *,
        hold: Callable[[ModelProvider, float], None],
    ) -> None:
        self._session, self._provider, self._route, self._request = session, provider, route, request
        self._hold = hold
        self._sending: asyncio.Task[object] | None = None
        self._answer: UpstreamAnswer | None = None
        self._is_abandoned = False
        self._is_watched = session.watch is not None

    def abandon(self) -> None:
        """Cut the request off: its agent does not listen any more."""
        self._is_abandoned = True
        if self._answer is not None:
            self._answer.close()
        elif self._sending is not None:
            self._sending.cancel()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and the answer back, and note both if it is a model call."""
        session, wire = self._session, self._route.wire
        call = session.begin_call(self._route, len(self._request.body)) if self._route.is_model_call else None
        refusal = self._refuse(scope, call)
        if refusal is not None:
            status, message = refusal
            self._is_watched = False  # it goes nowhere
            self._note_end(call)
            await reply(send, status, write_error(wire, status, f"meter: {message}", code="meter_refused"))
            return
        watching = asyncio.create_task(self._watch(receive))
        reading = asyncio.get_running_loop().call_later(_READING_WAITS_S, self._read_request, call)
        try:
            await self._forward(call, send)
        except UpstreamLostError as error:
            # An agent that does not read an error to its end has not given up: the provider failed before.
            if call is not None and call.error_kind is None and not (call.reader and call.reader.has_ended):
                call.fail("abandoned" if self._is_abandoned else "connection", str(error))
            self._note_end(call)
            if self._answer is None and not self._is_abandoned:
                await reply(send, 502, write_error(wire, 502, str(error)))
            else:
                watching.cancel()
                await cut_off(scope, receive)
        finally:
            watching.cancel()
            reading.cancel()
            if self._answer is not None:
                self._answer.close()
                self._answer = None  # its connection may serve another call by the time this one is abandoned
            self._show_request()
            self._note_end(call)

    def _refuse(self, scope: Scope, call: CallInProgress | None) -> tuple[int, str] | None:
        """Return the status and the words with which a request is refused, if it is."""
        if self._session.key not in _offered_keys(scope):
            refusal = "the key is not the one of this session"
            if call is not None:
                call.status, call.has_foreign_key = 401, True
                call.fail("authentication", refusal)
            return 401, refusal
        if call is None:
            return None
        refusal = self._session.refuse_by_budget(call, lambda: read_request(self._route, self._request.body))
        if refusal is None:
            return None
        call.status = _OVER_BUDGET
        call.fail("budget", refusal)
        return _OVER_BUDGET, refusal

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass  # which comes when the agent has closed the connection, or when everything was sent
        self.abandon()

    def _show_request(self) -> None:
        """Show the request to the session's watch, once: like reading it, this is done while the model thinks."""
        if self._is_watched and self._session.watch is not None:
            self._is_watched = False
            self._session.watch(self._request.body)

    def _read_request(self, call: CallInProgress | None) -> None:
        self._show_request()
        if call is not None and call.summary is None:
            self._session.take_request(call, read_request(self._route, self._request.body))

    def _note_end(self, call: CallInProgress | None) -> None:
        if call is not None and call.ended is None:
            self._read_request(call)
            self._session.end_call(call)

    async def _send(self) -> UpstreamAnswer:
        self._sending = asyncio.current_task()
        try:
            return await self._provider.upstream.send(self._request)
        except asyncio.CancelledError:
            if not self._is_abandoned or self._sending is None:
                raise
            self._sending.uncancel()
            raise UpstreamLostError("the agent closed the connection before the answer") from None
        finally:
            self._sending = None

    async def _forward(self, call: CallInProgress | None, send: Send) -> None:
        answer = await self._send()
        if call is not None and isinstance(answer, ReplayedAnswer):
            call.replayed = answer.call
        if self._provider.key is not None and is_secret_key(self._provider.key):
            answer = _KeylessAnswer(answer, self._provider.key)
        self._answer = answer
        headers = [(name.lower(), value) for name, value in answer.headers if name.lower() not in _HOP_BY_HOP]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        if call is None:
            while content := await answer.read():
                await send({"type": "http.response.body", "body": content, "more_body": True})
        else:
            call.status = answer.status
            await (self._pass_error if classify_status(answer.status) else self._pass_answer)(call, answer, send)
        await send({"type": "http.response.body", "body": b""})

    async def _pass_answer(self, call: CallInProgress, answer: UpstreamAnswer, send: Send) -> None:
        is_stream = any(name.lower() == b"content-type" and b"event-stream" in value for name, value in answer.headers)
        call.reader = reader = make_reader(self._route.wire, is_stream=is_stream)
        clock, whole = self._session.clock, bytearray()
        while content := await answer.read():
            arrived = clock.monotonic()
            if is_stream:
                await send({"type": "http.response.body", "body": content, "more_body": True})
            else:
                whole += content
            call.response_bytes += len(content)
            call.last_byte = arrived
            reader.feed(content)
            if is_stream and call.first_token is None and reader.has_begun:
                call.first_token = arrived
        reader.end()
        if not (reader.has_begun or reader.has_ended or reader.error):  # as of a web page at a wrong address
            call.fail("stream", "its answer holds nothing that this model API knows")
        # Before the last byte is sent: what an agent has in full is also among the calls of its session.
        self._note_end(call)
        if whole:
            await send({"type": "http.response.body", "body": bytes(whole), "more_body": True})

    async def _pass_error(self, call: CallInProgress, answer: UpstreamAnswer, send: Send) -> None:
        kind = classify_status(answer.status) or "server"
        call.retry_after_s = _read_retry_after(answer.headers, self._session.clock.now().timestamp())
        call.fail(kind, f"status {answer.status}")
        body = bytearray()
        while content := await answer.read():
            body += content
        call.response_bytes = len(body)
        call.fail(kind, read_error(bytes(body)) or f"status {answer.status}")
        if call.retry_after_s is None:
            call.retry_after_s = read_retry_delay(bytes(body))
        if kind == "rate_limit" and call.retry_after_s is not None:
            self._hold(self._provider, call.retry_after_s)
        self._note_end(call)
        await send({"type": "http.response.body", "body": bytes(body), "more_body": True})


class _KeylessAnswer:
    """An answer without the real key, which providers repeat in errors: neither agent nor trace is to hold it."""

    def __init__(self, answer: UpstreamAnswer, key: str) -> None:
        self._answer, self._redaction = answer, StreamRedaction.of(key)
        self.status = answer.status
        self.headers: Headers = [(name, self._redaction.hide(value)) for name, value in answer.headers]
        self._held = b""

    async def read(self) -> bytes:
        while content := await self._answer.read():
            ready, self._held = self._redaction.split(self._held + content)
            if ready:
                return ready
        rest, self._held = self._held, b""
        return rest

    def close(self) -> None:
        self._answer.close()


def write_upstream_request(
    session: MeteredSession, provider: ModelProvider, route: Route, scope: Scope, body: bytes
) -> UpstreamRequest:
    """Return the request of an agent as it goes to a provider: with the real key, and without what is between us."""
    headers = [each for each in scope["headers"] if each[0] not in _NOT_SENT_ON]
    headers.append((b"accept-encoding", b"identity"))
    if provider.key is not None:
        name, value = key_header(route.wire, provider.key)
        headers.append((name.encode(), value.encode()))
    if provider.session_header is not None:
        headers.append((provider.session_header.encode(), session.id.encode()))
    query = scope["query_string"].decode("latin-1")
    return UpstreamRequest(
        session_name=session.name,
        wire=route.wire,
        method=scope["method"],
        path=scope["raw_path"].decode("latin-1").removeprefix(f"/s/{session.id}"),
        query="&".join(each for each in query.split("&") if not each.startswith("key=")),
        headers=headers,
        body=body,
    )


def _offered_keys(scope: Scope) -> Iterable[str]:
    headers: Headers = scope["headers"]
    for name, value in headers:
        if name.decode("latin-1") in KEY_HEADERS:
            yield value.decode("latin-1").removeprefix("Bearer ").strip()
    yield from (value for name, value in parse_qsl(scope["query_string"].decode("latin-1")) if name == "key")


def _read_retry_after(headers: Headers, now: float) -> float | None:
    """Return the seconds of a `Retry-After` header, given as a number or a date; `now` is UNIX time."""
    values = {name.lower(): value.decode("latin-1") for name, value in headers}
    text = values.get(b"retry-after", "")
    try:
        seconds = float(values[b"retry-after-ms"]) / 1000 if b"retry-after-ms" in values else float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
