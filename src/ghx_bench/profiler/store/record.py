"""`run.json`: what a run set out to do, with what, and how far it got."""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import JsonValue, ValidationError

from ghx_bench._base.wire import OMITTABLE, Count, ForeignModel, Number
from ghx_bench.profiler.cell import Matrix, Order
from ghx_bench.profiler.errors import RunDirectoryError
from ghx_bench.profiler.evidence import Evidence
from ghx_bench.profiler.metrics import TokenUsage
from ghx_bench.profiler.row import Incident
from ghx_bench.profiler.store.files import unusable, write_atomically

RECORD_VERSION = 1

RunStatus = Literal["running", "complete", "interrupted", "failed"]


class MatrixRecord(ForeignModel):
    """The matrix of a run as it is stored."""

    models: tuple[str, ...]
    modes: tuple[str, ...]
    scenario_ids: tuple[str, ...]
    repetitions: Count
    order: Order
    seed: int

    @classmethod
    def of(cls, matrix: Matrix) -> "MatrixRecord":
        """Copy a matrix into its stored form."""
        return cls(
            models=matrix.models,
            modes=matrix.modes,
            scenario_ids=matrix.scenario_ids,
            repetitions=matrix.repetitions,
            order=matrix.order,
            seed=matrix.seed,
        )


class Interruption(ForeignModel):
    """What a session had spent when the run was interrupted; its cell has no row and is run again on resuming."""

    cell: str
    session_id: str = ""
    wall_ms: Number | None = None
    tokens: TokenUsage = TokenUsage()
    cost_usd: Number | None = None

    @classmethod
    def of(cls, evidence: Evidence[Any]) -> "Interruption":
        """Keep the spend of a session that was cut off."""
        return cls(
            cell=str(evidence.cell.path),
            session_id=evidence.trace.session_id if evidence.trace else "",
            wall_ms=evidence.timing.wall_ms,
            tokens=evidence.tokens,
            cost_usd=evidence.cost.total_usd,
        )


class RunRecord(ForeignModel):
    """The plan and the state of a run. The plan is frozen before the first cell; only the state changes later."""

    version: Literal[1] = RECORD_VERSION
    run_id: str
    created_at: str
    status: RunStatus = "running"
    provider: str
    matrix: MatrixRecord
    analysis: dict[str, JsonValue]
    config: dict[str, JsonValue]
    scenarios: tuple[dict[str, JsonValue], ...]
    versions: dict[str, str]
    host: dict[str, str]
    interruptions: Annotated[tuple[Interruption, ...], OMITTABLE] = ()
    problems: Annotated[tuple[Incident, ...], OMITTABLE] = ()

    def differences(self, other: "RunRecord") -> tuple[str, ...]:
        """Name the parts of the plan in which two records differ."""
        parts = ("provider", "matrix", "analysis", "scenarios")
        return tuple(part for part in parts if getattr(self, part) != getattr(other, part))


def read_record(path: Path) -> RunRecord:
    """Read a `run.json`, or say in one line why it cannot be used."""
    try:
        return RunRecord.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise RunDirectoryError(f"{path.parent}: not a run directory, it holds no {path.name}") from None
    except OSError as error:
        raise unusable(path, error) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "/".join(str(part) for part in first["loc"])
        raise RunDirectoryError(f"{path}: not a run record of this version ({where}: {first['msg']})") from error


def write_record(path: Path, record: RunRecord) -> None:
    """Write a `run.json` atomically."""
    try:
        content = json.dumps(json.loads(record.spelled_out().to_bytes()), indent=2, ensure_ascii=False)
        write_atomically(path, content.encode() + b"\n")
    except OSError as error:
        raise unusable(path, error) from error


def versions_here() -> dict[str, str]:
    """Name the versions that a result may depend on."""
    return {"ghxBench": version("ghx-bench"), "python": platform.python_version()}


def host_here() -> dict[str, str]:
    """Describe the machine, without naming it."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "os": sys.platform,
    }
