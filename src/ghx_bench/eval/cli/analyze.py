"""`ghx-bench analyze`: how agents worked in sessions that are over."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ghx_bench.eval.cli.flags import Switch


def analyze(
    run: Path | None = None,
    /,
    *,
    sessions: Path | None = None,
    output_dir: Annotated[Path | None, Parameter(name=("--output-dir", "--out"))] = None,
    json: Switch = False,
) -> int:
    """Say how agents worked in sessions that are over, and write what was found, one file for each session.

    Traces are only read. Files that cannot be read are named, the others are analyzed, and the exit code is 2.

    Parameters
    ----------
    run
        A run directory.
    sessions
        Instead of a run: a folder with traces, from here or elsewhere, each a JSON file.
    output_dir
        Where findings go; `analysis` in the run directory, or here for a folder of sessions, unless given.
    json
        Print a line for each session as JSON.
    """
    from ghx_bench.eval.cli.analyzing import analyze_files

    return analyze_files(run, sessions=sessions, output_dir=output_dir, as_json=json)
