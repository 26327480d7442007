"""Worlds that sessions left, saved in the directory of their run and opened again.

Each is one file, which is there as a whole or not at all. The seeded world, which all cells of a fixture begin with, is
kept once: a cell's file has the records, and the git objects that its session added.
"""

import hashlib
import os
import shutil
import stat
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Self, TypeVar

from pydantic import JsonValue, ValidationError

from ghx_base.errors import InputError, OperationError
from ghx_base.files.folder_files import BadFolderFileError, leads_out, pack_folder, read_member, unpack_folder
from ghx_base.files.scratch import ScratchFolder
from ghx_base.problems import plural
from ghx_base.texts.injected_text import CanaryMatch, CanaryWatch
from ghx_base.wire import ForeignModel
from ghx_bench.fixtures.seed_worlds import SeededWorld
from ghx_bench.project.config_sections import KeepWorlds
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_bench.scenario.manifest import FixtureManifest
from ghx_bench.stages.handles import StageHandles
from ghx_bench.stages.injection import CanaryWatches
from ghx_profiler.evidence import EndedSession
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store.directory import RunDirectory
from ghx_twin.archive import load_world, save_world
from ghx_twin.world import DATABASE, World

RECORD = "record.json"
WORLD = "world"
WORK = "work"
MOST_BYTES = 20 << 20
MOST_FILES = 5_000
"""What is kept of a folder; agents install whole distributions into theirs."""

_MOST_NAMED = 20


class NoSavedWorldError(InputError):
    """The world of a cell was not saved, or the saved world is not that of its row."""

    code: ClassVar[str] = "NO_KEPT_WORLD"


class SeededRecord(ForeignModel):
    """A saved world before any session: its fixtures, the agent and the observer."""

    format: Literal["ghx-bench-seeded-world"] = "ghx-bench-seeded-world"
    version: Literal[1] = 1
    agent: str
    observer: str
    manifest: FixtureManifest


class CanaryMatches(ForeignModel):
    """Canary matches of a session; the requests themselves are not saved."""

    canary: str
    sent: tuple[CanaryMatch, ...]
    model: tuple[CanaryMatch, ...]
    is_closed_in: bool

    @classmethod
    def of(cls, watches: CanaryWatches, canary: str) -> Self:
        """Return the matches so far."""
        sent, model = watches.sent.matches, watches.model.matches
        return cls(canary=canary, sent=sent, model=model, is_closed_in=watches.is_closed_in)

    def as_watches(self) -> CanaryWatches:
        """Return the watches as they were at the end of the session."""
        sent, model = (CanaryWatch(self.canary, earlier=each) for each in (self.sent, self.model))
        return CanaryWatches(sent, model, is_closed_in=self.is_closed_in)


class WorldRecord(ForeignModel):
    """The session of a saved world, and what checks need to run on it again."""

    format: Literal["ghx-bench-world"] = "ghx-bench-world"
    version: Literal[1] = 1
    run_id: str
    session_id: str
    seeded: str
    """The digest that names the seeded world."""
    scenario: dict[str, JsonValue]
    """As it was staged, its variables replaced."""
    bindings: dict[str, JsonValue]
    answer: str | None = None
    """What the agent answered in the end."""
    sightings: CanaryMatches | None = None
    """Where the canary of the scenario's threat was seen, if it has one."""
    work_left_out: tuple[str, ...] = ()
    """What is not kept of the folder that the agent worked in, and why."""
    edited: bool = False
    """Whether somebody has changed it since, in a shell; such a one is kept beside what the session left."""


R = TypeVar("R", SeededRecord, WorldRecord)


@dataclass(slots=True)
class WorldSaver:
    """Saves worlds of one run, in any thread; each seeded world once."""

    directory: RunDirectory
    which: KeepWorlds
    _seeded: dict[int, str] = field(default_factory=dict[int, str])  # digests, by the id() of the world
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def save(self, start: SeededWorld, handles: StageHandles, work: Path, ended: EndedSession) -> None:
        """Save the world of a session if it is selected; the one of an earlier attempt is deleted in any case."""
        evidence = ended.evidence
        place = self.directory.world(evidence.cell)
        place.unlink(missing_ok=True)
        self.directory.edited_world(evidence.cell).unlink(missing_ok=True)
        for torn in place.parent.glob(f".{place.name}.*"):
            torn.unlink()  # of a process that was killed while it wrote
        if evidence.timing.wall_ms is None or (self.which == "failed" and ended.success):
            return  # not even begun, or solved
        assert handles.world is not None  # noqa: S101 - this is the stage of the emulator
        with ScratchFolder() as folder:
            (folder / WORLD).mkdir()
            save_world(handles.world, folder / WORLD, base=start.world, redact=ended.redact)
            left_out = copy_work(work, folder / WORK, redact=ended.redact)
            record = WorldRecord(
                run_id=self.directory.path.name,
                session_id=evidence.trace.session_id if evidence.trace else "",
                seeded=self._save_seeded(start),
                scenario=evidence.scenario.to_wire(),
                bindings=dict(handles.bindings),
                answer=None if evidence.answer is None else evidence.answer.text,
                sightings=_canary_matches(handles, evidence.scenario),
                work_left_out=left_out,
            )
            _write(place, folder, record)

    def _save_seeded(self, start: SeededWorld) -> str:
        """Return the digest of a seeded world, which is in the directory afterwards."""
        with self._lock:
            saved = self._seeded.get(id(start.world))
            if saved is not None:
                return saved
            with ScratchFolder() as folder:
                (folder / WORLD).mkdir()
                save_world(start.world, folder / WORLD)
                # Of the content: a run that is resumed seeds again, and whatever else began there must stay.
                digest = hashlib.sha256((folder / WORLD / DATABASE).read_bytes()).hexdigest()[:16]
                record = SeededRecord(agent=start.agent, observer=start.observer, manifest=start.manifest)
                place = self.directory.seeded_world(digest)
                if not place.exists():
                    _write(place, folder, record)
            self._seeded[id(start.world)] = digest
            return digest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenedWorld:
    """A copy of a saved world, with the world that it began as, and a copy of the folder that its agent worked in."""

    record: WorldRecord
    world: World
    seeded: SeededWorld
    work: Path
    edited_place: Path
    """The file that an edited copy of it is kept in."""

    def save(self, *, secret: str) -> None:
        """Save this world and the folder as they are now, next to what the session left; neither contains `secret`."""
        with ScratchFolder() as folder:
            (folder / WORLD).mkdir()
            save_world(
                self.world, folder / WORLD, base=self.seeded.world, redact=lambda text: text.replace(secret, "***")
            )
            left_out = copy_work(self.work, folder / WORK, redact=lambda text: text.replace(secret, "***"))
            record = self.record.model_copy(update={"work_left_out": left_out, "edited": True})
            _write(self.edited_place, folder, record)


@contextmanager
def reopen_world(directory: RunDirectory, row: ProfileRow, *, edited: bool = False) -> Generator[ReopenedWorld]:
    """Open a copy of the world that the session of a row left; raise `NoSavedWorldError` if it was not saved.

    With `edited`, open the version that was last changed in a shell, if there is one.
    """
    place, record = directory.world(row.cell), read_world_record(directory, row)
    if edited and (changed := directory.edited_world(row.cell)).is_file():
        place, record = changed, _read(changed, WorldRecord)
    with ExitStack() as stack:
        folder = stack.enter_context(ScratchFolder())
        saved_folder, seeded_folder = folder / "kept", folder / "began"
        seeded = directory.seeded_world(record.seeded)
        if not seeded.is_file():
            raise NoSavedWorldError(f"{place}: the world that it began as is gone; put {seeded} back")
        _unpack(seeded, seeded_folder)
        _unpack(place, saved_folder)
        seeded_record = _read(seeded, SeededRecord)
        (saved_folder / WORK).mkdir(exist_ok=True)
        before = stack.enter_context(load_world(seeded_folder / WORLD))
        world = stack.enter_context(load_world(saved_folder / WORLD, base=seeded_folder / WORLD))
        start = SeededWorld(
            world=before, manifest=seeded_record.manifest, agent=seeded_record.agent, observer=seeded_record.observer
        )
        yield ReopenedWorld(
            record=record,
            world=world,
            seeded=start,
            work=saved_folder / WORK,
            edited_place=directory.edited_world(row.cell),
        )


def read_world_record(directory: RunDirectory, row: ProfileRow) -> WorldRecord:
    """Return the record of the saved world of a row; raise `NoSavedWorldError` if it does not exist."""
    place = directory.world(row.cell)
    if not place.is_file():
        raise NoSavedWorldError(
            "the world of this cell was not kept; `ghx-bench run --keep-worlds failed` keeps those of cells that were "
            "not solved, `--keep-worlds all` every one"
        )
    record = _read(place, WorldRecord)
    if record.session_id != row.session_id:
        # A cell that was interrupted after its world was written, and measured again without --keep-worlds.
        raise NoSavedWorldError(
            f"{place}: this is the world of an earlier session of the cell; that of its row is gone"
        )
    return record


def staged_scenario(record: WorldRecord) -> EvalScenario:
    """Return the scenario as its session had it; raise if this version reads it no more."""
    try:
        return EvalScenario.model_validate(record.scenario)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "/".join(map(str, first["loc"]))
        raise InputError(f"the scenario of the kept world is of another version ({where}: {first['msg']})") from None


def _canary_matches(handles: StageHandles, scenario: EvalScenario) -> CanaryMatches | None:
    threat = scenario.known_extensions.threat
    if handles.watches is None or threat is None or threat.canary is None:
        return None
    return CanaryMatches.of(handles.watches, threat.canary)


def _write(place: Path, folder: Path, record: WorldRecord | SeededRecord) -> None:
    (folder / RECORD).write_bytes(record.with_all_keys().to_bytes() + b"\n")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        pack_folder(folder, place)
    except OSError as error:
        raise OperationError(f"{place}: the world cannot be kept: {error.strerror or error}") from error


def _read(place: Path, kind: type[R]) -> R:
    try:
        return kind.model_validate_json(read_member(place, RECORD))
    except BadFolderFileError as error:
        raise NoSavedWorldError(f"{error}; the world cannot be opened") from error
    except ValidationError:
        raise NoSavedWorldError(
            f"{place}: a kept world of another version of ghx-bench; open it with that one"
        ) from None


def _unpack(place: Path, folder: Path) -> None:
    try:
        unpack_folder(place, folder)
    except BadFolderFileError as error:
        raise NoSavedWorldError(f"{error}; the world cannot be opened") from error


def copy_work(source: Path, target: Path, *, redact: Callable[[str], str]) -> tuple[str, ...]:
    """Copy a folder without secrets into a new one; return what was left out and why, in words.

    What is too large is left out as a whole: half of a checkout would look like something that the agent did.
    """
    target.mkdir()
    paths = list(_walk(source))
    sizes = [each.lstat().st_size for each in paths]
    if len(paths) > MOST_FILES or sum(sizes) > MOST_BYTES:
        size = f"{plural(len(paths), 'file')}, {sum(sizes) / (1 << 20):,.0f} MiB"
        limit = f"up to {MOST_FILES:,} files and {MOST_BYTES >> 20} MiB are kept"
        return (f"the folder that the agent worked in: {size}, and {limit}",)
    left_out: list[str] = []
    for path in paths:
        name = path.relative_to(source).as_posix()
        if reason := _copy(path, target / name, name, redact):
            left_out.append(f"{name.encode(errors='replace').decode()}: {reason}")
    more = (f"and {len(left_out) - _MOST_NAMED} more",) if len(left_out) > _MOST_NAMED else ()
    return (*left_out[:_MOST_NAMED], *more)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield everything in a folder but folders that are not empty, without following links."""
    for path, folders, files in os.walk(folder):
        links = [name for name in folders if Path(path, name).is_symlink()]
        yield from (Path(path, name) for name in (*files, *links))
        if not folders and not files and Path(path) != folder:
            yield Path(path)


def _copy(path: Path, place: Path, name: str, redact: Callable[[str], str]) -> str | None:
    """Copy what is at a path; return why it is left out, if it is."""
    if reason := _why_left_out(path, name):
        return reason
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            place.symlink_to(path.readlink())
        elif path.is_dir():
            place.mkdir()
        else:
            # What is no text stays as it is, byte for byte, wherever it stands in one.
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            place.write_bytes(redact(text).encode("utf-8", "surrogateescape"))
            shutil.copymode(path, place)
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def _why_left_out(path: Path, name: str) -> str | None:
    if any("\udc80" <= character <= "\udcff" for character in name):
        return "its name is no text"
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "a link that leads out of the folder" if leads_out(name, str(path.readlink())) else None
    return None if stat.S_ISDIR(mode) or stat.S_ISREG(mode) else "no file"
