"""The parts of an evaluation's configuration: agent, fixtures, model traffic, output."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    Strict,
    StringConstraints,
    field_validator,
    model_validator,
)

from ghx_base.documents import RefusedError
from ghx_base.documents.section import Flag, Section, SetBy, Text
from ghx_base.wire import StrictInt
from ghx_bench.scenario.manifest import RepositoryName
from ghx_profiler.config import Folder, Output
from ghx_twin.urls import covers_github

_TOKEN_BEGINNINGS = ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")

Port = Annotated[StrictInt, Field(ge=1, le=65535)]
VariableName = Annotated[
    str, Strict(), StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), Field(examples=["AUTHOR_TOKEN"])
]


def _is_no_github(host: str) -> str:
    if covers_github(host):
        raise RefusedError("sessions would find the real GitHub there", suggestion="name the host that is needed")
    return host


HostName = Annotated[
    str,
    Strict(),
    StringConstraints(pattern=r"^\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$"),
    AfterValidator(_is_no_github),
    Field(examples=["api.example.com"]),
]


AGENT_ALIASES: Mapping[str, str] = {"snoop": "prying"}
"""Other names of agents in files and flags, with the id that rows and `run.json` have."""


def _resolve_alias(name: str) -> str:
    return AGENT_ALIASES.get(name, name)


class ProviderChoice(Section):
    """Which agent is evaluated."""

    id: Annotated[Text, AfterValidator(_resolve_alias)] = Field(
        default="reference",
        description="The agent: one that comes with the package, one of an installed package, a recipe of your own, as "
        "in ./my-agent.yaml, or a class of your own, as in ./my_agent.py:MyAgent.",
        examples=["./my_agent.py:MyAgent"],
    )
    port: Port | None = Field(default=None, description="The port of the agent's own server, for agents that have one.")
    options: Annotated[dict[str, JsonValue], SetBy("--replay", key="run")] = Field(
        default={}, description="Settings of the agent's own, passed on unchanged."
    )


class FixtureChoice(Section):
    """Which GitHub resources the scenarios work on.

    On the emulator every iteration starts from a fresh copy of the seeded world, so that the two seeding flags
    hold by construction; on github.com they act.
    """

    repo: Annotated[
        RepositoryName | None, BeforeValidator(lambda repo: None if repo == "" else repo), SetBy("--repo")
    ] = Field(default=None, description="The repository that holds the fixtures, as owner/name.")
    manifest: Annotated[Folder, SetBy("--manifest")] = Field(
        default=Path("fixtures/latest.json"), description="The file that says where each fixture is."
    )
    folders: tuple[Folder, ...] = Field(
        default=(), description="Folders with fixture files of the project's own.", examples=[["fixtures"]]
    )
    seed_if_missing: Flag = Field(default=False, description="Create the fixtures if there is no manifest yet.")
    reseed_between_modes: Flag = Field(default=False, description="Reset the fixtures before each mode.")
    author_token_env: Annotated[VariableName | None, SetBy("--author-token-env")] = Field(
        default=None,
        description="The environment variable with the token of a second identity, which authors what is reviewed.",
    )

    @field_validator("author_token_env", mode="before")
    @classmethod
    def _names_a_variable(cls, value: object) -> object:
        if isinstance(value, str) and value.startswith(_TOKEN_BEGINNINGS):
            raise RefusedError(
                "this is a token, not the name of a variable",
                suggestion="put the token into an environment variable, and write the variable's name here",
                at_key=True,
            )
        return value


class ModelTraffic(Section):
    """Recording and replay of the traffic between agents and their models."""

    record: Annotated[Flag, SetBy("--record-model", to=True)] = Field(
        default=False,
        description="Write down what each session sent to its model and received, without secrets, beside its trace.",
    )
    replay: Annotated[Folder | None, SetBy("--replay-model")] = Field(
        default=None,
        description="The folder of a run that recorded it: agents get the recorded answers, and no model is asked.",
    )

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if self.record and self.replay is not None:
            raise RefusedError(
                "what is replayed was recorded already", at=("replay",), suggestion="leave out `record` or `replay`"
            )
        return self


KeepWorlds = Literal["failed", "all"]


class EvalOutput(Output):
    """The folder of results, and which worlds are saved."""

    keep_worlds: Annotated[KeepWorlds | None, SetBy("--keep-worlds")] = Field(
        default=None,
        description="Keep the world that a session left on the embedded GitHub, for `ghx-bench shell` and `rescore`: "
        "that of each cell that was not solved (failed), or of every cell (all).",
    )
