"""The configuration of an evaluation: the profiler's settings, and those about GitHub and the agent."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Self, cast

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from ghx_base.documents import RefusedError
from ghx_base.documents.section import SetBy, Text
from ghx_base.errors import InputError
from ghx_bench.modes.definitions import (
    ModeDefinition,
    load_mode_definition,
    modes_pinned_to_paths,
    take_modes_apart,
)
from ghx_bench.project.config_sections import (
    AGENT_ALIASES,
    EvalOutput,
    FixtureChoice,
    HostName,
    ModelTraffic,
    Port,
    ProviderChoice,
)
from ghx_bench.project.gates import Gate, Quarantine
from ghx_bench.project.object_references import (
    DEFAULT_AGENT,
    is_recipe_file,
    is_reference,
    normalise_reference,
    reference_beside,
)
from ghx_bench.scenario.extensions import Target
from ghx_profiler.agents.processes.sandbox import Ring
from ghx_profiler.config import AgentEntry, Folder, ProfileConfig
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.packs import run_folder
from ghx_profiler.store.record import read_record

REPLAY = "replay"
"""The agent that `--replay` is for."""


def _resolve_aliases(agents: tuple[AgentEntry, ...]) -> tuple[AgentEntry, ...]:
    return tuple(each.model_copy(update={"id": AGENT_ALIASES.get(each.id, each.id)}) for each in agents)


class EvalConfig(ProfileConfig):
    """What an evaluation is to do: `eval.config.yaml`."""

    FREE_IN_SHARDS: ClassVar[frozenset[str]] = ProfileConfig.FREE_IN_SHARDS | {
        "against",
        "fail_on",
        "model_traffic.record",
        "output.keep_worlds",
        "quarantine",
    }
    SET_BY_PLAN: ClassVar[frozenset[str]] = ProfileConfig.SET_BY_PLAN | {
        "fixtures.folders",
        "fixtures.manifest",
        "mode_files",
        "model_traffic.replay",
        "provider",
        "scenario_dirs",
        "scorers",
    }

    schema_url: str | None = Field(
        default=None, alias="$schema", exclude=True, description="The JSON Schema of this file, for editors."
    )
    provider: ProviderChoice = Field(
        default=ProviderChoice(), description="Which agent is evaluated, where it is one; several go into `agents`."
    )
    agents: Annotated[tuple[AgentEntry, ...], AfterValidator(_resolve_aliases), SetBy("--agent")] = Field(
        default=(),
        description="The agents to compare, instead of `provider`: each its id alone, or an object with `id`, `name` "
        "and `options`.",
        examples=[["./my_agent.py:MyAgent", "nop"]],
    )
    fixtures: FixtureChoice = Field(default=FixtureChoice(), description="Which GitHub resources are worked on.")
    target: Annotated[Target, SetBy("--target")] = Field(
        default="twin", description="Where agents work: on the embedded server, or on github.com."
    )
    reachable_hosts: tuple[HostName, ...] = Field(
        default=(),
        description="Hosts that sessions on the embedded server may reach beside it, such as that of the agent's "
        "model; all others are refused.",
        examples=[["api.example.com"]],
    )
    sandbox: Annotated[Ring, SetBy("--sandbox")] = Field(
        default="plain",
        description="What keeps sessions on the embedded server from the rest of the machine: nothing but the account "
        "they run under (plain), or namespaces of their own, on Linux with bubblewrap (bwrap).",
    )
    reachable_ports: tuple[Port, ...] = Field(
        default=(),
        description="Ports of this machine that sessions in a sandbox may reach, such as that of a local model; all "
        "others are closed to them.",
        examples=[[11434]],
    )
    visible_paths: tuple[Folder, ...] = Field(
        default=(),
        description="Files and folders that sessions in a sandbox may read, beside the tools of their mode.",
        examples=[["tools/lib"]],
    )
    model_traffic: ModelTraffic = Field(
        default=ModelTraffic(), description="What is done with the traffic between agents and their models."
    )
    output: EvalOutput = Field(  # pyright: ignore[reportIncompatibleVariableOverride] - it is frozen
        default=EvalOutput(), description="Where results go."
    )
    mode_definitions: tuple[ModeDefinition, ...] = Field(
        default=(),
        description="Modes of the project's own that can be named; one described under modes is not repeated here.",
    )
    mode_files: tuple[Folder, ...] = Field(
        default=(),
        description="Files with modes of the project's own, each called as its mode is.",
        examples=[["modes/mine.yaml"]],
    )
    scenario_dirs: Annotated[tuple[Folder, ...], SetBy("--scenario-dir")] = Field(
        default=(),
        description="Folders with scenarios of the project's own, beside those that come with the package.",
        examples=[["scenarios"]],
    )
    scorers: Folder | None = Field(
        default=None,
        description="A Python file with the project's own scorers for `custom` conditions, in a dict called SCORERS.",
        examples=["scorers.py"],
    )
    fail_on: Annotated[tuple[Gate, ...], SetBy("--fail-on")] = Field(
        default=(),
        description="What must not come of a run: 'wrong' or 'right' cells, 'impure' or 'attacked' ones, a rate as in "
        "'success<0.8' or, beside `against`, 'worse' and the like; then it ends with exit code 1.",
        examples=[["wrong"]],
    )
    against: Annotated[Text | None, SetBy("--against")] = Field(
        default=None,
        description="The baseline that a run is compared with: a blessed one by name, the folder of a run, or latest.",
        examples=["main"],
    )
    quarantine: Quarantine = Field(
        default=(),
        description="Flaky scenarios that are run and shown, and do not count for `fail_on`: each with its owner and "
        "its last day.",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_modes_apart(cls, values: object) -> object:
        return take_modes_apart(cast("dict[str, object]", values)) if isinstance(values, dict) else values

    @model_validator(mode="before")
    @classmethod
    def _has_one_way_to_name_agents(cls, values: object) -> object:
        keys = cast("dict[str, object]", values) if isinstance(values, dict) else {}
        if keys.get("agents") and "provider" in keys:
            raise RefusedError(
                "`provider` and `agents` both say which agent is evaluated", at=("agents",), suggestion="leave out one"
            )
        return cast("object", values)

    @model_serializer(mode="wrap")
    def _leave_out_provider(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        values = cast("dict[str, object]", serialize(self))
        if self.agents:
            values.pop("provider", None)  # absent where only what was set is dumped
        return values

    @property
    def chosen_agents(self) -> tuple[AgentEntry, ...]:
        """The agents of the run, however the file names them."""
        if self.agents:
            return self.agents
        port = {} if self.provider.port is None else {"port": self.provider.port}
        return (AgentEntry(id=self.provider.id, options={**port, **self.provider.options}),)

    def unused(self) -> tuple[str, ...]:
        """Return which settings have no effect, whatever the run is for."""
        settings = {"visible_paths": self.visible_paths, "reachable_ports": self.reachable_ports}
        lost = [name for name, value in settings.items() if value and self.sandbox == "plain"]
        notes = [f"{name} is not used: it is for `sandbox: bwrap`" for name in lost]
        if self.output.keep_worlds is not None and self.target != "twin":
            notes.append(
                "output.keep_worlds is not used: worlds of the embedded GitHub are kept, and nothing of github.com"
            )
        return (*super().unused(), *notes)

    def override(self, **changes: object) -> Self:
        """Return this configuration with settings changed; options are of the agent they stand beside, and no other.

        An agent that the file has is taken with its options, by its name or its id. Next to `replay`, agents other than
        the replaying one are those of the run that is replayed. `replay_model` repeats the cells of its run, as far as
        nothing else is asked for. `agent_option` sets options of agents: `KEY=VALUE`, or `AGENT:KEY=VALUE`.
        """
        if options := changes.pop("agent_option", None):
            return self.override(**changes).with_options(cast("Sequence[str]", options))
        base = self
        if changes.get("replay_model") is not None:
            agents, changes = _repeat_run(Path(str(changes["replay_model"])), changes)
            base = self.model_copy(update={"agents": agents})
        agent, replay = changes.pop("agent", None), changes.pop("replay", None)
        names = [agent] if isinstance(agent, str) else list(cast("Sequence[str]", agent or ()))
        names = [AGENT_ALIASES.get(name, name) for name in names]
        if not names and replay is not None:
            names = [REPLAY]
        if not names:
            return super(EvalConfig, base).override(**changes)
        chosen: list[AgentEntry] = []
        for name in names:
            matching = [each for each in base.chosen_agents if _is_meant(each, name)]
            # Next to `replay`, a name may be that of an agent of the replayed run.
            if not matching and base.agents and (replay is None or REPLAY in names):
                # Imported here: few commands name an agent that their file does not have, and it takes 18 ms.
                from ghx_bench.project.user_agents import require_known_agent  # noqa: PLC0415 - see above

                require_known_agent(name, base.agents)
            chosen += matching or [AgentEntry.model_construct(id=name)]
        if replay is not None:
            chosen = _replay(cast("JsonValue", replay), names, chosen)
        if tuple(chosen) == base.chosen_agents:
            return super(EvalConfig, base).override(**changes)
        # Set before it is dumped: the dump of several agents has no provider, which would be in the way of these.
        base = base.model_copy(update={"agents": tuple(chosen)})
        return super(EvalConfig, base).override(agent=[each.model_dump() for each in chosen], **changes)

    def with_options(self, flags: Sequence[str]) -> Self:
        """Return this configuration with options of its agents set, as `--agent-option` has them."""
        # Imported here: few runs have the flag, and it takes 18 ms.
        from ghx_bench.project.user_agents import set_options  # noqa: PLC0415 - see above

        agents = set_options(self.chosen_agents, flags, is_meant=_is_meant)
        if self.agents:
            return self.model_copy(update={"agents": agents})
        return self.model_copy(
            update={"provider": self.provider.model_copy(update={"options": agents[0].options, "port": None})}
        )

    def beside(self, file: Path) -> Self:
        """Return this configuration with the files and folders it names taken from the folder of its own file."""
        folder = file.parent
        changes: dict[str, object] = {}
        described = tuple(each.resolve_paths(file) for each in self.mode_definitions)
        names = {each.name for each in described}
        pinned = modes_pinned_to_paths((name for name in self.modes if name not in names), folder)
        if described or pinned:
            changes["mode_definitions"] = (*described, *pinned)
        if self.mode_files:
            changes["mode_files"] = tuple(folder / each for each in self.mode_files)
        if self.agents:
            changes["agents"] = tuple(
                each.model_copy(update={"id": reference_beside(each.id, folder)}) if _is_path(each.id) else each
                for each in self.agents
            )
        elif _is_path(self.provider.id):
            own = reference_beside(self.provider.id, folder)
            changes["provider"] = self.provider.model_copy(update={"id": own})
        if self.visible_paths:
            changes["visible_paths"] = tuple(folder / each for each in self.visible_paths)
        if self.scorers is not None:
            changes["scorers"] = folder / self.scorers
        if (replayed := self.model_traffic.replay) is not None:
            changes["model_traffic"] = self.model_traffic.model_copy(update={"replay": folder / replayed})
        if self.scenario_dirs:
            changes["scenario_dirs"] = tuple(folder / each for each in self.scenario_dirs)
        fixtures = {"manifest": folder / self.fixtures.manifest}
        if self.fixtures.folders:
            changes["fixtures"] = self.fixtures.model_copy(
                update={**fixtures, "folders": tuple(folder / each for each in self.fixtures.folders)}
            )
        else:
            changes["fixtures"] = self.fixtures.model_copy(update=fixtures)
        return self.model_copy(update=changes)


def _repeat_run(run: Path, changes: Mapping[str, object]) -> tuple[tuple[AgentEntry, ...], dict[str, object]]:
    """Return the agents of a run, and changes that ask for its other cells as far as they do not ask for others."""
    place = RunDirectory(run_folder(run)).record
    if not place.is_file():
        raise InputError(f"--replay-model: {run} is not the folder of a run")
    record = read_record(place)
    try:
        agents = EvalConfig.model_validate(record.config).chosen_agents
    except ValidationError:
        raise InputError(f"--replay-model: {run} was not made by `ghx-bench run` of this version") from None
    cells: dict[str, object] = {
        "model": record.matrix.models,
        "mode": record.matrix.modes,
        "scenario": None if changes.get("scenario_set") else record.matrix.scenario_ids,
        "repetitions": record.matrix.repetitions,
        # Without model calls, no warm-up is needed.
        "skip_warmup": True,
    }
    settings = {
        name: each for name, each in changes.items() if each not in ([], ()) and each is not None and each is not False
    }
    return agents, {**cells, **settings}


def _is_path(agent: str) -> bool:
    return is_reference(agent) or is_recipe_file(agent)


def _is_meant(entry: AgentEntry, name: str) -> bool:
    """Return whether a name on the command line is that of an agent, or its id, however its path is written."""
    name = AGENT_ALIASES.get(name, name)
    if name in {entry.name, entry.id}:
        return True
    if is_recipe_file(name) and is_recipe_file(entry.id):
        return os.path.abspath(name) == os.path.abspath(entry.id)  # noqa: PTH100 - no links
    if not (is_reference(name) and is_reference(entry.id)):
        return False
    one, other = (normalise_reference(each, default=DEFAULT_AGENT) for each in (name, entry.id))
    return one == other


def _replay(run: JsonValue, names: Sequence[str], chosen: Sequence[AgentEntry]) -> list[AgentEntry]:
    """Return agents with the run that is replayed: the replaying one or, if it is not named, one for each name."""
    if REPLAY in names:
        return [
            each.model_copy(update={"options": {**each.options, "run": run}}) if each.id == REPLAY else each
            for each in chosen
        ]
    several = len(names) > 1
    return [
        AgentEntry(id=REPLAY, name=f"{REPLAY}:{name}" if several else None, options={"run": run, "agent": name})
        for name in names
    ]


def definitions_of(config: EvalConfig) -> tuple[ModeDefinition, ...]:
    """Return the modes that a configuration brings, those in files of their own among them."""
    return (*config.mode_definitions, *map(load_mode_definition, config.mode_files))
