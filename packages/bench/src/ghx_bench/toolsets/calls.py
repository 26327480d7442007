"""Opens the tools of a mode on a served copy of a fixed world, as a session does, and calls them."""

import json
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_base.errors import InputError
from ghx_base.problems import one_line
from ghx_bench.assembly import COMMON_ENVIRONMENT
from ghx_bench.modes.resolver import PATIENCE_S, ToolServerError, start_limit_s
from ghx_bench.modes.waiting import Waiting
from ghx_bench.stages.handles import keep_path, private_folder
from ghx_bench.toolsets.tool_lists import ListedTool, parse_tool
from ghx_profiler.agents.tools.toolbelt import ToolBelt, tool_belt
from ghx_profiler.agents.tools.toolserver import ToolServer, connect
from ghx_profiler.agents.tools.toolset import ToolAnswer, ToolSet
from ghx_profiler.contracts import SessionRequest
from ghx_profiler.evidence import Mode
from ghx_profiler.plan.cell import NO_MODEL, Cell
from ghx_profiler.recorder import TraceRecorder
from ghx_profiler.records.causes import EnvironmentFailure
from ghx_twin.journal import Entry
from ghx_twin.seed.worlds import open_world
from ghx_twin.server.loopback import Server, served
from ghx_twin.world import World

WORLDS = Path(__file__).with_name("worlds")
"""The seeds of the fixed worlds."""

CALL_LIMIT_S = 60.0
"""How long one call may take; what takes longer is a failed answer, and the tool is not called again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool: what the agent would read, and what was asked of GitHub for it."""

    answer: ToolAnswer
    requests: tuple[Entry, ...]
    written: str = ""
    """What an agent writes to make it: the command, or the tool and its arguments as compact JSON."""
    is_lost: bool = False
    """Whether no answer came, not even a refusal: it took too long, or the server ended."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """What it asked for and the emulator lacks: its answer says nothing of the tool then."""
        return tuple(dict.fromkeys(each.not_implemented for each in self.requests if each.not_implemented))

    @property
    def changing(self) -> tuple[Entry, ...]:
        """The requests that change the world, or would have, had they not been refused."""
        return tuple(each for each in self.requests if tries_to_change(each))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTools:
    """The tools of a mode, open on a copy of the world that nobody else uses; calls are made one after the other."""

    mode: Mode
    world: World
    servers: Mapping[str, ToolServer]
    belt: ToolBelt
    folder: Path
    """Where the session has its home and its work; answers have `/session` in its place, since its name is random."""
    silent: set[str]
    """The tools of the mode that did not answer in time, also before these were opened."""
    silent_before: int
    waiting: Waiting
    ended: set[str] = field(default_factory=set[str])
    """The MCP servers that ended during a call."""

    @property
    def has_shell(self) -> bool:
        """Whether the mode lets its agents run commands."""
        return ToolSet.of(self.mode).shell

    @property
    def is_stuck(self) -> bool:
        """Whether a call was lost: its server is gone, or may answer no other call either; it is opened again."""
        return bool(self.ended) or len(self.silent) > self.silent_before

    async def list_tools(self) -> Mapping[str, tuple[ListedTool, ...]]:
        """Return the tools of each MCP server; raise `ToolServerError` where one does not list them."""
        tools: dict[str, tuple[ListedTool, ...]] = {}
        for name, server in self.servers.items():
            try:
                with anyio.fail_after(CALL_LIMIT_S), self.waiting.wait_for(f"the tools of {name}"):
                    tools[name] = tuple(map(parse_tool, await server.list_raw_tools()))
            except EnvironmentFailure as error:
                raise ToolServerError(one_line(f"mode {self.mode.name!r}: {error}")) from error
            except TimeoutError:
                reason = f"the MCP server {name!r} did not list its tools within {CALL_LIMIT_S:g} s"
                raise ToolServerError(f"mode {self.mode.name!r}: {reason}") from None
        return tools

    async def shell(self, command: str) -> Call:
        """Run a command in bash, with the mode's programs on its path."""
        tool = " ".join(command.split()[:2])
        return await self._call(tool, command, partial(self.belt.shell, command))

    async def mcp(self, tool: str, arguments: Mapping[str, JsonValue], *, server: str | None = None) -> Call:
        """Call a tool of an MCP server: the named one, else the first that the mode has.

        Where the server ends meanwhile, that is a failed answer; raises `InputError` where there is no such server.
        """
        name = next(iter(self.servers), None) if server is None else server
        if name is None or name not in self.servers:
            names = ", ".join(self.servers) or "none"
            raise InputError(
                f"mode {self.mode.name!r}: a call of {tool} needs the server {name or '(any)'}; it has {names}"
            )
        call = {"name": tool, "arguments": dict(arguments)}
        call_text = json.dumps(call, ensure_ascii=False, separators=(",", ":"))
        before = len(self.world.journal)
        try:
            return await self._call(f"{name} {tool}", call_text, partial(self.servers[name].call, tool, arguments))
        except EnvironmentFailure as error:
            self.ended.add(name)
            # Its last words stand next to the text, which is the same each time that it ends.
            text = "(the server ended during the call)"
            answer = ToolAnswer(text=text, value=None, failed=True, complaint=str(error))
            # What it asked for before it ended counts as well.
            return self._called(call_text, answer, before, is_lost=True)

    async def _call(self, tool: str, call_text: str, call: Callable[[], Awaitable[ToolAnswer]]) -> Call:
        # Once is enough: with a minute for each, a tool that hangs would cost half an hour.
        if tool in self.silent:
            return Call(answer=_NOT_AGAIN, requests=(), written=call_text, is_lost=True)
        before = len(self.world.journal)
        answer: ToolAnswer | None = None
        with anyio.move_on_after(CALL_LIMIT_S), self.waiting.wait_for(f"{self.mode.name}: {tool}"):
            answer = await call()
        is_lost = answer is None
        if answer is None:
            self.silent.add(tool)
            answer = ToolAnswer(text=f"(no answer within {CALL_LIMIT_S:g} s)", value=None, failed=True)
        return self._called(call_text, answer, before, is_lost=is_lost)

    def _called(self, call_text: str, answer: ToolAnswer, before: int, *, is_lost: bool) -> Call:
        # With all that follows: programs that keep files give their folders random names, too.
        path = re.compile(re.escape(str(self.folder)) + r"[\w./+@-]*")
        text, complaint = (path.sub("/session", each) for each in (answer.text, answer.complaint))
        return Call(
            answer=replace(answer, text=text, complaint=complaint),
            requests=self.world.journal.since(before),
            written=call_text,
            is_lost=is_lost,
        )


_NOT_AGAIN = ToolAnswer(text="(not called again: it did not answer before)", value=None, failed=True)


class FixedWorld:
    """A world that is planted once and served in copies, one for each time that tools are opened."""

    def __init__(self, server: Server, world: World, agent: str, waiting: Waiting) -> None:
        self.world, self.agent = world, agent
        self._server, self._waiting = server, waiting
        self._silent: dict[str, set[str]] = {}

    @asynccontextmanager
    async def open_tools(self, mode: Mode) -> AsyncGenerator[OpenTools]:
        """Open the tools of a mode in a session's environment; on leaving, their processes and the copy are gone.

        Raises `ToolServerError` where an MCP server of the mode does not come up in time.
        """
        limits_s: dict[str, float] = {}
        with anyio.CancelScope() as opening:
            async with self._open(mode, opening, limits_s) as tools:
                yield tools
        if opening.cancelled_caught:
            name, limit_s = limits_s.popitem()
            raise ToolServerError(f"mode {mode.name!r}: {name}: no answer to `initialize` within {limit_s:g} s")

    @asynccontextmanager
    async def _open(
        self, mode: Mode, opening: anyio.CancelScope, limits_s: dict[str, float]
    ) -> AsyncGenerator[OpenTools]:
        """Open the tools of a mode; into `limits_s` goes each server, before it is started, with the time it has."""
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(await anyio.to_thread.run_sync(private_folder))
            world = stack.enter_context(self._copy())
            client = await anyio.to_thread.run_sync(
                partial(self._server.client_environment, world, self.agent, directory=folder / "home")
            )
            stage = {**client.variables, **client.git_variables}
            keep_path(Path(stage["HOME"]), mode)
            request = SessionRequest(
                cell=Cell(agent="surface", model=NO_MODEL, mode=mode.name, scenario_id="surface", iteration=1),
                mode=mode,
                environment={**COMMON_ENVIRONMENT, **mode.environment, **stage},
                directory=folder / "work",
            )
            servers: dict[str, ToolServer] = {}
            try:
                # Beneath the belt, whose servers are known by fewer methods: their instructions and annotations count.
                for name, each in ToolSet.of(mode).mcp_servers.items():
                    limits_s[name] = start_limit_s(each, PATIENCE_S)
                    # One scope around everything, with a deadline while a server is opened, rather than one for each:
                    # what a server runs in outlives its opening.
                    opening.deadline = anyio.current_time() + limits_s[name]
                    connection = connect(name, each, environment=request.environment, directory=request.directory)
                    with self._waiting.wait_for(f"the MCP server {name} to answer `initialize`"):
                        servers[name] = await stack.enter_async_context(connection)
                    opening.deadline = math.inf
            except EnvironmentFailure as error:
                raise ToolServerError(f"mode {mode.name!r}: {error}") from error
            belt = await stack.enter_async_context(
                tool_belt(request, TraceRecorder(source="script"), with_servers=False)
            )
            belt = replace(belt, servers=servers)
            silent = self._silent.setdefault(mode.name, set())
            yield OpenTools(
                mode=mode,
                world=world,
                servers=servers,
                belt=belt,
                folder=folder,
                silent=silent,
                silent_before=len(silent),
                waiting=self._waiting,
            )

    @contextmanager
    def _copy(self) -> Generator[World]:
        with self.world.fork() as world:
            self._server.add(world)
            try:
                yield world
            finally:
                self._server.remove(world)


@asynccontextmanager
async def open_fixed_world(seed: Path, *, agent: str, waiting: Waiting) -> AsyncGenerator[FixedWorld]:
    """Plant a seed and serve it; `agent` is the login that tools act as.

    Its clock ticks with what happens, so that the same calls get the same answers, times and commits included.
    """
    world = await anyio.to_thread.run_sync(open_world, seed)
    # A world outlives the server: while one of its threads answers a request, the world must not be closed.
    with world:
        async with served() as server:
            await anyio.to_thread.run_sync(server.prepare_certificates)
            yield FixedWorld(server, world, agent, waiting)


ONLY_READING = frozenset(
    {
        "POST /applications/{client_id}/token",
        "POST /markdown",
        "POST /markdown/raw",
        "POST /orgs/{org}/attestations/bulk-list",
        "POST /repos/{owner}/{repo}/releases/generate-notes",
        "POST /users/{username}/attestations/bulk-list",
    }
)
"""Operations of GitHub's REST API that change nothing, and are no GET since what they are asked with is long or secret:
a token is checked, Markdown rendered, attestations are listed, release notes are drafted and not saved."""


def tries_to_change(entry: Entry) -> bool:
    """Return whether a request changes something, or would have if it had been granted."""
    if entry.mutation:
        return True
    match entry.surface:
        case "rest":
            return entry.method not in {"GET", "HEAD", "OPTIONS"} and entry.operation not in ONLY_READING
        case "graphql":
            return entry.operation.startswith("mutation")
        case "git":
            return "receive-pack" in entry.operation
        case _:
            return False
