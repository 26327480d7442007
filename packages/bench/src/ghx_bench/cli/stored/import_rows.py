"""`ghx-bench import`: rows of other benchmarks as a run."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ghx_base.problems import plural
from ghx_bench.cli.flags import AsJson


def import_rows(
    format: Literal["axi"],  # noqa: A002 - as it is called where runs are exported
    file: Path,
    /,
    *,
    output_dir: Annotated[Path, Parameter(name=("--output-dir", "-o"))] = Path("results"),
    agent: str | None = None,
    as_json: AsJson = False,
) -> int:
    """Make a run of rows that another benchmark has measured, so that `report`, `show` and `compare` open them.

    Parameters
    ----------
    format
        axi: the `results.jsonl` of the AXI benchmark.
    file
        The file with the rows.
    output_dir
        Where run directories are made.
    agent
        The agent that was measured, which the rows do not name.
    as_json
        Print what was made as JSON.
    """
    from ghx_base.clock import SystemClock
    from ghx_profiler.interchange.axi import read_axi
    from ghx_profiler.interchange.import_run import import_run
    from ghx_profiler.scenario import scenario_of

    readers = {"axi": read_axi}
    run = import_run(file, format, readers[format], results=output_dir, agent=agent, now=SystemClock().now())
    matrix = run.record.matrix
    if as_json:
        lists = {"models": matrix.models, "modes": matrix.modes, "scenarios": matrix.scenario_ids}
        summary = {"runId": run.record.run_id, "directory": str(run.directory), "rows": run.sessions}
        print(json.dumps({**summary, **lists, "repetitions": matrix.repetitions}))
        return 0
    scenarios = plural(len(set(map(scenario_of, matrix.scenario_ids))), "scenario")
    print(f"{plural(run.sessions, 'session')} of {scenarios} in {plural(len(matrix.modes), 'mode')}: {run.directory}")
    print(f"next: {shlex.join(['ghx-bench', 'report', str(run.directory)])}")
    return 0
