"""What a run is to do: the configuration file of the profiler, and the flags that override it."""

import os
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeVar, cast, overload

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from ghx_base.documents import RefusedError, explain, read_document, validate_document
from ghx_base.documents.section import (
    AtLeastOne,
    Distinct,
    Flag,
    ModeName,
    Real,
    Section,
    SetBy,
    Text,
    put_setting,
    refuse_duplicates,
    settings_by_name,
)
from ghx_base.errors import FlagError
from ghx_base.problems import describe_value, did_you_mean
from ghx_base.wire import Count, StrictInt
from ghx_profiler.plan.cell import NO_MODEL, Order
from ghx_profiler.plan.shards import ShardText
from ghx_profiler.session_limits import SessionLimits
from ghx_profiler.stats.plan import AnalysisPlan

LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    BeforeValidator(lambda level: "warning" if level == "warn" else level),
]


def _refuse_emptiness(value: object) -> object:
    if value == "":
        raise RefusedError("must not be empty", suggestion="write '.' for the current folder")
    return value


Positive = Annotated[Real, Field(gt=0)]
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
            raise RefusedError(
                f"expected the id of a model, or an object with 'id' and 'label', got {describe_value(value)}"
            )
        return cast("object", value)


class AgentEntry(Section):
    """One agent of a run; in a file, its id alone will do."""

    id: Text = Field(
        description="The agent: one that comes with the package, one of an installed package, a recipe of your own, as "
        "in ./my-agent.yaml, or a class of your own, as in ./my_agent.py:MyAgent; in a profile, the name of one of its "
        "agents.",
        examples=["./my_agent.py:MyAgent"],
    )
    name: Text | None = Field(
        default=None,
        description="What rows and reports call it, unless that is its own name; agents with one id need different "
        "names.",
        examples=["careful"],
    )
    options: dict[str, JsonValue] = Field(
        default={}, description="Settings of the agent's own, passed on unchanged.", examples=[{"priority": "high"}]
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_id(cls, value: object) -> object:
        if isinstance(value, str):
            return {"id": value}
        if not isinstance(value, dict | AgentEntry):
            raise RefusedError(
                "expected the name of an agent, or an object with 'id', 'name' and 'options', "
                f"got {describe_value(value)}"
            )
        return cast("object", value)


class ScenarioChoice(Section):
    """Which scenarios to run; ids override the set, tags narrow down either."""

    set: Annotated[Text | None, SetBy("--scenario-set")] = Field(default=None, description="A named set of scenarios.")
    ids: Annotated[tuple[Text, ...], Distinct, SetBy("--scenario")] = Field(
        default=(), description="Scenarios by id, instead of a set."
    )
    tags: Annotated[tuple[Text, ...], Distinct, SetBy("--tag")] = Field(
        default=(), description="Only scenarios that have one of these tags."
    )


class Execution(Section):
    """How the cells are run."""

    repetitions: Annotated[AtLeastOne, SetBy("--repetitions")] = Field(
        default=5, description="How often each scenario is run in each mode."
    )
    warmup: Annotated[Flag, SetBy("--skip-warmup", to=False)] = Field(
        default=True, description="Run one discarded iteration per mode before measuring."
    )
    timeout_default_ms: Annotated[StrictInt, Field(gt=0)] | None = Field(
        default=None, description="Accepted from older files and not used: scenarios carry their own timeout."
    )
    order: Annotated[Order, SetBy("--order")] = Field(
        default="interleaved", description="Whether modes take turns, or follow one another as a whole."
    )
    max_concurrency: Annotated[AtLeastOne, SetBy("--max-concurrency")] = Field(
        default=1, description="How many cells run at the same time, on all machines together."
    )
    retries: Annotated[Count | None, SetBy("--retries")] = Field(
        default=None,
        validation_alias=AliasChoices("retries", "allowed_retries"),
        description="Attempts after a transient failure; unless given, each scenario's own allowedRetries.",
    )
    seed: Annotated[StrictInt, SetBy("--seed")] = Field(
        default=0, description="Decides the order in which modes take turns."
    )
    shard: Annotated[ShardText | None, SetBy("--shard")] = Field(
        default=None, description="The part of the run that is run here, as in 3/8; all of it unless given."
    )
    executor: Annotated[Literal["local", "ray"] | None, SetBy("--executor")] = Field(
        default=None,
        description="Where cells run: in this process (`local`), or on the nodes of a Ray cluster, which needs the "
        "extra `ray`; unless given, on Ray where `ray_address` is given.",
    )
    ray_address: Annotated[Text | None, SetBy("--ray-address")] = Field(
        default=None,
        description="The Ray cluster: `auto`, or host and port; unless given, Ray is started on this machine alone.",
        examples=["auto"],
    )
    open_timeout_s: Annotated[Positive | None, SetBy("--open-timeout")] = Field(
        default=None,
        description="Seconds that opening a session may take, with the agent's program and its MCP servers; 60 unless "
        "given. A session that is late is a failure of the environment, never of the agent.",
    )


class Budget(Section):
    """What may be spent on models; what is not given is not limited."""

    max_usd: Positive | None = Field(
        default=None, description="US dollars, by a table of prices; a model without a known price is refused then."
    )
    max_tokens: AtLeastOne | None = Field(default=None, description="Tokens, those that a cache served included.")
    max_model_calls: AtLeastOne | None = Field(default=None, description="Model calls, side calls included.")
    max_turns: AtLeastOne | None = Field(default=None, description="Model calls of the conversation itself.")

    @property
    def is_limited(self) -> bool:
        """Whether anything is limited."""
        return any(getattr(self, name) is not None for name in Budget.model_fields)


class RunBudget(Budget):
    """What the whole run may spend: then no further cell is started, and resuming with more runs the rest."""

    max_usd: Annotated[Positive | None, SetBy("--max-usd")] = Field(
        default=None,
        description="US dollars, by a table of prices.",
    )
    max_tokens: Annotated[AtLeastOne | None, SetBy("--max-tokens")] = Field(
        default=None, description="Tokens, those that a cache served included."
    )
    max_model_calls: Annotated[AtLeastOne | None, SetBy("--max-model-calls")] = Field(
        default=None, description="Model calls, side calls included."
    )
    max_turns: Annotated[AtLeastOne | None, SetBy("--max-turns")] = Field(
        default=None, description="Model calls of the conversations themselves."
    )


class Budgets(Section):
    """What may be spent on models."""

    session: Budget = Field(
        default=Budget(), description="By one session, which is stopped then; that counts against its agent."
    )
    run: RunBudget = Field(default=RunBudget(), description="By the whole run, all attempts counted.")


class ModelService(Section):
    """How much at a time the agents of a run ask of a model service with one key; what is not given is not limited."""

    sessions_at_once: AtLeastOne | None = Field(
        default=None,
        description="Sessions that use a model service with one key at the same time; others wait before they are "
        "opened.",
    )
    requests_per_minute: AtLeastOne | None = Field(
        default=None,
        description="Model calls with one key in a minute; after as many, new sessions wait, and calls of those that "
        "are open go on.",
    )


class Output(Section):
    """Where results are written and how much is logged."""

    results_dir: Annotated[Folder, SetBy("--output-dir")] = Field(
        default=Path("results"), description="The folder that holds the runs' folders."
    )
    reports_dir: Folder | None = Field(default=None, description="A folder for one more copy of the report.")
    session_export: Flag = Field(default=True, description="Keep the trace of every session.")
    log_level: LogLevel | None = Field(default=None, description="Accepted from older files and not used.")


class ProfileConfig(Section):
    """What a run is to do. Flags override the file, the file overrides the defaults."""

    # Shards of one run have to agree in every setting that is in neither of these two lists: a new one counts as making
    # other sessions until somebody has thought about it.
    FREE_IN_SHARDS: ClassVar[frozenset[str]] = frozenset(
        {
            "budget.run",  # what it cuts off has no row
            "execution.executor",
            "execution.max_concurrency",
            "execution.ray_address",
            "execution.warmup",
            "model_service",  # sessions wait for it before they are opened, and are the same afterwards
            "output.session_export",
        }
    )
    """Settings in which shards of one run may differ, since they do not change sessions; `merge` reports them."""
    SET_BY_PLAN: ClassVar[frozenset[str]] = frozenset(
        {
            "agents",
            "analysis",
            "execution.order",
            "execution.repetitions",
            "execution.seed",
            "execution.shard",
            "execution.timeout_default_ms",  # not used
            "models",
            "modes",
            "output.log_level",  # not used
            "output.reports_dir",
            "output.results_dir",
            "scenarios",
        }
    )
    """Settings that `merge` does not compare: places on one machine, and what the plan of a run and what it is made
    of say more exactly. A set of scenarios and the list of its ids are the same plan."""

    agents: Annotated[tuple[AgentEntry, ...], SetBy("--agent")] = Field(
        default=(), description="The agents to compare, by name; unless given, all there are."
    )
    modes: Annotated[tuple[ModeName, ...], Field(min_length=1), Distinct, SetBy("--mode")] = Field(
        description="The modes to compare.", examples=[["baseline", "ghx"]]
    )
    models: Annotated[tuple[ModelEntry, ...], Field(min_length=1), SetBy("--model")] = Field(
        default=(ModelEntry(id=NO_MODEL),), description="The models to run the agent with; control agents need none."
    )
    scenarios: ScenarioChoice = Field(default=ScenarioChoice(), description="Which scenarios to run.")
    execution: Execution = Field(default=Execution(), description="How the cells are run.")
    budget: Budgets = Field(default=Budgets(), description="What may be spent on models.")
    model_service: ModelService = Field(
        default=ModelService(), description="How much at a time the agents of a run ask of a model service."
    )
    output: Output = Field(default=Output(), description="Where results go.")
    limits: SessionLimits = Field(
        default=SessionLimits(), description="What one session may use of the machine; one that uses more is ended."
    )
    analysis: AnalysisPlan = Field(default=AnalysisPlan(), description="What will be concluded, and how.")
    extensions: dict[str, JsonValue] = Field(default={}, description="Data for plugins, passed on unchanged.")

    @field_validator("models")
    @classmethod
    def _models_are_distinct(cls, models: tuple[ModelEntry, ...]) -> tuple[ModelEntry, ...]:
        refuse_duplicates([model.id for model in models])
        return models

    @field_validator("agents")
    @classmethod
    def _agents_are_distinct(cls, agents: tuple[AgentEntry, ...]) -> tuple[AgentEntry, ...]:
        unnamed = [agent.id for agent in agents if agent.name is None]
        for index, agent in enumerate(agents):
            if agent.options and unnamed.count(agent.id) > 1 and agent.name is None:
                raise RefusedError(
                    f"{agent.id!r} is there with different options under one name",
                    at=(index,),
                    suggestion="give each a `name` of its own",
                )
        refuse_duplicates([agent.name or agent.id for agent in agents])
        return agents

    @model_validator(mode="after")
    def _has_the_reference_mode(self) -> Self:
        reference = self.analysis.reference_mode
        # A profile that names no modes has all of its own, which are known once it is loaded.
        if reference is not None and self.modes and reference not in self.modes:
            raise RefusedError(
                f"mode {reference!r} is not among the modes of the run",
                at=("analysis", "reference_mode"),
                suggestion=did_you_mean(reference, self.modes),
            )
        return self

    @property
    def model_ids(self) -> tuple[str, ...]:
        """The models by id, in the order of the file."""
        return tuple(model.id for model in self.models)

    def notes(self) -> tuple[str, ...]:
        """Return what in this configuration does not do what its author may think."""
        notes = list(self.unused())
        if self.execution.repetitions == 1 and self.analysis.target == "suite":
            notes.append("execution.repetitions is 1: with few scenarios no difference can be told from chance")
        return tuple(notes)

    def unused(self) -> tuple[str, ...]:
        """Return which settings have no effect, whatever the run is for."""
        unused: list[str] = []
        if self.execution.timeout_default_ms is not None:
            unused.append("execution.timeout_default_ms is not used: every scenario carries its own timeoutMs")
        if self.output.log_level is not None:
            unused.append("output.log_level is not used: leave it out")
        if self.execution.ray_address is not None and self.execution.executor == "local":
            unused.append("execution.ray_address is not used: execution.executor is 'local'")
        if self.scenarios.set and self.scenarios.ids:
            unused.append(f"scenarios.set {self.scenarios.set!r} is not used: scenarios.ids names the scenarios")
        return tuple(unused)

    def override(self, **changes: object) -> Self:
        """Return this configuration with settings changed, each named as its flag or its field: `max_concurrency=4`.

        `None`, `()` and `[]` change nothing, since that is what a flag is that was not given. The result is validated
        as a whole; a value that cannot be used raises `FlagError`.
        """
        known = settings_by_name(type(self))
        if unknown := sorted(changes.keys() - known.keys()):
            raise TypeError(f"there is no setting {unknown[0]!r}; {did_you_mean(unknown[0], sorted(known))}")
        settings = {
            known[name]: value for name, value in changes.items() if value is not None and value not in ([], ())
        }
        # What was not set stays unset: an evaluation looks into `scenarios` and `fixtures` unless folders were set.
        values = self.model_dump(mode="json", exclude_unset=True)
        paths = {setting.path for setting in settings}
        if ("scenarios", "set") in paths and ("scenarios", "ids") not in paths:
            values.get("scenarios", {}).pop("ids", None)  # ids of the file would win over the set of the flag
        for setting, value in settings.items():
            put_setting(values, setting, value)
        try:
            return self.model_validate(values)
        except ValidationError as error:
            problem = explain(error, type(self), values)[0]
            guilty = [each for each in settings if problem.tokens[: len(each.place)] == each.place]
            names = (each.set_by.flag if each.set_by else each.path[-1] for each in guilty or settings)
            raise FlagError(", ".join(names), str(problem)) from None


class ProfileFile(ProfileConfig):
    """The configuration of a profile in Python, which has modes of its own."""

    SET_BY_PLAN: ClassVar[frozenset[str]] = ProfileConfig.SET_BY_PLAN | {"profile"}

    modes: Annotated[tuple[ModeName, ...], Distinct, SetBy("--mode")] = Field(
        default=(), description="The modes to run; all of the profile's unless given."
    )
    profile: Text | None = Field(default=None, description="Where the profile is; written into run.json, for resuming.")


C = TypeVar("C", bound=ProfileConfig)


@overload
def load_config(path: str | os.PathLike[str]) -> ProfileConfig: ...
@overload
def load_config(path: str | os.PathLike[str], model: type[C]) -> C: ...
def load_config(path: str | os.PathLike[str], model: type[ProfileConfig] = ProfileConfig) -> ProfileConfig:
    """Return the configuration in a YAML or JSON file; raise `DocumentError` with everything wrong with it."""
    return validate_document(read_document(path), model)
