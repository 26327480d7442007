"""Cells of a run as commands name and describe them: found by what people call them, and told of in lines."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from ghx_base.errors import InputError
from ghx_base.problems import did_you_mean, one_line

if TYPE_CHECKING:  # loaded when a command runs, not for its --help
    from ghx_profiler.plan.cell import Cell
    from ghx_profiler.records.row import ProfileRow
    from ghx_profiler.records.score import CheckpointDetail
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.record import RunRecord
    from ghx_profiler.store.rows import DistinctRows

_LONGEST_SHOWN = 2_000
_MOST_NAMES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCell:
    """A row, and what its cell is called."""

    directory: RunDirectory
    record: RunRecord
    row: ProfileRow

    @property
    def title(self) -> str:
        """The whole name of the cell; without its agent where the run has one."""
        name = whole_name(self.row.cell)
        return name if len(self.record.matrix.agents) > 1 else name.removeprefix(f"{self.row.cell.agent}/")


def find_cell(run: Path, name: str) -> NamedCell:
    """Return the cell of a run that is meant; raise if there is none, or several."""
    from ghx_profiler.store.record import read_record

    directory, rows = rows_of(run)
    record = read_record(directory.record)
    places = {whole_name(row.cell): (record.matrix.name_cell(row.cell), rows.start) for row in rows}
    matching = _find_matches(places, name)
    if len(matching) > 1:
        matches = ", ".join(sorted(places[whole][0] for whole in matching)[:_MOST_NAMES])
        raise InputError(one_line(f"{name!r} names {len(matching)} cells; say which: {matches}"))
    if not matching:
        _refuse_planned(name, run, directory, record)
        names = (short for short, _ in places.values())
        hint = did_you_mean(name, names, otherwise="`ghx-bench show RUN` lists them")
        raise InputError(f"this run has no cell {name!r}; {hint}")
    return NamedCell(directory=directory, record=record, row=rows.row_at(places[matching[0]][1]))


def _refuse_planned(name: str, run: Path, directory: RunDirectory, record: RunRecord) -> None:
    """Raise if a name is that of a planned cell without a row; the error explains how to measure it."""
    from ghx_bench.cli.stored.run_names import run_state
    from ghx_profiler.plan.shards import Shard

    # What was imported has no plan but its rows.
    cells = () if record.imported is not None else record.matrix.to_matrix().cells()
    planned = {whole_name(cell): cell for cell in cells}
    matches = [planned[whole] for whole in _find_matches(planned, name)]
    if not matches:
        return
    here = None if record.matrix.shard is None else Shard.parse(record.matrix.shard)
    own = [cell for cell in matches if here is None or here.has(cell.scenario_id, cell.iteration)]
    cell = (own or matches)[0]
    if here is not None and not own:
        owner = here.find_owner(cell.scenario_id, cell.iteration)
        remedy = f"shard {owner} measures it, and this run is shard {here}: name that one, or the merged run"
    elif run_state(directory, record) == "running":
        remedy = "the run goes on, and is to measure it"
    else:
        remedy = f"`{shlex.join(['ghx-bench', 'resume', str(run)])}` measures it"
    raise InputError(one_line(f"cell {record.matrix.name_cell(cell)} has no row in this run; {remedy}"))


def rows_of(run: Path) -> tuple[RunDirectory, DistinctRows]:
    """Return the directory of a run, or of its pack, and its rows; raise if it is none."""
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.packs import run_folder
    from ghx_profiler.store.rows import DistinctRows

    directory = RunDirectory(run_folder(run))
    if not directory.record.is_file():
        raise InputError(f"{run} is not the directory of a run: it has no run.json")
    return directory, DistinctRows(directory.rows if directory.rows.is_file() else Path(os.devnull))


def whole_name(cell: Cell) -> str:
    """Return the name of a cell that is its own in the run."""
    return f"{cell.agent}/{cell.model}/{cell.mode}/{cell.scenario_id}/{cell.iteration}"


def _find_matches(names: Collection[str], name: str) -> list[str]:
    """Return the full names that end in the given one or, if none does, match without their repetition."""
    return [whole for whole in names if f"/{whole}".endswith(f"/{name}")] or [
        whole for whole in names if f"/{whole}".rpartition("/")[0].endswith(f"/{name}")
    ]


def figures(row: ProfileRow) -> str:
    """Return what a cell came to in numbers, as far as they are known."""
    parts: list[str] = []
    if row.checkpoints_total is not None:
        parts.append(f"{row.checkpoints_passed}/{row.checkpoints_total} checkpoints")
    if row.timing.wall_ms is not None:
        parts.append(f"{row.timing.wall_ms / 1000:.1f} s")
    for count, what in ((row.tool_calls.total, "tool call"), (row.tokens.total, "token")):
        if count is not None:
            parts.append(f"{count:,.0f} {what}{'' if count == 1 else 's'}")
    if row.tool_use is not None and row.tool_use.foreign:
        parts.append("not pure")
    if row.safety is not None and row.safety.succeeded:
        parts.append("attacked")
    return ", ".join(parts)


def result(row: ProfileRow) -> str:
    """Return how a cell ended, in one or two words."""
    if row.success:
        return "passed"
    return "wrong" if row.was_measured else "not measured"


def checkpoint_lines(each: CheckpointDetail) -> Iterator[str]:
    """Yield whether a checkpoint holds and, where it does not, what was expected and what was there."""
    yield f"  [{'x' if each.passed else ' '}] {each.id}: {each.description}"
    if not each.passed:
        outcome = each.error or f"got {json.dumps(each.actual, ensure_ascii=False)}"
        yield f"      expected {each.expected}; {shorten(outcome)}"


def shorten(text: str) -> str:
    """Return text of an agent's that can be printed: not endless, and without what would move a terminal's cursor."""
    whole = text.rstrip()
    excerpt = "\n".join(one_line(line.expandtabs()) for line in whole[:_LONGEST_SHOWN].splitlines())
    return excerpt if len(whole) <= _LONGEST_SHOWN else f"{excerpt}… ({len(whole):,} characters)"


def print_line(text: str, file: TextIO | None = None) -> None:
    """Print text that may come from an agent or a file, its own line breaks kept and all other controls escaped."""
    print("\n".join(map(one_line, text.split("\n"))), file=file)
