"""`ghx-bench show`: a run, or one of its cells, on the terminal."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_bench._base.errors import InputError
from ghx_bench._base.problems import did_you_mean, one_line, plural
from ghx_bench._base.wire import WireModel
from ghx_bench.eval.cli.flags import AsJson, RunPath

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.profiler.reports.data.side_files import SideFiles
    from ghx_bench.profiler.row import ProfileRow
    from ghx_bench.profiler.score import CheckpointDetail
    from ghx_bench.profiler.store.directory import RunDirectory
    from ghx_bench.profiler.store.rows import DistinctRows
    from ghx_bench.profiler.trace import SessionTrace, ToolCallEvent, TraceEvent


_LONGEST_SHOWN = 2_000
_MOST_NAMES = 6


def show(
    run: RunPath,
    cell: str | None = None,
    /,
    *,
    as_json: AsJson = False,
) -> int:
    """Show what a run came to, cell by cell, or one cell with its checkpoints and its conversation.

    Parameters
    ----------
    run
        The directory of the run, its pack, its id, `latest`, or a blessed one by its name.
    cell
        A cell as the first column names it: `mode/scenario/iteration`, with `model/` before it where there are several,
        and `agent/model/` where there are several agents.
    as_json
        Print JSON.
    """
    return _show_run(run, as_json=as_json) if cell is None else _show_cell(run, cell, as_json=as_json)


def _show_run(run: Path, *, as_json: bool) -> int:
    """Print every cell of a run and how it ended."""
    from ghx_bench.eval.cli.run_names import run_state
    from ghx_bench.profiler.store.record import read_record

    directory, rows = _rows_of(run)
    record = read_record(directory.record)
    if as_json:
        _print_json_list(row.to_wire() for row in rows)
        return 0
    # Only what is printed is kept: a row takes 10 kB in memory, and its line some hundred bytes.
    shown = sorted((_whole_name(row), record.matrix.name_cell(row.cell), _figures_line(row)) for row in rows)
    width = max((len(name) for _, name, _ in shown), default=0)
    count = f"{len(shown)} of {record.matrix.total} cells"
    _print_line(f"{record.run_id}: {record.provider}, {run_state(directory, record)}, {count}")
    for _, name, line in shown:
        _print_line(f"{name:{width}}  {line}")
    return 0


def _show_cell(run: Path, name: str, *, as_json: bool) -> int:
    """Print one cell: its checkpoints, and what the agent did."""
    from ghx_bench.eval.project.user_agents import recorded_session
    from ghx_bench.profiler.store.record import read_record

    directory, rows = _rows_of(run)
    matrix = read_record(directory.record).matrix
    places = {_whole_name(row): (matrix.name_cell(row.cell), rows.start) for row in rows}
    whole_name = _find_cell({whole: short for whole, (short, _) in places.items()}, name)
    row = rows.row_at(places[whole_name][1])
    trace = recorded_session(directory, row.cell)
    if as_json:
        kept = {"trace": trace, "activity": _files_of(directory).activity(row)}
        told = {name: each.to_wire() if isinstance(each, WireModel) else None for name, each in kept.items()}
        print(json.dumps({"row": row.to_wire(), **told}))
        return 0
    title = whole_name if len(matrix.agents) > 1 else whole_name.removeprefix(f"{row.cell.agent}/")
    notes = [*_changes_of(directory, row), *_findings_of(directory, row)]
    for line in _describe(title, row, trace, notes):
        _print_line(line)
    return 0


def _print_line(text: str) -> None:
    """Print text that may come from an agent or a file, its own line breaks kept and all other controls escaped."""
    print("\n".join(map(one_line, text.split("\n"))))


def _print_json_list(items: Iterable[object]) -> None:
    print("[", end="")
    for number, item in enumerate(items):
        print(", " if number else "", json.dumps(item), sep="", end="")
    print("]")


def _rows_of(run: Path) -> tuple[RunDirectory, DistinctRows]:
    from ghx_bench.profiler.store.directory import RunDirectory
    from ghx_bench.profiler.store.packs import run_folder
    from ghx_bench.profiler.store.rows import DistinctRows

    directory = RunDirectory(run_folder(run))
    if not directory.record.is_file():
        raise InputError(f"{run} is not the directory of a run: it has no run.json")
    return directory, DistinctRows(directory.rows if directory.rows.is_file() else Path(os.devnull))


def _whole_name(row: ProfileRow) -> str:
    return f"{row.cell.agent}/{row.model}/{row.mode}/{row.scenario_id}/{row.iteration}"


def _find_cell(names: Mapping[str, str], name: str) -> str:
    """Return the whole name of the cell that is meant; `names` has what each is called, by whole name."""
    found = [whole for whole in names if f"/{whole}".endswith(f"/{name}")] or [
        whole for whole in names if f"/{whole}".rpartition("/")[0].endswith(f"/{name}")
    ]
    if len(found) == 1:
        return found[0]
    if found:
        matches = ", ".join(sorted(names[whole] for whole in found)[:_MOST_NAMES])
        raise InputError(one_line(f"{name!r} names {len(found)} cells; say which: {matches}"))
    hint = did_you_mean(name, names.values(), otherwise="`ghx-bench show RUN` lists them")
    raise InputError(f"this run has no cell {name!r}; {hint}")


def _figures(row: ProfileRow) -> str:
    """Return what a cell came to in numbers, as far as they are known."""
    figures: list[str] = []
    if row.checkpoints_total is not None:
        figures.append(f"{row.checkpoints_passed}/{row.checkpoints_total} checkpoints")
    if row.timing.wall_ms is not None:
        figures.append(f"{row.timing.wall_ms / 1000:.1f} s")
    for count, what in ((row.tool_calls.total, "tool call"), (row.tokens.total, "token")):
        if count is not None:
            figures.append(f"{count:,.0f} {what}{'' if count == 1 else 's'}")
    return ", ".join(figures)


def _figures_line(row: ProfileRow) -> str:
    """Return how a cell ended, and on a line below it what is wrong."""
    unmet = "; ".join(each.description for each in row.checkpoint_details or () if not each.passed)
    wrong = row.error or (f"not met: {unmet}" if unmet else "")
    line = f"{_result(row):12}  {_figures(row)}".rstrip()
    return f"{line}\n    {one_line(wrong)}" if wrong else line


def _result(row: ProfileRow) -> str:
    if row.success:
        return "passed"
    return "wrong" if row.was_measured else "not measured"


def _findings_of(directory: RunDirectory, row: ProfileRow) -> list[str]:
    """Return what analyzers wrote down of a session, in lines; a file that cannot be read is what `report` tells of."""
    from ghx_bench.profiler.reports.data.side_files import StoredFindings

    found = _files_of(directory).stored_findings(row)
    results = found.bundle.results if isinstance(found, StoredFindings) else {}
    return [f"finding of {name}: {each.summary}" for name, each in results.items() if each.summary]


def _changes_of(directory: RunDirectory, row: ProfileRow) -> Iterator[str]:
    """Yield what a session changed where it worked, in lines, and how much it asked for."""
    from ghx_bench.profiler.activity import SessionActivity

    activity = _files_of(directory).activity(row)
    if not isinstance(activity, SessionActivity):
        return
    for each in activity.changes:
        values = (json.dumps(value, ensure_ascii=False) for value in (each.before, each.after))
        yield f"{each.change} {each.what} {each.name}" + (
            f": {' -> '.join(values)}" if each.change == "changed" else ""
        )
    failed = sum(each.failed for each in activity.requests)
    asked = len(activity.requests) + activity.requests_left_out
    yield f"{plural(asked, 'request')}, {failed} failed"
    for fault, count in Counter(each.fault for each in activity.requests if each.fault).items():
        yield f"fault {fault}: met by {plural(count, 'request')}"
    yield from (f"fault {each}: scripted, and met by no request" for each in activity.faults_not_met)


def _files_of(directory: RunDirectory) -> SideFiles:
    from ghx_bench.profiler.reports.data.side_files import SideFiles

    return SideFiles(directory, is_a_run=True)


def _describe(title: str, row: ProfileRow, trace: SessionTrace | None, notes: Sequence[str]) -> Iterator[str]:
    yield f"{title}: {_result(row)}"
    if figures := _figures(row):
        yield f"  {figures}"
    if row.error:
        yield f"  error: {_shorten(row.error)}"
    if row.traceback:
        yield "\n".join(f"    {one_line(line)}" for line in row.traceback.splitlines())
    if row.refused_hosts:
        hosts = ", ".join(f"{host} ({count})" for host, count in row.refused_hosts.items())
        yield f"  refused hosts: {_shorten(hosts)}"
    if row.not_implemented:
        asked = ", ".join(f"{what} ({count})" for what, count in row.not_implemented.items())
        yield f"  not implemented: {_shorten(asked)}"
    for problem in row.problems:
        yield f"  problem ({problem.where}): {_shorten(problem.message)}"
    for each in row.checkpoint_details or ():
        yield from _checkpoint(each)
    for note in notes:
        yield f"  {_shorten(note)}"
    for event in trace.events if trace else ():
        yield from _describe_event(event)


def _checkpoint(each: CheckpointDetail) -> Iterator[str]:
    yield f"  [{'x' if each.passed else ' '}] {each.id}: {each.description}"
    if not each.passed:
        seen = each.error or f"got {json.dumps(each.actual, ensure_ascii=False)}"
        yield f"      expected {each.expected}; {_shorten(seen)}"


def _describe_event(event: TraceEvent) -> Iterator[str]:
    from ghx_bench.profiler.trace import ErrorEvent, ReasoningEvent, TextOutputEvent, ToolCallEvent, TurnBoundaryEvent

    match event:
        case TurnBoundaryEvent():
            yield f"\n-- turn {event.turn_number}"
        case ReasoningEvent():
            yield f"thinks: {_shorten(event.content)}"
        case TextOutputEvent():
            yield f"says: {_shorten(event.content)}"
        case ToolCallEvent():
            yield f"calls {event.name}: {_shorten(json.dumps(event.input, ensure_ascii=False))}"
            yield f"  -> {_output(event)}"
        case ErrorEvent():
            yield f"error: {_shorten(event.message)}"


def _output(call: ToolCallEvent) -> str:
    """Return what a call brought; one that the agent was stopped in has brought nothing."""
    if call.output is None:
        return "(nothing)"
    return _shorten(call.output if isinstance(call.output, str) else json.dumps(call.output, ensure_ascii=False))


def _shorten(text: str) -> str:
    """Return text of an agent's that can be printed: not endless, and without what would move a terminal's cursor."""
    whole = text.rstrip()
    shown = "\n".join(one_line(line.expandtabs()) for line in whole[:_LONGEST_SHOWN].splitlines())
    return shown if len(whole) <= _LONGEST_SHOWN else f"{shown}… ({len(whole):,} characters)"
