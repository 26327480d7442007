"""The ASGI application: every door of GitHub, for every world it hosts."""

import base64
import hashlib
import itertools
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import unquote

import anyio
import anyio.lowlevel
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from ghx_bench._base.clock import timestamp
from ghx_bench.twin.faults import Fault, Surface
from ghx_bench.twin.journal import LONGEST_TEXT, Entry
from ghx_bench.twin.reply import Reply, error_reply, json_reply
from ghx_bench.twin.rest import dispatch
from ghx_bench.twin.rest.request import RateLimit
from ghx_bench.twin.server import downloads, git, graphql, pages
from ghx_bench.twin.server.hosting import Access, Hosting
from ghx_bench.twin.server.rates import resource_of
from ghx_bench.twin.server.request import Request, UnacceptableError
from ghx_bench.twin.server.run_progress import play_runs
from ghx_bench.twin.world import World

WORLD_OF_CONNECTION = "world"
"""What the state of a connection calls the world that it is for, where that is known before any token is sent."""

_GRAPHQL_PATHS = frozenset({"/graphql", "/api/graphql"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_RATE_LIMIT = "/rate_limit"
_BESIDE_THE_API = frozenset({"web", "raw", "none"})
_OK, _NOT_MODIFIED, _BAD, _UNAUTHENTICATED, _CLIENT_IS_GONE = 200, 304, 400, 401, 499
_NO_LENGTH = frozenset({204, 304})  # statuses whose replies have no body
_SECRET = re.compile(r"(?i)\b(access_token|client_secret|urlSignature)=[^&]*")
PIECE = 1024 * 1024  # of a long answer
_MAY_MUTATE = re.compile(rb"mutation|\\u|\0")
_API_HEADERS = {
    "server": "github.com",
    "x-github-media-type": "github.v3; format=json",
    "access-control-allow-origin": "*",
    "access-control-expose-headers": (
        "ETag, Link, Location, Retry-After, X-GitHub-Media-Type, X-GitHub-Request-Id, X-OAuth-Scopes, "
        "X-Accepted-OAuth-Scopes, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Used, "
        "X-RateLimit-Resource"
    ),
    "vary": "Accept, Authorization, Cookie, Accept-Encoding",
    "x-content-type-options": "nosniff",
}

log = logging.getLogger(__name__)


class TwinApp:
    """Serve the worlds of a `Hosting` to anything that speaks ASGI: uvicorn, or an in-process transport."""

    def __init__(self, hosting: Hosting) -> None:
        self.hosting = hosting
        self._requests = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and journal it in the world it was for."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        token = token_of(request.headers.get("authorization"))
        access = await self._begin(request, token)
        exchange = _Exchange(request=request, surface=_surface_of(request), token=token, access=access)
        try:
            await exchange.send(await self._reply(exchange), send)
        except ClientDisconnect:
            return
        finally:
            exchange.end()

    async def _begin(self, request: Request, token: str | None) -> Access | None:
        """Return what the credentials of a request open; a signed address opens its file, whatever else is sent."""
        if request.door.host_kind == "downloads":  # on one host, clients send the token of the API along
            return self.hosting.begin_signed_request(request.path, request.query)
        if token is None:
            return self._begin_anonymously(request)
        await self.hosting.wait_for_world(token)
        return self.hosting.begin_request(token)

    def _begin_anonymously(self, request: Request) -> Access | None:
        """Return access to what is public, if the request names no credentials and it is known which world it means."""
        if "authorization" in request.headers:
            return None
        world: World | None = request.http.scope.get("state", {}).get(WORLD_OF_CONNECTION)
        # Pages of any web site may ask a port of this machine, and would be allowed to read what is for everybody.
        if world is None and "origin" in request.headers:
            return None
        return self.hosting.begin_anonymous_request(world)

    async def _reply(self, exchange: "_Exchange") -> Reply:
        request = exchange.request
        try:
            request.check()
            if exchange.surface == "git":  # git's replies carry none of the API's headers
                return await _answer_or_fail(exchange, b"", lambda: git.answer(request, exchange.access))
            if request.door.host_kind == "downloads":
                return await _answer_or_fail(exchange, b"", lambda: _answer_download(request, exchange.access))
            reply = await _answer_api(exchange)
        except UnacceptableError as error:
            reply = error.reply
        headers = {**_API_HEADERS, "x-github-request-id": f"{next(self._requests):04X}:TWIN"}
        if version := request.headers.get("x-github-api-version"):
            headers["x-github-api-version-selected"] = version
        # The reply's own headers win: a scripted rate limit says that nothing remains, a route which scopes it accepts.
        own = {name.lower(): value for name, value in reply.headers.items()}
        reply.headers = {**headers, **_viewer_headers(exchange), **own}
        return reply


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """One request, what its credentials open, and its way into the journal."""

    request: Request
    surface: Surface
    token: str | None
    access: Access | None
    _started: float = field(default_factory=time.perf_counter)
    _sent_bytes: int = 0
    _is_journalled: bool = False

    async def send(self, reply: Reply, send: Send) -> None:
        """Send a reply, and journal the request before the last of it goes out.

        So a client that has its whole answer finds its request in the journal.
        """
        headers = {**reply.headers, "content-type": reply.media_type} if reply.media_type else reply.headers
        if reply.stream is not None and self.request.method != "HEAD":
            await self._send_stream(reply, reply.stream, headers, send)
            return
        if self.request.method == "HEAD":  # the headers of GET, with the length of what is left out
            headers = {"content-length": str(len(reply.content)), **headers}
        elif reply.status not in _NO_LENGTH:
            headers = {**headers, "content-length": str(len(reply.content))}
        content = b"" if self.request.method == "HEAD" else reply.content
        self._sent_bytes = len(content)
        self._journal(reply)
        # Not as a `Response`, which takes as long to make as a tenth of a read.
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        for start in range(0, len(content) - PIECE, PIECE):  # others have their turn between the pieces
            await send({"type": "http.response.body", "body": content[start : start + PIECE], "more_body": True})
            await anyio.lowlevel.checkpoint()
        await send({"type": "http.response.body", "body": content[max(0, -(-len(content) // PIECE) - 1) * PIECE :]})

    def end(self) -> None:
        """Journal a request whose client left before it had its answer, and allow its world to be closed."""
        try:
            if not self._is_journalled:
                self._journal(Reply(status=_CLIENT_IS_GONE))
        finally:
            if self.access is not None:
                self.access.hosted.open_requests.end()

    async def _send_stream(
        self, reply: Reply, chunks: AsyncIterator[bytes], headers: Mapping[str, str], send: Send
    ) -> None:
        async def count() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                self._sent_bytes += len(chunk)
                yield chunk

        async def journal_and_send(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                self._journal(reply)
            await send(message)

        # It ends the stream, and git with it, when the client goes away.
        response = StreamingResponse(count(), status_code=reply.status, headers=headers)
        await response(self.request.http.scope, self.request.http.receive, journal_and_send)

    def _journal(self, reply: Reply) -> None:
        self._is_journalled = True
        if self.access is None:  # no token, no world, no journal
            return
        viewer = self.access.viewer
        if viewer.is_anonymous and reply.status == _UNAUTHENTICATED:  # git asks so before each push
            return
        request = self.request
        path, query = unquote(request.path), _SECRET.sub(r"\1=...", request.query)
        self.access.hosted.world.journal.add(
            Entry(
                at=timestamp(datetime.now(UTC)),
                surface=self.surface,
                actor=viewer.user.login or None,
                method=request.method,
                path=(f"{path}?{query}" if query else path)[:LONGEST_TEXT],
                operation=(reply.operation or f"{request.method} {path}")[:LONGEST_TEXT],
                status=reply.status,
                failed=reply.failed or reply.status >= _BAD,
                mutation=reply.changed,
                duration_ms=round((time.perf_counter() - self._started) * 1000, 3),
                request_bytes=request.received,
                response_bytes=self._sent_bytes,
                user_agent=request.headers.get("user-agent", "")[:LONGEST_TEXT] or None,
            )
        )


def _surface_of(request: Request) -> Surface:
    if git.is_git(request.path):
        return "git"
    return "graphql" if request.raw_path in _GRAPHQL_PATHS else "rest"


async def _answer_api(exchange: _Exchange) -> Reply:
    request, access = exchange.request, exchange.access
    if access is None or (access.viewer.is_anonymous and exchange.surface == "graphql"):
        return error_reply(401, "Bad credentials" if exchange.token else "Requires authentication")
    body = await request.body()
    if request.door.host_kind in _BESIDE_THE_API:
        return await _answer_or_fail(exchange, body, lambda: _answer_page(request, access))
    if exchange.surface == "graphql":
        return await _answer_or_fail(exchange, body, lambda: _answer_graphql(request, access, body))
    return await _answer_or_fail(exchange, body, lambda: _answer_rest(request, access, body))


async def _answer_or_fail(exchange: _Exchange, body: bytes, answer: Callable[[], Awaitable[Reply]]) -> Reply:
    """Return the scripted fault of a request, else its answer; an error of our own is a 500, and serving goes on."""
    request, access = exchange.request, exchange.access
    if access and (fault := access.hosted.world.faults.take(exchange.surface, request.method, request.path)):
        await anyio.sleep(fault.latency_ms / 1000)
        if fault.status is not None:
            reply = _fault_reply(fault, fault.status, exchange.surface, access)
            reply.operation = await _operation_of(exchange, access, body)
            return reply
    try:
        if access:
            await play_runs(request, access.hosted, body)
        return await answer()
    except (ClientDisconnect, UnacceptableError):
        raise
    except Exception:  # a server request is a boundary
        # Whoever removes a world waits for its requests, but not for ever: a late one finds the database closed.
        if access and access.hosted.world.is_closed:
            return error_reply(503, "This world was closed meanwhile")
        log.exception("%s %s failed", request.method, request.path)
        return error_reply(500, "Server Error")


async def _operation_of(exchange: _Exchange, access: Access, body: bytes) -> str:
    """Return what the journal calls a request that a fault answers: the same as without the fault."""
    request = exchange.request
    match exchange.surface:
        case "git":
            return git.operation_of(request)
        case "graphql":
            return await graphql.operation_of(body)
        case "rest":
            await access.hosted.wait_for_thread()
            return dispatch.operation_of(access.hosted.world, access.viewer, request.method, request.path)


def _fault_reply(fault: Fault, status: int, surface: Surface, access: Access) -> Reply:
    message = fault.message.replace("{user_id}", str(access.viewer.id))
    if surface != "graphql" or fault.graphql_type is None:
        return error_reply(status, message, headers=fault.headers)
    # GraphQL reports a used-up budget with 200 and an error of that type, where REST has a 403.
    reply = json_reply({"errors": [{"type": fault.graphql_type, "message": message}]}, headers=fault.headers)
    reply.failed = True
    return reply


async def _answer_graphql(request: Request, access: Access, body: bytes) -> Reply:
    if request.method != "POST":
        return error_reply(404, "Not Found")
    world, execute = access.hosted.world, await graphql.executor()
    # Whether a document mutates is known only once it is parsed, but none does without the keyword, unless an escape of
    # JSON or UTF-16 hides it.
    # `rateLimit` in the answer has to agree with the headers, which count this request after it was answered.
    left = access.hosted.rates.foresee(access.viewer, "graphql", time.time())

    def call() -> Reply:
        before = world.database.last_change()
        reply = execute(world, access.viewer, body, request.door.urls, left)
        reply.changed = world.database.last_change() != before
        return reply

    is_long = await graphql.may_take_long(body)
    return await _call(access, call, is_long=is_long, is_alone=_MAY_MUTATE.search(body) is not None)


async def _answer_rest(request: Request, access: Access, body: bytes) -> Reply:
    is_read = request.method in _READING

    def call() -> Reply:
        reply = _call_rest(request, access, body)
        return _make_conditional(request, access, reply) if is_read else reply

    is_long = dispatch.may_take_long(request.path, request.headers, body)
    return await _call(access, call, is_long=is_long, is_alone=not is_read)


async def _answer_page(request: Request, access: Access) -> Reply:
    return await _call(access, lambda: pages.answer(request, access), is_long=True, is_alone=False)


async def _answer_download(request: Request, access: Access | None) -> Reply:
    if access is None or request.method not in _READING:
        return error_reply(403, "This address is not signed, or its signature has expired")
    world = access.hosted.world
    return await _call(access, lambda: downloads.answer(world, request.path), is_long=True, is_alone=False)


async def _call(access: Access, call: Callable[[], Reply], *, is_long: bool, is_alone: bool) -> Reply:
    """Have a request answered: by itself if it may write or takes long, and then in a thread.

    A short read runs to its end without awaiting, so it needs no lock; a write waits for a push, which awaits git.
    """
    hosted = access.hosted
    if not is_long and not is_alone:
        await hosted.wait_for_thread()
        return call()
    async with hosted.write_lock:
        return await hosted.run_in_thread(call) if is_long else call()


def _call_rest(request: Request, access: Access, body: bytes) -> Reply:
    database = access.hosted.world.database
    before = database.last_change()
    reply = dispatch.answer(
        access.hosted.world,
        access.viewer,
        method=request.method,
        raw_path=request.path,
        query=request.query,
        headers=request.headers,
        body=body,
        base=request.door.urls,
        rate=_rate_limit(access),
    )
    # Asked of the database, not of the method: a PATCH that changes nothing is no mutation.
    reply.changed = database.last_change() != before
    return reply


def _make_conditional(request: Request, access: Access, reply: Reply) -> Reply:
    """Give a reply its entity tag, and answer 304 to a client that has it already."""
    if reply.status != _OK:
        return reply
    tag = f'W/"{hashlib.sha256(reply.content).hexdigest()}"'
    audience = "public" if access.viewer.is_anonymous else "private"
    reply.headers |= {"etag": tag, "cache-control": f"{audience}, max-age=60, s-maxage=60"}
    # Without W/: If-None-Match compares weakly (RFC 9110, 13.1.2).
    held = {part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")}
    if "*" in held or tag.removeprefix("W/") in held:
        reply.status, reply.content, reply.media_type = _NOT_MODIFIED, b"", None
    return reply


def _viewer_headers(exchange: _Exchange) -> dict[str, str]:
    """Count the request, and return what a reply says about who asked: the token's scopes, and what is left."""
    access, path = exchange.access, exchange.request.path
    if access is None:
        return {}
    rates, resource, now_s = access.hosted.rates, resource_of(exchange.surface, path), time.time()
    count = rates.allowance if path == _RATE_LIMIT else rates.count  # asking what is left is free
    allowance = count(access.viewer, resource, now_s)
    scopes = {"x-oauth-scopes": ", ".join(sorted(access.viewer.scopes)), "x-accepted-oauth-scopes": ""}
    return {
        **({} if access.viewer.is_anonymous else scopes),
        "x-ratelimit-limit": str(allowance.limit),
        "x-ratelimit-remaining": str(allowance.remaining),
        "x-ratelimit-used": str(allowance.used),
        "x-ratelimit-reset": str(allowance.reset),
        "x-ratelimit-resource": allowance.resource,
    }


def _rate_limit(access: Access) -> RateLimit:
    rates, viewer, now_s = access.hosted.rates, access.viewer, time.time()
    core, search = rates.allowance(viewer, "core", now_s), rates.allowance(viewer, "search", now_s)
    graphql_left, code_search = rates.allowance(viewer, "graphql", now_s), rates.allowance(viewer, "code_search", now_s)
    return RateLimit(
        limit=core.limit,
        used=core.used,
        reset=core.reset,
        graphql_limit=graphql_left.limit,
        graphql_used=graphql_left.used,
        search_limit=search.limit,
        search_used=search.used,
        code_search_limit=code_search.limit,
        code_search_used=code_search.used,
        search_reset=search.reset,
    )


def token_of(authorization: str | None) -> str | None:
    """Return the token of `token T`, `Bearer T` or Basic credentials."""
    if not authorization:
        return None
    scheme, _, rest = authorization.strip().partition(" ")
    if scheme.lower() in {"token", "bearer"}:
        return rest.strip() or None
    if scheme.lower() != "basic":
        return None
    try:
        name, _, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except ValueError:  # no base64, or not of a text
        return None
    # git sends any user name with the token as password; some clients send the token as the name.
    return (name if password in {"", "x-oauth-basic"} else password) or None
