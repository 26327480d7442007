"""The files for other programs: rows as CSV, JSON and Parquet, and the summary."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from ghx_bench.profiler.reports.columns import Columns, spelled
from ghx_bench.profiler.reports.errors import MissingFramesError, unwritable
from ghx_bench.profiler.reports.escaping import csv_text

Value = str | int | float | bool | None

_NAMES = (
    "source",
    "runId",
    "scenarioId",
    "mode",
    "model",
    "iteration",
    "startedAt",
    "completedAt",
    "provider",
    "completionReason",
    "success",
    "measured",
    "cause",
    "errorCode",
    "checkpointsPassed",
    "checkpointsTotal",
)


def write_file(path: Path, content: str | bytes) -> None:
    """Write one file of a report, or say in one line why not; a report can be made again, so nothing is synced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    except OSError as error:
        raise unwritable(path, error) from error


def write_rows(folder: Path, columns: Columns) -> None:
    """Write one line for each row as CSV and as JSON."""
    names = (*_NAMES, *columns.observations.metrics)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "results.csv").open("w", encoding="utf-8", errors="replace", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(map(csv_text, names))
            writer.writerows(map(_csv_value, line) for line in _lines(columns))
        with (folder / "results.json").open("w", encoding="utf-8", errors="replace") as file:
            file.writelines(_json_lines(names, columns))
    except OSError as error:
        raise unwritable(folder, error) from error


def write_summary(path: Path, summary: Mapping[str, JsonValue]) -> None:
    """Write `summary.json`."""
    write_file(path, json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def _lines(columns: Columns) -> Iterator[tuple[Value, ...]]:
    seen = columns.observations
    scenarios, modes, models = (spelled(names) for names in (seen.scenario, seen.mode, seen.model))
    success = seen.success.tolist()
    metrics = zip(*(column.tolist() for column in seen.metrics.values()), strict=True) if seen.metrics else None
    for at, identity in enumerate(columns.identities):
        numbers = next(metrics) if metrics is not None else ()
        yield (
            identity.source,
            identity.run_id,
            scenarios[at],
            modes[at],
            models[at],
            identity.iteration,
            identity.started_at,
            identity.completed_at,
            identity.provider,
            identity.completion_reason,
            None if math.isnan(success[at]) else bool(success[at]),
            identity.was_measured,
            seen.failures[at] or None,
            identity.error_code,
            identity.checkpoints_passed,
            identity.checkpoints_total,
            *map(_number, numbers),
        )


def _number(value: float) -> int | float | None:
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() else value


def _csv_value(value: Value) -> Value:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return csv_text(value)
        case _:
            return value


def _json_lines(names: tuple[str, ...], columns: Columns) -> Iterator[str]:
    yield '{"version": 1, "rows": ['
    separator = "\n"
    for line in _lines(columns):
        yield separator + json.dumps(dict(zip(names, line, strict=True)))
        separator = ",\n"
    yield "\n]}\n"


def has_frames() -> bool:
    """Say whether Parquet can be written."""
    return find_spec("pyarrow") is not None


def require_frames() -> None:
    """Refuse to go on where Parquet was asked for and cannot be written."""
    if not has_frames():
        raise MissingFramesError("--format parquet needs pyarrow: install it with `pip install 'ghx-bench[frames]'`")


def write_frame(path: Path, columns: Columns) -> None:
    """Write the rows as Parquet."""
    names = (*_NAMES, *columns.observations.metrics)
    arrow: Any = import_module("pyarrow")
    parquet: Any = import_module("pyarrow.parquet")
    lines = list(_lines(columns))
    table = {name: [line[at] for line in lines] for at, name in enumerate(names)}
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(table), buffer)
    write_file(path, buffer.getvalue())
