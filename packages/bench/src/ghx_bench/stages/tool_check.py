"""Refuses tools that do not work: each answers a question on the emulator before the first cell."""

import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn, cast

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_base.problems import one_line, shortened
from ghx_bench.fixtures.embedded import AGENT, EMBEDDED_FILES
from ghx_bench.modes.arguments import argument_sets, world_key
from ghx_bench.modes.program_path import BrokenToolError
from ghx_bench.modes.resolver import LONGEST_START_S, TOOL_CHECK
from ghx_bench.stages.handles import keep_path, path_of, private_folder
from ghx_bench.stages.sandbox_stage import Sandboxes
from ghx_profiler.agents.tools.toolbelt import open_shell, read_result
from ghx_profiler.agents.tools.toolset import McpServer, ToolAnswer, ToolSet
from ghx_profiler.evidence import Mode
from ghx_profiler.records.causes import EnvironmentFailure, describe_error
from ghx_profiler.runner.redaction import Redaction
from ghx_profiler.shell.names import words_in
from ghx_twin.journal import Entry
from ghx_twin.server.loopback import Server
from ghx_twin.world import World

QUESTIONS: Mapping[str, Sequence[str]] = {
    "gh": (
        "gh repo view {repo} --json name",
        "gh issue list --repo {repo}",
        "gh pr list --repo {repo}",
        "gh api user",
    ),
    "gh-axi": ("gh-axi repo view {repo}",),
    "ghx": ("""ghx run repo.view --input '{{"owner": "{owner}", "name": "{name}"}}'""",),
}
"""The questions for a program of this name, of which it must answer one; other programs only report their version."""

_Tools = Sequence[Mapping[str, JsonValue]]
_Call = Callable[[str, Mapping[str, JsonValue]], Awaitable[ToolAnswer]]

_CALL_LIMIT_S = 60.0
_MOST_TRIES = 10
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAMESPACE = re.compile(r"[./:]|__")
_READING_VERBS = words_in("browse count describe fetch find get inspect list lookup query read search show view whoami")
_CHANGING_VERBS = words_in(
    """
    add approve archive assign cancel clear close create delete disable dismiss edit enable lock mark merge move post
    push put remove rename reopen request reset restore revoke run send set star submit subscribe transfer trigger
    unlock update upload write
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """A session in which the check asks the tools of a mode, with an emulator world of its own."""

    mode: Mode
    environment: Mapping[str, str]
    directory: Path
    repo: str
    world: World
    redaction: Redaction
    is_live: bool


async def check_tools(
    mode: Mode,
    server: Server,
    world: World,
    repo: str,
    *,
    sandboxes: Sandboxes | None = None,
    reachable_hosts: Sequence[str] = (),
    is_live: bool = False,
) -> None:
    """Ask the tools of a mode in a session on a fork of a world; raise `BrokenToolError` for one that does not work.

    Where the run itself is `is_live`, on github.com, a tool that starts but gives no answer here is only a note: what
    does not use the session's proxy cannot find the emulator, and may still find GitHub.
    """
    if TOOL_CHECK in mode.facts:
        _print_note(f"mode {mode.name!r}: {mode.facts[TOOL_CHECK]} (`check_tools: false`)")
        return
    with ExitStack() as stack:
        folder = stack.enter_context(await anyio.to_thread.run_sync(private_folder))
        fork = stack.enter_context(world.fork())
        stack.callback(server.remove, fork)
        server.add(fork)
        open_environment = partial(
            server.client_environment, fork, AGENT, directory=folder / "home", reachable_hosts=reachable_hosts
        )
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
                    world=fork,
                    redaction=Redaction.of(mode.secrets | {client.variables["GITHUB_TOKEN"]}),
                    is_live=is_live,
                )
            )


async def _ask_all(session: _Session) -> None:
    tools = ToolSet.of(session.mode)
    for program in tools.tools:
        if program in QUESTIONS and (complaint := await _ask_program(session, program)):
            _complain_of_answer(session, program, complaint)
    for name, server in tools.mcp_servers.items():
        await _ask_server(session, name, server)


async def _ask_program(session: _Session, program: str) -> str | None:
    """Return what is wrong with a program; `None` once it has answered a question."""
    owner, _, name = session.repo.partition("/")
    complaints = list[str]()
    for template in QUESTIONS[program]:
        question = template.format(repo=session.repo, owner=owner, name=name)
        if (complaint := await _ask_question(session, question)) is None:
            return None
        complaints.append(complaint)
    return complaints[0]


async def _ask_question(session: _Session, question: str) -> str | None:
    before = len(session.world.journal)
    try:
        with anyio.fail_after(_CALL_LIMIT_S):
            async with open_shell(question, environment=session.environment, directory=session.directory) as process:
                result = await read_result(process)
    except TimeoutError:
        return f"`{question}` did not end within {_CALL_LIMIT_S:g} s"
    printed = f"printed {_quote(session, result.stderr or result.stdout)}"
    if result.exit_code:
        return f"`{question}` ended with exit code {result.exit_code} and {printed}"
    unanswered = _explain_unanswered(session.world.journal.since(before))
    return unanswered and f"`{question}` {printed} and {unanswered}"


async def _ask_server(session: _Session, name: str, server: McpServer) -> None:
    from ghx_profiler.agents.tools.toolserver import connect  # noqa: PLC0415 - loads the MCP SDK, see there

    what = f"MCP server {name!r}"
    before = len(session.world.journal)  # what it asks for when it starts counts, for those that answer from memory
    # On github.com, a server at an address does not have to accept the emulator's token.
    complain = partial(_complain_of_answer if server.url is not None else _refuse, session, what)
    tools: _Tools = ()
    complaint: str | None = None
    try:
        with anyio.fail_after(LONGEST_START_S) as limit:
            connection = connect(name, server, environment=session.environment, directory=session.directory)
            async with connection as opened:
                if tools := await opened.list_raw_tools():
                    limit.deadline += _MOST_TRIES * _CALL_LIMIT_S  # each call has a limit of its own
                    complaint = await _find_complaint(session, name, tools, opened.call, before)
    except TimeoutError:
        complain(f"no answer within {LONGEST_START_S:g} s")
        return
    except EnvironmentFailure as error:
        complain(one_line(describe_error(error)))
        return
    if not tools:
        _refuse(session, what, "it offers no tools")
    if complaint is not None:
        _complain_of_answer(session, what, complaint)


async def _find_complaint(session: _Session, server: str, tools: _Tools, call: _Call, before: int) -> str | None:
    """Return what is wrong with an open server; `None` if it answered with GitHub's help, or no tool can be called."""
    complaints = list[str]()
    for tool, arguments in _questions_for(tools, session.repo, server):
        try:
            with anyio.fail_after(_CALL_LIMIT_S):
                answer = await call(tool, arguments)
        except TimeoutError:
            complaints.append(f"{tool} did not answer within {_CALL_LIMIT_S:g} s")
            break
        unanswered = _explain_unanswered(session.world.journal.since(before))
        if not answer.failed and unanswered is None:
            return None
        outcome = f"{tool} {'failed with' if answer.failed else 'answered'} {_quote(session, answer.text)}"
        complaints.append(f"{outcome} and {unanswered}" if unanswered else outcome)
        if len(complaints) == _MOST_TRIES:
            break
    return complaints[0] if complaints else None


def _explain_unanswered(entries: Sequence[Entry]) -> str | None:
    """Return why these requests are no proof that a tool reaches GitHub; `None` if GitHub answered one of them."""
    if any(each.surface != "proxy" and 0 < each.status < 400 for each in entries):  # noqa: PLR2004 - HTTP's errors
        return None
    if not entries:
        return "asked GitHub for nothing"
    last = entries[-1]
    return f"got no answer from GitHub (last request: {last.operation}, status {last.status})"


def _questions_for(tools: _Tools, repo: str, server: str) -> Iterator[tuple[str, dict[str, JsonValue]]]:
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
    for tool in sorted(tools, key=lambda each: _hint(each, "readOnlyHint") is not True):
        schema = cast("dict[str, JsonValue]", tool.get("inputSchema") or {})
        required = cast("list[str]", schema.get("required") or [])
        if _only_reads(tool, server) and all(world_key(each) in values for each in required):
            yield str(tool["name"]), argument_sets(schema, values)[0]


def _only_reads(tool: Mapping[str, JsonValue], server: str) -> bool:
    """Return whether a tool says that it only reads: by its annotations or, without any, by its name."""
    reads, destroys = _hint(tool, "readOnlyHint"), _hint(tool, "destructiveHint")
    if reads is not None or destroys is True:
        return reads is True and destroys is not True
    # `github.list_issues`, `hub__list_issues` and `hub_list_issues` all begin with `list`.
    words = [each.lower() for each in _WORD.findall(_NAMESPACE.split(str(tool["name"]))[-1])]
    prefix = {"github", "gh", "mcp", *(each.lower() for each in _WORD.findall(server))}
    while words and words[0] in prefix:
        words.pop(0)
    return bool(words) and words[0] in _READING_VERBS and _CHANGING_VERBS.isdisjoint(words)


def _hint(tool: Mapping[str, JsonValue], name: str) -> JsonValue:
    annotations = tool.get("annotations")
    return annotations.get(name) if isinstance(annotations, dict) else None


def _quote(session: _Session, text: str) -> str:
    return shortened(one_line(session.redaction.text(text).strip())) if text.strip() else "nothing"


def _complain_of_answer(session: _Session, what: str, reason: str) -> None:
    """Refuse a tool that gives no answer; where the run is on github.com, print a note instead."""
    if not session.is_live:
        _refuse(session, what, reason)
    place = "on the embedded GitHub, where tools are checked; on github.com it may work"
    _print_note(f"mode {session.mode.name!r}: {what} gave no answer {place}: {session.redaction.text(reason)}")


def _refuse(session: _Session, what: str, reason: str) -> NoReturn:
    raise BrokenToolError(
        f"mode {session.mode.name!r}: {what} does not work: {session.redaction.text(reason)}. Repair it, leave the "
        "mode out, or set `check_tools: false` in the mode"
    )


def _print_note(text: str) -> None:
    sys.stderr.write(f"note: {text}\n")
