"""A run that goes on: its cells are done when their rows are on disk."""

import shutil
from collections import Counter
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from ghx_base.errors import InputError
from ghx_base.files.atomic_files import write_atomically, write_file
from ghx_base.files.locks import LockHeldError, hold_lock
from ghx_profiler.errors import BadRowsError, RunDirectoryError, RunLockedError, RunMismatchError
from ghx_profiler.plan.blocks import CellFiles
from ghx_profiler.plan.cell import Arm, Cell
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.runner.spend import RunSpend
from ghx_profiler.store.directory import RunDirectory, unusable
from ghx_profiler.store.record import RECORD_VERSION, RunRecord, read_record, write_record
from ghx_profiler.store.rows import RowsFile


@dataclass(frozen=True, slots=True, eq=False)
class _QueuedFiles:
    """Files that wait to be written; called when they are, or when it is their turn to write for all."""

    files: CellFiles
    called: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True, kw_only=True)
class RunStore:
    """Writes one run; get one from `create_run` or `resume_run`, which also hold its lock."""

    directory: RunDirectory
    record: RunRecord
    rows: RowsFile
    done: set[Cell] = field(default_factory=set[Cell])
    measured: int = 0
    verdict_counts: Counter[tuple[Arm, bool | None]] = field(default_factory=Counter[tuple[Arm, bool | None]])
    """Rows by arm, and by whether they were found right or wrong."""
    spend: RunSpend = field(default_factory=RunSpend)
    _waiting: list[_QueuedFiles] = field(default_factory=list[_QueuedFiles])
    _is_writing: bool = False

    async def add(self, files: CellFiles) -> None:
        """Put a cell's files on disk, its row last; the cell is done when this returns.

        Concurrent calls share writes: while one is going on, all later callers wait together for the next.
        """
        # Shielded: a finished cell that waits for the shared write is paid for, and Ctrl-C must not lose its row.
        with anyio.CancelScope(shield=True):
            queued = _QueuedFiles(files)
            self._waiting.append(queued)
            if self._is_writing:
                await queued.called.wait()
            if queued in self._waiting:
                await self._write_for_all()
        if files.row.cell not in self.done:
            raise RunDirectoryError(f"{self.directory.rows}: the row of {files.row.cell} could not be written")

    async def _write_for_all(self) -> None:
        """Write for all current waiters, then wake the first of the later ones to do the same."""
        self._is_writing = True
        batch, self._waiting = self._waiting, []
        try:
            await to_thread.run_sync(self._write, [queued.files for queued in batch])
        finally:
            # Stays true if others wait: the first of them is woken to write, and a new caller must not write as well.
            self._is_writing = bool(self._waiting)
            for queued in (*batch, *self._waiting[:1]):
                queued.called.set()

    def keep_session(self, cell: Cell, trace: bytes) -> None:
        """Write the trace of a cell that has no row: the run was interrupted, or it was a warm-up that failed."""
        self._write_side_file(self.directory.session(cell), trace)

    def keep_files(self, files: Mapping[str, bytes]) -> None:
        """Write what was written for this directory on another machine, each file whole or not at all."""
        for name, content in files.items():
            path = self.directory.path / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, content, durable=False)
            except OSError as error:
                raise unusable(path, error) from error

    def log_error(self, row: ProfileRow, cell: Cell) -> None:
        """Append the traceback on a row to the log of errors; without one, nothing."""
        if row.traceback is None:
            return
        what = f"warm-up of {cell}" if cell.is_canary else str(cell)
        # The row has it too: a log that cannot be written must not cost the run.
        with suppress(OSError), self.directory.error_log.open("a", encoding="utf-8", errors="replace") as log:
            log.write(f"{row.completed_at} {what}\n{row.traceback}\n")

    def update(self, **changes: object) -> None:
        """Change the state of the run on disk; the plan stays as it is."""
        self.record = self.record.model_copy(update=changes)
        write_record(self.directory.record, self.record)

    def note(self, row: ProfileRow) -> None:
        """Count a row that is on disk."""
        self.done.add(row.cell)
        self.measured += row.was_measured
        self.verdict_counts[row.cell.arm, row.success] += 1
        self.spend.add(row.attempts)

    def _write(self, batch: Sequence[CellFiles]) -> None:
        for files in batch:
            cell = files.row.cell
            self.keep_files(files.others)
            for path, content in (
                (self.directory.session(cell), files.trace),
                (self.directory.analysis(cell), files.analysis),
                (self.directory.activity(cell), files.activity),
            ):
                if content is not None:
                    self._write_side_file(path, content)
        # Last: a row whose session is missing would have no file next to it.
        self.rows.append(files.row for files in batch)
        for files in batch:
            self.note(files.row)

    def _write_side_file(self, path: Path, content: bytes) -> None:
        try:
            # Neither atomic nor durable: it is not used before the row exists, which is written afterwards.
            write_file(path, content + b"\n")
        except OSError as error:
            raise unusable(path, error) from error


@contextmanager
def create_run(results: Path, record: RunRecord) -> Generator[RunStore]:
    """Make a run directory below `results`, write the plan, and hold the lock."""
    directory = RunDirectory(results / record.run_id)
    try:
        directory.path.mkdir(parents=True)
    except OSError as error:
        raise RunDirectoryError(
            f"{directory.path}: cannot be made ({error.strerror}); name another folder for results"
        ) from error
    with ExitStack() as stack:
        try:
            rows = stack.enter_context(_hold_directory(directory))
            write_record(directory.record, record)
        except RunDirectoryError as error:
            # Without its plan there is nothing to resume: what was made is taken away, and the advice is another one.
            shutil.rmtree(directory.path, ignore_errors=True)
            if isinstance(error.__cause__, OSError):
                raise unusable(directory.path, error.__cause__, then="start the run again") from error
            raise
        store = RunStore(directory=directory, record=record, rows=rows)
        try:
            yield store
        except InputError:
            # A user error that scopes may detect late: resuming would only detect it again.
            if not store.done:
                shutil.rmtree(directory.path, ignore_errors=True)
            raise


@contextmanager
def resume_run(
    path: Path, plan: RunRecord, cells: Container[Cell], *, accept_changes: bool = False
) -> Generator[RunStore]:
    """Take up a run where it stopped: hold its lock, check that the plan is the same, repair and read its rows.

    What it is made of (agents, scenarios, modes and their files) has to be what it was, unless changes are accepted.
    """
    directory = RunDirectory(path)
    read_record(directory.record)  # a folder that is not a run gets no lock file
    with _hold_directory(directory) as rows:
        record = read_record(directory.record)
        require_current_version(path, record)
        differences, changes = record.differences(plan), record.changes(plan)
        if differences or (changes and not accept_changes):
            remedy = "or start a new run" if differences else "start a new run, or accept the change: --accept-changes"
            raise RunMismatchError(
                f"{path}: this run was started with another plan (different: {', '.join((*differences, *changes))}); "
                f"resume it with the same settings, {remedy}"
            )
        # If only the environment has changed, such as the machine, it is recorded all the same.
        store = RunStore(directory=directory, record=record.accept(plan), rows=rows)
        # Read under the lock: a row that another process was writing would else be cut off as torn.
        for row in rows.recover():
            if row.cell not in cells:
                raise BadRowsError(f"{directory.rows}: the row of {row.cell} does not belong to this run; remove it")
            if row.cell in store.done:
                raise BadRowsError(f"{directory.rows}: cell {row.cell} has two rows; remove one of them")
            store.note(row)
        for each in record.interruptions:
            store.spend.add(each.attempts)
        store.update(status="running")
        yield store


def spend_of(record: RunRecord, rows: Iterable[ProfileRow]) -> RunSpend:
    """Return what a run has spent, its interrupted attempts included."""
    spend = RunSpend()
    for attempts in (*(row.attempts for row in rows), *(each.attempts for each in record.interruptions)):
        spend.add(attempts)
    return spend


def require_current_version(path: Path, record: RunRecord) -> None:
    """Raise if an older version has started a run: its cells cannot go on here."""
    if record.version < RECORD_VERSION:
        raise RunMismatchError(
            f"{path}: this run was started by an older ghx-bench ({record.versions.get('ghxBench', 'unknown')}), "
            "which orders cells otherwise; finish it with that one, or start a new run"
        )


@contextmanager
def _hold_directory(directory: RunDirectory) -> Generator[RowsFile]:
    with ExitStack() as stack:
        try:
            stack.enter_context(hold_lock(directory.lock))
        except LockHeldError as error:
            raise RunLockedError(
                f"{directory.path}: another process (pid {error.owner}) is working on this run; wait for it or stop it"
            ) from None
        except OSError as error:
            raise unusable(directory.lock, error) from error
        rows = RowsFile(directory.rows)
        stack.callback(rows.close)
        yield rows
