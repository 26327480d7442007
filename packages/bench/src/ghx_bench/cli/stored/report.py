"""`ghx-bench report`: what runs, or files of rows, have shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ghx_base.commandline import FAILED
from ghx_base.errors import FlagError
from ghx_base.extras import require_extra
from ghx_base.problems import plural
from ghx_bench.cli.flags import AnalysisFlags, AsJson, RunPath

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_bench.cli.verdicts.judging import Judgement

_AS_PLANNED = AnalysisFlags()


def report(
    *runs: RunPath,
    results: list[Path] | None = None,
    output_dir: Annotated[Path | None, Parameter(name=("--output-dir", "--out"))] = None,
    label: list[str] | None = None,
    analysis: AnalysisFlags = _AS_PLANNED,
    sessions: Literal["failures", "all", "none"] = "failures",
    format: list[Literal["html", "markdown", "data", "parquet"]] | None = None,  # noqa: A002 - the flag's name
    fail_on: list[str] | None = None,
    as_json: AsJson = False,
) -> int:
    """Write what runs have shown, as pages for people and files for programs.

    Parameters
    ----------
    runs
        Run directories, packs, ids of runs, `latest`, or names of blessed ones. Modes that several of them have in
        common are compared from run to run, each with the first.
    results
        A file with one row a line, from here or elsewhere; repeat for several.
    output_dir
        Where the report goes; `report` in the first run directory unless given, or here where only rows are named;
        of a pack, a folder here that is named after it.
    label
        What a run is called in the report, as in before=results/run_1; repeat for several. Two runs are called before
        and after unless given.
    sessions
        Which rows get a page with their session: failures and a sample of successes, all, or none.
    format
        What to write; repeat for several. Everything unless given, Parquet only where pyarrow is installed.
    fail_on
        End with 1 if this comes of a run or, of several, of one of the later ones beside the first: see `ghx-bench
        compare --help`.
    as_json
        Print the summary as JSON.
    """
    require_extra("report", for_what="a report")
    from ghx_bench.cli.stored.run_names import find_run
    from ghx_bench.project.gates import read_gates
    from ghx_bench.scoring.github_metrics import EVAL_METRICS
    from ghx_profiler.reports.data.reading import read_sources
    from ghx_profiler.reports.data.sources import open_sources, read_labels
    from ghx_profiler.reports.folder import FORMATS
    from ghx_profiler.reports.report import generate_report

    labelled, labels = read_labels(label or (), runs, results or (), find_run=find_run)
    judged = _judge(labelled, read_gates(fail_on or ()), labels)
    read = read_sources(
        open_sources(labelled, results or (), labels),
        choice=sessions if "html" in (format or FORMATS) else "none",
        plan_changes=analysis.changes(),
    )
    report_files = generate_report(
        labelled,
        results=results or (),
        output_dir=output_dir or _default_place(labelled),
        formats=format or FORMATS,
        metrics=EVAL_METRICS,
        read=read,
    )
    for note in report_files.notes:
        print(f"note: {note}", file=sys.stderr)
    for each in judged:
        each.publish()
    code = FAILED if any(gate.failed for each in judged for gate in each.gates) else 0
    if as_json:
        gates = {"gates": [gate.to_wire() for each in judged for gate in each.gates]} if judged else {}
        print(json.dumps({"directory": str(report_files.directory), **report_files.summary, **gates}))
        return code
    # An older page may lie there: it says nothing about what was written now.
    where = report_files.directory / "index.html" if "html" in (format or FORMATS) else report_files.directory
    print(f"{plural(report_files.rows, 'row')}, {plural(report_files.pages, 'session page')}: {where}")
    return code


def _judge(runs: Sequence[Path], gates: Sequence[str], labels: Mapping[Path, str]) -> list[Judgement]:
    """Hold a run against gates, or each later one next to the first."""
    if not gates:  # and nothing is loaded for them
        return []
    if not runs:
        raise FlagError("--fail-on", "gates are for runs, and only files of rows are named; name a run directory")
    from ghx_bench.cli.verdicts.judging import judge_stored_run
    from ghx_bench.project.gates import require_baseline

    first, *later = runs
    if not later:
        require_baseline(gates, remedy="name the run to compare with before this one")
    judged = [judge_stored_run(run, gates, against=first, labels=labels) for run in later]
    return judged or [judge_stored_run(first, gates, against=None)]


def _default_place(runs: Sequence[Path]) -> Path | None:
    """Return where a report goes that is not written into the directory of its first run; `None` if it is."""
    from ghx_profiler.store.packs import name_of_pack

    if not runs:
        return Path("report")
    # What a pack is unpacked to goes with the process.
    return Path(f"{name_of_pack(runs[0])}-report") if runs[0].is_file() else None
