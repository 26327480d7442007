"""What `ghx-bench report` does once its command line is read."""

import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from ghx_bench._base.problems import plural
from ghx_bench.eval.scoring.github_metrics import EVAL_METRICS
from ghx_bench.profiler.reports.data.tally import SessionChoice
from ghx_bench.profiler.reports.folder import FORMATS, Format
from ghx_bench.profiler.reports.report import ReportResult, generate_report


def write_report(
    runs: Sequence[Path],
    *,
    results: Sequence[Path],
    output_dir: Path | None,
    sessions: SessionChoice,
    formats: Collection[Format] | None,
    as_json: bool,
) -> int:
    """Write the report, say where it is, and return the exit code."""
    made = generate_report(
        runs,
        results=results,
        output_dir=output_dir or (None if runs else Path("report")),
        sessions=sessions,
        formats=formats or FORMATS,
        metrics=EVAL_METRICS,
    )
    for note in made.notes:
        print(f"note: {note}", file=sys.stderr)  # noqa: T201 - the command line
    if as_json:
        print(json.dumps({"directory": str(made.directory), **made.summary}))  # noqa: T201 - this command's output
    else:
        print(_said(made))  # noqa: T201 - this command's output
    return 0


def _said(made: ReportResult) -> str:
    page = made.directory / "index.html"
    where = page if page.exists() else made.directory
    return f"{plural(made.rows, 'row')}, {plural(made.pages, 'session page')}: {where}"
