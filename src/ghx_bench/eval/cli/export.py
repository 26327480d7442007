"""`ghx-bench export`: the sessions of a run in the formats of others."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def export(
    run: Path,
    *,
    format: Literal["atif", "otlp"],  # noqa: A002 - the flag's name
    output_dir: Annotated[Path | None, Parameter(name=("--output-dir", "--out"))] = None,
) -> int:
    """Write the sessions of a run in the formats of others.

    Sessions that cannot be read are named, the others are written, and the exit code is 2.

    Parameters
    ----------
    run
        A run directory.
    format
        atif: a trajectory for each session; otlp: OpenTelemetry spans, a line for each row.
    output_dir
        Where the files go; `export/<format>` in the run directory unless given.
    """
    from ghx_bench.eval.cli.exporting import write_export

    return write_export(run, format, output_dir=output_dir)
