"""What `ghx-bench export` does once its command line is read."""

import sys
from pathlib import Path

from ghx_bench.profiler.interchange.export import ExportFormat, export_run


def write_export(run: Path, format: ExportFormat, *, output_dir: Path | None) -> int:  # noqa: A002 - the flag's name
    """Write the export, say where it is, and return the exit code."""
    done = export_run(run, format, output_dir=output_dir)
    if missing := done.rows - done.sessions:
        print(f"note: {missing:,} of {done.rows:,} rows have no session", file=sys.stderr)  # noqa: T201 - the command line
    print(f"{done.sessions:,} sessions: {done.directory}")  # noqa: T201 - this command's output
    return 0
