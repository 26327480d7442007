"""`ghx-bench bless`: make a run the baseline that later ones are held against."""

import json
import os
import sys
from getpass import getuser
from pathlib import Path

from ghx_base.clock import SystemClock, timestamp
from ghx_base.errors import FlagError, InputError
from ghx_base.problems import plural
from ghx_bench.cli.flags import AsJson, RunPath


def bless(
    run: RunPath, /, *, name: str = "main", by: str | None = None, config: Path | None = None, as_json: AsJson = False
) -> int:
    """Make a run the baseline that later ones are held against, with `--against NAME`.

    It is written into `baselines.yaml` beside the configuration, which belongs into version control like any other
    decision; the run itself stays where it is.

    Parameters
    ----------
    run
        The directory of the run, its pack, its id, `latest`, or a blessed one by its name.
    name
        What the baseline is called, such as the branch that it is for.
    by
        Who decides that; the account that the command runs under unless given.
    config
        The project's configuration; `eval.config.yaml` in the current folder unless given.
    as_json
        Print what was written as JSON.
    """
    from ghx_bench.cli.stored.run_names import refuse_shard
    from ghx_bench.project.baselines import baselines_file, load_baselines, write_baseline
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.packs import run_folder
    from ghx_profiler.store.record import read_record
    from ghx_profiler.store.rows import DistinctRows

    _check_name(name, config)
    directory = RunDirectory(run_folder(run))
    record = read_record(directory.record)
    refuse_shard(record)
    if record.status != "complete":
        raise InputError(f"{run}: only a whole run can be a baseline, and this one is {record.status}; resume it first")
    rows = unmeasured = 0
    for row in DistinctRows(directory.rows):
        rows, unmeasured = rows + 1, unmeasured + (not row.was_measured)
    # What was imported has no plan but its rows.
    if record.imported is None and rows < record.matrix.total:
        count = f"{rows} of {plural(record.matrix.total, 'cell')}"
        raise InputError(
            f"{run}: only a whole run can be a baseline, and this one has rows of {count}; resume it first"
        )
    file = baselines_file(config)
    before = load_baselines(file).get(name)
    now = timestamp(SystemClock().now())
    baseline = write_baseline(name, run, run_id=record.run_id, at=now, by=by or _account(), file=file)
    if unmeasured:
        cells = f"{unmeasured} of {plural(record.matrix.total, 'cell')}"
        print(f"note: {cells} could not be measured: later runs may find this baseline unreliable", file=sys.stderr)
    if as_json:
        print(json.dumps({"name": name, "file": str(file), **baseline.model_dump(mode="json")}))
        return 0
    instead = f", instead of {before.run_id}" if before is not None and before.run_id != record.run_id else ""
    print(f"{record.run_id} is the baseline {name!r} now{instead}: {file}")
    print(f"hold later runs against it: ghx-bench run --against {name} --fail-on worse", file=sys.stderr)
    return 0


def _check_name(name: str, config: Path | None) -> None:
    """Refuse an invalid name, and a name with another meaning."""
    from pydantic import TypeAdapter, ValidationError

    from ghx_base.documents.section import Name
    from ghx_bench.cli.stored.run_names import LATEST, results_folder

    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        raise FlagError("--name", f"{name!r} is no name; use letters, digits, '.', '_' and '-'") from None
    if name == LATEST:
        raise FlagError("--name", f"{name!r} is the newest run wherever a run is named; choose another name")
    for place in (Path(name), results_folder(config) / name):
        if place.is_file() or (place / "run.json").is_file():
            raise FlagError("--name", f"{name!r} is a run already, or a file: {place}; choose another name")


def _account() -> str:
    """Return the user of the command; on GitHub's runners, the user that started the workflow."""
    try:
        return os.environ.get("GITHUB_ACTOR") or getuser()
    except (KeyError, OSError):
        return "unknown"
