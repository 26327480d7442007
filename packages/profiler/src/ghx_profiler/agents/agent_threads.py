"""Third-party agents in threads of their own, so that a blocking call cannot stall the runner.

Why one event loop for all sessions of an agent, unless it says that it blocks: clients of model services keep
connections, which belong to the loop that opened them, and agents share one client among their sessions.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from ghx_profiler.agents.processes.process import OPEN_GROUPS, ProcessGroup
from ghx_profiler.contracts import Session, SessionProvider, SessionRequest, scope_of_run
from ghx_profiler.evidence import Answer
from ghx_profiler.records.causes import AgentBlockedError, describe_frame, find_user_frame
from ghx_profiler.records.trace import SessionTrace

T = TypeVar("T")

_LOOK_S = 0.25
_LONG_BLOCK_S = 1.0
"""From when on an agent that does not let its event loop run gets an error: it blocks its other sessions meanwhile."""
_PATIENCE_S = 2.0
"""How long an agent that was cancelled may keep its event loop from hearing of it before it is left to itself."""
_GRACE_S = 2.0
_REMEDY = (
    "call what blocks with anyio.to_thread.run_sync, or give the agent `blocking = True`; write a function with `def` "
    "instead of `async def`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLoopStall:
    """A stretch of time in which an event loop stood still."""

    began: float
    ended: float
    place: str

    def __str__(self) -> str:
        return f"its event loop stood still for {self.ended - self.began:.1f} s ({self.place})"


class AgentThread:
    """A thread with an event loop for sessions of an agent; it is never waited for longer than a moment."""

    def __init__(self, name: str, *, is_shared: bool) -> None:
        self.is_shared = is_shared
        self.is_abandoned = False
        self.blocks: list[EventLoopStall] = []
        self._asked_at: float | None = None
        self._place = ""
        self._is_ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._sessions: TaskGroup
        self._stop: anyio.Event
        # A daemon: the interpreter must not wait for a call that never returns.
        self._thread = threading.Thread(target=anyio.run, args=(self._serve,), name=f"agent {name}", daemon=True)
        self._thread.start()
        self._is_ready.wait()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), anyio.Event()
        async with anyio.create_task_group() as self._sessions:
            self._is_ready.set()
            await self._stop.wait()

    def call_soon(self, call: Callable[[], object]) -> None:
        """Have something called in the thread, when its event loop gets to it; from any thread."""
        with suppress(RuntimeError):  # the loop is closed, and with it everything that could receive a message
            self._loop.call_soon_threadsafe(call, context=copy_context())

    def start(self, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task in the thread, which must not raise."""
        self.call_soon(partial(self._sessions.start_soon, function))

    def stop(self) -> None:
        """End the thread with its last session."""
        self.call_soon(self._stop.set)

    def join(self, timeout_s: float) -> None:
        """Wait for the end of the thread, though not for long."""
        self._thread.join(timeout_s)

    def look(self) -> EventLoopStall | None:
        """Return the block that goes on for longer than it may, if one does; to be called now and then."""
        now = time.monotonic()
        if self._asked_at is None:
            self._asked_at = now
            self.call_soon(self._answer)
        elif now - self._asked_at >= _LONG_BLOCK_S and (place := self._find_place()):
            self._place = place
            return EventLoopStall(began=self._asked_at, ended=now, place=place)
        return None

    def _answer(self) -> None:
        if self._asked_at is not None and self._place:
            self.blocks.append(EventLoopStall(began=self._asked_at, ended=time.monotonic(), place=self._place))
        self._asked_at, self._place = None, ""

    def _find_place(self) -> str:
        """Return what the thread is doing, in words; nothing where its event loop only waits for a busy machine."""
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - documented
        if frame is None:
            return ""
        stack = traceback.extract_stack(frame)
        # Idle is the loop's own call of `select`; one of `subprocess.run` has another caller.
        if any(each.filename.endswith("base_events.py") for each in stack[-2:]):
            return ""
        return describe_frame(find_user_frame(stack) or stack[-1])


@dataclass(slots=True)
class _Reply(Generic[T]):
    """A request to a session and its result; created in the event loop that waits for it."""

    work: Callable[[Session], Awaitable[T]]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    value: T | None = None
    error: BaseException | None = None
    is_done: anyio.Event = field(default_factory=anyio.Event)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    async def answer(self, session: Session) -> None:
        """Do the work, in the thread of the agent."""
        with self.scope:
            try:
                self.value = await self.work(session)
            except Exception as error:  # noqa: BLE001 - plugin call: raised again in the caller
                self.error = error
            except BaseException as error:
                if self.scope.cancel_called and isinstance(error, asyncio.CancelledError):
                    raise
                self.error = error
        self.finish()

    def finish(self) -> None:
        """Mark the request as finished."""
        with suppress(RuntimeError):  # the loop that waited is closed
            self._loop.call_soon_threadsafe(self.is_done.set)

    def result(self) -> T:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return cast("T", self.value)


class ThreadedSession:
    """A session in another thread, opened, prompted and closed by one task there, as its cancel scopes require."""

    def __init__(self, provider: SessionProvider, request: SessionRequest, thread: AgentThread) -> None:
        self.is_abandoned = False
        self._provider, self._request, self._thread = provider, request, thread
        self._opened = _Reply(_return_session)
        self._closed = _Reply(_return_session)
        self._groups: list[ProcessGroup] = []
        self._session: Session | None = None
        self._began = time.monotonic()
        self._requests, self._work = anyio.create_memory_object_stream[_Reply[Any]](10)

    async def open(self) -> None:
        """Open the session in its thread."""
        self._thread.start(self._hold)
        await self._wait(self._opened)

    async def prompt(self, text: str) -> Answer:
        """Prompt the agent; raise `AgentBlockedError` if it is cancelled and does not react."""
        return await self._ask(lambda session: session.prompt(text))

    async def trace(self) -> SessionTrace:
        """Return the trace so far; if the agent blocks its thread, read it from another thread."""
        session = self._session
        if not self.is_abandoned or session is None:
            return await self._ask(lambda session: session.trace())
        # What it did and spent is not forgotten for that; most sessions only hand out what their recorder has.
        with anyio.fail_after(_PATIENCE_S):
            return await to_thread.run_sync(partial(anyio.run, session.trace), abandon_on_cancel=True)

    async def close(self, error: BaseException | None) -> None:
        """Leave the session, which ended with this error; raise `AgentBlockedError` if it blocked other sessions."""
        if self.is_abandoned:
            return
        self._closed.error = error
        self._thread.call_soon(self._requests.close)
        await self._wait(self._closed)
        blocks = [block for block in self._thread.blocks if block.ended > self._began]
        if blocks and error is None and self._thread.is_shared:
            longest = max(blocks, key=lambda block: block.ended - block.began)
            raise AgentBlockedError(f"{longest}, and with it every session of the agent; {_REMEDY}")

    async def end_processes(self) -> None:
        """End what the session started, if it was left to itself and cannot do so."""
        if self.is_abandoned:
            with anyio.CancelScope(shield=True):
                for group in self._groups:
                    await group.end_all(_GRACE_S)

    async def _hold(self) -> None:
        """Hold the session in the thread of the agent."""
        OPEN_GROUPS.set(self._groups)
        try:
            with self._closed.scope:
                async with self._provider.session(self._request) as self._session:
                    self._opened.finish()
                    async for reply in self._work:
                        await reply.answer(self._session)
                    # The agent's own clean-up may ask how the session ended.
                    if self._closed.error is not None:
                        raise self._closed.error  # noqa: TRY301 - into the agent's own scope
        except BaseException as error:  # noqa: BLE001 - plugin call: raised again where it is waited for
            self._opened.error = self._closed.error = error
        else:
            self._closed.error = None
        for stream in (self._requests, self._work):
            stream.close()
        self._opened.finish()
        self._closed.finish()

    async def _ask(self, work: Callable[[Session], Awaitable[T]]) -> T:
        reply = _Reply(work)

        def post() -> None:
            try:
                self._requests.send_nowait(reply)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                reply.error = error  # the session was left meanwhile
                reply.finish()

        self._thread.call_soon(post)
        return await self._wait(reply)

    async def _wait(self, reply: _Reply[T]) -> T:
        """Wait for a reply; cancelled, have the work cancelled, and wait for that as long as the thread reacts."""
        try:
            while not reply.is_done.is_set():
                with anyio.move_on_after(_LOOK_S):
                    await reply.is_done.wait()
                self._thread.look()
        except anyio.get_cancelled_exc_class():
            scope = self._closed.scope if reply is self._opened else reply.scope
            self._thread.call_soon(scope.cancel)
            with anyio.CancelScope(shield=True):
                while not reply.is_done.is_set():
                    with anyio.move_on_after(_LOOK_S):
                        await reply.is_done.wait()
                    block = self._thread.look()
                    if block is not None and block.ended - block.began >= _PATIENCE_S:
                        self._abandon()
                        remedy = f"; {_REMEDY}" if self._thread.is_shared else ""
                        raise AgentBlockedError(f"{block}, so that it could not be stopped{remedy}") from None
            raise
        return reply.result()

    def _abandon(self) -> None:
        """Leave the thread to the call that blocks it; once that returns, session and thread end."""
        self.is_abandoned = self._thread.is_abandoned = True
        self._thread.call_soon(self._closed.scope.cancel)
        self._thread.stop()


async def _return_session(session: Session) -> Session:
    return session


class _ThreadedScope:
    """A scope that a task in the thread of an agent keeps open."""

    def __init__(self, scope: AbstractAsyncContextManager[object], thread: AgentThread) -> None:
        self._scope, self._thread = scope, thread
        self._opened, self._closed = _Reply(_return_session), _Reply(_return_session)
        self._is_over = asyncio.Event()
        self._held = anyio.CancelScope()

    async def open(self) -> None:
        """Enter the scope; raise what keeps it from being entered."""
        self._thread.start(self._hold)
        try:
            await self._opened.is_done.wait()
        except anyio.get_cancelled_exc_class():
            self._thread.call_soon(self._held.cancel)
            raise
        self._opened.result()

    async def close(self) -> None:
        """Leave the scope, unless its thread is blocked."""
        if self._thread.is_abandoned:
            return
        self._thread.call_soon(self._is_over.set)
        await self._closed.is_done.wait()
        self._closed.result()

    async def _hold(self) -> None:
        try:
            with self._held:
                async with self._scope:
                    self._opened.finish()
                    await self._is_over.wait()
        except BaseException as error:  # noqa: BLE001 - plugin call: raised again where it is waited for
            self._opened.error = self._closed.error = error
        self._opened.finish()
        self._closed.finish()


class ThreadedProvider:
    """An agent whose sessions live in a thread of its own, or with `blocking = True` each in one of its own."""

    def __init__(self, provider: SessionProvider) -> None:
        self._provider = self.__wrapped__ = provider
        self._shared: AgentThread | None = None

    def __getattr__(self, name: str) -> Any:
        """Return what the agent itself has: its version, what kind of control it is."""
        return getattr(self._provider, name)

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self._provider.name

    @asynccontextmanager
    async def run(self, directory: Path) -> AsyncGenerator[None]:
        """Hold what the agent holds for the whole run, in the event loop of its sessions."""
        scope = scope_of_run(self._provider, directory)
        if isinstance(scope, nullcontext):
            yield
            return
        threaded_scope = _ThreadedScope(scope, self._share_thread())
        await threaded_scope.open()
        try:
            yield
        finally:
            await threaded_scope.close()

    @asynccontextmanager
    async def session(self, request: SessionRequest) -> AsyncGenerator[ThreadedSession]:
        """Open a session in its thread; on leaving, what it started is gone, also if it cannot be made to end."""
        is_alone = getattr(self._provider, "blocking", False) is True
        thread = AgentThread(self.name, is_shared=False) if is_alone else self._share_thread()
        session = ThreadedSession(self._provider, request, thread)
        try:
            await session.open()
            try:
                yield session
            except BaseException as error:
                await session.close(error)
                raise
            await session.close(None)
        finally:
            await session.end_processes()
            if is_alone:
                thread.stop()

    async def aclose(self) -> None:
        """End the thread, unless it is blocked."""
        if self._shared is not None and not self._shared.is_abandoned:
            self._shared.stop()
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._shared.join, _LONG_BLOCK_S)
        self._shared = None

    def _share_thread(self) -> AgentThread:
        if self._shared is None or self._shared.is_abandoned:
            self._shared = AgentThread(self.name, is_shared=True)
        return self._shared
