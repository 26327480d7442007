"""Runs by name: a folder, an id, a blessed one, or the latest; and how far one got."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ghx_base.errors import InputError

if TYPE_CHECKING:  # loaded when a command runs, not for its --help
    from ghx_profiler.store.directory import RunDirectory
    from ghx_profiler.store.record import RunRecord

LATEST = "latest"
"""Names the newest run wherever a run is asked for; a folder of this name is `./latest`, and no run is blessed so."""


def find_run(name: str, results: Path | None = None, baselines: Path | None = None) -> Path:
    """Return the run that is meant: a path, `latest`, a blessed one, or the id of one in the folder of results.

    A bare name is that of a blessed run before it is one of a folder: a folder that somebody makes later must not take
    the place of the rows that were blessed. What is none of these is returned as a path, for the command to say what is
    wrong with it.
    """
    from ghx_bench.project.baselines import baselines_file, find_baseline, load_baselines

    if name == LATEST:
        return latest_run(results_folder() if results is None else results)
    path = Path(name)
    if path.name != name:
        return path
    file = baselines_file() if baselines is None else baselines
    if name in load_baselines(file):
        return find_baseline(name, file)
    if os.path.exists(path):  # noqa: PTH110 - Path raises for too long a name
        return path
    beside = (results_folder() if results is None else results) / name
    return beside if (beside / "run.json").is_file() else path


def find_against(name: str, results: Path, baselines: Path, *, merging: Collection[str] = ()) -> Path:
    """Return the run that another is held against, as `find_run` does; raise if there is none.

    The latest is then the latest whole one: a run that was just merged has its own shards beside it. Nor is it one that
    was merged from any of the shards in `merging`: they may be merged again when more of their cells are measured.
    """
    from ghx_bench.project.baselines import find_baseline

    if name == LATEST:
        return latest_run(results, with_shards=False, merging=merging)
    run = find_run(name, results, baselines)
    return run if run.exists() else find_baseline(name, baselines)


def latest_run(results: Path, *, with_shards: bool = True, merging: Collection[str] = ()) -> Path:
    """Return the run that was started last and is not made of the shards in `merging`; raise if there is none."""
    latest = (
        (place, record)
        for place, record in records_in(results)
        if (with_shards or record.matrix.shard is None) and not any(each.run_id in merging for each in record.merged)
    )
    # By when they began, not by name: runs can be copied, renamed and imported.
    newest = max(latest, key=lambda each: (each[1].created_at, bool(each[1].merged), each[1].run_id), default=None)
    if newest is None:
        what = "run" if with_shards else "whole run"
        raise InputError(f"latest: there is no {what} in {results}; `ghx-bench run` makes one, or name a run's folder")
    return newest[0]


def refuse_shard(record: RunRecord) -> None:
    """Raise if a run is a shard: what a part of the cells comes to says nothing of the whole."""
    if record.matrix.shard is not None:
        raise InputError(
            f"{record.run_id} is shard {record.matrix.shard}, and only whole runs are judged, compared or a baseline: "
            "make one of all shards with `ghx-bench merge`"
        )


def results_folder(config: Path | None = None) -> Path:
    """Return where the runs of a project are."""
    from ghx_bench.project.config_file import project_config

    return project_config(config).output.results_dir


def records_in(results: Path) -> Iterator[tuple[Path, RunRecord]]:
    """Yield the runs in a folder; what is no run, or of another version, is none."""
    from ghx_profiler.errors import RunDirectoryError
    from ghx_profiler.store.record import read_record

    for place in sorted(results.glob("*/run.json")):
        try:
            yield place.parent, read_record(place)
        except RunDirectoryError:
            continue


def run_state(directory: RunDirectory, record: RunRecord) -> str:
    """Return how far a run got; one that was killed could not write that itself."""
    from ghx_base.files.locks import is_locked

    if record.status == "running" and not is_locked(directory.lock, if_unknown=True):
        return "stopped"
    return record.status
