"""Shards that become one run: checked against each other, then written row by row in the order of the plan."""

import hashlib
import json
import os
import shlex
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from ghx_base.files.atomic_files import sync_directory
from ghx_base.files.locks import is_locked
from ghx_base.files.scratch import PREFIX, ScratchFolder, sweep
from ghx_base.problems import plural
from ghx_profiler.config import ProfileConfig, ProfileFile
from ghx_profiler.errors import MergeError, RunDirectoryError, RunLockedError
from ghx_profiler.machine import MachineRecord, unique_name
from ghx_profiler.plan.cell import Cell
from ghx_profiler.plan.shards import Shard
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.directory import RunDirectory, unusable
from ghx_profiler.store.packs import is_pack_file, read_pack_record, run_folder
from ghx_profiler.store.record import MatrixRecord, MergedShard, RunRecord, read_record, write_record
from ghx_profiler.store.rows import DistinctRows, scan_lines
from ghx_profiler.store.run_environment import (
    SETTINGS_OF_RUNS,
    Difference,
    EnvironmentFact,
    Kind,
    RunEnvironment,
    find_differences,
)
from ghx_profiler.store.run_store import require_current_version

_FOLDERS = ("sessions", "analysis", "activity", "warm-ups", "worlds")
"""Files next to rows, by cell: cells of two shards are different, so their files do not conflict."""
_MOST_NAMED = 5
_AGAIN = "merge the shards again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRun:
    """One shard: its path and its record."""

    path: Path
    """As it was named."""
    directory: RunDirectory
    record: RunRecord
    shard: Shard

    def __str__(self) -> str:
        return f"{self.path} (shard {self.shard})"


_Place = tuple[ShardRun, int]
"""Whose row it is, and where in the file it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRun:
    """The result of a merge."""

    record: RunRecord
    rows: int
    measured: int
    missing: tuple[Cell, ...]
    """The cells that no shard has measured, where that was allowed."""
    differences: tuple[Difference, ...]
    """The conditions in which shards differ: versions, machines, settings that make no other plan."""
    left_behind: tuple[str, ...]
    """What of the shards is not in the merged run, in words."""


def merge_runs(
    out: Path,
    shards: Sequence[ShardRun],
    *,
    allow_missing: bool = False,
    settings: type[ProfileConfig] = ProfileFile,
    config: Mapping[str, JsonValue] | None = None,
    watch: Callable[[ProfileRow], None] | None = None,
) -> MergedRun:
    """Make one run of all shards of one plan, in a folder that is not there yet.

    Everything is checked before anything is written: that the shards are of one plan and made of the same things, that
    none is there twice or being worked on, and that together they have every cell, unless some may be missing. The
    folder appears when all of it is written. Of rows only their places are kept in memory.

    `settings` are the settings in which shards may differ. `config` are those of the merged run, those of the first
    shard by default; `watch` is called with every row.
    """
    if out.exists() or out.is_symlink():
        raise MergeError(f"{out}: is there already; name a folder that is not")
    parts = sorted(shards, key=lambda part: part.shard.number)
    _require_one_plan(parts, settings)
    _require_distinct(parts, allow_missing=allow_missing)
    places = _find_rows(parts)
    missing = tuple(cell for cell, place in places.items() if place is None)
    if missing and not allow_missing:
        raise MergeError(_describe_missing(missing, parts))
    rows = [place for place in places.values() if place is not None]
    names = _name_machines(parts)
    record = _record_of(parts, Counter(part.shard for part, _ in rows), names, is_whole=not missing)
    if config is not None:
        record = record.model_copy(update={"config": dict(config)})
    with _growing(out) as growing:
        measured = _write_rows(growing, rows, record, names, watch)
        _copy_files(parts, growing)
        write_record(growing.record, record)
    return MergedRun(
        record=record,
        rows=len(rows),
        measured=measured,
        missing=missing,
        differences=find_differences({str(part.shard): _environment_of(part, settings) for part in parts}),
        left_behind=tuple(_find_left_behind(parts)),
    )


@contextmanager
def _growing(out: Path) -> Generator[RunDirectory]:
    """Yield where a run is put together that becomes `out` at the end of the block, or else leaves nothing.

    It grows two folders deep, where no command looks for runs. Remains of a killed merge next to `out` are
    removed, and would not be in the way: the name is another one each time.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        sweep(out.parent)
        with ScratchFolder(out.parent) as scratch:
            growing = RunDirectory(scratch / "run")
            growing.path.mkdir()
            yield growing
            growing.path.rename(out)
            sync_directory(out.parent)
    except OSError as error:
        # A file of a shard is named as it is; one that was being written has no name that anybody knows.
        is_theirs = isinstance(error.filename, str | Path) and PREFIX not in str(error.filename)
        raise unusable(Path(error.filename) if is_theirs else out, error, then=_AGAIN) from error
    except RunDirectoryError as error:
        if isinstance(error.__cause__, OSError):
            raise unusable(out, error.__cause__, then=_AGAIN) from error
        raise


def open_shards(runs: Sequence[Path]) -> Sequence[ShardRun]:
    """Open the folders or packs of shards; refuse other folders, and shards in use."""
    if not runs:
        raise MergeError("no run to merge; name the folders of all shards")
    return [_open(path) for path in runs]


def whole_record(record: RunRecord) -> RunRecord:
    """Return the record of the whole run that a shard is a part of."""
    config, execution = record.config, record.config.get("execution")
    if isinstance(execution, dict):
        config = {**config, "execution": {**execution, "shard": None}}
    matrix = MatrixRecord.of(record.matrix.to_matrix())
    return record.model_copy(update={"matrix": matrix, "config": config})


def _open(path: Path) -> ShardRun:
    directory = RunDirectory(run_folder(path))
    record = read_record(directory.record)
    require_current_version(path, record)
    if record.matrix.shard is None:
        raise MergeError(f"{path}: is no shard, but a run of its own; name runs that were made with --shard")
    if is_locked(directory.lock, if_unknown=False):
        raise RunLockedError(f"{path}: a process is working on this run; wait for it, or stop it")
    return ShardRun(path=path, directory=directory, record=record, shard=Shard.parse(record.matrix.shard))


def _require_one_plan(parts: Sequence[ShardRun], settings: type[ProfileConfig]) -> None:
    """Refuse shards of different plans, and such that are not made of the same things."""
    first = parts[0]
    whole = whole_record(first.record)
    for other in parts[1:]:
        if other.shard.count != first.shard.count:
            raise MergeError(f"{other.path} is shard {other.shard}, and {first.path} is {first.shard}: of two runs")
        here = whole_record(other.record)
        setting_differences = map(str, _find_other_settings(first, other, settings))
        if differences := (*whole.differences(here), *whole.changes(here), *setting_differences):
            raise MergeError(
                f"{other.path}: was run with another plan than {first.path} (different: {'; '.join(differences)}); run "
                "all shards with the same settings, files and versions"
            )


def _find_other_settings(first: ShardRun, other: ShardRun, settings: type[ProfileConfig]) -> Iterator[Difference]:
    """Yield the settings in which two shards differ, and may not."""
    mine, others = _settings_of(first.record), _settings_of(other.record)
    may_differ = settings.FREE_IN_SHARDS | settings.SET_BY_PLAN
    for name in {**mine, **others}:
        values = {str(first.shard): mine.get(name), str(other.shard): others.get(name)}
        if mine.get(name) != others.get(name) and not _is_in(name, may_differ):
            yield Difference(kind=Kind.SETTING, condition=name, values=values)


def _settings_of(record: RunRecord) -> dict[str, JsonValue]:
    """Return every setting of a run by its name, as in `limits.memory_mib`."""
    config = json.dumps(record.config)
    if record.started_in not in {None, "/"}:
        # Modes name tools and servers by whole paths, and the project may lie elsewhere on each machine.
        config = config.replace(json.dumps(record.started_in)[1:-1], ".")

    def walk(values: Mapping[str, JsonValue], before: str) -> Iterator[tuple[str, JsonValue]]:
        for key, value in values.items():
            if isinstance(value, dict):
                yield from walk(value, f"{before}{key}.")
            else:
                yield f"{before}{key}", value

    return dict(walk(json.loads(config), ""))


def _is_in(name: str, settings: Collection[str]) -> bool:
    """Return whether a setting, or a section that it belongs to, is among these."""
    parts = name.split(".")
    return any(".".join(parts[: end + 1]) in settings for end in range(len(parts)))


def _environment_of(part: ShardRun, settings: type[ProfileConfig]) -> RunEnvironment:
    """Return the conditions of a shard; the settings among them that are conditions of no run, but differ here."""
    free = (
        EnvironmentFact(kind=Kind.SETTING, name=name, value=value)
        for name, value in _settings_of(part.record).items()
        if _is_in(name, settings.FREE_IN_SHARDS) and not _is_in(name, SETTINGS_OF_RUNS)
    )
    return RunEnvironment.of(whole_record(part.record), also=free)


def _require_distinct(parts: Sequence[ShardRun], *, allow_missing: bool) -> None:
    """Refuse a shard that is there twice, and one that is not there at all."""
    known: dict[int, ShardRun] = {}
    for part in parts:
        if (before := known.setdefault(part.shard.number, part)) is not part:
            raise MergeError(f"{before.path} and {part.path} are both shard {part.shard}; leave out one")
    count = parts[0].shard.count
    absent = [f"{number}/{count}" for number in range(1, count + 1) if number not in known]
    if absent and not allow_missing:
        raise MergeError(
            f"{'shard' if len(absent) == 1 else 'shards'} {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} "
            f"missing; name all {count}, or merge what there is with --allow-missing and resume that run"
        )


def _find_rows(parts: Sequence[ShardRun]) -> dict[Cell, _Place | None]:
    """Return every cell in the order of the plan, with the place of its row; lines cut by a crash do not count."""
    # One table for the order, for what is planned and for what is found: of a million cells, each further one counts.
    places: dict[Cell, _Place | None] = dict.fromkeys(parts[0].record.matrix.to_matrix().cells())
    for part in parts:
        for line in scan_lines(part.directory.rows):
            if line.row is None:
                continue
            cell, where = line.row.cell, f"{part.directory.rows}:{line.number}"
            if cell not in places or not part.shard.has(cell.scenario_id, cell.iteration):
                raise MergeError(f"{where}: the row of {cell} does not belong to shard {part.shard}; remove it")
            if places[cell] is not None:
                raise MergeError(f"{where}: cell {cell} has two rows; remove one of them")
            places[cell] = part, line.start
    return places


def _describe_missing(missing: Sequence[Cell], parts: Sequence[ShardRun]) -> str:
    """Return the cells without a row, and the shards to measure them in."""
    guilty = [part for part in parts if any(part.shard.has(cell.scenario_id, cell.iteration) for cell in missing)]
    cells = "; ".join(map(str, missing[:_MOST_NAMED]))
    more = f"; {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    commands = ", ".join(f"`{shlex.join(['ghx-bench', 'resume', str(part.path)])}`" for part in guilty)
    return (
        f"{plural(len(missing), 'cell')} {'has' if len(missing) == 1 else 'have'} no row ({cells}{more}); finish "
        f"{'it' if len(guilty) == 1 else 'them'} with {commands}, or merge what there is with --allow-missing"
    )


def _name_machines(parts: Sequence[ShardRun]) -> Mapping[tuple[Shard, str], str]:
    """Return what a shard's machines are called in the merged run."""
    names: dict[tuple[Shard, str], str] = {}
    known: dict[str, MachineRecord] = {}
    for part in parts:
        for name, record in part.record.machines.items():
            new = names[part.shard, name] = unique_name(name, record, known)
            known[new] = record
    return names


def _record_of(
    parts: Sequence[ShardRun],
    counts: Mapping[Shard, int],
    names: Mapping[tuple[Shard, str], str],
    *,
    is_whole: bool,
) -> RunRecord:
    """Return the record of all shards together: the plan is theirs, the rest is put together."""
    records = [part.record for part in parts]
    # Of the last: what is called the latest run is then this one, and not one of its shards.
    created_at = max(record.created_at for record in records)
    moment = "".join(filter(str.isalnum, created_at[:19]))
    # Of the shards: the same ones make the same run, byte for byte.
    digest = hashlib.sha256("\n".join(record.run_id for record in records).encode()).hexdigest()[:6]
    provenance = {each.id: each for record in records for each in record.provenance}
    return whole_record(records[0]).model_copy(
        update={
            "run_id": f"run_{moment}_{digest}",
            "created_at": created_at,
            "status": "complete" if is_whole else "interrupted",
            "machines": {
                names[part.shard, name]: machine for part in parts for name, machine in part.record.machines.items()
            },
            "metric_units": {name: unit for record in records for name, unit in record.metric_units.items()},
            "provenance": tuple(sorted(provenance.values(), key=lambda each: each.recorded_at)),
            "interruptions": tuple(each for record in records for each in record.interruptions),
            "problems": tuple(dict.fromkeys(each for record in records for each in record.problems)),
            "merged": tuple(
                MergedShard(
                    shard=str(part.shard),
                    run_id=part.record.run_id,
                    created_at=part.record.created_at,
                    status=part.record.status,
                    rows=counts[part.shard],
                )
                for part in parts
            ),
        }
    )


def _write_rows(
    place: RunDirectory,
    rows: Iterable[_Place],
    record: RunRecord,
    names: Mapping[tuple[Shard, str], str],
    watch: Callable[[ProfileRow], None] | None,
) -> int:
    """Write rows one after the other, as rows of the merged run; return how many of them were measured."""
    measured = 0
    with place.rows.open("wb") as out:
        for part, start in rows:
            row = DistinctRows(part.directory.rows).row_at(start)
            machine = names.get((part.shard, row.machine or ""), row.machine)
            row = row.model_copy(update={"run_id": record.run_id, "machine": machine})
            out.write(row.to_bytes() + b"\n")
            measured += row.was_measured
            if watch is not None:
                watch(row)
        out.flush()
        os.fsync(out.fileno())
    return measured


def _copy_files(parts: Sequence[ShardRun], place: RunDirectory) -> None:
    """Copy the files next to the rows, and concatenate the error logs."""
    for part in parts:
        for folder in _FOLDERS:
            # Not with `rglob`, which sorted is a list of all: of a million cells there are three million files.
            for directory, _, names in os.walk(part.directory.path / folder):
                new = place.path / Path(directory).relative_to(part.directory.path)
                new.mkdir(parents=True, exist_ok=True)
                for name in names:
                    old = Path(directory, name)
                    # The worlds before any session are the same, by their digests; of a warm-up the first is kept.
                    if not old.is_symlink() and not (new / name).exists():
                        shutil.copyfile(old, new / name)
        if part.directory.error_log.is_file():
            with part.directory.error_log.open("rb") as log, place.error_log.open("ab") as out:
                shutil.copyfileobj(log, out)


def _find_left_behind(parts: Sequence[ShardRun]) -> Iterator[str]:
    """Yield what of the shards is not in the merged run."""
    for part in parts:
        if part.directory.rescorings.exists():
            yield f"{part}: what `ghx-bench rescore` found; rescore the merged run"
        if is_pack_file(part.path):
            with zipfile.ZipFile(part.path) as archive:
                left_out = read_pack_record(part.path, archive).left_out
            yield from (f"{part}: not in its pack: {each}" for each in left_out)
