"""`run.json`: what a run set out to do, with what, and how far it got."""

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue, ValidationError

from ghx_bench._base.wire import OMITTABLE, Count, ForeignModel
from ghx_bench.profiler.cell import Matrix, Order
from ghx_bench.profiler.errors import RunDirectoryError
from ghx_bench.profiler.row import Attempt, Incident
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
    """What a cell had spent when the run was interrupted; it has no row, and is run again on resuming."""

    cell: str
    attempts: tuple[Attempt, ...]


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
    modes: dict[str, str] = Field(default={})
    """What each mode gives its agents besides the environment, as a fingerprint."""
    versions: dict[str, str]
    host: dict[str, str]
    interruptions: Annotated[tuple[Interruption, ...], OMITTABLE] = ()
    problems: Annotated[tuple[Incident, ...], OMITTABLE] = ()

    def differences(self, other: "RunRecord") -> tuple[str, ...]:
        """Name the parts of the plan in which two records differ."""
        mine, others = (json.loads(record.spelled_out().to_bytes()) for record in (self, other))
        return tuple(_difference(part, mine[part], others[part]) for part in _PLAN if mine[part] != others[part])


_PLAN = ("provider", "matrix", "analysis", "scenarios", "modes")


def _difference(part: str, mine: object, others: object) -> str:
    """Name a part of the plan, and what in it differs where that is short to say."""
    if not isinstance(mine, dict) or not isinstance(others, dict):
        return part
    before, now = cast("dict[str, object]", mine), cast("dict[str, object]", others)
    keys = [key for key in before if before[key] != now.get(key)]
    plain = [
        f"{key} {before[key]!r}, now {now.get(key)!r}" for key in keys if isinstance(before[key], str | int | float)
    ]
    return f"{part}: {'; '.join(plain or keys)}"


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
        where = "".join(f"/{part}" for part in first["loc"])
        raise RunDirectoryError(
            f"{path}: not a run record of this version ({where or 'all of it'}: {first['msg']})"
        ) from error


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
