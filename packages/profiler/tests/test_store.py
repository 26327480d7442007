"""Rows on disk: torn lines, crashes between writes, locks, damaged files, full disks."""

import json
import os
import resource
import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from profiler_fakes import FakeProvider, FakeSession, answers_three, config, profile, scenario

from ghx_base.files.atomic_files import write_file
from ghx_base.files.locks import hold_lock
from ghx_profiler.errors import BadRowsError, RunDirectoryError, RunLockedError, RunMismatchError
from ghx_profiler.events import CellFinished, Event, RunFinished, RunStarted
from ghx_profiler.evidence import Answer
from ghx_profiler.plan.blocks import CellFiles
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.analysis import AnalysisResult, StringFinding
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.store import run_store as run_module
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import RowsFile, read_rows
from ghx_profiler.store.run_store import RunStore, create_run
from ghx_profiler.suite import SuiteResult
from ghx_profiler.testing import sample_cell


class Tells:
    """An analyzer, so that cells leave all three kinds of files."""

    name = "tells"

    def analyze(self, _evidence: object) -> AnalysisResult:
        return AnalysisResult(analyzer="tells", findings={"word": StringFinding(value="ü")})


SUBJECT = profile(scenarios=(scenario("a-001"), scenario("b-001")), modes=("plain", "fancy"), analyzers=(Tells(),))
CELLS = {(s, m) for s in ("a-001", "b-001") for m in ("plain", "fancy")}


def run(results: Path, *, resume: Path | None = None, **sections: Any) -> SuiteResult:
    settings = config(results, modes=["plain", "fancy"], **sections)
    return anyio.run(lambda: SUBJECT.run(settings, resume=resume))


def cells_in(directory: Path) -> list[tuple[str, str]]:
    return [(row.scenario_id, row.mode) for row in read_rows(directory / "rows.jsonl")]


@pytest.mark.slow
def test_every_byte_prefix_of_a_rows_file_resumes_to_each_cell_exactly_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _handle: None)  # thousands of them, and no power failure to survive
    whole = run(tmp_path).directory / "rows.jsonl"
    content = whole.read_bytes()
    ends = [index + 1 for index, byte in enumerate(content) if byte == ord("\n")]
    # Every prefix is read and mended; the run itself is resumed from a few of each kind, which takes longer.
    resumed_from = {0, 1, *ends, *(end - 1 for end in ends), *(end + 1 for end in ends[:-1]), len(content) // 2}
    for length in range(len(content) + 1):
        whole.unlink()  # some disks flush a file that is overwritten, which takes its time
        whole.write_bytes(content[:length])
        rows = RowsFile(whole)
        kept = list(rows.recover())
        rows.close()
        # A row whose bytes are all there counts, with or without the newline behind it.
        assert len(kept) == sum(length >= end - 1 for end in ends)
        assert whole.read_bytes() == content[: ends[len(kept) - 1] if kept else 0]
        if length in resumed_from:
            whole.write_bytes(content[:length])
            run(tmp_path, resume=whole.parent)
            assert sorted(cells_in(whole.parent)) == sorted(CELLS)


class Crash(BaseException):
    """The process is gone: nothing after this happens."""


def crash_points() -> list[str]:
    cell_writes = [f"{kind} {when}" for kind in ("sessions", "analysis") for when in ("before", "half", "after")]
    return [*cell_writes, "row before", "row half", "row after"]


@dataclass
class Disk:
    """What would survive a power failure: how much of each file was flushed, and which names its folder had then."""

    flush: Callable[[int], None]
    sizes: dict[int, int] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=dict)

    def fsync(self, handle: int) -> None:
        about = os.fstat(handle)
        if stat.S_ISDIR(about.st_mode):
            self.names[about.st_ino] = {entry.name: entry.inode() for entry in os.scandir(handle)}
        else:
            self.sizes[about.st_ino] = about.st_size
        self.flush(handle)

    def holds(self, path: Path) -> bool:
        """Return whether the file as it is now, under the name it has now, would be there."""
        name_is_safe = self.names.get(path.parent.stat().st_ino, {}).get(path.name) == path.stat().st_ino
        return name_is_safe and self.sizes.get(path.stat().st_ino) == path.stat().st_size


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    watched = Disk(os.fsync)
    monkeypatch.setattr(os, "fsync", watched.fsync)
    return watched


def test_rows_and_the_record_are_on_disk_before_anybody_is_told_of_them(tmp_path: Path, disk: Disk) -> None:
    events: list[tuple[type[Event], bool]] = []

    def observe(event: Event) -> None:
        [directory] = tmp_path.iterdir()
        match event:
            case RunStarted() | RunFinished():
                events.append((type(event), disk.holds(directory / "run.json")))
            case CellFinished():
                events.append((type(event), disk.holds(directory / "rows.jsonl")))
            case _:
                pass

    settings = config(tmp_path, modes=["plain", "fancy"])
    anyio.run(lambda: SUBJECT.run(settings, observers=[observe]))

    kinds = [RunStarted, *[CellFinished] * 4, RunFinished]
    assert events == [(kind, True) for kind in kinds]


def test_an_interruption_waits_for_the_row_of_a_cell_that_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second cell is done while the row of the first is being written, and waits for the next write."""
    writing, may_end = threading.Event(), threading.Event()
    flush = os.fsync

    def slow_fsync(handle: int) -> None:
        if cells_are_done and os.path.samestat(os.fstat(handle), next(tmp_path.glob("*/rows.jsonl")).stat()):
            writing.set()
            may_end.wait()
        flush(handle)

    cells_are_done: list[int] = []
    second_is_done: anyio.Event

    async def second_waits_for_the_write(session: FakeSession, text: str) -> Answer:
        if session.number == 2:
            await anyio.to_thread.run_sync(writing.wait)
            second_is_done.set()
        cells_are_done.append(session.number)
        return await answers_three(session, text)

    async def interrupted() -> None:
        nonlocal second_is_done
        second_is_done = anyio.Event()
        subject = profile(FakeProvider(second_waits_for_the_write), scenarios=(scenario("a-001"), scenario("b-001")))
        settings = config(tmp_path, execution={"max_concurrency": 2})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: subject.run(settings))
            await second_is_done.wait()
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
            may_end.set()

    monkeypatch.setattr(os, "fsync", slow_fsync)
    anyio.run(interrupted)

    [directory] = tmp_path.iterdir()
    assert sorted(cells_in(directory)) == [("a-001", "plain"), ("b-001", "plain")]
    assert json.loads((directory / "run.json").read_text())["status"] == "interrupted"


def test_whoever_comes_between_two_writes_takes_nobodys_turn(tmp_path: Path) -> None:
    """The first writer is back with another row before the one who waited for its write has woken up."""
    first, second, third, _ = read_rows(run(tmp_path / "old").directory / "rows.jsonl")
    record = read_record(next((tmp_path / "old").iterdir()) / "run.json")

    async def add(store: RunStore, *rows: ProfileRow) -> None:
        for row in rows:
            await store.add(CellFiles(row=row))

    async def written() -> None:
        with create_run(tmp_path / "new", record) as store:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(add, store, first, second)
                tasks.start_soon(add, store, third)

    anyio.run(written)

    assert len(cells_in(next((tmp_path / "new").iterdir()))) == 3


@pytest.mark.slow
@pytest.mark.parametrize("cell_number", [1, 3])
@pytest.mark.parametrize("point", crash_points())
def test_a_crash_between_any_two_writes_resumes_to_each_cell_exactly_once(
    point: str, cell_number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _crash_at(point, cell_number, patch)
        with pytest.raises(BaseException) as caught:  # noqa: PT011 - a crash inside a task group comes as a group
            run(tmp_path)
        assert _is_crash(caught.value)
    [directory] = tmp_path.iterdir()

    result = run(tmp_path, resume=directory)

    assert sorted(cells_in(directory)) == sorted(CELLS)
    assert result.measured == 4
    for kind in ("sessions", "analysis"):
        written = [path for path in (directory / kind).rglob("*.json") if not path.name.startswith(".")]
        assert len(written) == 4
        assert all(json.loads(path.read_text()) for path in written)


def _is_crash(error: BaseException) -> bool:
    return isinstance(error, Crash) or (isinstance(error, BaseExceptionGroup) and error.subgroup(Crash) is not None)


def _crash_at(point: str, cell_number: int, patch: pytest.MonkeyPatch) -> None:
    """Make the process vanish before, in the middle of, or after one write of one cell."""
    kind, when = point.split()
    seen = 0

    def reached(this: str) -> bool:
        nonlocal seen
        seen += this == kind
        return this == kind and seen == cell_number

    def write(path: Path, content: bytes) -> None:
        if not reached(path.parents[4].name):
            return write_file(path, content)
        if when == "half":
            write_file(path, content[: len(content) // 2])
        if when == "after":
            write_file(path, content)
        raise Crash

    def write_row(self: RowsFile, content: bytes) -> None:
        if not reached("row"):
            return plain_write(self, content)
        if when == "half":
            plain_write(self, content[: len(content) // 2])
        if when == "after":
            plain_write(self, content)
        raise Crash

    plain_write: Callable[[RowsFile, bytes], None] = RowsFile._write
    patch.setattr(run_module, "write_file", write)
    patch.setattr(RowsFile, "_write", write_row)


@pytest.mark.parametrize("damage", ['{"runId": 3}', '{"runId": "a", "sc', "\0\0\0"])
def test_a_damaged_line_in_the_middle_is_named_and_nothing_is_touched(damage: str, tmp_path: Path) -> None:
    rows = run(tmp_path).directory / "rows.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    damaged = lines[0] + damage + "\n" + "".join(lines[1:])
    rows.write_text(damaged)

    with pytest.raises(BadRowsError, match=r"rows\.jsonl:2: this is not a row"):
        run(tmp_path, resume=rows.parent)
    assert rows.read_text() == damaged


def test_two_rows_of_one_cell_are_refused(tmp_path: Path) -> None:
    rows = run(tmp_path).directory / "rows.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join([*lines, lines[0]]))

    with pytest.raises(BadRowsError, match="has two rows"):
        run(tmp_path, resume=rows.parent)


def test_a_second_process_on_the_same_run_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    directory = run(tmp_path).directory
    with hold_lock(directory / "run.lock"), pytest.raises(RunLockedError, match=f"pid {os.getpid()}"):
        run(tmp_path, resume=directory)


def test_resuming_a_finished_run_runs_nothing(tmp_path: Path) -> None:
    directory = run(tmp_path).directory
    before = (directory / "rows.jsonl").read_bytes()

    result = run(tmp_path, resume=directory)

    assert result.measured == result.total == 4
    assert (directory / "rows.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"execution": {"repetitions": 2}}, "matrix"), ({"analysis": {"alpha": 0.01}}, "analysis")],
    ids=["repetitions", "alpha"],
)
def test_a_run_resumed_with_another_plan_is_refused(changed: dict[str, Any], named: str, tmp_path: Path) -> None:
    directory = run(tmp_path).directory

    with pytest.raises(RunMismatchError, match=f"different: {named}"):
        run(tmp_path, resume=directory, **changed)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda path: None, "holds no run.json"),
        (lambda path: (path / "run.json").write_text("{"), "not a run record.*; put back the file that the run wrote"),
        (lambda path: (path / "run.json").mkdir(), "run.json"),
    ],
    ids=["missing", "broken", "a folder"],
)
def test_resuming_what_is_no_run_says_so(prepare: Callable[[Path], object], words: str, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    prepare(tmp_path / "x")

    with pytest.raises(RunDirectoryError, match=words):
        run(tmp_path, resume=tmp_path / "x")


def test_a_full_disk_stops_the_run_keeps_every_row_and_can_be_resumed(tmp_path: Path) -> None:
    rows = run(tmp_path).directory / "rows.jsonl"
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(lines[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may grow past this: the next row does not fit any more, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(lines[0]) + 100, hard))
    try:
        with pytest.raises(RunDirectoryError, match="free some space"):
            run(tmp_path, resume=rows.parent)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert rows.read_bytes() == lines[0]

    run(tmp_path, resume=rows.parent)
    assert sorted(cells_in(rows.parent)) == sorted(CELLS)


def test_a_disk_that_is_full_at_the_start_leaves_no_run_and_advises_to_start_again(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(RunDirectoryError, match=r"free some space.*then start the run again") as caught:
            run(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert "resume" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_results_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RunDirectoryError, match="Not a directory"):
        run(tmp_path / "file")


def test_files_of_a_cell_never_leave_the_run_directory() -> None:
    from ghx_profiler.store.directory import RunDirectory

    for name in ("../../etc", "..", ".", "a/b", "openai/gpt-5", "%2e%2e", "~", "\x00", ""):
        path = RunDirectory(Path("/r")).session(Cell(agent=name, model=name, mode=name, scenario_id=name, iteration=0))
        assert path.parts[:3] == ("/", "r", "sessions")
        assert len(path.parts) == 8
        assert ".." not in path.parts


def test_names_that_look_alike_have_different_files() -> None:
    from ghx_profiler.store.directory import RunDirectory

    names = ["a/b", "a%2Fb", "a_b", "..", "%2E.", ".", "%2E", "", "%"]
    for factor in ("agent", "model", "scenario_id"):
        cells = [sample_cell(**{factor: name}) for name in names]
        paths = {RunDirectory(Path("r")).session(cell) for cell in cells}
        assert len(paths) == len(names)


def test_a_large_rows_file_is_read_one_row_at_a_time(tmp_path: Path) -> None:
    line = (run(tmp_path).directory / "rows.jsonl").read_bytes().splitlines(keepends=True)[0]
    large = tmp_path / "large.jsonl"
    large.write_bytes(line * 3)
    with large.open("ab") as file:
        file.seek(1 << 40)  # a hole of a terabyte: reading it whole would end here
        file.write(b"\n")

    rows = read_rows(str(large))

    assert [next(rows).scenario_id for _ in range(3)] == [next(read_rows(large)).scenario_id] * 3


def test_a_row_of_another_run_is_refused(tmp_path: Path) -> None:
    rows = run(tmp_path).directory / "rows.jsonl"
    rows.write_text(rows.read_text().replace('"mode":"fancy"', '"mode":"other"', 1))

    with pytest.raises(BadRowsError, match="does not belong to this run"):
        run(tmp_path, resume=rows.parent)


def test_a_whole_last_line_that_is_no_row_is_not_taken_for_a_torn_one(tmp_path: Path) -> None:
    rows = run(tmp_path).directory / "rows.jsonl"
    damaged = rows.read_text() + '{"runId": "x"}'
    rows.write_text(damaged)

    with pytest.raises(BadRowsError, match="this is not a row"):
        run(tmp_path, resume=rows.parent)
    assert rows.read_text() == damaged


def test_a_lock_that_cannot_be_taken_is_one_line(tmp_path: Path) -> None:
    directory = run(tmp_path).directory
    (directory / "run.lock").unlink()
    (directory / "run.lock").mkdir()

    with pytest.raises(RunDirectoryError, match=r"run\.lock: Is a directory"):
        run(tmp_path, resume=directory)


def test_a_changed_setting_is_named_with_both_values(tmp_path: Path) -> None:
    directory = run(tmp_path).directory

    with pytest.raises(RunMismatchError, match="repetitions 1, now 3"):
        run(tmp_path, resume=directory, execution={"repetitions": 3})


def _replace_by_copy(rows: Path) -> None:
    copy = rows.with_suffix(".new")
    copy.write_bytes(rows.read_bytes())
    copy.replace(rows)  # as `sed -i` does


def _shorten(rows: Path) -> None:
    rows.write_bytes(rows.read_bytes().splitlines(keepends=True)[0])


@pytest.mark.parametrize("at_session", [3, 4], ids=["before a row", "after the last row"])
@pytest.mark.parametrize("meddle", [_replace_by_copy, Path.unlink, _shorten], ids=["replaced", "removed", "shortened"])
def test_rows_that_another_program_replaced_stop_the_run_and_none_is_lost(
    meddle: Callable[[Path], None], at_session: int, tmp_path: Path
) -> None:
    def observe(event: Event) -> None:
        nonlocal finished
        if isinstance(event, CellFinished):
            finished += 1
            if finished == at_session:
                meddle(next(tmp_path.glob("*/rows.jsonl")))

    finished = 0
    settings = config(tmp_path, modes=["plain", "fancy"])
    with pytest.raises(RunDirectoryError, match=r"another program has .* rows\.jsonl\.kept"):
        anyio.run(lambda: SUBJECT.run(settings, observers=[observe]))

    [directory] = tmp_path.iterdir()
    assert json.loads((directory / "run.json").read_text())["status"] == "failed"
    if meddle is not _shorten:  # what was cut off in the same file is gone
        (directory / "rows.jsonl.kept").replace(directory / "rows.jsonl")
    assert run(tmp_path, resume=directory).measured == 4
    assert sorted(cells_in(directory)) == sorted(CELLS)


def test_a_row_nested_deeper_than_any_reader_goes_is_named_in_one_line(tmp_path: Path) -> None:
    rows = run(tmp_path).directory / "rows.jsonl"
    rows.write_text('{"runId":' + "[" * 100_000 + "]" * 100_000 + "}\n" + rows.read_text())

    with pytest.raises(BadRowsError, match=r"rows\.jsonl:1: this is not a row"):
        list(read_rows(rows))
