"""How an agent is driven, written down as data: its command, settings, files, and what it is asked for."""

import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self, cast

import yaml
from pydantic import AfterValidator, Field, JsonValue, StringConstraints, model_validator

from ghx_bench._base.problems import did_you_mean
from ghx_bench._base.wire import StrictInt
from ghx_bench.agents.tools.toolset import McpServer, fill_variables, variables_in
from ghx_bench.documents import RefusedError, read_document, validate_document
from ghx_bench.documents.section import Distinct, Flag, Name, Section, Text
from ghx_bench.profiler.model_calls import WireKind

RECIPES = Path(__file__).parent / "recipes"
"""The folder of the recipes that come with the package, each in a file of its name."""

PermissionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

VARIABLES: Mapping[str, str] = {
    "MODEL": "the model to ask for",
    "BASE_URL": "the address of the model API for this session, without /v1",
    "KEY": "the key of this session, which that address alone accepts",
    "HOME": "the private home of the session",
    "DIRECTORY": "the folder to work in",
    "PROMPT": "the prompt",
    "NODE": "the program node",
    "PACKAGES": "the folder node_modules of the installed agent",
    "PLATFORM": "this machine, as npm names it: linux-x64, darwin-arm64",
}
"""What `${NAME}` stands for in a recipe."""

OutputDialect = Literal["claude-stream-json", "codex-jsonl", "opencode-json", "text"]

_OF_ACP = ("authentication", "session_mode", "session_meta", "permissions")
_OF_COMMANDS = ("output", "mcp_servers")
_SERVER_PATIENCE_S = 60
"""How long a program may wait for an MCP server: as long as opening a session may take by default."""
_FROM_HERE = ("./", "../")
_RENDERED = (".json", ".toml", ".yaml", ".yml")


def platform_name() -> str:
    """Return this machine's system and processor, as packages of npm are named."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{ {'x86_64': 'x64', 'amd64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


def _is_inside_home(path: str) -> str:
    if path.startswith(("/", "~")) or ".." in PurePosixPath(path).parts:
        raise RefusedError("files are written into the session's home only", suggestion="write a path from there")
    return path


def _is_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise RefusedError(f"is no regular expression: {error}") from None
    return text


HomePath = Annotated[Text, AfterValidator(_is_inside_home), Field(examples=[".agent/settings.json"])]
Expression = Annotated[Text, AfterValidator(_is_expression)]


class Settings(Section):
    """Variables and files of a session's home."""

    environment: dict[Text, JsonValue] = Field(
        default={},
        description="Variables beside those of the session; what is no text is written as JSON.",
        examples=[{"MY_AGENT_URL": "${BASE_URL}/v1"}],
    )
    files: dict[HomePath, JsonValue] = Field(
        default={},
        description="Files by their path in the session's home: a text, or values for .json, .toml and .yaml files.",
        examples=[{".agent/settings.json": {"telemetry": False}}],
    )

    @model_validator(mode="after")
    def _can_be_written(self) -> Self:
        for path, content in self.files.items():
            if not isinstance(content, str) and not path.endswith(_RENDERED):
                raise RefusedError(
                    "only files that end in .json, .toml or .yaml are written from values",
                    at=("files", path),
                    suggestion="write the content as a text",
                )
        return self

    def with_change(self, change: "Settings") -> "Settings":
        """Return these settings with others put over them: objects key by key, lists one after the other."""
        return Settings(
            environment=_overlay(self.environment, change.environment), files=_overlay(self.files, change.files)
        )

    def fill(self, values: Mapping[str, str], *, over: "Settings | None" = None) -> "FilledSettings":
        """Return variables and files as a session gets them, with others put over them that have no variables."""
        environment = cast("dict[str, JsonValue]", _fill(self.environment, values))
        files = cast("dict[str, JsonValue]", _fill(self.files, values))
        filled = Settings(environment=environment, files=files).with_change(over or Settings())
        return FilledSettings(
            environment={k: v if isinstance(v, str) else json.dumps(v) for k, v in filled.environment.items()},
            files={path: _render(path, content) for path, content in filled.files.items()},
        )


class FilledSettings(Section):
    """Variables and files as texts."""

    environment: dict[str, str]
    files: dict[str, str]


class ServerSettings(Section):
    """Where a program looks for MCP servers, and in what shape: as Claude Code has them, which many share, or others.

    | shape | |
    |---|---|
    | `claude` | `{"mcpServers": {NAME: {"type": "stdio", "command": ..., "args": [...], "env": {...}}}}` |
    | `codex` | `mcp_servers = {NAME = {command = ..., args = [...], env = {...}}}` |
    | `opencode` | `{"mcp": {NAME: {"type": "local", "command": [...], "environment": {...}}}}` |
    """

    shape: Literal["claude", "codex", "opencode"] = Field(description="How they are written.")
    file: HomePath | None = Field(default=None, description="The file in its home where they are put.")
    variable: Text | None = Field(
        default=None, description="The variable with its configuration, where that is no file."
    )

    @model_validator(mode="after")
    def _is_in_one_place(self) -> Self:
        if (self.file is None) == (self.variable is None):
            raise RefusedError("needs a `file` or a `variable`, and only one of them", suggestion="write one")
        return self

    def settings(self, servers: Mapping[str, McpServer]) -> Settings:
        """Return what is put over the recipe's settings for servers of a session; without any, an empty list."""
        key, describe = {
            "claude": ("mcpServers", _describe_for_claude),
            "codex": ("mcp_servers", _describe_for_codex),
            "opencode": ("mcp", _describe_for_opencode),
        }[self.shape]
        content: dict[str, JsonValue] = {key: {name: describe(server) for name, server in servers.items()}}
        if self.file is not None:
            return Settings(files={self.file: content})
        return Settings(environment={self.variable or "": content})


def _describe_for_claude(server: McpServer) -> JsonValue:
    if server.url is not None:
        return {"type": "http", "url": server.url, "headers": dict(server.headers)}
    command, *args = server.words
    return {"type": "stdio", "command": command, "args": [*args], "env": dict(server.environment)}


def _describe_for_codex(server: McpServer) -> JsonValue:
    if server.url is not None:
        return {"url": server.url, "http_headers": dict(server.headers), "startup_timeout_sec": _SERVER_PATIENCE_S}
    command, *args = server.words
    told: dict[str, JsonValue] = {"command": command, "args": [*args], "env": dict(server.environment)}
    return {**told, "startup_timeout_sec": _SERVER_PATIENCE_S}


def _describe_for_opencode(server: McpServer) -> JsonValue:
    patience: dict[str, JsonValue] = {"enabled": True, "timeout": _SERVER_PATIENCE_S * 1000}
    if server.url is not None:
        return {"type": "remote", "url": server.url, "headers": dict(server.headers), **patience}
    return {"type": "local", "command": [*server.words], "environment": dict(server.environment), **patience}


class NpmPackage(Section):
    """A package of npm, in one version."""

    package: Text = Field(
        description="Its name; ${PLATFORM} stands for this machine.", examples=["@aaif/goose-binary-${PLATFORM}"]
    )
    version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+[0-9A-Za-z.+-]*$")] = Field(
        description="The exact version, so that runs can be compared.", examples=["1.52.0"]
    )

    @property
    def name(self) -> str:
        """Its name on this machine."""
        return fill_variables(self.package, {"PLATFORM": platform_name()})


class Recipe(Settings):
    """An agent: how it is installed and started, how it reaches its model, and what it is asked for.

    `${NAME}` stands for: MODEL, the model to ask for; BASE_URL, the address of the model API (without /v1), and KEY,
    which it accepts; HOME and DIRECTORY, the session's folders; PROMPT, in the command of a program; NODE, the program;
    PACKAGES, the folder node_modules of the installed agent; PLATFORM, such as linux-x64.
    """

    schema_url: str | None = Field(
        default=None, alias="$schema", exclude=True, description="The JSON Schema of this file, for editors."
    )
    name: Name = Field(description="The name of the agent, on rows and for --agent.", examples=["my-agent"])
    description: Text = Field(description="What it is, in a line.", examples=["my own agent"])
    protocol: Literal["acp", "command"] = Field(
        default="acp",
        description="What it speaks: the Agent Client Protocol, or nothing: then it is a command that is run for each "
        "prompt, and ends with its answer.",
    )
    install: NpmPackage | None = Field(
        default=None,
        description="The package that `ghx-bench doctor --install` fetches; without one, the command is looked for on "
        "the path of the bench, or beside this file.",
    )
    command: Annotated[tuple[Text, ...], Field(min_length=1)] = Field(
        description="The program with its arguments. One that is run for each prompt gets that where ${PROMPT} stands, "
        "else from its standard input.",
        examples=[["${PACKAGES}/my-agent/bin/my-agent", "acp"]],
    )
    output: OutputDialect = Field(
        default="text",
        description="What a command prints: its answer as a text, or lines of JSON as those of `claude --output-format "
        "stream-json`, `codex exec --json` or `opencode run --format json`.",
    )
    mcp_servers: ServerSettings | None = Field(
        default=None,
        description="Where a command looks for MCP servers; without this, it is not measured in modes that have some.",
    )
    wire: WireKind | None = Field(
        default=None,
        description="The model API that it speaks, so that its calls can be metered; without one, only what it tells "
        "itself is known.",
        examples=["openai-chat"],
    )
    authentication: Text | None = Field(
        default=None, description="The method to authenticate with, where it asks for that."
    )
    session_mode: Text | None = Field(default=None, description="The mode of the agent's own that its sessions get.")
    session_meta: dict[str, JsonValue] = Field(default={}, description="What goes into `_meta` of session/new.")
    permissions: Annotated[tuple[PermissionKind, ...], Distinct] = Field(
        default=("allow_once", "allow_always"),
        description="What it is answered when it asks for permission: the first of these kinds that it offers.",
    )
    instructions_file: HomePath | None = Field(
        default=None,
        description="Where in its home it looks for instructions; without one, those of the mode are the first "
        "paragraph of the prompt.",
        examples=[".agent/AGENTS.md"],
    )
    tells_usage: Flag = Field(
        default=True,
        description="Whether the tokens it tells with an answer are those of all its model calls, and not of the last.",
    )
    late_calls_ms: Annotated[StrictInt, Field(ge=0)] = Field(
        default=0,
        description="How long to wait for one more model call that it makes after its answer, such as for a title.",
    )
    strip: tuple[Expression, ...] = Field(
        default=(), description="Regular expressions for what is no part of an answer, and is taken out of it."
    )
    unfit_if: tuple[Expression, ...] = Field(
        default=(),
        description="Regular expressions for what its instructions to the model say where its own settings keep it "
        "from the work, such as those of a sandbox without network; it is not measured then.",
        examples=[["Network access is restricted"]],
    )
    without_shell: Settings | None = Field(
        default=None,
        description="What is put over `environment` and `files` in modes without a shell; without this, it is not "
        "measured in those.",
    )
    without_web: Settings = Field(
        default=Settings(), description="What is put over `environment` and `files` in modes without web tools."
    )

    @model_validator(mode="after")
    def _names_known_variables(self) -> Self:
        absent = {
            **({"PACKAGES": "install"} if self.install is None else {}),
            **({"BASE_URL": "wire", "KEY": "wire"} if self.wire is None else {}),
            **({"PROMPT": "protocol: command"} if self.protocol == "acp" else {}),
        }
        for at, text in _texts(self.model_dump(exclude={"install"})):
            for name in sorted(variables_in(text)):
                if name not in VARIABLES:
                    remedy = did_you_mean(name, VARIABLES)
                    raise RefusedError(f"nothing is called ${{{name}}} in a recipe", at=at, suggestion=remedy)
                if name in absent:
                    reason = f"${{{name}}} is {VARIABLES[name]}, and there is none without `{absent[name]}`"
                    raise RefusedError(reason, at=at, suggestion=f"add `{absent[name]}`, or leave it out")
                if name == "PROMPT" and at[0] != "command":
                    raise RefusedError("${PROMPT} is known in `command` only", at=at, suggestion="leave it out")
        return self

    @model_validator(mode="after")
    def _has_keys_of_its_protocol(self) -> Self:
        others, other = (_OF_COMMANDS, "command") if self.protocol == "acp" else (_OF_ACP, "acp")
        for name in others:
            if name in self.model_fields_set:
                remedy = f"leave it out, or write `protocol: {other}`"
                raise RefusedError(f"means nothing with `protocol: {self.protocol}`", at=(name,), suggestion=remedy)
        return self

    def resolve_paths(self, folder: Path) -> "Recipe":
        """Return this recipe with what its command names by a path taken from a folder: that of its file."""
        first, *rest = self.command
        is_path = "/" in first and not first.startswith(("/", "${"))
        words = (f"./{first}" if is_path and not first.startswith(_FROM_HERE) else first, *rest)
        placed = (os.path.abspath(folder / word) if word.startswith(_FROM_HERE) else word for word in words)  # noqa: PTH100 - no links
        return self.model_copy(update={"command": tuple(placed)})

    def settings_for(self, *, shell: bool, web: bool) -> Settings | None:
        """Return what a session gets in a mode with or without shell and web tools; `None` where that is not known."""
        settings = Settings(environment=self.environment, files=self.files)
        if not web:
            settings = settings.with_change(self.without_web)
        if shell:
            return settings
        return None if self.without_shell is None else settings.with_change(self.without_shell)

    def settings_for_servers(self, servers: Mapping[str, McpServer]) -> Settings:
        """Return what a session gets for its MCP servers, beside what it is told of them when it is opened."""
        return Settings() if self.mcp_servers is None else self.mcp_servers.settings(servers)


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path), Recipe)


@cache
def recipe_names() -> tuple[str, ...]:
    """Return the names of the recipes that come with the package."""
    return tuple(sorted(path.stem for path in RECIPES.glob("*.yaml")))


@cache
def built_in_recipe(name: str) -> Recipe:
    """Return a recipe that comes with the package."""
    return load_recipe(RECIPES / f"{name}.yaml")


def _overlay(one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    merged = dict(one)
    for key, value in other.items():
        match merged.get(key), value:
            case dict() as inner, dict():
                merged[key] = _overlay(inner, value)
            case list() as first, list():
                merged[key] = [*first, *value]
            case _:
                merged[key] = value
    return merged


def _fill(value: JsonValue, values: Mapping[str, str]) -> JsonValue:
    match value:
        case str():
            return fill_variables(value, values)
        case dict():
            return {fill_variables(key, values): _fill(each, values) for key, each in value.items()}
        case list():
            return [_fill(each, values) for each in value]
        case _:
            return value


def _texts(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every text in a value, keys too, and where it is."""
    match value:
        case str():
            yield at, value
        case dict():
            for key, each in cast("dict[str, object]", value).items():
                yield (*at, key), key
                yield from _texts(each, (*at, key))
        case list() | tuple():
            for index, each in enumerate(cast("Sequence[object]", value)):
                yield from _texts(each, (*at, index))
        case _:
            pass


def _render(path: str, content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    if path.endswith(".json"):
        return json.dumps(content, indent=2)
    if path.endswith(".toml"):
        return "".join(f"{line}\n" for line in _toml_pairs(cast("dict[str, JsonValue]", content)))
    return yaml.safe_dump(content, sort_keys=False)


def _toml_pairs(values: Mapping[str, JsonValue]) -> Iterator[str]:
    for key, value in values.items():
        if value is not None:  # which TOML cannot say
            yield f"{_toml(key)} = {_toml(value)}"


def _toml(value: JsonValue) -> str:
    """Write a value inline; the texts of JSON are also TOML's, but for one character that has to be escaped there."""
    match value:
        case dict():
            return f"{{ {', '.join(_toml_pairs(value))} }}"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
