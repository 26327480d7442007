"""Sessions that were scored again: the results are in files next to the rows, which stay unchanged."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import ValidationError

from ghx_base.files.atomic_files import write_atomically
from ghx_base.wire import OMITTABLE, ForeignModel
from ghx_profiler.errors import RunDirectoryError
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.score import CheckpointDetail, Safety, Score
from ghx_profiler.store.directory import RunDirectory, unusable


class Verdict(ForeignModel):
    """How a session was found: `success` is null where it could not be found out."""

    success: bool | None
    checkpoints: tuple[CheckpointDetail, ...] = ()
    safety: Annotated[Safety | None, OMITTABLE] = None

    @classmethod
    def of(cls, score: Score, *, success: bool) -> "Verdict":
        """Return a score as a verdict; whether the agent was also within its limits, the caller knows."""
        safety = {} if score.safety is None else {"safety": score.safety}
        return cls(success=success, checkpoints=score.checkpoints, **safety)

    @property
    def passed(self) -> int:
        """How many checkpoints hold."""
        return sum(each.passed for each in self.checkpoints)


class Rescored(ForeignModel):
    """One cell: how it was found when it was measured, and how it is found now, as far as that could be seen."""

    run_id: str
    agent: str
    model: str
    mode: str
    scenario_id: str
    iteration: int
    session_id: str
    before: Verdict
    after: Verdict | None = None
    scored_from: Annotated[Literal["world", "session"] | None, OMITTABLE] = None
    """What was looked at: the world that the session left, or what was recorded of the session alone."""
    reason: Annotated[str | None, OMITTABLE] = None
    """The reason without a new verdict."""
    warnings: tuple[str, ...] = ()
    """Why the new verdict may not be about what the agent did."""

    @classmethod
    def of(cls, row: ProfileRow) -> "Rescored":
        """Return what is known of a row before it is scored again."""
        safety = {} if row.safety is None else {"safety": row.safety}
        return cls(
            run_id=row.run_id,
            agent=row.agent_name,
            model=row.model,
            mode=row.mode,
            scenario_id=row.scenario_id,
            iteration=row.iteration,
            session_id=row.session_id,
            before=Verdict(success=row.success, checkpoints=row.checkpoint_details, **safety),
        )

    @property
    def cell(self) -> Cell:
        """The cell it is about."""
        return Cell(
            agent=self.agent,
            model=self.model,
            mode=self.mode,
            scenario_id=self.scenario_id,
            iteration=self.iteration,
        )


def write_rescoring(directory: RunDirectory, cells: tuple[Rescored, ...], at: datetime) -> Path:
    """Write the results of scoring again into a new file, named by the time; return its path."""
    name = at.strftime("%Y%m%dT%H%M%S%fZ")
    place = directory.rescorings / f"{name}.jsonl"
    try:
        write_atomically(place, b"".join(each.with_all_keys().to_bytes() + b"\n" for each in cells))
    except OSError as error:
        raise unusable(place, error, then="score again") from error
    return place


class Rescoring(NamedTuple):
    """One rescoring of sessions: its name and results."""

    name: str
    cells: Mapping[Cell, Rescored]


def newest_rescoring(directory: RunDirectory) -> Rescoring | None:
    """Return the results of the last rescoring of a run; None without one."""
    files = sorted(directory.rescorings.glob("*.jsonl"))
    if not files:
        return None
    try:
        lines = files[-1].read_bytes().splitlines()
        cells = [Rescored.model_validate_json(line) for line in lines if line.strip()]
    except OSError as error:
        raise unusable(files[-1], error, then="try again") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RunDirectoryError(
            f"{files[-1]}: not what `ghx-bench rescore` wrote ({first['msg']}); remove it"
        ) from None
    return Rescoring(files[-1].stem, {each.cell: each for each in cells})
