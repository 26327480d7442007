"""The ASGI application: every door of GitHub, for every world it hosts."""

import itertools
import json
import logging
import time
from collections.abc import Awaitable, Callable

import anyio
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from ghx_bench.twin.faults import Fault, Surface
from ghx_bench.twin.rest import answering
from ghx_bench.twin.rest.answering import answer
from ghx_bench.twin.rest.request import RateLimit
from ghx_bench.twin.server import pushing, querying
from ghx_bench.twin.server.credentials import token_of
from ghx_bench.twin.server.exchange import JSON, Reply, Request, UnacceptableError, refusal
from ghx_bench.twin.server.headers import api_headers, entity_tag, is_fresh, viewer_headers
from ghx_bench.twin.server.hosting import Access, Hosting
from ghx_bench.twin.server.pushing import answer_git, is_git
from ghx_bench.twin.server.querying import executor
from ghx_bench.twin.server.rates import resource_of
from ghx_bench.twin.server.visit import Visit

_GRAPHQL_PATHS = frozenset({"/graphql", "/api/graphql"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_RATE_LIMIT = "/rate_limit"  # asking is free
_OK, _NOT_MODIFIED = 200, 304

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
        visit = self._visit(Request(scope, receive))
        try:
            reply = await self._reply(visit)
            await reply.send(visit.request, visit.noting(reply, send))
        except ClientDisconnect:
            return
        finally:
            visit.leave()

    def _visit(self, request: Request) -> Visit:
        token = token_of(request.headers.get("authorization"))
        access = self.hosting.enter(token) if token else None
        return Visit(request=request, surface=_surface(request), token=token, access=access)

    async def _reply(self, visit: Visit) -> Reply:
        request = visit.request
        try:
            request.check()
            if visit.surface == "git":
                return await _guarded(visit, b"", lambda: answer_git(request, visit.access))
            reply = await _answer_api(visit)
        except UnacceptableError as error:
            reply = error.reply
        version = request.headers.get("x-github-api-version")
        common = api_headers(request_id=f"{next(self._requests):04X}:TWIN", version=version)
        own = {name.lower(): value for name, value in reply.headers.items()}
        reply.headers = {**common, **_about_viewer(visit), **own}
        return reply


async def _answer_api(visit: Visit) -> Reply:
    request, access = visit.request, visit.access
    if access is None:
        return refusal(401, "Bad credentials" if visit.token else "Requires authentication")
    if request.door.host_kind == "web":
        return refusal(404, "Not Found")
    body = await request.body()
    if visit.surface == "graphql":
        return await _guarded(visit, body, lambda: _graphql(request, access, body))
    return await _guarded(visit, body, lambda: _rest(request, access, body))


async def _guarded(visit: Visit, body: bytes, handle: Callable[[], Awaitable[Reply]]) -> Reply:
    """Let scripted trouble come first; a fault of our own is a 500, and the server goes on serving."""
    request, access = visit.request, visit.access
    if access and (fault := access.hosted.world.faults.take(visit.surface, request.method, request.path)):
        await anyio.sleep(fault.latency_ms / 1000)
        if fault.status is not None:
            reply = _trouble(fault, fault.status, visit.surface, access)
            reply.operation = await _operation(visit, access, body)
            return reply
    try:
        return await handle()
    except (ClientDisconnect, UnacceptableError):
        raise
    except Exception:  # a server request is a boundary
        if access and access.hosted.world.is_closed:
            return refusal(503, "This world was closed meanwhile")
        log.exception("%s %s failed", request.method, request.path)
        return refusal(500, "Server Error")


async def _operation(visit: Visit, access: Access, body: bytes) -> str:
    """Return what the journal calls a request that nobody answers."""
    match visit.surface:
        case "git":
            return pushing.git_operation(visit.request)
        case "graphql":
            return await querying.operation_of(body)
        case "rest":
            return answering.operation_of(access.hosted.world, access.viewer, visit.request.method, visit.request.path)


def _trouble(fault: Fault, status: int, surface: Surface, access: Access) -> Reply:
    message = fault.message.replace("{user_id}", str(access.viewer.id))
    if surface != "graphql" or fault.graphql_type is None:
        return refusal(status, message, headers=fault.headers)
    body = {"errors": [{"type": fault.graphql_type, "message": message}]}
    content = json.dumps(body, separators=(",", ":")).encode()
    return Reply(status=_OK, content=content, media_type=JSON, headers=dict(fault.headers), failed=True)


async def _graphql(request: Request, access: Access, body: bytes) -> Reply:
    if request.method != "POST":
        return refusal(404, "Not Found")
    world, execute = access.hosted.world, await executor()
    async with access.hosted.gate:
        before = world.database.last_change()
        left = access.hosted.rates.foreseen(access.viewer.id, "graphql", time.time())  # as the headers will say
        done = execute(world, access.viewer, body, request.door.urls, left)
        changed = world.database.last_change() != before
    return Reply(
        status=done.status,
        content=done.content,
        media_type=JSON,
        operation=done.operation,
        failed=done.has_errors,
        changed=changed,
    )


async def _rest(request: Request, access: Access, body: bytes) -> Reply:
    if request.method in _READING:
        return _conditional(request, _answer_rest(request, access, body))
    async with access.hosted.gate:
        return _answer_rest(request, access, body)


def _answer_rest(request: Request, access: Access, body: bytes) -> Reply:
    world = access.hosted.world
    before = world.database.last_change()
    done = answer(
        world,
        access.viewer,
        method=request.method,
        raw_path=request.path,
        query=request.query,
        headers=request.headers,
        body=body,
        base=request.door.urls,
        rate=_rate_limit(access),
    )
    changed = world.database.last_change() != before
    return Reply(
        status=done.status,
        content=done.content,
        media_type=done.media_type or None,
        headers=dict(done.headers),
        operation=done.operation,
        changed=changed,
    )


def _conditional(request: Request, reply: Reply) -> Reply:
    if reply.status != _OK:
        return reply
    tag = entity_tag(reply.content)
    reply.headers |= {"etag": tag, "cache-control": "private, max-age=60, s-maxage=60"}
    if is_fresh(tag, request.headers.get("if-none-match")):
        reply.status, reply.content, reply.media_type = _NOT_MODIFIED, b"", None
    return reply


def _surface(request: Request) -> Surface:
    if is_git(request.path):
        return "git"
    return "graphql" if request.raw_path in _GRAPHQL_PATHS else "rest"


def _about_viewer(visit: Visit) -> dict[str, str]:
    access, path = visit.access, visit.request.path
    if access is None:
        return {}
    rates, resource, now_s = access.hosted.rates, resource_of(visit.surface, path), time.time()
    tell = rates.allowance if path == _RATE_LIMIT else rates.count
    return viewer_headers(access, tell(access.viewer.id, resource, now_s))


def _rate_limit(access: Access) -> RateLimit:
    rates, viewer, now_s = access.hosted.rates, access.viewer.id, time.time()
    core, search = rates.allowance(viewer, "core", now_s), rates.allowance(viewer, "search", now_s)
    return RateLimit(
        limit=core.limit,
        used=core.used,
        reset=core.reset,
        graphql_used=rates.allowance(viewer, "graphql", now_s).used,
        search_used=search.used,
        code_search_used=rates.allowance(viewer, "code_search", now_s).used,
        search_reset=search.reset,
    )
