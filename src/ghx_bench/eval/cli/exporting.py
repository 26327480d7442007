"""What `ghx-bench export` does once its command line is read."""

import sys
from pathlib import Path

from ghx_bench._base.commandline import BAD_USAGE
from ghx_bench._base.problems import plural
from ghx_bench.profiler.interchange.export import ExportFormat, export_run


def write_export(run: Path, format: ExportFormat, *, output_dir: Path | None) -> int:  # noqa: A002 - the flag's name
    """Write the export, say where it is, and return the exit code."""
    done = export_run(run, format, output_dir=output_dir)
    for problem in done.problems:
        print(f"error: {problem}", file=sys.stderr)  # noqa: T201 - the command line
    if missing := done.without_session:
        has = "has" if missing == 1 else "have"
        print(f"note: {missing:,} of {plural(done.rows, 'row')} {has} no session", file=sys.stderr)  # noqa: T201 - the same
    print(f"{plural(done.sessions, 'session')}: {done.directory}")  # noqa: T201 - this command's output
    return BAD_USAGE if done.problems else 0
