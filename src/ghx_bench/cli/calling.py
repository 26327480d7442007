"""One call of a capability from a command that is not asynchronous itself."""

import os
from collections.abc import Mapping
from typing import Any

import anyio

from ghx_bench.capabilities.envelope import Envelope
from ghx_bench.capabilities.environment import client_from_environment
from ghx_bench.capabilities.execution import execute_task


def call(task: str, given: Mapping[str, Any]) -> Envelope:
    """Call a capability on the GitHub that the environment names."""

    async def called() -> Envelope:
        async with client_from_environment(os.environ) as client:
            return await execute_task(client, task, given)

    return anyio.run(called)
