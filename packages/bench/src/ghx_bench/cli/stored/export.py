"""`ghx-bench export`: the sessions of a run in the formats of others."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ghx_base.commandline import BAD_USAGE
from ghx_base.problems import plural
from ghx_bench.cli.flags import RunPath


def export(
    run: RunPath,
    *,
    format: Literal["atif", "otlp"],  # noqa: A002 - the flag's name
    output_dir: Annotated[Path | None, Parameter(name=("--output-dir", "--out"))] = None,
) -> int:
    """Write the sessions of a run in the formats of others.

    Sessions that cannot be read are named, the others are written, and the exit code is 2.

    Parameters
    ----------
    run
        A run directory, the id of a run, `latest`, or the name of a blessed one.
    format
        atif: a trajectory for each session; otlp: OpenTelemetry spans, a line for each row.
    output_dir
        Where the files go; `export/<format>` in the run directory unless given, of a pack in a folder named after it.
    """
    from ghx_profiler.interchange.export import export_run
    from ghx_profiler.store.packs import name_of_pack

    if output_dir is None and run.is_file():
        # What a pack is unpacked to goes with the process.
        output_dir = Path(f"{name_of_pack(run)}-export", format)
    done = export_run(run, format, output_dir=output_dir)
    for problem in done.problems:
        print(f"error: {problem}", file=sys.stderr)
    if missing := done.without_session:
        has = "has" if missing == 1 else "have"
        print(f"note: {missing:,} of {plural(done.rows, 'row')} {has} no session", file=sys.stderr)
    print(f"{plural(done.sessions, 'session')}: {done.directory}")
    return BAD_USAGE if done.problems else 0
