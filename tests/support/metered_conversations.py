"""Conversations through a meter with the scripted endpoint, and providers that do what a function says."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
from wire_clients import Conversation, WireClient, wire_client

from ghx_profiler.agents.controls.solution import Solution
from ghx_profiler.agents.metering.meter import Meter
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.testing import Script, ScriptedEndpoint
from ghx_profiler.records.model_calls import WireKind

REAL_KEY = "sk-real-and-secret-1"
STEPS = Solution.model_validate({"steps": [{"shell": "one"}, {"shell": "two"}], "answer": "Finished with everything."})
PROMPT = "Triage issue 7."


@asynccontextmanager
async def metered(
    *scripts: Script, **settings: Any
) -> AsyncIterator[tuple[ScriptedEndpoint, Meter, MeteredSession, WireClient]]:
    scripts = scripts or (Script(solution=STEPS),)
    async with (
        ScriptedEndpoint.open(*scripts) as endpoint,
        Meter(endpoint.providers(key=REAL_KEY), **settings) as meter,
    ):
        with meter.session() as session:
            async with wire_client(session.base_url, session.key) as client:
                yield endpoint, meter, session, client


@asynccontextmanager
async def served(serve: Callable[[Any], Awaitable[None]]) -> AsyncIterator[str]:
    """Hold a server that does with each connection what a function says, and yield its address."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        group.cancel_scope.cancel()


def ask_for(wire: WireKind, prompt: str = PROMPT, **settings: Any) -> Conversation:
    conversation = Conversation(wire, **settings)
    conversation.say(prompt)
    return conversation


class StandingClock:
    """No time passes until it is told to: a busy machine is not late by it."""

    goes, stands_at = False, 0.0

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic() if self.goes else self.stands_at
