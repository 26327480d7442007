"""What happens to a request that meets a scripted fault."""

import json
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import anyio

from ghx_base.clock import timestamp
from ghx_twin.faults import Fault, Injected, InjectedChange, Surface
from ghx_twin.journal import Entry
from ghx_twin.queries import lookup
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, error_reply, json_reply
from ghx_twin.rest import dispatch
from ghx_twin.server.hosting import Access, Hosted
from ghx_twin.server.rates import resource_of
from ghx_twin.server.request import Request
from ghx_twin.viewer import Viewer

Answer = Callable[[Access], Awaitable[Reply]]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_FORBIDDEN, _BAD = 403, 400
_USUAL_WAIT_S = 60
_SERVER_ERROR = "Server Error"
_PRIMARY = "API rate limit exceeded for user ID {user_id}."
_SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."

log = logging.getLogger(__name__)


def is_reading(surface: Surface, method: str, operation: str) -> bool:
    """Return whether a request changes nothing, whatever it is answered; `operation` is the journal's name for it."""
    match surface:
        case "rest":
            return method in _READING
        case "graphql":
            return not operation.startswith("mutation")
        case "git":
            return not operation.startswith("git-receive-pack")


async def answer_with_fault(
    match: tuple[Fault, Injected], request: Request, surface: Surface, access: Access, answer: Answer
) -> Reply:
    """Return the reply to a request that meets a fault; `answer` carries the request out."""
    fault, injected = match
    await anyio.sleep(fault.latency_ms / 1000)
    match fault.kind:
        case "latency":
            return await answer(access)
        case "stale":
            return await _answer_from_past(fault, access, answer)
        case "change":
            for change in fault.changes:
                await _make_change(change, injected, request, access)
            return await answer(access)
        case "rate_limit":
            return _rate_limit_reply(fault, request, surface, access)
        case "status" | "reset":
            is_carried_out = fault.after or fault.reset == "halfway"
            done = await answer(access) if is_carried_out else Reply()
            if fault.reset is None:
                reply = _error_reply(fault, surface, access)
                reply.operation, reply.changed = done.operation, done.changed
                return reply
            if done.stream is not None:  # read to its end, so that it is known where its middle is
                done.content, done.stream = b"".join([chunk async for chunk in done.stream]), None
            done.reset = fault.reset
            return done


async def keep_moment(hosted: Hosted) -> None:
    """Keep the world as it is before a write, where a rule asks for stale reads."""
    if most := hosted.world.faults.past_writes:
        async with hosted.write_lock:  # a push moves refs before it writes what it has done
            hosted.world.keep_moment(most)


async def _answer_from_past(fault: Fault, access: Access, answer: Answer) -> Reply:
    hosted = access.hosted
    async with hosted.write_lock:  # a write might drop the moment that is being read
        past = hosted.world.as_of(writes=fault.stale_writes, seconds=fault.stale_s)
        if past is not hosted.world:
            hosted = Hosted(world=past, uses_threads=hosted.uses_threads, rates=hosted.rates)
            return await answer(Access(hosted=hosted, viewer=access.viewer))
    return await answer(access)


async def _make_change(change: InjectedChange, injected: Injected, request: Request, access: Access) -> None:
    """Make a change in the name of another user, and journal it as theirs."""
    hosted, world = access.hosted, access.hosted.world
    body = b"" if change.body is None else json.dumps(change.body).encode()
    began = time.perf_counter()
    async with hosted.write_lock:
        try:
            actor = Viewer(user=lookup.user(world, change.actor))
        except NotFoundRefusal:
            log.warning("fault %s: this world has no user %s, so nothing was changed", injected.rule, change.actor)
            return
        before = world.database.last_change()
        reply = await hosted.run_in_thread(
            lambda: dispatch.answer(
                world,
                actor,
                method=change.method,
                raw_path=change.path,
                query="",
                headers={},
                body=body,
                base=request.endpoint.urls,
            )
        )
    if reply.status >= _BAD:
        log.warning("fault %s: %s %s was answered with %s", injected.rule, change.method, change.path, reply.status)
    world.journal.add(
        Entry(
            at=timestamp(datetime.now(UTC)),
            surface="rest",
            actor=actor.user.login,
            method=change.method,
            path=change.path,
            operation=reply.operation,
            status=reply.status,
            failed=reply.status >= _BAD,
            mutation=world.database.last_change() != before,
            duration_ms=round((time.perf_counter() - began) * 1000, 3),
            request_bytes=len(body),
            response_bytes=len(reply.content),
            fault=injected,
        )
    )


def _rate_limit_reply(fault: Fault, request: Request, surface: Surface, access: Access) -> Reply:
    rates, viewer, now_s = access.hosted.rates, access.viewer, int(time.time())
    wait_s = _USUAL_WAIT_S if fault.wait_s is None else fault.wait_s
    if fault.rate_limit == "secondary":
        headers = {"retry-after": str(wait_s), **fault.headers}
        return error_reply(_FORBIDDEN, _message(fault, _SECONDARY, access), headers=headers)
    resource = resource_of(surface, request.path)
    # A client that comes back too early is told the same end as before.
    allowance = rates.allowance(viewer, resource, now_s)
    reset = allowance.reset if allowance.remaining == 0 else now_s + wait_s
    rates.exhaust(viewer, resource, reset)
    headers = {
        "x-ratelimit-remaining": "0",
        "x-ratelimit-used": str(allowance.limit),
        "x-ratelimit-reset": str(reset),
        **fault.headers,
    }
    message = _message(fault, _PRIMARY, access)
    if surface != "graphql":
        return error_reply(_FORBIDDEN, message, headers=headers)
    # GraphQL reports a used-up budget with 200 and an error of that type, where REST has a 403.
    return _graphql_reply("RATE_LIMITED", message, headers)


def _error_reply(fault: Fault, surface: Surface, access: Access) -> Reply:
    message, headers = _message(fault, _SERVER_ERROR, access), dict(fault.headers)
    if surface == "graphql" and fault.graphql_type is not None:
        return _graphql_reply(fault.graphql_type, message, headers)
    assert fault.status is not None  # noqa: S101 - its kind says so
    return error_reply(fault.status, message, headers=headers)


def _message(fault: Fault, usual: str, access: Access) -> str:
    return (usual if fault.message is None else fault.message).replace("{user_id}", str(access.viewer.id))


def _graphql_reply(kind: str, message: str, headers: dict[str, str]) -> Reply:
    reply = json_reply({"errors": [{"type": kind, "message": message}]}, headers=headers)
    reply.failed = True
    return reply
