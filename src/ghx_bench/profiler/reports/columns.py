"""Many rows as columns, read in one pass and without keeping a row: what the statistics and the data files need."""

import gc
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

import numpy as np

from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.stats.arrays import FloatArray
from ghx_bench.profiler.stats.observations import Names, Observations, observe, with_absent_categories

_CHUNK = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a row is, apart from its numbers; texts that many rows share are kept once."""

    source: str
    run_id: str
    iteration: int
    started_at: str
    completed_at: str
    provider: str
    completion_reason: str
    was_measured: bool
    checkpoints_passed: int | None
    checkpoints_total: int | None
    error_code: str | None
    start_order: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Every row: its names and numbers as columns, and its identity."""

    observations: Observations
    identities: tuple[Identity, ...]


def read_columns(rows: Iterable[tuple[str, ProfileRow]]) -> Columns:
    """Read rows, each with the label of its source, a few thousand at a time."""
    remaining = iter(rows)
    known: dict[str, str] = {}
    identities: list[Identity] = []
    parts: list[Observations] = []
    with _uncollected():
        while chunk := list(islice(remaining, _CHUNK)):
            identities += (_identity(source, row, known) for source, row in chunk)
            parts.append(observe(row for _, row in chunk))
    return Columns(observations=_joined(parts, identities), identities=tuple(identities))


@contextmanager
def _uncollected() -> Generator[None]:
    """Keep Python from looking for cycles among rows, which have none: that takes longer than reading them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _identity(source: str, row: ProfileRow, known: dict[str, str]) -> Identity:
    def shared(text: str) -> str:
        return known.setdefault(text, text)

    return Identity(
        source=shared(source),
        run_id=shared(row.run_id),
        iteration=row.iteration,
        started_at=row.started_at,
        completed_at=row.completed_at,
        provider=shared(row.provider),
        completion_reason=shared(row.completion_reason),
        was_measured=row.was_measured,
        checkpoints_passed=row.checkpoints_passed,
        checkpoints_total=row.checkpoints_total,
        error_code=None if row.error_code is None else shared(row.error_code),
        start_order=row.start_order,
    )


def _joined(parts: list[Observations], identities: list[Identity]) -> Observations:
    if not parts:
        return observe(())
    return replace(
        parts[0],
        scenario=Names.of([name for part in parts for name in spelled(part.scenario)]),
        model=Names.of([name for part in parts for name in spelled(part.model)]),
        mode=Names.of([name for part in parts for name in spelled(part.mode)]),
        success=np.concatenate([part.success for part in parts]),
        was_measured=np.concatenate([part.was_measured for part in parts]),
        timed_out=np.concatenate([part.timed_out for part in parts]),
        failures=tuple(failure for part in parts for failure in part.failures),
        order=_start_order(identities),
        spend_usd=np.concatenate([part.spend_usd for part in parts]),
        metrics=with_absent_categories(
            {
                name: np.concatenate([_metric(part, name) for part in parts])
                for name in sorted({name for part in parts for name in part.metrics})
            }
        ),
    )


def spelled(names: Names) -> list[str]:
    """Return the name of every row."""
    codes = cast("list[int]", names.codes.tolist())
    return [names.known[code] for code in codes]


def _metric(part: Observations, name: str) -> FloatArray:
    found = part.metrics.get(name)
    return np.full(len(part), np.nan) if found is None else found


def _start_order(identities: list[Identity]) -> FloatArray:
    """Return the position of each row over all chunks: as recorded, or by time where runs are mixed or old."""
    recorded = [each.start_order for each in identities]
    if len({(each.source, each.run_id) for each in identities}) == 1 and None not in recorded:
        return np.array(recorded, dtype=np.float64)
    moments = {moment: rank for rank, moment in enumerate(sorted({each.started_at for each in identities}))}
    return np.array([moments[each.started_at] for each in identities], dtype=np.float64)
