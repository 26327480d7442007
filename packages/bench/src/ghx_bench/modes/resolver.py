"""The modes of a run: each with a path of its own, its MCP servers, and what is written about them on rows."""

import os
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import anyio
import anyio.to_thread
from pydantic import JsonValue

from ghx_base.errors import DocumentError, InputError, OperationError, ungrouped
from ghx_base.files.scratch import ScratchFolder, sweep
from ghx_base.problems import one_line
from ghx_base.version import VERSION
from ghx_bench.modes.definitions import Definitions, ModeDefinition
from ghx_bench.modes.program_path import (
    BEHIND,
    COMMON,
    GHX,
    BrokenToolError,
    MissingToolError,
    absence,
    fill_folder,
    find_program,
    version_of,
)
from ghx_bench.modes.program_words import TOOLS_FOLDER, name_of
from ghx_bench.modes.session_programs import LentPrograms, ProgramFolders, RunningSessions
from ghx_bench.modes.skills import BadSkillError, find_skills
from ghx_bench.modes.waiting import Waiting
from ghx_profiler.agents.processes.process import end_orphans
from ghx_profiler.agents.tools.server_identity import ServerIdentity, ask_identity
from ghx_profiler.agents.tools.toolset import McpServer, ToolSet, fill_variables, variables_in
from ghx_profiler.evidence import Mode
from ghx_profiler.records.causes import EnvironmentFailure
from ghx_profiler.runner.redaction import Redaction

_STANDARD_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin")
LONGEST_START_S = 120.0
"""How long a server may take to start, which may have to be fetched first."""
TOOL_CHECK = "tool_check"
"""The fact of a mode whose tools are not checked, as its definition says."""
PATIENCE_S = 30.0
"""Time limit for a server to start when a user waits at a terminal."""
_FETCHERS = frozenset({"docker", "npx", "pipx", "podman", "uvx"})
"""Programs that may have to fetch a server before they start it."""
_NOBODY = "http://127.0.0.1:9"  # the discard port: a server that is only asked for its name needs no GitHub
_PLACEHOLDERS = {
    "GITHUB_TOKEN": "placeholder",
    "GH_TOKEN": "placeholder",
    "GITHUB_API_URL": _NOBODY,
    "GITHUB_GRAPHQL_URL": f"{_NOBODY}/graphql",
    "GITHUB_SERVER_URL": _NOBODY,
}
_OFFLINE = {name: _NOBODY for each in ("http_proxy", "https_proxy", "all_proxy") for name in (each, each.upper())}
"""For a program that is only asked for its version, and may take the word for something else to do."""
_SCRIPT_SUFFIXES = frozenset({".cjs", ".dll", ".jar", ".js", ".mjs", ".php", ".pl", ".py", ".pyz", ".rb", ".sh", ".ts"})
_NO_SECRETS = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"})
_SECRETIVE = re.compile(r"(?i)key|token|secret|pass|credential|auth|private")
_PLAIN = re.compile(r"[A-Za-z]+(?:[ _-][A-Za-z]+)*|true|false|[\d.:+TZ -]+")
_REMEDIES = {
    "github-mcp-server": "install GitHub's MCP server, or name another one under `mcp_servers` of the mode",
    "npx": "install Node.js",
}


def start_limit_s(server: McpServer, usual_s: float) -> float:
    """Return how long a server may take to start: as others, or longer where it may have to be fetched first."""
    return LONGEST_START_S if Path(server.command or "").name in _FETCHERS else usual_s


class ToolServerError(OperationError):
    """An MCP server that a mode needs cannot be started or reached."""

    code: ClassVar[str] = "TOOL_SERVER"
    exit_code: ClassVar[int] = 3


class Modes:
    """Resolves modes by name: each gets a folder with its programs, and its servers report their identity.

    What is found out is kept: a mode stays the same as long as this object is used. Nothing is made for modes
    that are not asked for. `new_folder` makes the folders, which have nothing in common: from that of one mode, no way
    leads to that of another.
    """

    def __init__(
        self,
        definitions: Definitions,
        new_folder: Callable[[], Path],
        environ: Mapping[str, str],
        *,
        longest_start_s: float = LONGEST_START_S,
    ) -> None:
        self._definitions, self._new_folder, self._environ = definitions, new_folder, environ
        self._longest_start_s = longest_start_s
        self.waiting = Waiting()
        self._resolved: dict[str, Mode] = {}
        self._folders: dict[str, ProgramFolders] = {}
        self._sessions = RunningSessions()
        self._versions: dict[tuple[tuple[Path, ...], frozenset[tuple[str, str]]], str] = {}
        self._identities: dict[tuple[str, frozenset[tuple[str, str]]], ServerIdentity] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All modes there are."""
        return self._definitions.names

    @property
    def server_names(self) -> frozenset[str]:
        """The names of the MCP servers of all modes, by which their tools are recognised."""
        wholes = (self._definitions.whole(name) for name in self.names)
        return frozenset(server for whole in wholes for server in whole.mcp_servers)

    async def resolve(self, name: str) -> Mode:
        """Return the mode of that name."""
        if name not in self._resolved:
            if lost := [path for each in self._definitions.lineage(name) for path in each.lost]:
                raise DocumentError(lost)
            self._resolved[name] = await self._make(self._definitions.whole(name))
        return self._resolved[name]

    def lend(self, mode: Mode) -> AbstractAsyncContextManager[LentPrograms]:
        """Hold the programs of one session in a mode that was resolved here."""
        return self._folders[mode.name].lend(mode)

    def close(self) -> None:
        """Remove the folders of sessions that are over."""
        self._sessions.remove_folders()

    async def _make(self, whole: ModeDefinition) -> Mode:
        _require_packages(whole)
        programs = self._new_folder() / "bin"
        fill = partial(fill_folder, tools=whole.tools, environ=self._environ, behind_tools=whole.behind_tools)
        try:
            fill(programs)
            skills = find_skills(whole.skills)
        except (MissingToolError, BadSkillError) as error:
            raise type(error)(f"mode {whole.name!r}: {error}") from None
        tools = ToolSet(
            shell=whole.shell is not False,
            web=whole.web is True,
            tools=tuple(map(name_of, whole.tools)),
            mcp_servers={name: self._startable(whole.name, server) for name, server in whole.mcp_servers.items()},
            skills={name: str(folder) for name, folder in skills.items()},
        )
        files = [file for server in tools.mcp_servers.values() for file in _program_files(server)]
        self._folders[whole.name] = ProgramFolders(programs, tools.tools, files, fill, self._sessions)
        environment = {**self._fill_environment(whole), "PATH": str(programs)}
        secrets = self._secrets_of(whole)
        facts = await self._facts(whole, tools, environment, Redaction.of(secrets))
        if whole.check_tools is False:
            facts[TOOL_CHECK] = "tools not checked"
        return Mode(
            name=whole.name,
            environment=environment,
            instructions=whole.instructions,
            settings=tools.settings(),
            facts=facts,
            secrets=secrets,
        )

    async def _facts(
        self, whole: ModeDefinition, tools: ToolSet, environment: Mapping[str, str], redaction: Redaction
    ) -> dict[str, JsonValue]:
        """Get the versions of programs and the identities of servers concurrently, since each starts a process."""
        # The programs that make the mode, and git, which every mode has. Not the others that are common to all modes:
        # some of them know no version.
        words = {name_of(tool): tool for tool in (*whole.tools, *whole.behind_tools, "git")}
        versions = dict.fromkeys(tool for tool, word in words.items() if word not in COMMON or word == "git")
        identities: dict[str, JsonValue] = dict.fromkeys(tools.mcp_servers)

        async def ask_program(tool: str) -> None:
            try:
                versions[tool] = redaction.text(await self._version(tool, words[tool], environment))
            except BrokenToolError as error:
                if whole.check_tools is False:
                    return
                raise BrokenToolError(redaction.text(f"mode {whole.name!r}: {error}")) from None

        async def ask_server(name: str, server: McpServer) -> None:
            identities[name] = await self._identity(whole, name, server, environment, redaction)

        with ungrouped():
            async with anyio.create_task_group() as asking:
                for tool in versions:
                    asking.start_soon(ask_program, tool)
                for name, server in tools.mcp_servers.items():
                    asking.start_soon(ask_server, name, server)
        facts: dict[str, JsonValue] = {
            "tools": [{"name": tool, "version": version} for tool, version in versions.items()]
        }
        if identities:
            facts["mcp_servers"] = identities
        if tools.skills:
            facts["skills"] = [*tools.skills]
        return facts

    def _fill_environment(self, whole: ModeDefinition) -> dict[str, str]:
        try:
            return {name: fill_variables(value, self._environ) for name, value in whole.environment.items()}
        except KeyError as missing:
            raise InputError(
                f"mode {whole.name!r} needs the environment variable {missing.args[0]}, which is not set"
            ) from None

    def _secrets_of(self, whole: ModeDefinition) -> frozenset[str]:
        """Return the values of the user's variables that the mode passes to its sessions, without plain ones.

        A word or a date is not a secret unless its name suggests one: both are in every record.
        """
        names = frozenset[str]().union(*map(variables_in, whole.environment.values())) - _NO_SECRETS
        values = {name: self._environ[name] for name in names}
        return frozenset(v for name, v in values.items() if _SECRETIVE.search(name) or not _PLAIN.fullmatch(v))

    def _startable(self, mode: str, server: McpServer) -> McpServer:
        """Return a server whose command is found wherever it is started, though its agents' path does not have it."""
        if server.command is None:
            return server
        program = find_program(server.command, self._environ)
        if program is None:
            remedy = _REMEDIES.get(server.command, "install it, or correct the command")
            raise MissingToolError(f"mode {mode!r}: {absence(server.command, remedy)}")
        executable, *script = program.words
        # Only folders that are the same tomorrow: a run is resumed with the servers it was started with.
        environment = {"PATH": ":".join(dict.fromkeys((str(executable.parent), *_STANDARD_FOLDERS)))}
        if executable.name == "npx" and "HOME" in self._environ:
            # A session has a home of its own and no way to npm; the server was downloaded when it was asked who it is.
            environment["npm_config_cache"] = str(Path(self._environ["HOME"], ".npm"))
            environment["npm_config_prefer_offline"] = "true"
            environment["npm_config_update_notifier"] = "false"
        return server.model_copy(
            update={
                "command": str(executable),
                "args": (*map(str, script), *server.args),
                "environment": {**environment, **server.environment},
            },
        )

    async def _version(self, tool: str, word: str, environment: Mapping[str, str]) -> str:
        if word == GHX:
            return VERSION  # of this very installation, whichever way it is started
        program = find_program(word, self._environ)
        if program is not None and program.version is not None:
            return program.version
        # Without PATH, which leads to the mode's own folder.
        alike = frozenset({**environment, "PATH": ""}.items())
        key = (Path(word),) if program is None else program.words, alike
        if key not in self._versions:
            programs = Path(environment["PATH"])
            place = programs / tool
            with ScratchFolder() as home:
                in_session = {**environment, **_PLACEHOLDERS, **_OFFLINE, "HOME": str(home), "NO_COLOR": "1"}
                self._versions[key] = await version_of(
                    place if place.exists() else programs.with_name(BEHIND) / tool, in_session
                )
        return self._versions[key]

    async def _identity(
        self, whole: ModeDefinition, name: str, server: McpServer, environment: Mapping[str, str], redaction: Redaction
    ) -> dict[str, JsonValue]:
        """Return the name and version of a server, which is asked once for all modes that start it alike."""
        # Without PATH, which leads to the mode's own folder: a server that is started has a PATH of its own.
        alike = {**environment, "PATH": ""}
        key = (server.model_dump_json(), frozenset(alike.items()))
        if key not in self._identities:
            limit_s = start_limit_s(server, self._longest_start_s)
            try:
                with (
                    anyio.fail_after(limit_s),
                    ScratchFolder() as home,
                    self.waiting.wait_for(f"the MCP server {name} to answer `initialize`"),
                ):
                    nowhere = {**_PLACEHOLDERS, "HOME": str(home), **environment}
                    self._identities[key] = await _ask(name, server, nowhere, home)
            except EnvironmentFailure as error:
                raise ToolServerError(one_line(redaction.text(f"mode {whole.name!r}: {error}"))) from error
            except TimeoutError:
                reason = f"the MCP server {name!r} did not answer within {limit_s:g} s"
                raise ToolServerError(f"mode {whole.name!r}: {reason}") from None
        identity = self._identities[key]
        if not identity.version and whole.check_tools is not False:
            raise BrokenToolError(
                f"mode {whole.name!r}: the MCP server {name!r} reports no version; have it answer `initialize` with "
                "`serverInfo`: its name and version"
            )
        return {"name": redaction.value(identity.name), "version": redaction.value(identity.version)}


def _program_files(server: McpServer) -> Iterator[Path]:
    """Yield the files that a server is started from: its command, and the first script or program in its arguments.

    Not the values of options: a server writes into its log or its database itself.
    """
    command = Path(server.command or "")
    if command.is_absolute() and command.is_file():
        yield command
    for previous, word in pairwise(server.words):
        path = Path(word)
        if previous.startswith("-") or not path.is_absolute() or not path.is_file():
            continue
        if path.suffix in _SCRIPT_SUFFIXES or os.access(path, os.X_OK):
            yield path
            break


def _require_packages(whole: ModeDefinition) -> None:
    """Refuse a mode that is made of packages of npm which are not installed: none is fetched while a run goes on."""
    for package in whole.packages:
        if not package.folder_in(TOOLS_FOLDER).is_dir():
            raise MissingToolError(
                f"mode {whole.name!r}: {package.name} {package.version} is not installed in {TOOLS_FOLDER}; install it "
                f"with `ghx-bench doctor --install {whole.name}`"
            )


async def _ask(name: str, server: McpServer, environment: Mapping[str, str], home: Path) -> ServerIdentity:
    """Ask a server for its name and version, without a token or a GitHub of anybody's."""
    if server.url is None:
        return await ask_identity(name, server, environment=environment, directory=home)
    from ghx_profiler.agents.tools.toolserver import connect  # noqa: PLC0415 - loads the MCP SDK, see there

    async with connect(name, server, environment=environment, directory=home) as opened:
        return opened.identity


@asynccontextmanager
async def open_modes(
    definitions: Sequence[ModeDefinition] = (),
    *,
    environ: Mapping[str, str],
    longest_start_s: float = LONGEST_START_S,
) -> AsyncGenerator[Modes]:
    """Hold the modes of a run; their folders are private, and gone when the block is left.

    What runs that were killed have left, processes and folders, is removed first.

    `environ` is the bench's own environment: where programs are looked for, and what `${NAME}` in definitions means.
    """
    await anyio.to_thread.run_sync(end_orphans)  # first: they may use the folders
    await anyio.to_thread.run_sync(sweep)
    with ExitStack() as stack:
        modes = Modes(
            Definitions(definitions),
            lambda: stack.enter_context(ScratchFolder()),
            environ,
            longest_start_s=longest_start_s,
        )
        stack.callback(modes.close)
        yield modes
