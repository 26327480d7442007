"""What a run is to do: the configuration file of the profiler, and the flags that override it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast, overload

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from ghx_bench._base.errors import FlagError
from ghx_bench._base.problems import in_words
from ghx_bench._base.wire import Count, StrictInt
from ghx_bench.documents import RefusedError, explain, read_document, validate_document
from ghx_bench.documents.section import AtLeastOne, Distinct, Flag, Name, Section, Text, refuse_duplicates
from ghx_bench.profiler.cell import NO_MODEL, Order
from ghx_bench.profiler.stats.plan import AnalysisPlan

LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    BeforeValidator(lambda level: "warning" if level == "warn" else level),
]


def _refuse_emptiness(value: object) -> object:
    if value == "":
        raise RefusedError("must not be empty", suggestion="write '.' for the current folder")
    return value


Folder = Annotated[Path, BeforeValidator(_refuse_emptiness)]


class ModelEntry(Section):
    """One model to run the agent with; in a file, its id alone will do."""

    id: Text = Field(description="The model as the agent's provider names it.", examples=["openai/gpt-5"])
    label: Text | None = Field(default=None, description="A shorter name for reports.")

    @model_validator(mode="before")
    @classmethod
    def _accept_id(cls, value: object) -> object:
        if isinstance(value, str):
            return {"id": value}
        if not isinstance(value, dict | ModelEntry):
            raise RefusedError(f"expected the id of a model, or an object with 'id' and 'label', got {in_words(value)}")
        return cast("object", value)


class ScenarioChoice(Section):
    """Which scenarios to run; ids override the set, tags narrow down either."""

    set: Text | None = Field(default=None, description="A named set of scenarios.")
    ids: Annotated[tuple[Text, ...], Distinct] = Field(default=(), description="Scenarios by id, instead of a set.")
    tags: Annotated[tuple[Text, ...], Distinct] = Field(
        default=(), description="Only scenarios that have one of these tags."
    )


class Execution(Section):
    """How the cells are run."""

    repetitions: AtLeastOne = Field(default=5, description="How often each scenario is run in each mode.")
    warmup: Flag = Field(default=True, description="Run one discarded iteration per mode before measuring.")
    timeout_default_ms: Annotated[StrictInt, Field(gt=0)] | None = Field(
        default=None, description="Accepted from older files and not used: scenarios carry their own timeout."
    )
    order: Order = Field(
        default="interleaved", description="Whether modes take turns, or follow one another as a whole."
    )
    max_concurrency: AtLeastOne = Field(default=1, description="How many cells run at the same time.")
    retries: Count | None = Field(
        default=None,
        validation_alias=AliasChoices("retries", "allowed_retries"),
        description="Attempts after a transient failure; unless given, each scenario's own allowedRetries.",
    )
    seed: StrictInt = Field(default=0, description="Decides the order in which modes take turns.")


class Output(Section):
    """Where results go and how much is told on the way."""

    results_dir: Folder = Field(default=Path("results"), description="The folder that holds the runs' folders.")
    reports_dir: Folder | None = Field(default=None, description="A folder for one more copy of the report.")
    session_export: Flag = Field(default=True, description="Keep the trace of every session.")
    log_level: LogLevel | None = Field(default=None, description="Accepted from older files and not used.")


class ProfileConfig(Section):
    """What a run is to do. Flags override the file, the file overrides the defaults."""

    FLAGS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "--agent": ("agents",),
        "--mode": ("modes",),
        "--model": ("models",),
        "--set": ("scenarios", "set"),
        "--scenario": ("scenarios", "ids"),
        "--tag": ("scenarios", "tags"),
        "--repetitions": ("execution", "repetitions"),
        "--warmup": ("execution", "warmup"),
        "--order": ("execution", "order"),
        "--max-concurrency": ("execution", "max_concurrency"),
        "--retries": ("execution", "retries"),
        "--seed": ("execution", "seed"),
        "--results-dir": ("output", "results_dir"),
        "--reports-dir": ("output", "reports_dir"),
        "--session-export": ("output", "session_export"),
        "--target": ("analysis", "target"),
        "--alpha": ("analysis", "alpha"),
        "--margin-pct": ("analysis", "margin_pct"),
        "--primary": ("analysis", "primary"),
    }

    agents: Annotated[tuple[Text, ...], Distinct] = Field(
        default=(), description="The agents to compare, by name; unless given, all there are."
    )
    modes: Annotated[tuple[Name, ...], Field(min_length=1), Distinct] = Field(
        description="The modes to compare.", examples=[["baseline", "ghx"]]
    )
    models: Annotated[tuple[ModelEntry, ...], Field(min_length=1)] = Field(
        default=(ModelEntry(id=NO_MODEL),), description="The models to run the agent with; control agents need none."
    )
    scenarios: ScenarioChoice = Field(default=ScenarioChoice(), description="Which scenarios to run.")
    execution: Execution = Field(default=Execution(), description="How the cells are run.")
    output: Output = Field(default=Output(), description="Where results go.")
    analysis: AnalysisPlan = Field(default=AnalysisPlan(), description="What will be concluded, and how.")
    extensions: dict[str, JsonValue] = Field(default={}, description="Data for plugins, passed on unchanged.")

    @field_validator("models")
    @classmethod
    def _models_are_distinct(cls, models: tuple[ModelEntry, ...]) -> tuple[ModelEntry, ...]:
        refuse_duplicates([model.id for model in models])
        return models

    @property
    def model_ids(self) -> tuple[str, ...]:
        """The models by id, in the order of the file."""
        return tuple(model.id for model in self.models)

    def notes(self) -> tuple[str, ...]:
        """Return what in this configuration does not do what its author may think, in sentences."""
        notes = list(self.unused())
        if self.execution.repetitions == 1 and self.analysis.target == "suite":
            notes.append("execution.repetitions is 1: with few scenarios no difference can be told from chance")
        return tuple(notes)

    def unused(self) -> tuple[str, ...]:
        """Return which settings have no effect in any run, in sentences."""
        unused: list[str] = []
        if self.execution.timeout_default_ms is not None:
            unused.append("execution.timeout_default_ms is not used: every scenario carries its own timeoutMs")
        if self.output.log_level is not None:
            unused.append("output.log_level is not used: leave it out")
        if self.scenarios.set and self.scenarios.ids:
            unused.append(f"scenarios.set {self.scenarios.set!r} is not used: scenarios.ids names the scenarios")
        return tuple(unused)

    def with_overrides(self, flags: Mapping[str, object]) -> Self:
        """Return this configuration with flags applied, named as on the command line; `None` and `()` are not given.

        The result is validated as a whole; a value that cannot be used raises `FlagError`.
        """
        given = {flag: value for flag, value in flags.items() if value is not None and value not in ([], ())}
        values = self.model_dump(mode="json", exclude_unset=True)
        if "--set" in given and "--scenario" not in given:
            values.get("scenarios", {}).pop("ids", None)  # ids of the file would win over the set of the flag
        for flag, value in given.items():
            _put(values, self.FLAGS[flag], value)
        try:
            return self.model_validate(values)
        except ValidationError as error:
            raise self._blame(given, error, values) from None

    def _blame(self, given: Mapping[str, object], error: ValidationError, values: object) -> FlagError:
        finding = explain(error, type(self), values)[0]
        guilty = [flag for flag in given if finding.tokens[: len(self.FLAGS[flag])] == self.FLAGS[flag]]
        return FlagError(", ".join(guilty or given), str(finding))


def _put(values: dict[str, Any], path: Sequence[str], value: object) -> None:
    *sections, key = path
    for section in sections:
        values = values.setdefault(section, {})
    values[key] = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


C = TypeVar("C", bound=ProfileConfig)


@overload
def load_config(path: str | os.PathLike[str]) -> ProfileConfig: ...
@overload
def load_config(path: str | os.PathLike[str], model: type[C]) -> C: ...
def load_config(path: str | os.PathLike[str], model: type[ProfileConfig] = ProfileConfig) -> ProfileConfig:
    """Return the configuration in a YAML or JSON file; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path), model)
