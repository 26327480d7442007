"""`ghx-bench merge`: shards as one run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.errors import FlagError
from ghx_bench.cli.flags import AsJson, GateFlags, RunPath, Switch

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from pydantic import JsonValue

    from ghx_bench.cli.running.measuring import WriteReport
    from ghx_bench.cli.verdicts.judging import Judging
    from ghx_profiler.reports.data.machines import MachineTally
    from ghx_profiler.store.merging import MergedRun, ShardRun

_JUDGED_AS_CONFIGURED = GateFlags()


def merge(
    out: Path,
    /,
    *runs: RunPath,
    allow_missing: Switch = False,
    gates: GateFlags = _JUDGED_AS_CONFIGURED,
    report: bool = True,
    as_json: AsJson = False,
) -> int:
    """Make one run of all shards of it, and end as `ghx-bench run` does that measured them all.

    Shards of another plan, one that is there twice, and cells without a row are refused, and nothing is written then.

    Parameters
    ----------
    out
        The folder of the run that is made; there must be none of this name.
    runs
        The folders of all shards, or their packs.
    allow_missing
        Merge though shards or cells are missing; `ghx-bench resume OUT` measures them.
    report
        Write the report.
    as_json
        Print the result as JSON.
    """
    from ghx_bench.cli.running.measuring import is_evaluation, show_result
    from ghx_bench.project.config import EvalConfig
    from ghx_profiler.config import ProfileFile
    from ghx_profiler.reports.data.machines import MachineTally
    from ghx_profiler.store.merging import merge_runs, open_shards
    from ghx_profiler.suite import SuiteResult

    shards = open_shards(runs)
    # First what may be wrong with it: the merged run, once it is there, is in the way of another attempt.
    judging, config, write = _prepare(shards, gates)
    _refuse_same_shards(judging.against, shards)
    judging.require_comparable(shards[0].record.matrix, controls=shards[0].record.control_agents)
    tally = MachineTally()
    settings = EvalConfig if is_evaluation(shards[0].record) else ProfileFile
    merged = merge_runs(out, shards, allow_missing=allow_missing, settings=settings, config=config, watch=tally.add)
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        _say_merged(merged, tally, out)
    left = len(merged.missing)
    result = SuiteResult(
        run_id=merged.record.run_id,
        directory=out,
        total=merged.rows + left,
        measured=merged.measured,
        left=left,
        stopped_by=None,
    )
    return show_result(result, as_json=as_json, judging=judging, report=write if report else None)


def _prepare(shards: Sequence[ShardRun], gates: GateFlags) -> tuple[Judging, dict[str, JsonValue], WriteReport]:
    """Return how the merged run is judged, with which settings it goes on, and what writes its report.

    All as the command that made its shards does. The gates are among the settings: a run that is resumed keeps its own.
    """
    from ghx_bench.cli.running.measuring import conclude, is_evaluation, settings_of
    from ghx_bench.cli.running.run import write_report
    from ghx_bench.cli.stored.run_names import results_folder
    from ghx_bench.cli.verdicts.judging import judging_of, judging_of_flags
    from ghx_bench.project.baselines import baselines_file
    from ghx_bench.project.config import EvalConfig
    from ghx_profiler.store.merging import whole_record

    whole = whole_record(shards[0].record)
    merging = {each.record.run_id for each in shards}
    if not is_evaluation(whole):
        return judging_of_flags(gates, merging=merging), whole.config, conclude
    settings = settings_of(whole, shards[0].path, EvalConfig).override(fail_on=gates.fail_on, against=gates.against)
    # Other runs are looked for where they are here, not where a shard put its own on another machine.
    output = settings.output.model_copy(update={"results_dir": results_folder()})
    settings = settings.model_copy(update={"output": output})
    judging, settings = judging_of(
        settings, gates, baselines=baselines_file(), scenarios=whole.matrix.scenario_ids, merging=merging
    )
    return judging, settings.model_dump(mode="json"), partial(write_report, settings.output.reports_dir)


def _refuse_same_shards(against: Path | None, shards: Sequence[ShardRun]) -> None:
    """Refuse a baseline that was made of these very shards: a run is neither better nor worse than itself."""
    from ghx_profiler.reports.data.sources import open_run

    baseline = None if against is None else open_run(against).record
    if baseline is not None and {each.run_id for each in baseline.merged} & {each.record.run_id for each in shards}:
        raise FlagError("--against", f"{against} was merged from the same shards; name an earlier run")


def _say_merged(merged: MergedRun, tally: MachineTally, out: Path) -> None:
    """Report what was put together, in what the shards differ, and which machines measured them."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ghx_base.problems import one_line, plural
    from ghx_profiler.reports.data.machines import HEADERS

    print(f"{plural(merged.rows, 'row')} of {plural(len(merged.record.merged), 'shard')}: {out}")
    for each in merged.differences:
        print(one_line(f"shards differ: {each}"))
    for each in merged.left_behind:
        print(f"not taken along: {one_line(each)}")
    if merged.missing:
        command = shlex.join(["ghx-bench", "resume", str(out)])
        print(f"{plural(len(merged.missing), 'cell')} missing; measure them with: {command}")
    if len(tally.cells) > 1:
        table = Table(*HEADERS, box=None, pad_edge=False, header_style="bold")
        for line in tally.lines(merged.record.machines):
            table.add_row(*map(escape, line))
        # Wide rather than cut off: what is cut off cannot be read.
        Console(width=max(Console().width, 240), file=sys.stdout).print(table)
        for remark in tally.remarks():
            print(remark)
    print()
