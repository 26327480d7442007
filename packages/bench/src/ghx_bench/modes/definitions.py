"""Modes as they are written down: those that come with the bench, and those of users."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr, ValidationError

from ghx_base.documents import (
    DocumentError,
    RefusedError,
    explain,
    problem,
    read_document,
    validate_document,
)
from ghx_base.documents.section import Distinct, Flag, ModeName, Name, Section, Text
from ghx_base.errors import InputError
from ghx_base.problems import Problem, did_you_mean
from ghx_bench.modes.pins import check_pin, replace_program
from ghx_bench.modes.presets import GH_AXI, GITHUB_CONFIGURATIONS, PRESETS
from ghx_bench.modes.program_words import (
    FROM_HERE,
    check_word,
    is_path,
    package_of,
    source_of,
    split_pin,
    with_source,
)
from ghx_profiler.agents.npm import NpmPackage
from ghx_profiler.agents.tools.toolset import McpServer
from ghx_profiler.errors import UnknownNameError

V = TypeVar("V")


def _server_or_preset(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value not in PRESETS:
        raise RefusedError(f"no preset {value!r}", suggestion=did_you_mean(value, PRESETS))
    return PRESETS[value]


def _with_known_program(server: McpServer) -> McpServer:
    if server.command is not None:
        check_word(server.command)
    return server


Server = Annotated[McpServer, BeforeValidator(_server_or_preset), AfterValidator(_with_known_program)]
Tool = Annotated[Text, AfterValidator(check_word)]


class ModeDefinition(Section):
    """A tool set to compare: what its agents find on their path, which MCP servers they get, what they are given."""

    name: ModeName = Field(description="The name of the mode.", examples=["mine"])
    extends: Name | None = Field(
        default=None, description="A mode to start from; tools, servers and variables are added.", examples=["baseline"]
    )
    program: Annotated[Text, AfterValidator(check_pin)] | None = Field(
        default=None,
        description="Where the one program or server of the mode that it extends is taken from instead: a path, or, "
        "for a package of npm, its version.",
        examples=["./build/head", "0.1.34"],
    )
    tools: Annotated[tuple[Tool, ...], Distinct] = Field(
        default=(),
        description="Programs on the path beside the common ones: by name, as the path of a file, or of npm as "
        "npm:PACKAGE@VERSION; NAME=PATH calls one otherwise.",
        examples=[["gh"]],
    )
    behind_tools: Annotated[tuple[Tool, ...], Distinct] = Field(
        default=(),
        description="Programs that the tools start themselves, which are not on the path of the agent.",
        examples=[["gh"]],
    )
    instructions: Text | None = Field(
        default=None, description="What the agent is told about its tools, beside the scenario's own prompt."
    )
    environment: dict[Text, str] = Field(
        default={}, description="Variables of its sessions; ${NAME} stands for one of the bench's own environment."
    )
    mcp_servers: dict[Name, Server] = Field(
        default={}, description="MCP servers by name: a description, or the name of a preset."
    )
    skills: Annotated[tuple[Text, ...], Distinct] = Field(
        default=(),
        description="Skills for its agents: folders with a SKILL.md, taken from the folder of this file.",
        examples=[["skills/triage"]],
    )
    check_tools: Flag | None = Field(
        default=None,
        description="Whether its tools must report a version and answer a question before the first cell; true unless "
        "given.",
    )
    shell: Flag | None = Field(default=None, description="Whether the agent may run commands; true unless given.")
    web: Flag | None = Field(
        default=None,
        description="Whether the agent keeps its own tools for the web (search, fetch); false unless given.",
    )

    _file: Path | None = PrivateAttr(default=None)

    def resolve_paths(self, file: Path) -> "ModeDefinition":
        """Return this definition with what it names by a path taken from the folder of the file that it stands in.

        Sessions and servers run elsewhere. A path that leads nowhere stays as it is, and is among the `lost`.
        """
        folder = file.parent
        servers = {name: _server_beside(server, folder) for name, server in self.mcp_servers.items()}
        changes = {
            "program": self.program and _resolve_path(self.program, folder),
            "tools": tuple(_resolve_program(tool, folder) for tool in self.tools),
            "behind_tools": tuple(_resolve_program(tool, folder) for tool in self.behind_tools),
            "environment": _resolve_all(self.environment, folder),
            "mcp_servers": servers,
            "skills": tuple(_resolve_path(_from_here(skill), folder) for skill in self.skills),
        }
        placed = self.model_copy(update=changes)
        placed._file = file  # noqa: SLF001 - of its own class
        return placed

    @property
    def lost(self) -> tuple[Problem, ...]:
        """The paths in it that lead nowhere from the folder of its file."""
        if self._file is None:
            return ()
        file, remedy = str(self._file), "a path that begins with ./ or ../ is taken from the folder of this file"
        return tuple(
            Problem(file=file, reason=f"mode {self.name!r} names {text}, which is not there", suggestion=remedy)
            for text in self._texts()
            if text.startswith(FROM_HERE)
        )

    def _texts(self) -> Iterator[str]:
        yield from map(source_of, (*self.tools, *self.behind_tools))
        yield from self.skills
        if self.program is not None:
            yield self.program
        yield from self.environment.values()
        for server in self.mcp_servers.values():
            yield from (*server.words, *server.environment.values())

    @property
    def packages(self) -> tuple[NpmPackage, ...]:
        """The packages of npm that it is made of."""
        commands = (server.command or "" for server in self.mcp_servers.values())
        names = map(package_of, (*self.tools, *self.behind_tools, *commands))
        return tuple(each for each in names if each is not None)


def _server_beside(server: McpServer, folder: Path) -> McpServer:
    changes = {
        "command": server.command and _resolve_program(server.command, folder),
        "args": tuple(_resolve_path(text, folder) for text in server.args),
        "environment": _resolve_all(server.environment, folder),
    }
    return server.model_copy(update=changes)


def _resolve_program(word: str, folder: Path) -> str:
    """Return what names a program with its path, if it is one: nothing else but a package of npm has a slash in it."""
    source = source_of(word)
    if os.sep not in source or package_of(word) is not None:
        return word
    return with_source(word, _resolve_path(_from_here(source), folder))


def _from_here(path: str) -> str:
    """Return a path so that it is seen to be one from here, if it is."""
    return path if path.startswith((*FROM_HERE, os.sep, "~")) else f"./{path}"


def _resolve_all(texts: Mapping[str, str], folder: Path) -> dict[str, str]:
    return {name: _resolve_path(text, folder) for name, text in texts.items()}


def _resolve_path(text: str, folder: Path) -> str:
    path = str((folder / text).absolute())
    is_there = text.startswith(FROM_HERE) and os.path.exists(path)  # noqa: PTH110 - Path raises for too long a name
    return path if is_there else text


_OF_GITHUB_SERVERS = "Use the tools of the MCP server `github` to work with GitHub."

BUILT_IN: Mapping[str, ModeDefinition] = {
    definition.name: definition
    for definition in (
        ModeDefinition(name="baseline", tools=("gh",), instructions="Use the `gh` command to work with GitHub."),
        ModeDefinition(
            name="ghx",
            tools=("ghx",),
            instructions=(
                "Use the `ghx` command to work with GitHub. `ghx capabilities search WORDS` finds an operation, "
                "`ghx capabilities explain ID` tells its inputs, `ghx run ID --input JSON` runs it, and "
                "`ghx chain --steps JSON` runs several at once."
            ),
        ),
        ModeDefinition(
            name="ghx-mcp",
            mcp_servers={"ghx": PRESETS["ghx"]},
            instructions="Use the tools of the MCP server `ghx` to work with GitHub.",
        ),
        ModeDefinition(
            name="gh-axi",
            tools=(GH_AXI,),
            behind_tools=("gh",),
            # What the package's own skill tells agents: to ask the command itself.
            instructions=(
                "Use the `gh-axi` command to work with GitHub. `gh-axi --help` lists its commands, "
                "`gh-axi COMMAND --help` tells how one is used, and `-R OWNER/NAME` after it names the repository."
            ),
        ),
        ModeDefinition(
            name="npm-mcp",
            mcp_servers={"github": PRESETS["npm"]},
            instructions=_OF_GITHUB_SERVERS,
        ),
        ModeDefinition(name="github-mcp", mcp_servers={"github": PRESETS["github"]}, instructions=_OF_GITHUB_SERVERS),
        *(
            ModeDefinition(name=name, extends="github-mcp", mcp_servers={"github": server})
            for name, server in GITHUB_CONFIGURATIONS.items()
        ),
        ModeDefinition(
            name="mcp",
            mcp_servers={"github": PRESETS["github"]},
            instructions=_OF_GITHUB_SERVERS,
        ),
    )
}
"""The modes that come with the bench."""

# The server behind `mcp` may be one that the user describes: docs/modes.md.
_REDEFINABLE = frozenset({"mcp"})


class Definitions:
    """All modes that are known, with what each inherits."""

    def __init__(self, own: Sequence[ModeDefinition] = ()) -> None:
        for each in own:
            if each.name in BUILT_IN and each.name not in _REDEFINABLE:
                raise InputError(
                    f"mode {each.name!r} is built in; give yours another name, with `extends: {each.name}` if it adds"
                )
            if (pinned := split_pin(each.name)) and (each.program is None or each.extends != pinned[0]):
                raise InputError(f"mode {each.name!r}: such a name means mode {pinned[0]!r} with another program")
        self._known: dict[str, ModeDefinition] = {**BUILT_IN, **{each.name: each for each in own}}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all modes, and of those that were requested with a pin."""
        return tuple(self._known)

    def lineage(self, name: str) -> tuple[ModeDefinition, ...]:
        """Return a mode and what it extends, itself first."""
        line: list[ModeDefinition] = []
        current: str | None = name
        while current is not None:
            if current not in self._known:
                if (pinned := split_pin(current)) is None or pinned[0] not in self._known:
                    raise UnknownNameError("mode", current, known=self._known)
                self._known[current] = pinned_mode(current, Path())
            if any(each.name == current for each in line):
                raise InputError(
                    f"mode {name!r} extends itself: {' extends '.join([*(e.name for e in line), current])}"
                )
            line.append(self._known[current])
            current = line[-1].extends
        return tuple(line)

    def whole(self, name: str) -> ModeDefinition:
        """Return a mode with all that it inherits, and nothing left to inherit."""
        oldest_first = self.lineage(name)[::-1]
        instructions = [each.instructions for each in oldest_first if each.instructions is not None]
        shells = [each.shell for each in oldest_first if each.shell is not None]
        checks = [each.check_tools for each in oldest_first if each.check_tools is not None]
        webs = [each.web for each in oldest_first if each.web is not None]
        whole = ModeDefinition(
            name=name,
            tools=_join(each.tools for each in oldest_first),
            behind_tools=_join(each.behind_tools for each in oldest_first),
            instructions=instructions[-1] if instructions else None,
            environment=_merge(each.environment for each in oldest_first),
            mcp_servers=_merge(each.mcp_servers for each in oldest_first),
            skills=_join(each.skills for each in oldest_first),
            check_tools=checks[-1] if checks else True,
            shell=shells[-1] if shells else True,
            web=webs[-1] if webs else False,
        )
        programs = [each.program for each in oldest_first if each.program is not None]
        if not programs:
            return whole
        tools, servers = replace_program(name, whole.tools, whole.mcp_servers, programs[-1])
        return whole.model_copy(update={"tools": tools, "mcp_servers": servers})


def pinned_mode(name: str, folder: Path) -> ModeDefinition:
    """Return the mode that a name with a pin means, `github-mcp@./build/head`; a path is taken from the folder."""
    pinned = split_pin(name)
    if pinned is None:
        raise ValueError(f"{name!r} has no pin")
    mode, pin = pinned
    try:
        check_pin(pin)
    except RefusedError as error:
        raise InputError(f"mode {name!r}: {error}; {error.suggestion}") from None
    program = str((folder / pin).absolute()) if pin.startswith(FROM_HERE) else pin
    return ModeDefinition(name=name, extends=mode, program=program)


def modes_pinned_to_paths(names: Iterable[str], folder: Path) -> tuple[ModeDefinition, ...]:
    """Return the modes among these that are pinned to a path, which is taken from the folder."""
    pins = {name: split_pin(name) for name in names}
    return tuple(pinned_mode(name, folder) for name, pinned in pins.items() if pinned and is_path(pinned[1]))


def _join(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))


def _merge(parts: Iterable[Mapping[str, V]]) -> dict[str, V]:
    return {name: value for part in parts for name, value in part.items()}


FILE_SUFFIXES = frozenset({".json", ".yaml", ".yml"})


def take_modes_apart(values: Mapping[str, object]) -> dict[str, object]:
    """Return a configuration whose `modes` are names; what stood there is in `mode_definitions` and `mode_files`."""
    entries = values.get("modes")
    if not isinstance(entries, list | tuple):
        return dict(values)
    names: list[object] = []
    described: list[object] = []
    files: list[object] = []
    for index, entry in enumerate(cast("Sequence[object]", entries)):
        match entry:
            case dict() | ModeDefinition():
                definition = _definition(cast("object", entry), index)
                names.append(definition.name)
                described.append(definition)
            case str() if Path(entry).suffix in FILE_SUFFIXES:
                names.append(Path(entry).stem)
                files.append(entry)
            case _:
                names.append(entry)
    return {
        **values,
        "modes": names,
        **_longer(values, "mode_definitions", described),
        **_longer(values, "mode_files", files),
    }


def load_mode_definition(path: Path) -> ModeDefinition:
    """Read a mode from a file of its own; raise `DocumentError` with everything wrong with it."""
    document = read_document(path)
    definition = validate_document(document, ModeDefinition)
    if definition.name != path.stem:
        reason = f"the file is called {path.name!r} and the mode {definition.name!r}"
        raise DocumentError([problem(document, "/name", reason, "call both the same")])
    return definition.resolve_paths(path)


def _longer(values: Mapping[str, object], key: str, more: list[object]) -> dict[str, object]:
    items = values.get(key, ())
    if not more or not isinstance(items, list | tuple):
        return {}
    return {key: [*cast("Sequence[object]", items), *more]}


def _definition(entry: object, index: int) -> ModeDefinition:
    try:
        return ModeDefinition.model_validate(entry)
    except ValidationError as error:
        first = explain(error, ModeDefinition, entry)[0]
        raise RefusedError(
            first.reason, at=("modes", index, *first.tokens), suggestion=first.suggestion, at_key=first.at_key
        ) from None
