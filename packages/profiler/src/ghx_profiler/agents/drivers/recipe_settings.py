"""What a recipe puts into the home of a session: variables, files, and where programs look for MCP servers."""

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self, cast

import yaml
from pydantic import AfterValidator, Field, JsonValue, model_validator

from ghx_base.documents import RefusedError
from ghx_base.documents.section import Section, Text
from ghx_profiler.agents.tools.toolset import McpServer, fill_variables

_SERVER_PATIENCE_S = 60
"""How long a program may wait for an MCP server: as long as opening a session may take by default."""
_RENDERED = (".json", ".toml", ".yaml", ".yml")


def _is_inside_home(path: str) -> str:
    if path.startswith(("/", "~")) or ".." in PurePosixPath(path).parts:
        raise RefusedError("files are written into the session's home only", suggestion="write a path from there")
    return path


HomePath = Annotated[Text, AfterValidator(_is_inside_home), Field(examples=[".agent/settings.json"])]


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
        """Return these settings overlaid with others: objects key by key, lists one after the other."""
        return Settings(
            environment=_overlay(self.environment, change.environment), files=_overlay(self.files, change.files)
        )

    def fill(self, values: Mapping[str, str], *, over: "Settings | None" = None) -> "FilledSettings":
        """Return variables and files as a session gets them, overlaid with others that have no variables."""
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
    settings: dict[str, JsonValue] = {"command": command, "args": [*args], "env": dict(server.environment)}
    return {**settings, "startup_timeout_sec": _SERVER_PATIENCE_S}


def _describe_for_opencode(server: McpServer) -> JsonValue:
    patience: dict[str, JsonValue] = {"enabled": True, "timeout": _SERVER_PATIENCE_S * 1000}
    if server.url is not None:
        return {"type": "remote", "url": server.url, "headers": dict(server.headers), **patience}
    return {"type": "local", "command": [*server.words], "environment": dict(server.environment), **patience}


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
        if value is not None:  # TOML has no null
            yield f"{_toml(key)} = {_toml(value)}"


def _toml(value: JsonValue) -> str:
    """Write a value inline; the texts of JSON are also TOML's, except one character that must be escaped there."""
    match value:
        case dict():
            return f"{{ {', '.join(_toml_pairs(value))} }}"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
