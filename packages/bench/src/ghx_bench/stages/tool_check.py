"""Refuses tools that do not work: each answers a question on the embedded GitHub before the first cell."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_base.problems import one_line, shortened
from ghx_bench.fixtures.embedded import AGENT, EMBEDDED_FILES
from ghx_bench.modes.arguments import argument_sets, world_key
from ghx_bench.modes.program_path import BrokenToolError
from ghx_bench.stages.handles import keep_path, path_of, private_folder
from ghx_bench.stages.sandbox_stage import Sandboxes
from ghx_profiler.agents.tools.toolbelt import open_shell, read_result
from ghx_profiler.agents.tools.toolset import McpServer, ToolAnswer, ToolSet
from ghx_profiler.causes import EnvironmentFailure, describe_error
from ghx_profiler.evidence import Mode
from ghx_profiler.runner.redaction import Redaction
from ghx_twin.server.loopback import Server
from ghx_twin.world import World

QUESTIONS: Mapping[str, str] = {
    "gh": "gh repo view {repo} --json name",
    "gh-axi": "gh-axi repo view {repo}",
    "ghx": """ghx run repo.view --input '{{"owner": "{owner}", "name": "{name}"}}'""",
}
"""What a program of this name is asked. Others are known to print their version, and nothing else."""

_Tools = Sequence[Mapping[str, JsonValue]]
_Call = Callable[[str, Mapping[str, JsonValue]], Awaitable[ToolAnswer]]

_LIMIT_S = 60.0
_MOST_TRIES = 3
_READS = re.compile(r"(?:^|[_.-])(?:get|list|read|search|show|view)(?:[_.-]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A session in which the tools of a mode are asked, on a world of its own."""

    mode: Mode
    environment: Mapping[str, str]
    directory: Path
    repo: str
    count_requests: Callable[[], int]
    redaction: Redaction


async def check_tools(
    mode: Mode, server: Server, world: World, repo: str, *, sandboxes: Sandboxes | None = None
) -> None:
    """Ask the tools of a mode in a session on a fork of a world; raise `BrokenToolError` for one that does not work."""
    with ExitStack() as held:
        folder = held.enter_context(await anyio.to_thread.run_sync(private_folder))
        fork = held.enter_context(world.fork())
        held.callback(server.remove, fork)
        server.add(fork)
        open_environment = partial(server.client_environment, fork, AGENT, directory=folder / "home")
        client = await anyio.to_thread.run_sync(open_environment)
        variables = {**client.variables, **client.git_variables, **path_of(mode)}
        keep_path(Path(variables["HOME"]), mode)
        async with sandboxes.open(folder, variables, mode) if sandboxes else nullcontext():
            await _ask_all(
                _Session(
                    mode=mode,
                    environment={**mode.environment, **variables},
                    directory=folder / "work",
                    repo=repo,
                    count_requests=lambda: len(fork.journal),
                    redaction=Redaction.of(mode.secrets | {client.variables["GITHUB_TOKEN"]}),
                )
            )


async def _ask_all(session: _Session) -> None:
    tools = ToolSet.of(session.mode)
    for program in tools.tools:
        if program in QUESTIONS:
            await _ask_program(session, program)
    for name, server in tools.mcp_servers.items():
        await _ask_server(session, name, server)


async def _ask_program(session: _Session, program: str) -> None:
    owner, _, name = session.repo.partition("/")
    question = QUESTIONS[program].format(repo=session.repo, owner=owner, name=name)
    before = session.count_requests()
    try:
        with anyio.fail_after(_LIMIT_S):
            async with open_shell(question, environment=session.environment, directory=session.directory) as process:
                result = await read_result(process)
    except TimeoutError:
        raise _broken(session, program, f"`{question}` did not end within {_LIMIT_S:g} s") from None
    said = result.stderr or result.stdout
    if result.exit_code:
        reason = f"ended with exit code {result.exit_code} and printed {_quote(session, said)}"
        raise _broken(session, program, f"`{question}` {reason}")
    if session.count_requests() == before:
        raise _broken(session, program, f"`{question}` asked GitHub for nothing and printed {_quote(session, said)}")


async def _ask_server(session: _Session, name: str, server: McpServer) -> None:
    from ghx_profiler.agents.tools.toolserver import connect  # noqa: PLC0415 - loads the MCP SDK, see there

    what = f"MCP server {name!r}"
    try:
        with anyio.fail_after(_LIMIT_S):
            connection = connect(name, server, environment=session.environment, directory=session.directory)
            async with connection as opened:
                if complaint := await _find_complaint(session, await opened.list_raw_tools(), opened.call):
                    raise _broken(session, what, complaint)
    except TimeoutError:
        raise _broken(session, what, f"no answer within {_LIMIT_S:g} s") from None
    except EnvironmentFailure as error:
        raise _broken(session, what, one_line(describe_error(error))) from None


async def _find_complaint(session: _Session, tools: _Tools, call: _Call) -> str | None:
    """Return what is wrong with an open server; `None` if a tool answered or asked GitHub, or none can be asked."""
    if not tools:
        return "it offers no tools"
    before, complaints = session.count_requests(), list[str]()
    for tool, arguments in _questions_for(tools, session.repo):
        answer = await call(tool, arguments)
        if not answer.failed or session.count_requests() > before:
            return None
        complaints.append(f"{tool} answered {_quote(session, answer.text)} and asked GitHub for nothing")
        if len(complaints) == _MOST_TRIES:
            break
    return complaints[0] if complaints else None


def _questions_for(tools: _Tools, repo: str) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    """Yield calls that read: of tools whose required arguments any repository has a value for."""
    owner, _, name = repo.partition("/")
    values: dict[str, JsonValue] = {
        "owner": owner,
        "repo": name,
        "full_name": repo,
        "login": AGENT,
        "path": EMBEDDED_FILES[0],
        "branch": "main",
        "query": name,
    }
    for tool in sorted(tools, key=lambda each: not _says_it_reads(each)):
        schema = cast("dict[str, JsonValue]", tool.get("inputSchema") or {})
        required = cast("list[str]", schema.get("required") or [])
        reads = _says_it_reads(tool) or _READS.search(str(tool["name"]))
        if reads and all(world_key(each) in values for each in required):
            yield str(tool["name"]), argument_sets(schema, values)[0]


def _says_it_reads(tool: Mapping[str, JsonValue]) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


def _quote(session: _Session, text: str) -> str:
    return shortened(one_line(session.redaction.text(text).strip())) if text.strip() else "nothing"


def _broken(session: _Session, what: str, reason: str) -> BrokenToolError:
    return BrokenToolError(
        f"mode {session.mode.name!r}: {what} does not work: {session.redaction.text(reason)}. Repair it, or leave the "
        "mode out"
    )
