"""A connection with an agent over the Agent Client Protocol: its messages over pipes, and answers to its questions."""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import anyio
from acp import RequestPermissionResponse
from acp.schema import AllowedOutcome, DeniedOutcome, PermissionOption, ToolCallUpdate
from anyio.abc import Process

from ghx_bench._base.wire import JsonObject
from ghx_bench.agents.drivers.recipe import PermissionKind
from ghx_bench.agents.tools.server_identity import lines_of

PROMPT = "session/prompt"
UPDATE = "session/update"
PERMISSION = "session/request_permission"

_REFUSALS: tuple[PermissionKind, ...] = ("reject_once", "reject_always")


class MessagePipe:
    """What the SDK calls a transport, over the pipes of a program.

    The SDK hands each update to a task of its own, so that their order is lost, and some come after the answer that
    they belong to; so updates go to `on_update` from here, as they come in, and no further. Neither does what is no
    message, nor a notification that the protocol does not know, on which the SDK would log a traceback.
    """

    def __init__(self, process: Process, on_update: Callable[[JsonObject], None]) -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("a program was started without its pipes")
        self._stdin, self._lines = process.stdin, lines_of(process.stdout)
        self._on_update = on_update
        self._sending = anyio.Lock()
        self._prompt_id: object = None
        self.prompt_over = anyio.Event()
        """Set when the agent has answered the prompt, or will not: also if nothing waits for the answer any more."""

    async def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        if message.get("method") == PROMPT:
            self._prompt_id = message["id"]
        async with self._sending:
            try:
                await self._stdin.send(json.dumps(message).encode() + b"\n")
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise ConnectionError("it has closed its input") from None

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message for the SDK; `None` when the program has closed its output."""
        try:
            async for line in self._lines:
                message = _message_in(line)
                if message is not None and self._is_for_sdk(message):
                    return message
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the program is being ended
        self.prompt_over.set()
        return None

    async def close(self) -> None:
        """Leave the pipes to the process, which closes them."""

    def _is_for_sdk(self, message: dict[str, Any]) -> bool:
        method, params = message.get("method"), message.get("params")
        if method is None:
            if message.get("id") == self._prompt_id:
                self.prompt_over.set()
            return True
        told = cast("JsonObject", params) if isinstance(params, dict) else {}
        update, call = told.get("update"), told.get("toolCall")
        if method == UPDATE and isinstance(update, dict):
            self._on_update(update)
        if method == PERMISSION and isinstance(call, dict):
            # Some agents tell of a call here for the first time.
            self._on_update({**call, "sessionUpdate": "tool_call_update"})
        return "id" in message


def _message_in(line: str) -> dict[str, Any] | None:
    """Return the message in a line; `None` for one that is none, which agents print by mistake."""
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else None


class PermissionDesk:
    """Answers an agent that asks for permission: by the kind of its options, since each agent names these otherwise."""

    def __init__(self, kinds: Sequence[PermissionKind], *, refused_tools: Sequence[str]) -> None:
        self._kinds = kinds
        self._refused_tools = refused_tools
        self.asked = 0
        self.refused = 0

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_meta: object
    ) -> RequestPermissionResponse:
        """Choose the first option of the kinds that are wanted; of a tool that the mode does not have, a refusal."""
        del session_id  # a connection has one
        self.asked += 1
        kinds = _REFUSALS if tool_call.kind in self._refused_tools else self._kinds
        chosen = next((option for kind in kinds for option in options if option.kind == kind), None)
        if chosen is None or chosen.kind in _REFUSALS:
            self.refused += 1
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))
