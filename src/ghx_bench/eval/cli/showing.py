"""What `ghx-bench show` prints."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from ghx_bench._base.errors import InputError
from ghx_bench._base.locks import is_locked
from ghx_bench._base.problems import did_you_mean, one_line
from ghx_bench.eval.project.user_agents import recorded_session
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.score import CheckpointDetail
from ghx_bench.profiler.store.directory import RunDirectory
from ghx_bench.profiler.store.record import RunRecord, read_record
from ghx_bench.profiler.store.rows import read_rows
from ghx_bench.profiler.trace import (
    ErrorEvent,
    ReasoningEvent,
    SessionTrace,
    TextOutputEvent,
    ToolCallEvent,
    TraceEvent,
    TurnBoundaryEvent,
)

_LONGEST_SHOWN = 2_000
_MOST_NAMES = 6


def show_run(run: Path, *, as_json: bool) -> int:
    """Print every cell of a run and how it ended."""
    directory, rows = _rows_of(run)
    record = read_record(directory.record)
    if as_json:
        print(json.dumps([row.to_wire() for row in rows]))  # noqa: T201 - this command's output
        return 0
    console = Console()
    planned = record.matrix
    total = len(planned.models) * len(planned.modes) * len(planned.scenario_ids) * planned.repetitions
    title = f"{record.run_id}: {record.provider}, {_status(directory, record)}, {len(rows)} of {total} cells"
    console.print(title, markup=False, highlight=False, soft_wrap=True)
    names = _names(rows)
    width = max(map(len, names.values()), default=0)
    for key, row in sorted((_name(row), row) for row in rows):
        console.print(_line(names[key], row, width), markup=False, highlight=False, soft_wrap=True)
    return 0


def _status(directory: RunDirectory, record: RunRecord) -> str:
    """Say how far a run got; one that nobody works on any more could not say itself that it was stopped."""
    if record.status == "running" and not is_locked(directory.lock, if_unknown=True):
        return "stopped"
    return record.status


def show_cell(run: Path, name: str, *, as_json: bool) -> int:
    """Print one cell: its checkpoints, and what the agent did."""
    directory, rows = _rows_of(run)
    row = _named(rows, name)
    trace = _trace_of(directory, row)
    if as_json:
        print(json.dumps({"row": row.to_wire(), "trace": trace.to_wire() if trace else None}))  # noqa: T201 - this command's output
        return 0
    console = Console()
    for line in _told(row, trace):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def _rows_of(run: Path) -> tuple[RunDirectory, list[ProfileRow]]:
    directory = RunDirectory(run)
    if not directory.record.is_file():
        raise InputError(f"{run} is not the directory of a run: it has no run.json")
    return directory, list(read_rows(directory.rows)) if directory.rows.is_file() else []


def _name(row: ProfileRow) -> str:
    return f"{row.model}/{row.mode}/{row.scenario_id}/{row.iteration}"


def _named(rows: Sequence[ProfileRow], name: str) -> ProfileRow:
    found = [row for row in rows if _name(row) == name or _name(row).endswith(f"/{name}")] or [
        row for row in rows if f"/{_name(row)}".rpartition("/")[0].endswith(f"/{name}")
    ]
    if len(found) == 1:
        return found[0]
    names = _names(rows)
    if found:
        told = ", ".join(sorted(names[_name(row)] for row in found)[:_MOST_NAMES])
        raise InputError(f"{name!r} names {len(found)} cells; say which: {told}")
    hint = did_you_mean(name, names.values(), otherwise="`ghx-bench show RUN` lists them")
    raise InputError(f"this run has no cell {name!r}; {hint}")


def _trace_of(directory: RunDirectory, row: ProfileRow) -> SessionTrace | None:
    return recorded_session(directory, row.cell)


def _names(rows: Sequence[ProfileRow]) -> dict[str, str]:
    """Return what to call each cell: without its model where all have the same."""
    several = len({row.model for row in rows}) > 1
    return {_name(row): _name(row) if several else _name(row).removeprefix(f"{row.model}/") for row in rows}


def _figures(row: ProfileRow) -> str:
    """Say what a cell came to in numbers, as far as they are known."""
    told: list[str] = []
    if row.checkpoints_total is not None:
        told.append(f"{row.checkpoints_passed}/{row.checkpoints_total} checkpoints")
    if row.timing.wall_ms is not None:
        told.append(f"{row.timing.wall_ms / 1000:.1f} s")
    for count, what in ((row.tool_calls.total, "tool call"), (row.tokens.total, "token")):
        if count is not None:
            told.append(f"{count:,.0f} {what}{'' if count == 1 else 's'}")
    return ", ".join(told)


def _line(name: str, row: ProfileRow, width: int) -> str:
    unmet = "; ".join(each.description for each in row.checkpoint_details or () if not each.passed)
    wrong = row.error or (f"not met: {unmet}" if unmet else "")
    line = f"{name:{width}}  {_result(row):12}  {_figures(row)}".rstrip()
    return f"{line}\n    {one_line(wrong)}" if wrong else line


def _result(row: ProfileRow) -> str:
    if row.success:
        return "passed"
    return "wrong" if row.was_measured else "not measured"


def _told(row: ProfileRow, trace: SessionTrace | None) -> Iterator[str]:
    yield f"{_name(row)}: {_result(row)}"
    if figures := _figures(row):
        yield f"  {figures}"
    if row.error:
        yield f"  error: {_shortened(row.error)}"
    for each in row.checkpoint_details or ():
        yield from _checkpoint(each)
    for event in trace.events if trace else ():
        yield from _happened(event)


def _checkpoint(each: CheckpointDetail) -> Iterator[str]:
    yield f"  [{'x' if each.passed else ' '}] {each.id}: {each.description}"
    if not each.passed:
        seen = each.error or f"got {json.dumps(each.actual, ensure_ascii=False)}"
        yield f"      expected {each.expected}; {_shortened(seen)}"


def _happened(event: TraceEvent) -> Iterator[str]:
    match event:
        case TurnBoundaryEvent():
            yield f"\n-- turn {event.turn_number}"
        case ReasoningEvent():
            yield f"thinks: {_shortened(event.content)}"
        case TextOutputEvent():
            yield f"says: {_shortened(event.content)}"
        case ToolCallEvent():
            yield f"calls {event.name}: {_shortened(json.dumps(event.input, ensure_ascii=False))}"
            yield f"  -> {_output(event)}"
        case ErrorEvent():
            yield f"error: {_shortened(event.message)}"


def _output(call: ToolCallEvent) -> str:
    """Say what a call brought; one that the agent was stopped in has brought nothing."""
    if call.output is None:
        return "(nothing)"
    return _shortened(call.output if isinstance(call.output, str) else json.dumps(call.output, ensure_ascii=False))


def _shortened(text: str) -> str:
    """Return text of an agent's that can be printed: not endless, and without what would move a terminal's cursor."""
    whole = text.rstrip()
    shown = "\n".join(one_line(line.expandtabs()) for line in whole[:_LONGEST_SHOWN].splitlines())
    return shown if len(whole) <= _LONGEST_SHOWN else f"{shown}… ({len(whole):,} characters)"
