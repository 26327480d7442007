"""What an evaluation is to do: the profiler's configuration, and what is GitHub's and the agent's."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, JsonValue, Strict, StringConstraints, field_validator

from ghx_bench._base.documents import RefusedError
from ghx_bench._base.wire import StrictInt
from ghx_bench.eval.repository import RepositoryName
from ghx_bench.profiler.config import Folder, ProfileConfig, load_config
from ghx_bench.profiler.section import Flag, Section, Text

_TOKEN_BEGINNINGS = ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")

Port = Annotated[StrictInt, Field(ge=1, le=65535)]
VariableName = Annotated[
    str, Strict(), StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), Field(examples=["AUTHOR_TOKEN"])
]


class ProviderChoice(Section):
    """Which agent is evaluated."""

    id: Text = Field(default="reference", description="The agent.", examples=["opencode"])
    port: Port | None = Field(default=None, description="The port of the agent's own server, for agents that have one.")
    options: dict[str, JsonValue] = Field(default={}, description="Settings of the agent's own, passed on unchanged.")


class FixtureChoice(Section):
    """Which GitHub resources the scenarios work on.

    On the embedded server every iteration starts from a fresh copy of the seeded world, so that the two seeding flags
    hold by construction; on github.com they act.
    """

    repo: Annotated[RepositoryName | None, BeforeValidator(lambda repo: None if repo == "" else repo)] = Field(
        default=None, description="The repository that holds the fixtures, as owner/name."
    )
    manifest: Folder = Field(
        default=Path("fixtures/latest.json"), description="The file that says where each fixture is."
    )
    seed_if_missing: Flag = Field(default=False, description="Create the fixtures if there is no manifest yet.")
    reseed_between_modes: Flag = Field(default=False, description="Reset the fixtures before each mode.")
    author_token_env: VariableName | None = Field(
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


class EvalConfig(ProfileConfig):
    """What an evaluation is to do: `eval.config.yaml`."""

    FLAGS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **ProfileConfig.FLAGS,
        "--agent": ("provider", "id"),
        "--port": ("provider", "port"),
        "--repo": ("fixtures", "repo"),
        "--manifest": ("fixtures", "manifest"),
        "--seed-if-missing": ("fixtures", "seed_if_missing"),
        "--reseed-between-modes": ("fixtures", "reseed_between_modes"),
        "--author-token-env": ("fixtures", "author_token_env"),
        "--scorers": ("scorers",),
    }

    schema_url: str | None = Field(
        default=None, alias="$schema", exclude=True, description="The JSON Schema of this file, for editors."
    )
    provider: ProviderChoice = Field(default=ProviderChoice(), description="Which agent is evaluated.")
    fixtures: FixtureChoice = Field(default=FixtureChoice(), description="Which GitHub resources are worked on.")
    scorers: Folder | None = Field(
        default=None,
        description="A Python file with the project's own scorers for `custom` conditions, in a dict called SCORERS.",
        examples=["scorers.py"],
    )


def load_eval_config(path: str | os.PathLike[str]) -> EvalConfig:
    """Read an evaluation's configuration; raise `DocumentError` with everything wrong with it."""
    return load_config(path, EvalConfig)
