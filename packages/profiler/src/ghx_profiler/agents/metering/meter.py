"""The meter: a reverse proxy on loopback between agents and the APIs of models, which counts and keeps the keys."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from secrets import token_urlsafe
from typing import Self

import anyio
import anyio.to_thread
from starlette.types import Receive, Scope, Send

from ghx_base.clock import Clock, SystemClock
from ghx_base.errors import InputError
from ghx_profiler.agents.metering.loopback_server import LoopbackServer, read_body, reply
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_budget import PriceOf, Spending, price_in_usd
from ghx_profiler.agents.metering.model_exchange import Exchange, write_upstream_request
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.service_queue import ServiceQueue
from ghx_profiler.agents.wires.protocol import Route, find_route, write_error
from ghx_profiler.config import Budget
from ghx_profiler.records.model_calls import WireKind

_MOST_BODY_BYTES = 64 * 2**20


class Meter:
    """Stands between the agents of a run and their models; one for a run, `async with Meter(...) as meter:`.

    Serves in a thread of its own, so that a busy event loop of the bench does not slow the agents down. Each session
    has a path and a key of its own. What an agent sends is passed on unchanged, except for the key; the answer is
    passed on as it comes, and read afterwards. `run_spending` and `queue` are those of all meters of the run.
    """

    def __init__(
        self,
        providers: Mapping[WireKind, ModelProvider],
        *,
        session_budget: Budget | None = None,
        run_spending: Spending | None = None,
        queue: ServiceQueue | None = None,
        price: PriceOf = price_in_usd,
        clock: Clock | None = None,
    ) -> None:
        if not providers:
            raise InputError("the meter has no model provider; name at least one")
        self.providers = dict(providers)
        self.run_spending = run_spending or Spending(budget=Budget(), scope="run")
        self._session_budget, self._price = session_budget or Budget(), price
        self._clock = clock or SystemClock()
        self._sessions: dict[str, MeteredSession] = {}
        self._exchanges: dict[str, set[Exchange]] = {}
        self.queue = queue or ServiceQueue(clock=self._clock)
        self._server = LoopbackServer(self._serve_request, name="ghx-meter", on_stop=self._close_upstreams)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.stop)

    def start(self) -> None:
        """Serve until `stop`; agents may connect as soon as this returns."""
        self._server.start()

    def stop(self) -> None:
        """Cut off what is going on, and wait until the server has ended."""
        for session in tuple(self._sessions):
            self._end_session(session)
        self._server.stop()

    @property
    def port(self) -> int:
        """The port of this machine's loopback that it serves on."""
        return self._server.port

    @contextmanager
    def session(
        self,
        name: str | None = None,
        *,
        model: str | None = None,
        secrets: Iterable[str] = (),
        keys: Iterable[str] = (),
        watch: Callable[[bytes], None] | None = None,
    ) -> Generator[MeteredSession]:
        """Open a way through the meter for one session; it ends with the block, and calls that are going on with it.

        `name` is the one under which its traffic is recorded and replayed, without its `secrets` and the `keys` of
        model APIs; `model` is the one that it is about. `watch` is shown the body of each request that is passed on, in
        the meter's thread.
        """
        secret = token_urlsafe(12)  # a guess must not find the way of another session
        session = MeteredSession(
            id=secret,
            name=name or secret,
            base_url=f"{self._server.url}/s/{secret}",
            clock=self._clock,
            spending=Spending(budget=self._session_budget, scope="session", price=self._price),
            run_spending=self.run_spending,
            model=model,
            watch=watch,
        )
        hidden, of_others = (*secrets, session.key), tuple(keys)
        with ExitStack() as stack:
            for provider in self.providers.values():
                key = () if provider.key is None else (provider.key,)  # an error of the provider may repeat it
                upstream = provider.upstream.session(session.name, secrets=hidden, keys=(*of_others, *key))
                stack.enter_context(upstream)
            self._exchanges[secret] = set()
            self._sessions[secret] = session
            stack.callback(self._end_session, secret)
            yield session

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
        body = await read_body(receive, most_bytes=_MOST_BODY_BYTES)
        if body is None:
            return
        if len(body) > _MOST_BODY_BYTES:
            await reply(send, 413, write_error("openai-chat", 413, "meter: the request is too large"))
            return
        prefix, _, rest = scope["raw_path"].decode("latin-1").partition("/s/")
        name, _, path = rest.partition("/")
        session, route = self._sessions.get("" if prefix else name), find_route(scope["method"], f"/{path}")
        provider = None if route is None else self._find_provider(route)
        if session is not None and provider is None and scope["method"] == "POST":
            session.stray_request = session.stray_request or f"POST /{path}"
        if session is None or route is None:
            what = "session" if session is None else "address of a model"
            await reply(send, 404, write_error(route.wire if route else "openai-chat", 404, f"meter: no such {what}"))
            return
        if provider is None:
            await reply(send, 404, write_error(route.wire, 404, f"meter: no model provider speaks {route.wire}"))
            return
        if route.is_model_call:
            self.queue.note_call(provider)
        request = write_upstream_request(session, provider, route, scope, body)
        exchange = Exchange(session, provider, route, request, hold=self.queue.hold)
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
