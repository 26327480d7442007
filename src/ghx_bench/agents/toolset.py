"""What a mode gives its agents to work with: a shell or none, programs on its path, MCP servers."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, cast

from pydantic import Field, JsonValue, model_validator

from ghx_bench.documents import RefusedError
from ghx_bench.documents.section import Flag, Name, Section, Text
from ghx_bench.profiler.causes import EnvironmentFailure
from ghx_bench.profiler.evidence import Mode

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill_variables(text: str, environment: Mapping[str, str]) -> str:
    """Put the values of environment variables where `${NAME}` stands; raise `KeyError` with a name that is not set."""
    return _VARIABLE.sub(lambda match: environment[match[1]], text)


def variables_in(text: str) -> frozenset[str]:
    """Name the environment variables that `${NAME}` stands for in a text."""
    return frozenset(_VARIABLE.findall(text))


class McpServer(Section):
    """An MCP server: a command that is started for each session and spoken to over its pipes, or a URL.

    `${NAME}` in its environment, headers and URL stands for a variable of the session's environment, such as its token.
    """

    command: Text | None = Field(default=None, description="The program to start.", examples=["github-mcp-server"])
    args: tuple[str, ...] = Field(default=(), description="The arguments of the program.", examples=[["stdio"]])
    environment: dict[Text, str] = Field(
        default={}, description="Variables it gets beside those of the session; ${NAME} stands for one of the session."
    )
    url: Text | None = Field(
        default=None,
        description="The address of a server that is running already (streamable HTTP), instead of a command.",
        examples=["http://127.0.0.1:8000/mcp"],
    )
    headers: dict[Text, str] = Field(default={}, description="Headers of every request to the URL; ${NAME} as above.")

    @model_validator(mode="after")
    def _is_reached_in_one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            reason = "has neither 'command' nor 'url'" if self.url is None else "has both 'command' and 'url'"
            raise RefusedError(f"the server {reason}", suggestion="write the command to start it, or its URL")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """The command with its arguments."""
        return (self.command or "", *self.args)

    def in_session(self, environment: Mapping[str, str]) -> "McpServer":
        """Return this server for one session: the complete environment it gets, and no `${NAME}` left anywhere."""
        try:
            own = {name: fill_variables(value, environment) for name, value in self.environment.items()}
            headers = {name: fill_variables(value, environment) for name, value in self.headers.items()}
            url = None if self.url is None else fill_variables(self.url, environment)
        except KeyError as missing:
            name = str(missing.args[0])
            raise EnvironmentFailure(
                f"the MCP server {self.command or self.url!r} needs ${{{name}}}, which the session does not have; "
                "set it in the mode's environment"
            ) from None
        return self.model_copy(update={"environment": {**environment, **own}, "headers": headers, "url": url})


class ToolSet(Section):
    """The tools of a mode, as `Mode.settings` tells them to providers."""

    shell: Flag = Field(default=True, description="Whether the agent may run commands.")
    tools: tuple[Text, ...] = Field(default=(), description="The programs on the path that make this mode what it is.")
    mcp_servers: dict[Name, McpServer] = Field(default={}, description="MCP servers by name.")

    @classmethod
    def of(cls, mode: Mode) -> "ToolSet":
        """Read the tools off a mode; what other settings it has is of no interest here."""
        return cls.model_validate({key: mode.settings[key] for key in cls.model_fields if key in mode.settings})

    def settings(self) -> dict[str, JsonValue]:
        """Return the settings that `of` reads."""
        return cast("dict[str, JsonValue]", self.model_dump(mode="json"))


def tool_name(server: str, tool: str) -> str:
    """Return what a tool of an MCP server is called in traces."""
    return f"{server}_{tool}"


def server_tool_of(name: str, servers: Iterable[str]) -> tuple[str, str] | None:
    """Return the server and the tool that a name in a trace means, however the agent joins the two; `None` if none."""
    for server in sorted(servers, key=len, reverse=True):
        for prefix in (f"mcp__{server}__", f"{server}__", f"{server}_", f"{server}.", f"{server}/"):
            if name.startswith(prefix) and name != prefix:
                return server, name.removeprefix(prefix)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool answered: as the agent reads it, and as a value where it is structured or is JSON."""

    text: str
    value: JsonValue
    failed: bool
    exit_code: int | None = None
    """Of a command; None of a tool that is none."""
    complaint: str = ""
    """What a command said on its standard error."""


def value_of(text: str) -> JsonValue:
    """Return what a text says as JSON, and the text itself, without space around it, where it is none."""
    try:
        return cast("JsonValue", json.loads(text))
    except ValueError:
        return text.strip()
