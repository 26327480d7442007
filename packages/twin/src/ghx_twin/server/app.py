"""The ASGI application: every endpoint of GitHub, for every world it hosts."""

import hashlib
import itertools
import json
import logging
import re
import time
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from ghx_twin.faults import Surface
from ghx_twin.queries.apps import JsonWebTokenError, is_json_web_token
from ghx_twin.queries.permissions import NO_INTEGRATION
from ghx_twin.reply import Reply, error_reply
from ghx_twin.rest import dispatch
from ghx_twin.rest.errors import no_such_path
from ghx_twin.server import git, graphql, pages
from ghx_twin.server.exchange import Exchange
from ghx_twin.server.hosting import Access, Hosting
from ghx_twin.server.injected_faults import Answer, answer_with_fault, is_reading, keep_moment
from ghx_twin.server.rates import resource_of
from ghx_twin.server.request import Request, UnacceptableError
from ghx_twin.server.run_progress import play_runs
from ghx_twin.server.tokens import token_of
from ghx_twin.server.watching import watch_answer, watch_request
from ghx_twin.world import World

WORLD_OF_CONNECTION = "world"
"""What the state of a connection calls the world that it is for, where that is known before any token is sent."""

_GRAPHQL_PATHS = frozenset({"/graphql", "/api/graphql"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_RATE_LIMIT = "/rate_limit"
_BESIDE_THE_API = frozenset({"web", "raw", "codeload", "none"})
_OK, _NOT_MODIFIED, _BAD = 200, 304, 400
_TOKEN_CHANGES = frozenset({201, 204})
_UPLOAD = re.compile(r"/(?:repos/[^/]+/[^/]+|repositories/\d+)/releases/[^/]+/assets")
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
        access, problem = await self._begin(request, token)
        exchange = Exchange(request=request, surface=_surface_of(request), token=token, access=access, problem=problem)
        try:
            reply = await self._reply(exchange)
            self._follow_tokens(exchange, reply)
            await watch_answer(exchange, reply)
            await exchange.send(reply, send)
        except ClientDisconnect:
            return
        finally:
            exchange.end()

    async def _begin(self, request: Request, token: str | None) -> tuple[Access | None, str]:
        """Return what the credentials of a request open, and what is wrong with those that open nothing.

        A signed address opens its file, whatever else is sent: on one host, clients send the token of the API along.
        """
        if request.endpoint.host_kind == "downloads":
            return self.hosting.begin_signed_request(request.path, request.query), "Bad credentials"
        if token is None:
            return self._begin_anonymously(request), "Requires authentication"
        if not is_json_web_token(token):
            await self.hosting.wait_for_world(token)
            return self.hosting.begin_request(token), "Bad credentials"
        world: World | None = request.http.scope.get("state", {}).get(WORLD_OF_CONNECTION)
        await self.hosting.wait_for_worlds(world)
        try:
            return self.hosting.begin_app_request(token, world), "A JSON web token could not be decoded"
        except JsonWebTokenError as error:
            return None, str(error)

    def _follow_tokens(self, exchange: Exchange, reply: Reply) -> None:
        """Let a token that an app was given open its world, and one that it has revoked nothing."""
        if exchange.access is None or reply.status not in _TOKEN_CHANGES:
            return
        match reply.operation:
            case "POST /app/installations/{installation_id}/access_tokens":
                self.hosting.add_token(exchange.access.hosted.world, json.loads(reply.content)["token"])
            case "DELETE /installation/token":
                self.hosting.remove_token(exchange.token or "")
            case _:
                pass

    def _begin_anonymously(self, request: Request) -> Access | None:
        """Return access to what is public, if the request names no credentials and it is known which world it means."""
        if "authorization" in request.headers:
            return None
        world: World | None = request.http.scope.get("state", {}).get(WORLD_OF_CONNECTION)
        # Pages of any web site may ask a port of this machine, and would be allowed to read what is for everybody.
        if world is None and "origin" in request.headers:
            return None
        return self.hosting.begin_anonymous_request(world)

    async def _reply(self, exchange: Exchange) -> Reply:
        request = exchange.request
        try:
            request.check()
            if exchange.surface == "git":  # git's replies carry none of the API's headers
                if exchange.access is None:
                    return await git.answer(request, None)
                return await _answer_or_fail(exchange, exchange.access, b"", lambda access: git.answer(request, access))
            if request.endpoint.host_kind == "downloads":
                if exchange.access is None:
                    return await _answer_download(request, None)
                return await _answer_or_fail(
                    exchange, exchange.access, b"", lambda access: _answer_download(request, access)
                )
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


def _surface_of(request: Request) -> Surface:
    if git.is_git(request.path):
        return "git"
    return "graphql" if request.raw_path in _GRAPHQL_PATHS else "rest"


async def _answer_api(exchange: Exchange) -> Reply:
    request, access = exchange.request, exchange.access
    if access is None or (access.viewer.is_anonymous and exchange.surface == "graphql"):
        return error_reply(401, exchange.problem)
    if access.viewer.app and access.viewer.app.installation_id is None and exchange.surface == "graphql":
        return error_reply(403, NO_INTEGRATION)
    body = await request.body()
    if request.endpoint.host_kind in _BESIDE_THE_API or pages.is_download(request):
        return await _answer_or_fail(exchange, access, body, lambda access: _answer_page(request, access))
    answer = _answer_graphql if exchange.surface == "graphql" else _answer_rest
    reply = await _answer_or_fail(exchange, access, body, lambda access: answer(request, access, body))
    await watch_request(exchange, access, body, reply)
    return reply


async def _answer_or_fail(exchange: Exchange, access: Access, body: bytes, answer: Answer) -> Reply:
    """Return the answer to a request, or what a scripted fault makes of it."""
    faults = access.hosted.world.faults
    if not len(faults):
        return await _answer_always(exchange, access, body, answer)
    request, surface = exchange.request, exchange.surface
    operation = await _operation_of(exchange, access, body)
    reads = is_reading(surface, request.method, operation)
    login = access.viewer.user.login
    match = faults.take(surface, request.method, request.path, operation=operation, reads=reads, login=login)
    if not reads:
        await keep_moment(access.hosted)
    if match is None:
        return await _answer_always(exchange, access, body, answer)
    exchange.fault = match[1]
    reply = await answer_with_fault(
        match, request, surface, access, lambda given: _answer_always(exchange, given, body, answer)
    )
    reply.operation = reply.operation or operation
    return reply


async def _answer_always(exchange: Exchange, access: Access, body: bytes, answer: Answer) -> Reply:
    """Return the answer to a request; an error of our own is a 500, and serving goes on."""
    try:
        if access is exchange.access:  # and not what was there some time ago, of which nothing goes on
            await play_runs(exchange.request, access.hosted, body, lambda: _is_read_only(exchange, body))
        return await answer(access)
    except (ClientDisconnect, UnacceptableError):
        raise
    except Exception:  # a server request is a boundary
        # Anyone who removes a world waits for its requests, but not for ever: a late one finds the database closed.
        if access.hosted.world.is_closed:
            return error_reply(503, "This world was closed meanwhile")
        log.exception("%s %s failed", exchange.request.method, exchange.request.path)
        return error_reply(500, "Server Error")


async def _is_read_only(exchange: Exchange, body: bytes) -> bool:
    """Return whether a request only reads, of which one that is repeated may wait for something."""
    request = exchange.request
    match exchange.surface:
        case "graphql":
            operation = await graphql.operation_of(body) if _MAY_MUTATE.search(body) else ""
            return is_reading("graphql", request.method, operation)
        case "git":  # of the two requests of a fetch the first
            return request.method in _READING and is_reading("git", request.method, git.operation_of(request))
        case "rest":
            return request.method in _READING


async def _operation_of(exchange: Exchange, access: Access, body: bytes) -> str:
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


async def _answer_graphql(request: Request, access: Access, body: bytes) -> Reply:
    if request.method != "POST":
        return error_reply(404, "Not Found")
    world, execute = access.hosted.world, await graphql.executor()
    # Whether a document mutates is known only once it is parsed, but none does without the keyword, unless an escape of
    # JSON or UTF-16 hides it.
    # `rateLimit` in the answer has to agree with the headers, which count this request after it was answered.
    allowance = access.hosted.rates.foresee(access.viewer, "graphql", time.time())

    def call() -> Reply:
        before = world.database.last_change()
        reply = execute(world, access.viewer, body, request.endpoint.urls, allowance)
        reply.changed = world.database.last_change() != before
        return reply

    is_long = await graphql.may_take_long(body)
    return await _call(access, call, is_long=is_long, is_alone=_MAY_MUTATE.search(body) is not None)


async def _answer_rest(request: Request, access: Access, body: bytes) -> Reply:
    # Files of releases go to a host of their own, and nothing else does.
    if request.endpoint.host_kind in {"api", "uploads"}:
        is_upload = request.method == "POST" and _UPLOAD.fullmatch(request.path) is not None
        if is_upload != (request.endpoint.host_kind == "uploads"):
            return no_such_path()
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
    return await _call(access, lambda: pages.answer_download(world, request.path), is_long=True, is_alone=False)


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
        base=request.endpoint.urls,
        rate=access.hosted.rates.summarize(access.viewer, time.time()),
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
    tags = {part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")}
    if "*" in tags or tag.removeprefix("W/") in tags:
        reply.status, reply.content, reply.media_type = _NOT_MODIFIED, b"", None
    return reply


def _viewer_headers(exchange: Exchange) -> dict[str, str]:
    """Count the request, and return what a reply says about who asked: the token's scopes, and what is left."""
    access, path = exchange.access, exchange.request.path
    if access is None:
        return {}
    rates, resource, now_s = access.hosted.rates, resource_of(exchange.surface, path), time.time()
    is_refused = exchange.fault is not None and exchange.fault.kind == "rate_limit"
    # Asking what is left is free, and so is what is refused because nothing is.
    count = rates.allowance if path == _RATE_LIMIT or is_refused else rates.count
    allowance = count(access.viewer, resource, now_s)
    scopes = {"x-oauth-scopes": ", ".join(sorted(access.viewer.scopes)), "x-accepted-oauth-scopes": ""}
    return {
        **({} if access.viewer.is_anonymous or access.viewer.app else scopes),
        "x-ratelimit-limit": str(allowance.limit),
        "x-ratelimit-remaining": str(allowance.remaining),
        "x-ratelimit-used": str(allowance.used),
        "x-ratelimit-reset": str(allowance.reset),
        "x-ratelimit-resource": allowance.resource,
    }
