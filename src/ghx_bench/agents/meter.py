"""The meter: a reverse proxy on loopback between agents and the APIs of models, which counts and keeps the keys."""

import asyncio
import math
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from pathlib import Path
from secrets import token_urlsafe
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from starlette.types import Receive, Scope, Send

from ghx_bench._base.clock import Clock, SystemClock
from ghx_bench._base.errors import InputError
from ghx_bench.agents.loopback_server import LoopbackServer, cut_off
from ghx_bench.agents.metered_session import CallInProgress, MeteredSession
from ghx_bench.agents.model_budget import ModelBudget, PriceOf, Spending, price_in_usd
from ghx_bench.agents.model_recording import SUFFIX, ModelRecorder
from ghx_bench.agents.model_replay import ReplayedAnswer, ReplayUpstream
from ghx_bench.agents.upstream import (
    Headers,
    HttpUpstream,
    Upstream,
    UpstreamAnswer,
    UpstreamLostError,
    UpstreamRequest,
)
from ghx_bench.agents.wires.protocol import (
    KEY_HEADERS,
    Route,
    classify_status,
    find_route,
    key_header,
    make_reader,
    read_error,
    read_request,
    write_error,
)
from ghx_bench.profiler.model_calls import WireKind
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import read_record

_MOST_BODY_BYTES = 64 * 2**20
_MOST_ERROR_BYTES = 2**20
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    """Who answers the calls on a wire, and the real key, which stays here."""

    name: str
    upstream: Upstream
    key: str | None = field(default=None, repr=False)
    session_header: str | None = None
    """The header in which the provider is told the id of a session; for scripted ones, which play one part in each."""

    replayed_run: str | None = None
    """The id of the run whose recorded answers are given, instead of asking a model."""

    @classmethod
    def replaying(cls, run: Path) -> "ModelProvider":
        """Return what answers as the model traffic has it that was recorded in the directory of a run."""
        record = RunDirectory(run).record
        if not record.is_file():
            raise InputError(f"--replay-model: {run} is not the folder of a run")
        if next(run.rglob(f"*{SUFFIX}"), None) is None:
            raise InputError(f"--replay-model: {run} holds no model traffic; record it with --record-model")
        return cls(name="recording", upstream=ReplayUpstream(run), replayed_run=read_record(record).run_id)

    def recorded_in(self, directory: Path) -> "ModelProvider":
        """Return this provider with its traffic written down in the directory of a run."""
        return replace(self, upstream=ModelRecorder(directory).wrap(self.upstream))

    @classmethod
    def at(
        cls, name: str, base_url: str, *, key_variable: str | None, environment: Mapping[str, str]
    ) -> "ModelProvider":
        """Return the provider at an address, with the key that is in a variable; local servers may need none."""
        key = None if key_variable is None else environment.get(key_variable)
        if key_variable is not None and not key:
            raise InputError(f"model provider {name!r}: the variable {key_variable} is not set; put its key there")
        return cls(name=name, upstream=HttpUpstream(base_url), key=key)


class Meter:
    """Stands between the agents of a run and their models; one for a run, `async with Meter.open(...) as meter:`.

    Serves in a thread of its own, so that a busy event loop of the bench does not slow the agents down. Each session
    has a path and a key of its own. What an agent sends is passed on as it is, but for the key; what comes back is
    passed on as it comes, and read afterwards.
    """

    def __init__(
        self,
        providers: Mapping[WireKind, ModelProvider],
        *,
        session_budget: ModelBudget | None = None,
        run_budget: ModelBudget | None = None,
        price: PriceOf = price_in_usd,
        clock: Clock | None = None,
    ) -> None:
        if not providers:
            raise InputError("the meter has no model provider; name at least one")
        self.providers = dict(providers)
        self.run_spending = Spending(run_budget or ModelBudget(), "run", price)
        self._session_budget, self._price = session_budget or ModelBudget(), price
        self._clock = clock or SystemClock()
        self._sessions: dict[str, MeteredSession] = {}
        self._exchanges: dict[str, set[_Exchange]] = {}
        self._hold_until: dict[str, float] = {}
        self._server = LoopbackServer(self._serve_request, name="ghx-meter", on_stop=self._close_upstreams)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        providers: Mapping[WireKind, ModelProvider],
        *,
        session_budget: ModelBudget | None = None,
        run_budget: ModelBudget | None = None,
        price: PriceOf = price_in_usd,
        clock: Clock | None = None,
    ) -> AsyncGenerator["Meter"]:
        """Serve for the length of a block."""
        meter = cls(providers, session_budget=session_budget, run_budget=run_budget, price=price, clock=clock)
        meter.start()
        try:
            yield meter
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(meter.stop)

    def start(self) -> None:
        """Serve until `stop`; agents may connect as soon as this returns."""
        self._server.start()

    def stop(self) -> None:
        """Cut off what is going on, and wait until the server has ended."""
        for session in tuple(self._sessions):
            self._end_session(session)
        self._server.stop()

    @contextmanager
    def session(
        self,
        name: str | None = None,
        *,
        model: str | None = None,
        budget: ModelBudget | None = None,
        secrets: Iterable[str] = (),
    ) -> Generator[MeteredSession]:
        """Open a way through the meter for one session; it ends with the block, and calls that are going on with it.

        `name` is the one under which its traffic is recorded and replayed, without its `secrets`; `model` is the one
        that it is about, and `budget` stands instead of the one for all sessions.
        """
        secret = token_urlsafe(12)  # a guess must not find the way of another session
        session = MeteredSession(
            id=secret,
            name=name or secret,
            base_url=f"{self._server.url}/s/{secret}",
            clock=self._clock,
            spending=Spending(budget or self._session_budget, "session", self._price),
            run_spending=self.run_spending,
            model=model,
        )
        hidden = (*secrets, session.key)
        with ExitStack() as held:
            for provider in self.providers.values():
                held.enter_context(provider.upstream.session(session.name, secrets=hidden))
            self._exchanges[secret] = set()
            self._sessions[secret] = session
            held.callback(self._end_session, secret)
            yield session

    def hold_s(self, provider: str) -> float:
        """Return for how long a provider asked to be left alone: new sessions wait, calls of others go on."""
        return max(self._hold_until.get(provider, 0.0) - self._clock.monotonic(), 0.0)

    async def wait_for_provider(self, provider: str) -> None:
        """Wait until a provider may be asked again; to be called before a session is opened."""
        while (seconds := self.hold_s(provider)) > 0:  # noqa: ASYNC110 - meanwhile it may have asked for longer
            await anyio.sleep(seconds)

    def hold(self, provider: str, seconds: float) -> None:
        """Note that a provider wants to be left alone."""
        until = self._clock.monotonic() + seconds
        self._hold_until[provider] = max(until, self._hold_until.get(provider, 0.0))

    def _end_session(self, name: str) -> None:
        self._sessions.pop(name, None)
        for exchange in tuple(self._exchanges.pop(name, ())):
            self._server.loop.call_soon_threadsafe(exchange.abandon)

    def _close_upstreams(self) -> None:
        for provider in self.providers.values():
            provider.upstream.close()

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > _MOST_BODY_BYTES:
                await _reply(send, 413, write_error("openai-chat", 413, "meter: the request is too large"))
                return
            if not message.get("more_body", False):
                break
        _, _, rest = scope["raw_path"].decode("latin-1").partition("/s/")
        name, _, path = rest.partition("/")
        session, route = self._sessions.get(name), find_route(scope["method"], f"/{path}")
        if session is None or route is None:
            what = "session" if session is None else "address of a model"
            await _reply(send, 404, write_error(route.wire if route else "openai-chat", 404, f"meter: no such {what}"))
            return
        provider = self._find_provider(route)
        if provider is None:
            await _reply(send, 404, write_error(route.wire, 404, f"meter: no model provider speaks {route.wire}"))
            return
        exchange = _Exchange(self, session, provider, route, _to_upstream(session, provider, route, scope, bytes(body)))
        going_on = self._exchanges.get(name, set())
        going_on.add(exchange)
        try:
            await exchange.serve(scope, receive, send)
        finally:
            going_on.discard(exchange)

    def _find_provider(self, route: Route) -> ModelProvider | None:
        if route.wire in self.providers or route.is_model_call:
            return self.providers.get(route.wire)
        # The list of models has the same address on several wires.
        return next(iter(self.providers.values()))


class _Exchange:
    """One request on its way to a provider, and the answer on its way back."""

    def __init__(
        self,
        meter: Meter,
        session: MeteredSession,
        provider: ModelProvider,
        route: Route,
        request: UpstreamRequest,
    ) -> None:
        self._meter, self._session, self._provider, self._route = meter, session, provider, route
        self._request = request
        self._sending: asyncio.Task[object] | None = None
        self._answer: UpstreamAnswer | None = None
        self._is_abandoned = False

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
            await _reply(send, status, write_error(wire, status, f"meter: {message}", code="meter_refused"))
            if call is not None:
                session.end_call(call)
            return
        watching = asyncio.create_task(self._watch(receive))
        reading = asyncio.get_running_loop().call_later(_READING_WAITS_S, self._read_request, call)
        try:
            await self._forward(call, send)
        except UpstreamLostError as error:
            if call is not None and not (call.reader is not None and call.reader.has_ended):
                call.fail("abandoned" if self._is_abandoned else "connection", str(error))
            if self._answer is None and not self._is_abandoned:
                await _reply(send, 502, write_error(wire, 502, str(error)))
            else:
                watching.cancel()
                await cut_off(scope, receive)
        finally:
            watching.cancel()
            reading.cancel()
            if self._answer is not None:
                self._answer.close()
            if call is not None:
                self._read_request(call)
                session.end_call(call)

    def _refuse(self, scope: Scope, call: CallInProgress | None) -> tuple[int, str] | None:
        """Return the status and the words with which a request is refused, if it is."""
        if self._session.key not in _offered_keys(scope):
            refusal = "the key is not the one of this session"
            if call is not None:
                call.status = 401
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

    def _read_request(self, call: CallInProgress | None) -> None:
        if call is not None and call.asked is None:
            self._session.take_request(call, read_request(self._route, self._request.body))

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
        self._answer = answer = await self._send()
        if call is not None and isinstance(answer, ReplayedAnswer):
            call.replayed = answer.call
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
        clock = self._session.clock
        while content := await answer.read():
            arrived = clock.monotonic()
            await send({"type": "http.response.body", "body": content, "more_body": True})
            call.response_bytes += len(content)
            reader.feed(content)
            if is_stream and call.first_token is None and reader.has_begun:
                call.first_token = arrived
        reader.end()

    async def _pass_error(self, call: CallInProgress, answer: UpstreamAnswer, send: Send) -> None:
        kind = classify_status(answer.status) or "server"
        call.retry_after_s = _read_retry_after(answer.headers, self._session.clock.now().timestamp())
        if kind == "rate_limit" and call.retry_after_s is not None:
            self._meter.hold(self._provider.name, call.retry_after_s)
        body = bytearray()
        call.fail(kind, f"status {answer.status}")
        while content := await answer.read():
            await send({"type": "http.response.body", "body": content, "more_body": True})
            call.response_bytes += len(content)
            body += content[: _MOST_ERROR_BYTES - len(body)]
        call.fail(kind, read_error(bytes(body)) or f"status {answer.status}")


def _to_upstream(
    session: MeteredSession, provider: ModelProvider, route: Route, scope: Scope, body: bytes
) -> UpstreamRequest:
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


async def _reply(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _read_retry_after(headers: Headers, now: float) -> float | None:
    """Return the seconds for which a provider asks to be left alone, told as such or as a date; `now` is UNIX time."""
    told = {name.lower(): value.decode("latin-1") for name, value in headers}
    text = told.get(b"retry-after", "")
    try:
        seconds = float(told[b"retry-after-ms"]) / 1000 if b"retry-after-ms" in told else float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
