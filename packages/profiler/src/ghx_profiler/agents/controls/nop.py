"""The agent that does nothing: a scenario it passes proves nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ghx_profiler.contracts import SessionRequest
from ghx_profiler.control_kinds import ControlKind
from ghx_profiler.evidence import Answer
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.trace import SessionTrace


class NopProvider:
    """Opens sessions in which nothing is done."""

    name: str = "nop"
    control_kind: ControlKind = "nothing"

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator["NopSession"]:  # noqa: ARG002 - the contract's
        """Open a session that needs nothing."""
        yield NopSession()


class NopSession:
    """Ends its turn at once, without a word."""

    def __init__(self) -> None:
        self._recorder = TraceRecorder(source="script")

    async def prompt(self, text: str) -> Answer:  # noqa: ARG002 - the contract's signature
        """Do nothing."""
        self._recorder.begin_turn()
        self._recorder.end_turn()
        return Answer(text="")

    async def trace(self) -> SessionTrace:
        """Return a turn in which nothing happened."""
        return self._recorder.trace()
