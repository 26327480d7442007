"""`ghx-bench show`: a run, or one of its cells, on the terminal."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.problems import one_line, plural
from ghx_base.wire import WireModel
from ghx_bench.cli.flags import AsJson, RunPath
from ghx_bench.cli.stored.cells import (
    checkpoint_lines,
    figures,
    find_cell,
    print_line,
    result,
    rows_of,
    shorten,
    whole_name,
)

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_profiler.plan.cell import Cell
    from ghx_profiler.records.row import ProfileRow
    from ghx_profiler.records.trace import SessionTrace, ToolCallEvent, TraceEvent
    from ghx_profiler.reports.data.side_files import SideFiles
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.rescorings import Rescored


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
    from ghx_bench.cli.stored.run_names import run_state
    from ghx_profiler.store.record import read_record
    from ghx_profiler.store.rescorings import newest_rescoring

    directory, rows = rows_of(run)
    record = read_record(directory.record)
    if as_json:
        _print_json_list(row.to_wire() for row in rows)
        return 0
    again = newest_rescoring(directory)
    later: Mapping[Cell, Rescored] = {} if again is None else again.cells
    # Only printed lines are stored: a row takes 10 kB in memory, and its line some hundred bytes.
    lines = sorted(
        (whole_name(row.cell), record.matrix.name_cell(row.cell), _figures_line(row, later.get(row.cell)))
        for row in rows
    )
    width = max((len(name) for _, name, _ in lines), default=0)
    count = f"{len(lines)} of {record.matrix.total} cells"
    print_line(f"{record.run_id}: {record.provider}, {run_state(directory, record)}, {count}")
    for _, name, line in lines:
        print_line(f"{name:{width}}  {line}")
    return 0


def _show_cell(run: Path, name: str, *, as_json: bool) -> int:
    """Print one cell: its checkpoints, and what the agent did."""
    from ghx_bench.project.user_agents import recorded_session
    from ghx_profiler.store.rescorings import newest_rescoring

    cell = find_cell(run, name)
    directory, row = cell.directory, cell.row
    trace = recorded_session(directory, row.cell)
    again = newest_rescoring(directory)
    later = None if again is None else again.cells.get(row.cell)
    if as_json:
        stored = {"trace": trace, "activity": _files_of(directory).activity(row), "rescored": later}
        values = {name: each.to_wire() if isinstance(each, WireModel) else None for name, each in stored.items()}
        print(json.dumps({"row": row.to_wire(), **values}))
        return 0
    rescored = [] if again is None or later is None else _describe_rescored(again.name, later)
    command = shlex.join(["ghx-bench", "shell", str(run), name])
    kept_world = [f"its world was kept: {command}"] if directory.world(row.cell).is_file() else []
    # Where all cells are of one machine, nothing is to be distinguished.
    machine = cell.record.machines.get(row.machine or "") if len(cell.record.machines) > 1 else None
    place = [] if machine is None else [f"measured on {row.machine}: {machine}"]
    notes = [*place, *rescored, *kept_world, *_changes_of(directory, row), *_findings_of(directory, row)]
    for line in _describe(cell.title, row, trace, notes):
        print_line(line)
    return 0


def _print_json_list(items: Iterable[object]) -> None:
    print("[", end="")
    for number, item in enumerate(items):
        print(", " if number else "", json.dumps(item), sep="", end="")
    print("]")


def _figures_line(row: ProfileRow, later: Rescored | None) -> str:
    """Return how a cell ended, and on lines below it what is wrong, and how it was found when it was scored again."""
    unmet = "; ".join(each.description for each in row.checkpoint_details or () if not each.passed)
    wrong = row.error or (f"not met: {unmet}" if unmet else "")
    line = f"{result(row):12}  {figures(row)}".rstrip()
    line = f"{line}\n    {one_line(wrong)}" if wrong else line
    if later is None or later.after is None or later.after.success == row.success:
        return line
    doubt = f", but {'; '.join(later.warnings)}" if later.warnings else ""
    return f"{line}\n    scored again: {'passed' if later.after.success else 'wrong'}{one_line(doubt)}"


def _describe_rescored(when: str, later: Rescored) -> list[str]:
    """Return how a session was found when it was scored again, in lines; not in place of how it was found first."""
    if later.after is None:
        return [f"not scored again ({when}): {later.reason}"]
    count = f"{later.after.passed}/{len(later.after.checkpoints)} checkpoints"
    verdict = "passed" if later.after.success else "wrong"
    failed = [each for each in later.after.checkpoints if not each.passed]
    return [
        f"scored again ({when}): {verdict}, {count}",
        *(line.removeprefix("  ") for each in failed for line in checkpoint_lines(each)),
        *(f"  warning: {each}" for each in later.warnings),
    ]


def _findings_of(directory: RunDirectory, row: ProfileRow) -> list[str]:
    """Return what analyzers wrote down of a session, in lines; a file that cannot be read is what `report` tells of."""
    from ghx_profiler.reports.data.side_files import StoredFindings

    findings = _files_of(directory).stored_findings(row)
    results = findings.bundle.results if isinstance(findings, StoredFindings) else {}
    return [f"finding of {name}: {each.summary}" for name, each in results.items() if each.summary]


def _changes_of(directory: RunDirectory, row: ProfileRow) -> Iterator[str]:
    """Yield what a session changed where it worked, in lines, and how much it asked for."""
    from ghx_profiler.records.activity import SessionActivity

    activity = _files_of(directory).activity(row)
    if not isinstance(activity, SessionActivity):
        return
    for each in activity.changes:
        values = (json.dumps(value, ensure_ascii=False) for value in (each.before, each.after))
        yield f"{each.change} {each.what} {each.name}" + (
            f": {' -> '.join(values)}" if each.change == "changed" else ""
        )
    failed = sum(each.failed for each in activity.requests)
    request_count = len(activity.requests) + activity.requests_left_out
    yield f"{plural(request_count, 'request')}, {failed} failed"
    for fault, count in Counter(each.fault for each in activity.requests if each.fault).items():
        yield f"fault {fault}: met by {plural(count, 'request')}"
    yield from (f"fault {each}: scripted, and met by no request" for each in activity.faults_not_met)


def _files_of(directory: RunDirectory) -> SideFiles:
    from ghx_profiler.reports.data.side_files import SideFiles

    return SideFiles(directory, is_a_run=True)


def _describe(title: str, row: ProfileRow, trace: SessionTrace | None, notes: Sequence[str]) -> Iterator[str]:
    yield f"{title}: {result(row)}"
    if numbers := figures(row):
        yield f"  {numbers}"
    if row.error:
        yield f"  error: {shorten(row.error)}"
    if row.traceback:
        yield "\n".join(f"    {one_line(line)}" for line in row.traceback.splitlines())
    yield from _describe_requests(row)
    yield from (f"  {line}" for line in (row.safety.describe() if row.safety else ()))
    for problem in row.problems:
        yield f"  problem ({problem.where}): {shorten(problem.message)}"
    for each in row.checkpoint_details or ():
        yield from checkpoint_lines(each)
    for note in notes:
        yield f"  {shorten(note)}"
    for event in trace.events if trace else ():
        yield from _describe_event(event)


def _describe_requests(row: ProfileRow) -> Iterator[str]:
    """Yield what the requests of a session were about: hosts, what is lacking, and the tools that made them."""
    if row.refused_hosts:
        hosts = ", ".join(f"{host} ({count})" for host, count in row.refused_hosts.items())
        yield f"  refused hosts: {shorten(hosts)}"
    if row.not_implemented:
        requests = ", ".join(f"{what} ({count})" for what, count in row.not_implemented.items())
        yield f"  not implemented: {shorten(requests)}"
    if row.tool_use is not None:
        from ghx_profiler.reports.wording import describe_purity

        yield f"  purity: {shorten(describe_purity(row.tool_use))}"


def _describe_event(event: TraceEvent) -> Iterator[str]:
    from ghx_profiler.records.trace import ErrorEvent, ReasoningEvent, TextOutputEvent, ToolCallEvent, TurnBoundaryEvent

    match event:
        case TurnBoundaryEvent():
            yield f"\n-- turn {event.turn_number}"
        case ReasoningEvent():
            yield f"thinks: {shorten(event.content)}"
        case TextOutputEvent():
            yield f"says: {shorten(event.content)}"
        case ToolCallEvent():
            yield f"calls {event.name}: {shorten(json.dumps(event.input, ensure_ascii=False))}"
            yield f"  -> {_output(event)}"
        case ErrorEvent():
            yield f"error: {shorten(event.message)}"


def _output(call: ToolCallEvent) -> str:
    """Return the result of a call; a call during which the agent was stopped has none."""
    if call.output is None:
        return "(nothing)"
    return shorten(call.output if isinstance(call.output, str) else json.dumps(call.output, ensure_ascii=False))
