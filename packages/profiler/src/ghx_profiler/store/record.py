"""`run.json`: what a run set out to do, with what, and how far it got."""

import json
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue, ValidationError

from ghx_base.files.atomic_files import write_atomically
from ghx_base.wire import OMITTABLE, Count, ForeignModel
from ghx_profiler.control_kinds import ControlKind, control_kind_of_name
from ghx_profiler.errors import RunDirectoryError
from ghx_profiler.machine import MachineRecord
from ghx_profiler.plan.cell import Arm, Cell, Matrix, Order, count_repetitions
from ghx_profiler.plan.shards import Shard, ShardText
from ghx_profiler.records.row import Attempt, Incident
from ghx_profiler.store.directory import unusable
from ghx_profiler.store.provenance import ProvenanceRecord, changed_ingredients

RECORD_VERSION = 2

RunStatus = Literal["running", "complete", "interrupted", "failed"]


class MatrixRecord(ForeignModel):
    """The matrix of a run as it is stored."""

    agents: tuple[str, ...] = ()
    models: tuple[str, ...]
    modes: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    repetitions: Count
    order: Order
    seed: int
    shard: Annotated[ShardText | None, OMITTABLE] = None
    """Which part of the run this one is, as in `3/8`; everything above is that of the whole."""

    @property
    def total(self) -> int:
        """How many cells the run set out to measure; of a shard, its own."""
        arms = len(self.agents) * len(self.models) * len(self.modes)
        return arms * sum(map(self.repetitions_of, self.scenario_ids))

    def repetitions_of(self, scenario_id: str) -> int:
        """Return how often a scenario is to be run in each arm; of a shard, how many of them are its own."""
        shard = None if self.shard is None else Shard.parse(self.shard)
        return count_repetitions(scenario_id, self.repetitions, shard)

    def to_matrix(self) -> Matrix:
        """Return the matrix of the whole run, of which this may be a shard."""
        return Matrix(
            agents=self.agents,
            models=self.models,
            modes=self.modes,
            scenario_ids=self.scenario_ids,
            repetitions=self.repetitions,
            order=self.order,
            seed=self.seed,
        )

    def name_cell(self, cell: Cell) -> str:
        """Return what people call a cell: without its agent and its model where the run has one of them."""
        agent = (cell.agent,) if len(self.agents) > 1 else ()
        # With several agents the model stands there too: `agent/mode` alone would read like `model/mode`.
        model = (cell.model,) if agent or len(self.models) > 1 else ()
        return "/".join((*agent, *model, cell.mode, cell.scenario_id, str(cell.iteration)))

    @classmethod
    def of(cls, matrix: Matrix) -> "MatrixRecord":
        """Copy a matrix into its stored form."""
        shard = {} if matrix.shard is None else {"shard": str(matrix.shard)}
        return cls(
            **shard,
            agents=matrix.agents,
            models=matrix.models,
            modes=matrix.modes,
            scenario_ids=matrix.scenario_ids,
            repetitions=matrix.repetitions,
            order=matrix.order,
            seed=matrix.seed,
        )


class AgentRecord(ForeignModel):
    """One agent of a run, with the facts that it reports."""

    name: str
    version: str | None = None
    control_kind: ControlKind | None = None
    """Its control kind; controls verify the scenarios, and their rows do not measure agents."""


class ModeDetails(ForeignModel):
    """The readable details of a mode: its instructions, and facts about its tools."""

    instructions: str | None = None
    facts: dict[str, JsonValue] = Field(default={})


class Interruption(ForeignModel):
    """What a cell had spent when the run was interrupted; it has no row, and is run again on resuming."""

    cell: str
    attempts: tuple[Attempt, ...]


class ImportRecord(ForeignModel):
    """Where the rows of a run come from that was not measured here."""

    format: str
    file: str
    """The name of the file, without its folder."""
    sha256: str
    at: str


class MergedShard(ForeignModel):
    """A run that was one shard of a merged one."""

    shard: str
    run_id: str
    created_at: str
    status: RunStatus
    rows: Count


class RunRecord(ForeignModel):
    """The plan and the state of a run. The plan is frozen before the first cell; only the state changes later."""

    version: Literal[1, 2] = RECORD_VERSION
    run_id: str
    created_at: str
    status: RunStatus = "running"
    provider: str
    """The names of all agents, for people and for readers of version 1."""
    agents: tuple[AgentRecord, ...] = ()
    matrix: MatrixRecord
    analysis: dict[str, JsonValue]
    config: dict[str, JsonValue]
    scenarios: tuple[dict[str, JsonValue], ...]
    modes: dict[str, str] = Field(default={})
    """What each mode gives its agents besides the environment, as a fingerprint."""
    mode_details: Annotated[dict[str, ModeDetails], OMITTABLE] = Field(default={})
    versions: dict[str, str]
    host: dict[str, str]
    """The machine from which the run was started, which is not named."""
    machines: Annotated[dict[str, MachineRecord], OMITTABLE] = Field(default={})
    """The machines that measured cells, by the names that rows have."""
    started_in: Annotated[str | None, OMITTABLE] = None
    """The folder that relative paths of the configuration start from; of no interest to reports."""
    metric_units: Annotated[dict[str, str], OMITTABLE] = Field(default={})
    """What the metrics of collectors are measured in, by name."""
    provenance: Annotated[tuple[ProvenanceRecord, ...], OMITTABLE] = ()
    """What the run was made with: when it was started and, if that has changed, since it was resumed."""
    imported: Annotated[ImportRecord | None, OMITTABLE] = None
    """Set for imported rows: their method is only known from the rows."""
    merged: Annotated[tuple[MergedShard, ...], OMITTABLE] = ()
    """The shards that this run was put together from."""
    interruptions: Annotated[tuple[Interruption, ...], OMITTABLE] = ()
    problems: Annotated[tuple[Incident, ...], OMITTABLE] = ()

    @property
    def control_agents(self) -> Mapping[str, ControlKind]:
        """The agents that prove the scenarios, and are not measured themselves: what each does, by name."""
        return {agent.name: agent.control_kind for agent in self.agents if agent.control_kind is not None}

    @property
    def model_labels(self) -> Mapping[str, str]:
        """What people call models, by their id: the labels of the configuration that are given once."""
        models = self.config.get("models")
        entries = [each for each in models if isinstance(each, dict)] if isinstance(models, list) else []
        labels = {str(each.get("id")): label for each in entries if isinstance(label := each.get("label"), str)}
        names = Counter([*labels.values(), *(model for model in self.matrix.models if model not in labels)])
        return {model: label for model, label in labels.items() if names[label] == 1}

    def arm_of(self, agent: str, model: str, mode: str) -> Arm:
        """Return the arm of a cell: with its agent and its model where the run has several and does not pool them."""
        pooled = cast("Sequence[str]", self.analysis.get("pool") or ())
        # A control proves scenarios, and is never one arm with agents under test.
        has_agent = len(self.matrix.agents) > 1 and ("agents" not in pooled or agent in self.control_agents)
        has_model = len(self.matrix.models) > 1 and "models" not in pooled
        return Arm(
            mode=mode,
            agent=agent if has_agent else None,
            model=model if has_model else None,
            model_label=self.model_labels.get(model) if has_model else None,
        )

    def upgraded(self) -> "RunRecord":
        """Return this record with what those of version 1 leave open; the version stays, since resuming asks for it."""
        if self.version >= RECORD_VERSION:
            return self
        agent = AgentRecord(name=self.provider, control_kind=control_kind_of_name(self.provider))
        matrix = self.matrix.model_copy(update={"agents": (agent.name,)})
        return self.model_copy(update={"agents": (agent,), "matrix": matrix})

    def differences(self, other: "RunRecord") -> tuple[str, ...]:
        """Name the parts of the plan in which two records differ; with another of these, it is another run."""
        return self._differences_in(other, _PLAN)

    def changes(self, other: "RunRecord") -> tuple[str, ...]:
        """Name what the other record's run is made of that is not what it was; it may be accepted and recorded."""
        changes = self._differences_in(other, _INGREDIENTS)
        if not self.provenance or not other.provenance:
            return changes
        return changes + changed_ingredients(self.provenance[-1].ingredients, other.provenance[-1].ingredients)

    def _differences_in(self, other: "RunRecord", parts: Iterable[str]) -> tuple[str, ...]:
        mine, others = (json.loads(record.with_all_keys().to_bytes()) for record in (self, other))
        return tuple(_difference(part, mine[part], others[part]) for part in parts if mine[part] != others[part])

    def accept(self, other: "RunRecord") -> "RunRecord":
        """Return this record with what the other one's run is made of; the provenance keeps both."""
        known = {each.id for each in self.provenance}
        new = tuple(each for each in other.provenance if each.id not in known)
        made_of = {part: getattr(other, part) for part in (*_INGREDIENTS, "mode_details")}
        return self.model_copy(update={**made_of, "provenance": (*self.provenance, *new)})


_PLAN = ("matrix", "analysis")
_INGREDIENTS = ("agents", "scenarios", "modes")


def _difference(part: str, mine: object, others: object) -> str:
    """Name a part of the plan, and its difference if that is short."""
    if isinstance(mine, list) and isinstance(others, list):
        before, now = _by_id(cast("list[object]", mine)), _by_id(cast("list[object]", others))
        parts = [
            f"{key} ({', '.join(_keys_that_differ(before[key], now[key]))})" if key in before and key in now else key
            for key in _keys_that_differ(before, now)
        ]
        return f"{part}: {', '.join(parts)}" if parts else part
    if not isinstance(mine, dict) or not isinstance(others, dict):
        return part
    before, now = cast("dict[str, object]", mine), cast("dict[str, object]", others)
    keys = _keys_that_differ(before, now)
    plain = [
        f"{key} {before[key]!r}, now {now.get(key)!r}" for key in keys if isinstance(before.get(key), str | int | float)
    ]
    return f"{part}: {'; '.join(plain or keys)}"


def _keys_that_differ(before: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    return [key for key in {**before, **now} if before.get(key) != now.get(key)]


def _by_id(items: Iterable[object]) -> dict[str, dict[str, object]]:
    records = [cast("dict[str, object]", each) for each in items if isinstance(each, dict)]
    return {str(each.get("id", each.get("name"))): each for each in records}


NAME_A_RUN = "name the folder of a run, or one that `ghx-bench list runs` shows"
"""The fix for a path that is not a run."""


def read_record(path: Path) -> RunRecord:
    """Return a `run.json` of any version; raise `RunDirectoryError` if it cannot be used."""
    try:
        return RunRecord.model_validate_json(path.read_bytes()).upgraded()
    except FileNotFoundError:
        raise RunDirectoryError(f"{path.parent}: not a run directory, it holds no {path.name}; {NAME_A_RUN}") from None
    except NotADirectoryError:
        raise RunDirectoryError(
            f"{path.parent}: this is a file, not a run directory; a pack becomes one with `unzip FILE -d FOLDER`"
        ) from None
    except OSError as error:
        raise unusable(path, error) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"/{part}" for part in first["loc"])
        raise RunDirectoryError(
            f"{path}: not a run record of this version ({where or 'all of it'}: {first['msg']}); "
            "put back the file that the run wrote, or name another run"
        ) from error


def write_record(path: Path, record: RunRecord) -> None:
    """Write a `run.json` atomically."""
    try:
        content = json.dumps(json.loads(record.with_all_keys().to_bytes()), indent=2, ensure_ascii=False)
        # Atomic and durable: without its plan no run can be resumed, whatever rows it has.
        write_atomically(path, content.encode() + b"\n")
    except OSError as error:
        raise unusable(path, error) from error


def host_here() -> dict[str, str]:
    """Describe the machine, without naming it."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "os": sys.platform,
    }
