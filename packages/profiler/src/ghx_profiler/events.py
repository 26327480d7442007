"""The progress of a run as a stream of frozen events; the terminal, the JSON log and any web view are observers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ghx_profiler.plan.cell import Cell, Matrix
from ghx_profiler.records.row import Attempt, ProfileRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmProgress:
    """An agent with a model in a mode, what people call it, and what an earlier part of the run found of its cells.

    Arms whose names are the same are shown as one.
    """

    agent: str
    model: str
    mode: str
    name: str
    ok: int = 0
    wrong: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run directory is there; scopes, canaries and cells come next.

    `done` counts the cells that an earlier part of this run already measured.
    """

    at: datetime
    run_id: str
    directory: Path
    matrix: Matrix
    provider: str
    """The names of all agents."""
    max_concurrency: int
    done: int
    arms: tuple[ArmProgress, ...]
    """In the order of the matrix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryStarted:
    """A warm-up began; its result will be thrown away."""

    at: datetime
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryFinished:
    """A warm-up showed that its agent can be measured in its mode; `cost_usd` is what it cost, if that is known."""

    at: datetime
    cell: Cell
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStarted:
    """A cell began its first attempt."""

    at: datetime
    cell: Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRetried:
    """An attempt failed for a transient reason; the next one comes after a pause."""

    at: datetime
    cell: Cell
    attempt: int
    error: str
    pause_s: float
    made: Attempt | None = None
    """The attempt as its row will have it, with what it spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFinished:
    """A cell's row is on disk."""

    at: datetime
    cell: Cell
    row: ProfileRow


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The run is over: `complete`, `interrupted` or `failed`."""

    at: datetime
    run_id: str
    directory: Path
    status: str
    measured: int
    failed: int


Event = RunStarted | CanaryStarted | CanaryFinished | CellStarted | CellRetried | CellFinished | RunFinished
"""One step of a run, sent to observers when it happens."""

Observer = Callable[[Event], None]
"""Receives every event in order; must return quickly. An error is noted once and changes nothing."""
