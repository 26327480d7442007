"""`ghx-bench report`: what runs, or files of rows, have shown."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ghx_bench._base.extras import require_extra
from ghx_bench._base.problems import plural
from ghx_bench.eval.cli.flags import AnalysisFlags, AsJson, RunPath

_AS_PLANNED = AnalysisFlags()


def report(
    *runs: RunPath,
    results: list[Path] | None = None,
    output_dir: Annotated[Path | None, Parameter(name=("--output-dir", "--out"))] = None,
    label: list[str] | None = None,
    analysis: AnalysisFlags = _AS_PLANNED,
    sessions: Literal["failures", "all", "none"] = "failures",
    format: list[Literal["html", "markdown", "data", "parquet"]] | None = None,  # noqa: A002 - the flag's name
    as_json: AsJson = False,
) -> int:
    """Write what runs have shown, as pages for people and files for programs.

    Parameters
    ----------
    runs
        Run directories, packs, ids of runs, or `latest`. Modes that several of them have in common are compared from
        run to run, each with the first.
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
    as_json
        Print the summary as JSON.
    """
    require_extra("report", for_what="a report")
    from ghx_bench.eval.cli.run_names import find_run
    from ghx_bench.eval.scoring.github_metrics import EVAL_METRICS
    from ghx_bench.profiler.reports.data.reading import read_sources
    from ghx_bench.profiler.reports.data.sources import open_sources, read_labels
    from ghx_bench.profiler.reports.folder import FORMATS
    from ghx_bench.profiler.reports.report import generate_report

    named, labels = read_labels(label or (), runs, results or (), find_run=find_run)
    read = read_sources(
        open_sources(named, results or (), labels),
        choice=sessions if "html" in (format or FORMATS) else "none",
        plan_changes=analysis.changes(),
    )
    made = generate_report(
        named,
        results=results or (),
        output_dir=output_dir or _default_place(named),
        formats=format or FORMATS,
        metrics=EVAL_METRICS,
        read=read,
    )
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)
    if as_json:
        print(json.dumps({"directory": str(made.directory), **made.summary}))
        return 0
    # An older page may lie there: it says nothing about what was written now.
    where = made.directory / "index.html" if "html" in (format or FORMATS) else made.directory
    print(f"{plural(made.rows, 'row')}, {plural(made.pages, 'session page')}: {where}")
    return 0


def _default_place(runs: Sequence[Path]) -> Path | None:
    """Return where a report goes that is not written into the directory of its first run; `None` if it is."""
    if not runs:
        return Path("report")
    # What a pack is unpacked to goes with the process.
    return Path(f"{runs[0].name.removesuffix('.zip').removesuffix('.pack')}-report") if runs[0].is_file() else None
