"""A task on GitHub with its checks: `EvalScenario` and its parts, exactly as they stand in files."""

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    Field,
    JsonValue,
    PrivateAttr,
    Strict,
    StringConstraints,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from ghx_base.documents import RefusedError
from ghx_base.documents.section import Flag
from ghx_base.problems import shortened
from ghx_base.wire import OMITTABLE, Count, WireModel
from ghx_bench.scenario.condition_base import Bounded
from ghx_bench.scenario.conditions import CheckpointCondition
from ghx_bench.scenario.extensions import ScenarioExtensions, read_extensions
from ghx_bench.scenario.scenario_changes import Bindings, Timeout, is_variant_name
from ghx_profiler.scenario import BaseScenario, Text, scenario_of, variant_of

LONGEST_ID = 128
MOST_RETRIES = 100

ScenarioId = Annotated[
    str,
    Strict(),
    StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*-[0-9]{3}$", max_length=LONGEST_ID),
    Field(examples=["pr-fix-mixed-threads-001"]),
]
"""An id as files have it."""


def _leave_variant_out(id_: object, check: ValidatorFunctionWrapHandler) -> object:
    if isinstance(id_, str) and is_variant_name(variant_of(id_)):
        check(scenario_of(id_))
        return id_
    return check(id_)


VariantId = Annotated[ScenarioId, WrapValidator(_leave_variant_out)]
"""The id of a scenario, or of a variant of one, which files cannot have: loading refuses it, and so does the schema."""

Category = Literal["pr", "issue", "workflow", "release", "repo"]
Difficulty = Literal["basic", "intermediate", "advanced"]


class FixtureRequirements(WireModel):
    """The GitHub resources that a scenario works on, and the variables that stand for them."""

    repo: Text = Field(
        description="The repository of the fixtures as owner/repo, or {{fixture_repo}} for the configured one.",
        examples=["{{fixture_repo}}"],
    )
    requires: Bounded[tuple[Text, ...]] = Field(
        description="The names of the fixtures this scenario depends on, as in the manifest.",
        examples=[["pr_with_changes"]],
    )
    bindings: Bindings = Field(
        description="For each {{variable}}, the path into the manifest's fixtures where its value is.",
        examples=[{"pr_number": "pr_with_changes.number"}],
    )
    reseed_per_iteration: Flag = Field(
        default=False, description="Reset the fixtures' branches to their original commits before each iteration."
    )
    seed_per_iteration: Flag = Field(default=False, description="Create the fixtures anew before each iteration.")


class Origin(NamedTuple):
    """What a checkpoint was before its variables were filled in, and the values that were."""

    checkpoint: "Checkpoint"
    values: Mapping[str, JsonValue]


class Checkpoint(WireModel):
    """One check: a capability to call after the session, and what its output must satisfy."""

    id: Annotated[Text, StringConstraints(max_length=LONGEST_ID)] = Field(
        description="A name of its own within the scenario.", examples=["review-submitted"]
    )
    description: Text = Field(
        description="What is asserted, for people.", examples=["A review was submitted on the pull request"]
    )
    task: Text = Field(description="The capability that is called.", examples=["pr.commits.list"])
    input: dict[str, JsonValue] = Field(
        description="What the capability is given.",
        examples=[{"owner": "{{owner}}", "name": "{{repo_name}}", "prNumber": "{{pr_number}}"}],
    )
    condition: CheckpointCondition = Field(
        description="What the capability's output must satisfy.", examples=[{"type": "non_empty"}]
    )
    # Private, so that a bound checkpoint is written like any other.
    _origin: Origin | None = PrivateAttr(default=None)

    @property
    def origin(self) -> Origin | None:
        """Where this checkpoint comes from, if it was bound and still has something that looks like a reference."""
        return self._origin

    def with_origin(self, origin: Origin) -> Self:
        """Remember where this checkpoint comes from, which changes neither what it says nor how it is written."""
        self._origin = origin
        return self

    @field_validator("condition", mode="before")
    @classmethod
    def _is_more_than_a_word(cls, condition: object) -> object:
        if isinstance(condition, str):
            reason = f"expected an object, got the string {shortened(condition)}"
            raise RefusedError(reason, suggestion=f'write {{"type": {json.dumps(condition, ensure_ascii=False)}}}')
        return condition


class Assertions(WireModel):
    """What is verified after the session, and what is expected of the way there without being enforced."""

    checkpoints: Bounded[tuple[Checkpoint, ...]] = Field(
        description="The checks, in the order in which they are made; all must pass."
    )
    expected_tool_sequence: Annotated[Bounded[tuple[Text, ...]] | None, OMITTABLE] = Field(
        default=None,
        description="The tools expected in this order, * standing for anything; reported, never enforced.",
        examples=[["pr.view", "bash:git push*"]],
    )
    expected_capabilities: Annotated[Bounded[tuple[Text, ...]] | None, OMITTABLE] = Field(
        default=None,
        description="The capabilities the agent is expected to use; reported, never enforced.",
        examples=[["pr.view", "pr.reviews.submit"]],
    )

    @field_validator("checkpoints")
    @classmethod
    def _ids_are_unique(cls, checkpoints: tuple[Checkpoint, ...]) -> tuple[Checkpoint, ...]:
        first: dict[str, int] = {}
        for index, checkpoint in enumerate(checkpoints):
            if first.setdefault(checkpoint.id, index) != index:
                raise RefusedError(
                    f"checkpoint id {checkpoint.id!r} is also that of checkpoint {first[checkpoint.id]}",
                    at=(index, "id"),
                    suggestion="give each checkpoint an id of its own",
                )
        return checkpoints


class EvalScenario(BaseScenario):
    """A task for an agent on GitHub: the prompt, the fixtures it needs, and the checkpoints that decide.

    `EvalScenario.model_validate` is the validation of a scenario by itself. Whether its capabilities exist, its
    variables are bound and its references lead anywhere is the business of `load_eval_scenarios`.
    """

    schema_url: Annotated[str | None, OMITTABLE] = Field(
        default=None, alias="$schema", description="The JSON Schema of this file, for editors."
    )
    id: VariantId = Field(description="Unique id: lower-case words and three digits, joined by hyphens.")
    name: Text = Field(description="Short display name.", examples=["Review a pull request"])
    description: Text = Field(description="What the scenario is for, and its context.")
    prompt: Text = Field(description="The task as the agent is given it; may contain {{variables}}.")
    timeout_ms: Timeout = Field(
        description="The longest the agent may take, in milliseconds; at most a day.", examples=[180_000]
    )
    allowed_retries: Annotated[Count, Field(le=MOST_RETRIES)] = Field(
        default=0, description="Additional attempts after a transient failure."
    )
    tags: Bounded[tuple[Text, ...]] = Field(default=(), description="Words to filter by.")
    category: Category = Field(description="The part of GitHub it is about: pr, issue, workflow, release or repo.")
    difficulty: Difficulty = Field(description="How hard it is: basic, intermediate or advanced.")
    fixture: Annotated[FixtureRequirements | None, OMITTABLE] = Field(
        default=None, description="The GitHub resources it needs; omit it where it needs none."
    )
    assertions: Assertions = Field(description="What is verified after the session.")

    @cached_property
    def known_extensions(self) -> ScenarioExtensions:
        """What the bench reads in `extensions`; raises `ValidationError` where that is wrong, as loading does."""
        return read_extensions(self.extensions)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; a copy with other extensions reads them again."""
        copy = super().model_copy(update=update, deep=deep)
        if update and "extensions" in update:
            vars(copy).pop("known_extensions", None)  # pydantic copies what was cached
        return copy

    @field_validator("fixture", mode="before")
    @classmethod
    def _is_omitted_rather_than_null(cls, fixture: object) -> object:
        if fixture is None:
            raise RefusedError("expected an object, got null", suggestion="omit the key where no fixture is needed")
        return fixture


def required_fixtures(scenarios: Iterable[EvalScenario]) -> tuple[str, ...]:
    """Return the names of the fixtures that scenarios need, each once."""
    return tuple(dict.fromkeys(name for each in scenarios if each.fixture for name in each.fixture.requires))
