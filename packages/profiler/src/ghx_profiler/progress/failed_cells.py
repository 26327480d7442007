"""The cells of a run that were not solved, with their reasons, as they stand after a run."""

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from ghx_base.problems import plural
from ghx_profiler.control_kinds import CONTROLS
from ghx_profiler.progress.status_text import reason_of, verdict
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.record import RunRecord

_MOST_SHOWN = 10
_MOST_KEPT = 1_000
"""Reasons of cells may all differ, and a run may have a million."""


@dataclass(slots=True, kw_only=True)
class _Failure:
    """Repetitions of a scenario in a mode that ended in the same way, for the same reason."""

    cell: str
    """The first of them, as `ghx-bench show` takes it."""
    verdict: str
    reason: str
    cells: int = 0


class FailedCells:
    """Cells that were wrong, or could not be measured, counted as rows go by.

    A control that is to fail, such as one that does nothing, has failed where it could not be measured.
    """

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._to_fail = {name for name, kind in record.control_agents.items() if not CONTROLS[kind].must_pass}
        self._failures: dict[tuple[str, str, str], _Failure] = {}
        self._cells = 0

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        if row.success is True or (row.was_measured and row.agent_name in self._to_fail):
            return
        self._cells += 1
        name, outcome, reason = self._record.matrix.name_cell(row.cell), verdict(row.success), reason_of(row)
        key = name.rpartition("/")[0], outcome, reason
        if len(self._failures) < _MOST_KEPT or key in self._failures:
            self._failures.setdefault(key, _Failure(cell=name, verdict=outcome, reason=reason)).cells += 1

    def __bool__(self) -> bool:
        return self._cells > 0

    @property
    def first(self) -> str:
        """The first cell that is shown; empty without one."""
        return next((each.cell for each in self._sorted()), "")

    def lines(self) -> Iterator[str]:
        """Yield what is printed: those that could not be measured first, and how many are left out."""
        shown_cells = self._sorted()[:_MOST_SHOWN]
        yield f"not solved: {plural(self._cells, 'cell')}"
        width = max(len(each.cell) for each in shown_cells)
        for each in shown_cells:
            times = f"{each.cells:,} times" if each.cells > 1 else ""
            yield f"  {each.verdict:<5}  {each.cell:<{width}}  {times:<8}  {each.reason}".rstrip()
        if more := self._cells - sum(each.cells for each in shown_cells):
            yield f"  and {plural(more, 'more cell')}"

    def to_wire(self) -> list[JsonValue]:
        """Return them as JSON."""
        return [
            {"cell": each.cell, "verdict": each.verdict, "reason": each.reason, "cells": each.cells}
            for each in self._sorted()
        ]

    def _sorted(self) -> list[_Failure]:
        return sorted(self._failures.values(), key=lambda each: (each.verdict, -each.cells))
