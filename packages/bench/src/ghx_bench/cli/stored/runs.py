"""`ghx-bench list runs`: the runs of a project, the newest first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.problems import one_line, plural
from ghx_bench.cli.flags import Listing
from ghx_bench.cli.stored.run_names import records_in, results_folder, run_state

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.project.baselines import Baseline
    from ghx_profiler.records.row import ProfileRow
    from ghx_profiler.store.record import RunRecord

_HERE = Listing()


def list_runs(*, listing: Listing = _HERE, output_dir: Path | None = None) -> int:
    """List the runs of a project, the newest first: what they measured, how far they got, and how often it was right.

    Parameters
    ----------
    output_dir
        The folder with the runs, unless it is the one that the configuration names.
    """
    from ghx_bench.cli.listing import in_columns
    from ghx_bench.project.baselines import baselines_file, load_baselines

    results = output_dir or results_folder(listing.config)
    blessed = load_baselines(baselines_file(listing.config))
    records = sorted(records_in(results), key=lambda each: each[1].created_at, reverse=True)
    lines = [_describe(path, record, blessed) for path, record in records]
    if listing.json:
        print(json.dumps([each.to_wire() for each in lines], indent=2, ensure_ascii=False))
        return 0
    if not lines:
        print(f"no runs in {results}")
        return 0
    header = ("run", "began", "agent", "models", "modes", "cells", "success", "status", "labels")
    print(in_columns(header, [each.columns() for each in lines]))
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunLine:
    """One run of the list."""

    path: Path
    record: RunRecord
    state: str
    rows: int
    measured: int
    successes: Mapping[str, tuple[int, int]]
    """Of each agent and model, as far as there are several, how many of how many measured cells were right."""
    blessed_as: tuple[str, ...]

    def columns(self) -> list[str]:
        """Return the line of the table."""
        matrix = self.record.matrix
        several = len(self.successes) > 1
        # By model: the mean of a model that solves everything and one that solves nothing describes neither.
        success = ", ".join(
            f"{right}/{of}" + (f" ({who})" if several else "") for who, (right, of) in self.successes.items()
        )
        cells = f"{self.rows}/{matrix.total}" if self.rows < matrix.total else str(matrix.total)
        unmeasured = f", {plural(self.rows - self.measured, 'cell')} not measured" if self.rows > self.measured else ""
        listed = (
            self.path.name,
            self.record.created_at[:16].replace("T", " "),
            ", ".join(agent.name for agent in self.record.agents),
            ", ".join(matrix.models),
            ", ".join(matrix.modes),
            cells,
            (success or "-") + unmeasured,
            self.state,
            ", ".join(self.blessed_as),
        )
        return [one_line(each) for each in listed]

    def to_wire(self) -> dict[str, object]:
        """Return the run as JSON."""
        from ghx_profiler.scenario import scenario_of

        matrix = self.record.matrix
        return {
            "runId": self.record.run_id,
            "directory": str(self.path),
            "createdAt": self.record.created_at,
            "agents": [agent.name for agent in self.record.agents],
            "models": list(matrix.models),
            "modes": list(matrix.modes),
            "scenarios": len(set(map(scenario_of, matrix.scenario_ids))),
            "repetitions": matrix.repetitions,
            "cells": matrix.total,
            "rows": self.rows,
            "measured": self.measured,
            "successes": {who: {"right": right, "of": of} for who, (right, of) in self.successes.items()},
            "status": self.state,
            "labels": list(self.blessed_as),
        }


def _describe(path: Path, record: RunRecord, blessed: Mapping[str, Baseline]) -> _RunLine:
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.rows import DistinctRows

    def factors(row: ProfileRow) -> tuple[tuple[str, Sequence[str]], ...]:
        return (row.agent_name, record.matrix.agents), (row.model, record.matrix.models)

    directory = RunDirectory(path)
    rows, measured, right = 0, Counter[str](), Counter[str]()
    for row in DistinctRows(directory.rows) if directory.rows.is_file() else ():
        rows += 1
        if row.was_measured:
            who = " / ".join(name for name, names in factors(row) if len(names) > 1) or row.agent_name
            measured[who] += 1
            right[who] += row.success is True
    return _RunLine(
        path=path,
        record=record,
        state=run_state(directory, record),
        rows=rows,
        measured=measured.total(),
        successes={who: (right[who], measured[who]) for who in sorted(measured)},
        blessed_as=tuple(name for name, each in blessed.items() if each.run_id == record.run_id),
    )
