"""What a mode gives its agents to work with: a shell or none, programs on its path, MCP servers, skills."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self, cast

from pydantic import Field, JsonValue, model_validator

from ghx_base.documents import RefusedError
from ghx_base.documents.section import Flag, Name, Section, Text
from ghx_profiler.evidence import Mode
from ghx_profiler.records.causes import EnvironmentFailure
from ghx_profiler.shell.names import words_in

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill_variables(text: str, environment: Mapping[str, str]) -> str:
    """Return a text with each `${NAME}` replaced by that environment variable; raise `KeyError` if it is not set."""
    return _VARIABLE.sub(lambda match: environment[match[1]], text)


def variables_in(text: str) -> frozenset[str]:
    """Return the environment variables that a text names as `${NAME}`."""
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
    """The tools of a mode, as providers find them in `Mode.settings`."""

    shell: Flag = Field(default=True, description="Whether the agent may run commands.")
    web: Flag = Field(default=False, description="Whether the agent keeps its own tools for the web.")
    tools: tuple[Text, ...] = Field(default=(), description="The programs on the path that make this mode what it is.")
    mcp_servers: dict[Name, McpServer] = Field(default={}, description="MCP servers by name.")
    skills: dict[Name, Text] = Field(default={}, description="Folders with a SKILL.md, by the names of the skills.")

    @classmethod
    def of(cls, mode: Mode) -> "ToolSet":
        """Return the tools of a mode; its other settings are left out."""
        return cls.model_validate({key: mode.settings[key] for key in cls.model_fields if key in mode.settings})

    def settings(self) -> dict[str, JsonValue]:
        """Return the settings that `of` reads."""
        return cast("dict[str, JsonValue]", self.model_dump(mode="json"))


def tool_name(server: str, tool: str) -> str:
    """Return the name of a tool of an MCP server in traces."""
    return f"{server}_{tool}"


_PREFIXES = ("mcp__{}__", "mcp__{}.", "mcp_{}_", "mcp.{}.", "{}__", "{}_", "{}.", "{}/", "{}: ")
"""How agents put a server before its tool: Claude and Qwen, Codex to its model, Gemini, Codex to its client, goose,
OpenCode, and in the titles of goose."""
_TITLE = re.compile(r"(?P<tool>.+) \((?P<server>.+) MCP Server\)")
"""How Gemini and Qwen title a call."""


def server_tool_of(name: str, servers: Iterable[str]) -> tuple[str, str] | None:
    """Return the server and the tool that a name in a trace means, however the agent joins the two; else `None`."""
    names = tuple(servers)
    # Names of tools may hold fewer characters than those of servers; a server's own name goes before such a spelling.
    plain = {re.sub(refused, "_", each): each for refused in (r"[^A-Za-z0-9_]", r"[^A-Za-z0-9_-]") for each in names}
    spelled = {**plain, **dict(zip(names, names, strict=True))}
    if (title := _TITLE.fullmatch(name)) is not None and title["server"] in spelled:
        return spelled[title["server"]], title["tool"]
    prefixes = {form.format(spelling): server for spelling, server in spelled.items() for form in _PREFIXES}
    # The longest: with servers `git` and `git_hub`, `git_hub_view` is a tool of the second.
    prefix = max((each for each in prefixes if name.startswith(each) and name != each), key=len, default=None)
    return None if prefix is None else (prefixes[prefix], name.removeprefix(prefix))


FILE_TOOLS = words_in(
    """
    applypatch applypatchtool createfile deletefile edit editfile findfiles fileedit fileread filesearch filewrite
    glob grep list listdir listdirectory listfiles ls multiedit notebookedit notebookread patch read readfile
    readmanyfiles removefile replace searchfilecontent searchreplace strreplace strreplacebasededittool strreplaceeditor
    view viewfile write writefile
    """
)
"""The plain names of the tools by which agents read and write files."""


def plain_name(name: str) -> str:
    """Return the name of a tool without what agents spell differently: capitals, and signs between words."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The definition of a tool for a model."""

    name: str
    """As in traces: that of an MCP server's tool begins with the name of the server."""
    description: str
    input_schema: Mapping[str, JsonValue]
    """The JSON Schema of its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool answered: as the agent reads it, and as a value where it is structured or is JSON."""

    text: str
    value: JsonValue
    failed: bool
    exit_code: int | None = None
    """Of a command; `None` for other tools."""
    complaint: str = ""
    """What a command wrote to standard error."""
    attachments: tuple[bytes, ...] = ()
    """What an MCP server sends in addition to text: images, sound, resources; an agent may show these to its model."""


def value_of(text: str) -> JsonValue:
    """Return the value of a text that is JSON, and any other text itself, without the space around it."""
    try:
        return cast("JsonValue", json.loads(text))
    except ValueError:
        return text.strip()
