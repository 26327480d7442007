"""`ghx-bench pack`: a run in one file, for somebody else to open."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ghx_base.errors import FlagError, InputError, OperationError
from ghx_base.extras import how_to_install, is_installed
from ghx_base.problems import one_line, plural
from ghx_bench.cli.flags import RunPath

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from ghx_profiler.store.packs import PackRecord

_MOST_NAMED = 20


def pack(
    run: RunPath,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    report: bool = True,
) -> int:
    """Write a run into one file: rows, sessions, recordings, provenance and report, without secrets and home folders.

    `report`, `show` and `run --replay` take the file wherever they take a run. What was taken out is printed, and is
    listed in the pack.

    Parameters
    ----------
    run
        The directory of the run, its id, `latest`, or a blessed one by its name.
    output
        The file to write; `RUN_ID.pack.zip` in the current folder unless given. An earlier pack is replaced.
    report
        Make the report that goes into the pack.
    """
    from ghx_base.files.scratch import ScratchFolder
    from ghx_profiler.store.cleaning import Cleaner, copy_clean, homes_of
    from ghx_profiler.store.packs import write_pack

    _require_finished(run)
    with ScratchFolder() as folder:
        record = copy_clean(run, folder, Cleaner.of(os.environ, homes_of(run, Path.home())))
        file = _place(output, record.run_id)
        if report and is_installed("report"):
            _add_report(folder)
        write_pack(folder, record, file)
    if report and not is_installed("report"):
        print(f"without a report, which needs the extra 'report': install it with `{how_to_install('report')}`")
    for line in _describe(record):
        print(line)
    print(f"{plural(record.rows, 'row')}, {file.stat().st_size:,} bytes: {file}")
    return 0


def _require_finished(run: Path) -> None:
    """Refuse what is no run, and a run whose rows are still being written."""
    from ghx_base.files.locks import is_locked
    from ghx_profiler.store.directory import RunDirectory

    directory = RunDirectory(run)
    if not directory.record.is_file() or not directory.rows.is_file():
        raise InputError(f"{run} is not the directory of a run with rows; name one that `ghx-bench run` made")
    if is_locked(directory.lock, if_unknown=False):
        raise OperationError(f"{run}: a process is working on this run; wait for it, or stop it")


def _place(output: Path | None, run_id: str) -> Path:
    """Return the path of the pack; refuse to replace a file that is not a pack."""
    from ghx_profiler.store.packs import is_pack_file

    file = output or Path(f"{run_id}.pack.zip")
    if file.is_dir():
        raise FlagError("-o", f"{file} is a folder; name a file")
    if file.exists() and not is_pack_file(file):
        raise FlagError("-o", f"{file} is there already and is no pack; name another file")
    if not file.parent.is_dir():
        raise FlagError("-o", f"there is no folder {file.parent}; make it, or name another file")
    return file


def _add_report(folder: Path) -> None:
    """Make the report from what is in the pack, so that it says no more than that; the same run makes the same one."""
    from ghx_bench.scoring.github_metrics import EVAL_METRICS
    from ghx_profiler.reports import generate_report
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.rows import read_rows

    directory = RunDirectory(folder)
    latest = max((row.completed_at for row in read_rows(directory.rows)), default=None)
    if latest is not None:
        # As if made when the last cell was done: with the time of packing, no two packs would be the same.
        generate_report([folder], generated_at=latest, formats=("html", "markdown", "data"), metrics=EVAL_METRICS)


def _describe(record: "PackRecord") -> list[str]:
    """Return what was taken out, in lines."""
    lines = [f"taken out of {each.file}: {plural(each.times, each.what)}" for each in record.taken_out[:_MOST_NAMED]]
    more = record.taken_out[_MOST_NAMED:]
    if more:
        lines.append(
            f"and {sum(each.times for each in more)} in {plural(len(more), 'more file')}, which pack.json lists"
        )
    lines += [f"left out: {each}" for each in record.left_out[:_MOST_NAMED]]
    changed = {line for each in record.taken_out for line in each.lines}
    if changed:
        names = ", ".join(map(str, sorted(changed)[:_MOST_NAMED]))
        lines.append(f"rows that are not byte for byte as they were: {len(changed)} of {record.rows} (line {names})")
    else:
        lines.append("every row is byte for byte as it was" if record.rows else "the run has no rows yet")
    return list(map(one_line, lines))
