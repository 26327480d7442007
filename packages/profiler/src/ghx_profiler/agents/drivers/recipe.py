"""How an agent is driven, as data: its command, settings and permissions."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self, cast

from pydantic import AfterValidator, Field, JsonValue, model_validator

from ghx_base.documents import RefusedError, read_document, validate_document
from ghx_base.documents.section import Distinct, Flag, Name, Text
from ghx_base.problems import did_you_mean
from ghx_base.wire import StrictInt
from ghx_profiler.agents.drivers.recipe_settings import HomePath, ServerSettings, Settings
from ghx_profiler.agents.npm import NpmPackage
from ghx_profiler.agents.tools.toolset import McpServer, variables_in
from ghx_profiler.records.model_calls import WireKind

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
_FROM_HERE = ("./", "../")


def _is_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise RefusedError(f"is no regular expression: {error}") from None
    return text


Expression = Annotated[Text, AfterValidator(_is_expression)]


class ModelVariant(Settings):
    """What is different with some models: the model API, and what is put over `environment` and `files`."""

    models: Expression = Field(
        description="A regular expression that is looked for in the id of a model; the first that is found counts.",
        examples=["^gpt-5"],
    )
    wire: WireKind | None = Field(default=None, description="The model API that the agent speaks with these models.")


class Recipe(Settings):
    """An agent: how it is installed and started, how it reaches its model, and its settings.

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
    for_models: tuple[ModelVariant, ...] = Field(
        default=(), description="What is different with some models, such as those that want another API."
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
    skills_folder: HomePath | None = Field(
        default=None,
        description="Where in its home it looks for skills; without this, it is not measured in modes that have some.",
        examples=[".agent/skills"],
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
    def _check_variables(self) -> Self:
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

    @model_validator(mode="after")
    def _has_an_api_for_other_models(self) -> Self:
        if self.wire is None and any(each.wire is not None for each in self.for_models):
            raise RefusedError(
                "says which API some models are asked by, and nothing says it for the others",
                at=("for_models",),
                suggestion="add `wire`",
            )
        return self

    @property
    def wires(self) -> tuple[WireKind, ...]:
        """The model APIs that it speaks: first the one that counts for most models."""
        wires: tuple[WireKind | None, ...] = (self.wire, *(each.wire for each in self.for_models))
        return tuple(dict.fromkeys(each for each in wires if each is not None))

    def with_model(self, model: str) -> "Recipe":
        """Return this recipe as it is for one model."""
        variant = next((each for each in self.for_models if re.search(each.models, model)), None)
        if variant is None:
            return self
        settings = Settings(environment=self.environment, files=self.files).with_change(variant)
        changes = {"environment": settings.environment, "files": settings.files, "wire": variant.wire or self.wire}
        return self.model_copy(update=changes)

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
        """Return what a session gets for its MCP servers, in addition to the parameters of its opening request."""
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
