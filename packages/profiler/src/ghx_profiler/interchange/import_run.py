"""Sessions measured elsewhere, as a run directory for reports that is marked as imported."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ghx_base.clock import timestamp
from ghx_base.files.atomic_files import write_file
from ghx_profiler.errors import BadMatrixError
from ghx_profiler.interchange.errors import BadImportError
from ghx_profiler.plan.cell import Matrix, check_mode_names, check_names
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.records.metrics import Cost, Timing, TokenUsage, ToolCallSummary
from ghx_profiler.records.row import ROW_VERSION, Attempt, ProfileRow
from ghx_profiler.records.score import CheckpointDetail
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent, TraceSummary
from ghx_profiler.store.directory import RunDirectory, unusable
from ghx_profiler.store.record import AgentRecord, ImportRecord, MatrixRecord, RunRecord, write_record

_DIGITS = 6
_LAST_MOMENT = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """One session of a third-party file; fields missing in the file are `None`."""

    line: int
    mode: str
    scenario_id: str
    repetition: int
    """Which of the sessions of its scenario and mode, from 0."""
    success: bool
    model: str | None = None
    ended_at: datetime | None = None
    wall_ms: float | None = None
    tokens: TokenUsage = field(default_factory=TokenUsage)
    cost_usd: float | None = None
    turns: int | None = None
    tool_calls: ToolCallSummary = field(default_factory=ToolCallSummary)
    grade: str | None = None
    """Why the grader found it right or wrong."""
    answer: str | None = None
    """The last message of the agent."""

    @property
    def began_at(self) -> datetime | None:
        """When it began."""
        if self.ended_at is None or self.wall_ms is None:
            return None
        return self.ended_at - timedelta(milliseconds=self.wall_ms)


Importer = Callable[[Path], Iterator[ImportedSession]]
"""Reads a third-party file; raises `BadImportError` with file and line for unreadable content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """A run directory made from a third-party file."""

    directory: Path
    record: RunRecord
    sessions: int


def import_run(
    file: Path,
    format: str,  # noqa: A002 - as `export_run` has it
    read: Importer,
    *,
    results: Path,
    agent: str | None = None,
    now: datetime,
) -> ImportedRun:
    """Make a run directory below `results` from the sessions in a file.

    The same file makes a run of the same id, so that it is imported once. The folder appears when all of it is written.
    """
    sessions = _read_all(file, read)
    record = _record_of(sessions, file, format, agent=agent or UNKNOWN, now=now)
    place = results / record.run_id
    if place.exists():
        raise BadImportError(f"{file}: was imported before, as {place}; name another folder with --output-dir")
    growing = RunDirectory(results / f".{record.run_id}.{os.getpid()}")
    try:
        _write(growing, record, sessions)
        growing.path.rename(place)
    except OSError as error:
        raise unusable(place, error, then="import the file again") from error
    finally:
        shutil.rmtree(growing.path, ignore_errors=True)
    return ImportedRun(directory=place, record=record, sessions=len(sessions))


def _read_all(file: Path, read: Importer) -> Sequence[ImportedSession]:
    """Return the sessions of a file; refuse two of one cell, and names that no run could have."""
    seen: dict[tuple[str | None, str, str, int], int] = {}
    sessions: list[ImportedSession] = []
    try:
        for each in read(file):
            key = each.model, each.mode, each.scenario_id, each.repetition
            if (first := seen.setdefault(key, each.line)) != each.line:
                raise BadImportError(
                    f"{file}:{each.line}: is of the same task, condition and repetition as line {first}; remove one"
                )
            try:
                check_mode_names((each.mode,))
                check_names("scenario", (each.scenario_id,))
                check_names("model", (each.model or UNKNOWN,))
            except BadMatrixError as error:
                raise BadImportError(f"{file}:{each.line}: {error}") from None
            sessions.append(each)
    except OSError as error:
        raise BadImportError(f"{file}: cannot be read: {error.strerror or error}; name a file of rows") from None
    if not sessions:
        raise BadImportError(f"{file}: holds no row; name a file with one row a line")
    return sessions


def _record_of(
    sessions: Sequence[ImportedSession],
    file: Path,
    format: str,  # noqa: A002 - as `export_run` has it
    *,
    agent: str,
    now: datetime,
) -> RunRecord:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    scenario_ids = tuple(dict.fromkeys(each.scenario_id for each in sessions))
    try:
        matrix = Matrix(
            agents=(agent,),
            models=tuple(dict.fromkeys(each.model or UNKNOWN for each in sessions)),
            modes=tuple(dict.fromkeys(each.mode for each in sessions)),
            scenario_ids=scenario_ids,
            repetitions=1 + max(each.repetition for each in sessions),
        )
    except BadMatrixError as error:
        raise BadImportError(f"{file}: {error}") from None
    began = min((each.began_at for each in sessions if each.began_at is not None), default=now)
    return RunRecord(
        run_id=f"{format}_{began:%Y%m%dT%H%M%S}_{digest[:_DIGITS]}",
        # When it was measured: runs are put in order by this.
        created_at=timestamp(began),
        status="complete",
        provider=agent,
        agents=(AgentRecord(name=agent),),
        matrix=MatrixRecord.of(matrix),
        analysis={},
        config={},
        scenarios=tuple({"id": each, "name": each.replace("_", " ")} for each in scenario_ids),
        versions={},
        host={},
        imported=ImportRecord(format=format, file=file.name, sha256=digest, at=timestamp(now)),
    )


def _write(directory: RunDirectory, record: RunRecord, sessions: Sequence[ImportedSession]) -> None:
    """Write sessions, rows and the record."""
    by_start = sorted(sessions, key=lambda each: each.began_at or _LAST_MOMENT)
    starts = {each.line: number for number, each in enumerate(by_start) if each.began_at is not None}
    rows: list[bytes] = []
    for each in sessions:
        row = _row_of(each, record, starts.get(each.line))
        if each.answer is not None:
            write_file(directory.session(row.cell), _trace_of(each, row).to_bytes() + b"\n")
        rows.append(row.with_all_keys().to_bytes() + b"\n")
    write_file(directory.rows, b"".join(rows), durable=True)
    write_record(directory.record, record)


def _row_of(session: ImportedSession, record: RunRecord, start_order: int | None) -> ProfileRow:
    began_at = "" if session.began_at is None else timestamp(session.began_at)
    session_id = "" if session.answer is None else f"{record.run_id}-{session.line}"
    grade = CheckpointDetail(
        id="grade", description="what the grader of the benchmark found", passed=session.success, actual=session.grade
    )
    return ProfileRow(
        run_id=record.run_id,
        scenario_id=session.scenario_id,
        mode=session.mode,
        model=session.model or UNKNOWN,
        iteration=session.repetition,
        started_at=began_at,
        completed_at="" if session.ended_at is None else timestamp(session.ended_at),
        tokens=session.tokens,
        timing=Timing(wall_ms=session.wall_ms),
        tool_calls=session.tool_calls,
        cost=Cost(total_usd=session.cost_usd, source=None if session.cost_usd is None else "reported"),
        success=session.success,
        checkpoints_passed=int(session.success),
        checkpoints_total=1,
        checkpoint_details=(grade,),
        output_valid=None,
        provider=record.provider,
        session_id=session_id,
        agent_turns=session.turns,
        completion_reason="stop",
        extensions={"imported": {"line": session.line}},
        agent=record.provider,
        attempts=(
            Attempt(
                number=1,
                started_at=began_at,
                wall_ms=session.wall_ms,
                session_id=session_id,
                tokens=session.tokens,
                cost_usd=session.cost_usd,
            ),
        ),
        start_order=start_order,
        version=ROW_VERSION,
    )


def _trace_of(session: ImportedSession, row: ProfileRow) -> SessionTrace:
    """Return the known parts of a session: its last message and its totals."""
    return SessionTrace(
        session_id=row.session_id,
        events=(TextOutputEvent(content=session.answer or ""),),
        summary=TraceSummary(
            total_turns=session.turns,
            total_tool_calls=session.tool_calls.total,
            total_tokens=session.tokens,
            total_duration=session.wall_ms,
            total_cost_usd=session.cost_usd,
        ),
    )
