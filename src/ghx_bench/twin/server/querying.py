"""GraphQL behind the server: loading it takes longer than the first REST answer may, so nothing waits for it there."""

import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import anyio.to_thread

from ghx_bench.twin.server.rates import Allowance
from ghx_bench.twin.state.clock import format_time
from ghx_bench.twin.urls import BaseUrls
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import World

if TYPE_CHECKING:  # importing it is what takes long
    from ghx_bench.twin.graphql.execution import GraphQLAnswer

Execute = Callable[[World, Viewer, bytes, BaseUrls, Allowance], "GraphQLAnswer"]
_loading = threading.Lock()


def warm() -> None:
    """Load GraphQL in a thread of its own, so that it is there when somebody asks."""
    threading.Thread(target=load, name="ghx-twin-warming", daemon=True).start()


async def executor() -> Execute:
    """Return what executes queries; others are served while it is loaded."""
    return _loaded() if _is_loaded() else await anyio.to_thread.run_sync(load)


async def operation_of(body: bytes) -> str:
    """Return what the journal calls a request of GraphQL, whether or not it is answered."""
    await executor()
    from ghx_bench.twin.graphql import execution  # noqa: PLC0415 - it is loaded by now

    return execution.operation_of(body)


def load() -> Execute:
    """Load GraphQL here and now, once.

    Under pytest, whatever imports in a thread should do this first: pytest rewrites what it imports, and Python 3.11
    stumbles over two threads that compile syntax trees.
    """
    with _loading:  # one schema for all threads: its types are told apart by identity
        return _loaded()


@cache
def _loaded() -> Execute:
    from ghx_bench.twin.graphql.context import Budget  # noqa: PLC0415 - see above
    from ghx_bench.twin.graphql.execution import execute  # noqa: PLC0415 - see above
    from ghx_bench.twin.graphql.schema import schema  # noqa: PLC0415 - see above

    def answer(world: World, viewer: Viewer, body: bytes, base: BaseUrls, left: Allowance) -> "GraphQLAnswer":
        budget = Budget(limit=left.limit, used=left.used, reset_at=format_time(left.reset))
        return execute(world, viewer, body, base, budget=budget)

    schema()
    return answer


def _is_loaded() -> bool:
    return _loaded.cache_info().currsize == 1
