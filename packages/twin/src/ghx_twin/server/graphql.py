"""Loads GraphQL when it is first asked for: loading takes as long as everything before the first REST answer."""

import gc
import re
import threading
from collections.abc import Callable
from functools import cache

import anyio.to_thread

from ghx_twin.reply import Reply
from ghx_twin.server.rates import Allowance
from ghx_twin.state.clock import format_time
from ghx_twin.urls import BaseUrls
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

Execute = Callable[[World, Viewer, bytes, BaseUrls, Allowance], Reply]
_loading = threading.Lock()
_LONG_BODY = 8 * 1024  # 150 ms of reading and checking a document
_MANY_NODES = 3_000  # at 60 µs each, if all of them are there
_PAGED = re.compile(rb"first|last")
_LONG = re.compile(
    rb"entries|search|history|comparison|blame|\bfiles|\btext"
)  # lists and texts that are not counted in nodes


async def executor() -> Execute:
    """Return the function that executes queries; other requests are served while it is loaded."""
    is_loaded = _load_once.cache_info().currsize == 1
    return _load_once() if is_loaded else await anyio.to_thread.run_sync(load)


async def may_take_long(body: bytes) -> bool:
    """Return whether an answer may take longer than other worlds of a server can wait."""
    if len(body) > _LONG_BODY or _LONG.search(body):
        return True
    if not _PAGED.search(body):
        return False
    await executor()
    from ghx_twin.graphql import execution  # noqa: PLC0415 - it is loaded by now

    return execution.possible_nodes(body) > _MANY_NODES


async def operation_of(body: bytes) -> str:
    """Return what the journal calls a request of GraphQL, whether or not it is answered."""
    await executor()
    from ghx_twin.graphql import execution  # noqa: PLC0415 - it is loaded by now

    return execution.operation_of(body)


def load() -> Execute:
    """Load GraphQL, once, and return the function that executes queries.

    Under pytest, call this before you import in another thread: pytest compiles what it imports, and Python 3.11
    cannot compile syntax trees in two threads at once.
    """
    with _loading:  # one schema for all threads: graphql-core compares its types by identity
        return _load_once()


@cache
def _load_once() -> Execute:
    # Modules make objects by the thousand, and nearly all of them stay: looking for garbage took a tenth of the time.
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        from ghx_twin.graphql.context import Budget  # noqa: PLC0415 - see above
        from ghx_twin.graphql.execution import execute  # noqa: PLC0415 - see above
        from ghx_twin.graphql.schema import schema  # noqa: PLC0415 - see above

        schema()
    finally:
        if was_collecting:
            gc.enable()

    def answer(world: World, viewer: Viewer, body: bytes, base: BaseUrls, left: Allowance) -> Reply:
        budget = Budget(limit=left.limit, used=left.used, reset_at=format_time(left.reset))
        return execute(world, viewer, body, base, budget=budget)

    return answer
