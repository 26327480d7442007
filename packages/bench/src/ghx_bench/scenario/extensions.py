"""The keys of a scenario's `extensions` that the bench defines; all others are the user's, and are passed on."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from ghx_base.documents import RefusedError
from ghx_base.documents.section import FilePath, Section, Text
from ghx_base.problems import describe_value, did_you_mean, shortened
from ghx_bench.scenario.scenario_changes import Variants
from ghx_bench.scenario.threat import Threat
from ghx_twin.seed.format import SeedFault
from ghx_twin.viewer import KNOWN_SCOPES

Target = Literal["twin", "github"]
TARGETS: tuple[Target, ...] = get_args(Target)

_EXAMPLE = "write what the agent may change, such as ['comments', 'issues.state']"


def _check_patterns(value: object) -> object:
    if value is not None and not isinstance(value, list):
        raise RefusedError(f"expected a list, got {describe_value(value)}", suggestion=_EXAMPLE)
    return cast("object", value)


def _check_pattern(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise RefusedError(f"expected a pattern, got {describe_value(value)}", suggestion=_EXAMPLE)
    return value


def _check_targets(value: object) -> object:
    if value is None:
        return TARGETS
    if not isinstance(value, list) or not value:
        reason = f"expected a list of targets, got {describe_value(cast('object', value))}"
        raise RefusedError(reason, suggestion="write [twin], [github], or leave the key out")
    return cast("object", value)


def _check_target(value: object) -> object:
    if value not in TARGETS:
        hint = did_you_mean(value, TARGETS) if isinstance(value, str) else None
        raise RefusedError(f"there is no target {shortened(value)}", suggestion=hint)
    return value


def _check_switch(value: object) -> object:
    if value is None:
        return False
    if not isinstance(value, bool):
        reason = f"expected true or false, got {describe_value(value)}"
        raise RefusedError(reason, suggestion="write true, or leave the key out")
    return value


def _check_faults(value: object) -> object:
    if value is None:
        return ()
    if not isinstance(value, list):
        example = "write a list of rules, such as [{method: POST, times: 2, status: 502}]"
        raise RefusedError(f"expected a list, got {describe_value(value)}", suggestion=example)
    return cast("object", value)


def _check_scopes(value: object) -> object:
    if value is not None and not isinstance(value, list):
        example = "write a list of scopes, such as [public_repo]; [] for a token without any"
        raise RefusedError(f"expected a list, got {describe_value(value)}", suggestion=example)
    return cast("object", value)


def _check_scope(value: object) -> object:
    if value not in KNOWN_SCOPES:
        hint = did_you_mean(value, sorted(KNOWN_SCOPES)) if isinstance(value, str) else None
        raise RefusedError(f"there is no scope {shortened(value)}", suggestion=hint)
    return value


def _check_changes(value: object) -> object:
    for path in cast("dict[object, object]", value) if isinstance(value, dict) else ():
        if isinstance(path, str) and path.split("/")[0].casefold() == ".git":
            hint = "name files of the repository; git's own are made by the bench"
            raise RefusedError(f"{shortened(path)} is git's own", at=(path,), at_key=True, suggestion=hint)
    return cast("object", value)


class Workspace(Section):
    """A checkout that the session starts in, instead of an empty folder."""

    repo: Text = Field(
        description="The repository that is checked out, as owner/repo; it is the remote `origin`.",
        examples=["{{repo}}"],
    )
    branch: Text | None = Field(
        default=None, description="The branch that is checked out; the repository's default branch unless given."
    )
    upstream: Text | None = Field(
        default=None, description="The repository that is the remote `upstream`, as owner/repo; none unless given."
    )
    changes: Annotated[dict[FilePath, str | None], BeforeValidator(_check_changes)] = Field(
        default={}, description="What is not committed: the content of files by path; null removes one."
    )


FAULTS = "faults"
SCOPES = "tokenScopes"
VARIANTS = "variants"
WORKSPACE = "workspace"
WORKSPACE_NAMES = ("repo", "branch", "upstream")
"""The keys of a workspace in which placeholders are replaced."""


def names_in_workspace(extensions: Mapping[str, JsonValue] | None) -> Iterator[tuple[str, str]]:
    """Yield the keys of a workspace with the texts that may have placeholders, whatever else is wrong with it."""
    workspace = (extensions or {}).get(WORKSPACE)
    section = workspace if isinstance(workspace, dict) else {}
    yield from ((key, text) for key in WORKSPACE_NAMES if isinstance(text := section.get(key), str))


class ScenarioExtensions(BaseModel):
    """What the bench reads in a scenario's `extensions`; a key that is null counts as left out."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=False)

    allowed_changes: Annotated[
        tuple[Annotated[str, BeforeValidator(_check_pattern)], ...] | None, BeforeValidator(_check_patterns)
    ] = Field(default=None, description="Patterns of what the agent may change; None where anything may be.")
    targets: Annotated[
        tuple[Annotated[Target, BeforeValidator(_check_target)], ...], BeforeValidator(_check_targets)
    ] = Field(default=TARGETS, description="Where the scenario can be run.")
    independent: Annotated[bool, BeforeValidator(_check_switch)] = Field(
        default=False,
        description="Whether the task names what it is about, so that other fixtures in the repository do not matter.",
    )
    workspace: Workspace | None = Field(
        default=None, description="The checkout that the session starts in; an empty folder unless given."
    )
    faults: Annotated[tuple[SeedFault, ...], BeforeValidator(_check_faults)] = Field(
        default=(), description="What goes wrong on purpose on the embedded GitHub, and for which requests."
    )
    token_scopes: Annotated[
        tuple[Annotated[str, BeforeValidator(_check_scope)], ...] | None, BeforeValidator(_check_scopes)
    ] = Field(
        default=None,
        description="The OAuth scopes of the agent's token on the embedded GitHub; it may do everything unless given.",
    )
    variants: Variants = Field(
        default={}, description="Other forms of the scenario, by name; such a one is then ID@name."
    )
    threat: Threat | None = Field(
        default=None, description="A text that somebody without a say plants where the agent reads."
    )
    rubric: JsonValue = Field(default=None, description="What a judge is given, where the evaluation has one.")


KEYS = tuple(field.alias or name for name, field in ScenarioExtensions.model_fields.items())
"""The keys as files have them."""


def read_extensions(extensions: Mapping[str, JsonValue] | None) -> ScenarioExtensions:
    """Return what the bench reads in `extensions`; raise `ValidationError` with everything wrong with it."""
    return ScenarioExtensions.model_validate(extensions or {})
