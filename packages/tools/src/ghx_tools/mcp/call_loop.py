"""The event loop in which the calls of a stdio session are made, side by side."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from queue import SimpleQueue

import anyio
import anyio.lowlevel
import anyio.to_thread

from ghx_base.errors import GhxBenchError
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.environment import client_from_environment
from ghx_tools.capabilities.errors import ErrorCode
from ghx_tools.capabilities.registry import capability
from ghx_tools.mcp.json_rpc import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    Message,
    RequestError,
    RequestId,
    write_error,
    write_notification,
    write_result,
)
from ghx_tools.mcp.stdio_session import Call, Cancellation
from ghx_tools.mcp.tool_calls import call_tool, describe_failure
from ghx_tools.mcp.toolsets import Selection


class CallLoop:
    """Makes calls and answers each as it ends; `send` writes a message, `settle` is told of every call that is over."""

    def __init__(
        self,
        selection: Selection,
        environ: Mapping[str, str],
        send: Callable[[Message], None],
        settle: Callable[[Call], None],
    ) -> None:
        self._selection = selection
        self._environ = environ
        self._send = send
        self._settle = settle
        self._scopes: dict[RequestId, anyio.CancelScope] = {}

    def run(self, jobs: SimpleQueue[Call | Cancellation | None]) -> None:
        """Make the calls that come by a queue, until `None` does."""
        anyio.run(self._work_off, jobs)

    async def _work_off(self, jobs: SimpleQueue[Call | Cancellation | None]) -> None:
        async with anyio.create_task_group() as calls:
            calls.start_soon(self._load_capabilities)
            # Abandoned where a call ends in a defect: the process must end, and not wait for the next call.
            while (job := await anyio.to_thread.run_sync(jobs.get, abandon_on_cancel=True)) is not None:
                match job:
                    case Call():
                        scope = self._scopes[job.id] = anyio.CancelScope()
                        calls.start_soon(self._answer, job, scope)
                    # A boolean equals an integer to Python, and is no id.
                    case Cancellation(id=str() | int() as id_) if not isinstance(id_, bool) and id_ in self._scopes:
                        self._scopes[id_].cancel()
                    case Cancellation():
                        pass  # it is over, or never was
            calls.cancel_scope.cancel()

    async def _load_capabilities(self) -> None:
        """Load what calls will need while the agent still thinks; once it calls, a call loads what it needs alone."""
        with suppress(Exception):  # said in the answer to each call that needs it
            _ = self._client
            for entry in self._selection.tools.values():
                await anyio.lowlevel.checkpoint()
                if self._scopes:
                    return
                capability(entry.id)

    @cached_property
    def _client(self) -> GitHubClient:
        return client_from_environment(self._environ)

    async def _answer(self, call: Call, scope: anyio.CancelScope) -> None:
        answer: Message | None = None
        with scope:
            try:
                answer = await self._call(call)
            except anyio.get_cancelled_exc_class():
                if not scope.cancel_called:  # not the client stopped it, but the end of the session
                    answer = write_error(call.id, RequestError(CONNECTION_CLOSED, "Connection closed"))
                    self._reply(call, answer)
                raise
            finally:
                # A client that uses an id again, which it must not do, has put another scope here.
                if self._scopes.get(call.id) is scope:
                    del self._scopes[call.id]
        self._reply(call, answer)

    def _reply(self, call: Call, answer: Message | None) -> None:
        # A write waits while the client does not read, and all other calls with it: they would wait for it next.
        with suppress(OSError):  # the client is gone, which the thread that reads from it notices, too
            if answer is not None:
                self._send(answer)
        self._settle(call)

    async def _call(self, call: Call) -> Message:
        async def report(done: int, total: int, message: str) -> None:
            if call.progress_token is not None:
                progress = {"progressToken": call.progress_token, "progress": done, "total": total, "message": message}
                with suppress(OSError):
                    self._send(write_notification("notifications/progress", progress))

        try:
            result = await call_tool(self._client, self._selection, call.name, call.arguments, report)
        except GhxBenchError as error:  # settings of the environment that cannot be used
            result = describe_failure(ErrorCode.VALIDATION, str(error))
        except Exception as error:  # noqa: BLE001 - a server request: one that meets a defect must not end the others
            return write_error(call.id, RequestError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))
        return write_result(call.id, call.complete(result))
