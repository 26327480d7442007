"""Writing the sessions of a run in third-party formats; a file that no export wrote is never overwritten."""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue
from pydantic_core import to_json

from ghx_base.files.atomic_files import replacing, write_file
from ghx_base.problems import Problem
from ghx_base.texts.templates import fill_text
from ghx_profiler.interchange.atif import AgentInfo, to_atif
from ghx_profiler.interchange.errors import ExportDirectoryError, NothingToExportError
from ghx_profiler.interchange.otel import SCOPE, to_otlp
from ghx_profiler.interchange.trajectory import OURS
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports.data.sources import Source, open_run
from ghx_profiler.store.directory import RunDirectory

ExportFormat = Literal["atif", "otlp"]

SPANS = "spans.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What was written, and from how many rows; some may have no session, or one that cannot be read."""

    directory: Path
    files: int
    rows: int
    sessions: int
    problems: tuple[Problem, ...] = ()
    """The sessions that are there and cannot be read."""

    @property
    def without_session(self) -> int:
        """How many rows have no session."""
        return self.rows - self.sessions - len(self.problems)


def export_run(run: Path, format: ExportFormat, *, output_dir: Path | None = None) -> Exported:  # noqa: A002 - the flag's name
    """Write the sessions of a run, into `export/<format>` in its directory by default.

    As `atif` every session is a file of its own, named like its cell; as `otlp` every row is a line of one file.
    """
    source = open_run(run)
    directory = output_dir or source.directory.path / "export" / format
    _check_folder(directory, source)
    if next(iter(source.rows()), None) is None:
        raise NothingToExportError(f"{run}: it has no rows yet; run it first")
    with _writing(directory):
        _check_files(directory, source, format)
        done = _write_atif(source, directory) if format == "atif" else _write_otlp(source, directory)
    if not done.files and not done.problems:
        raise NothingToExportError(f"{run}: none of its rows has a session")
    return done


def _check_folder(directory: Path, source: Source) -> None:
    """Refuse the folders in which runs keep what an export is made from, or what is made from the same."""
    if RunDirectory(directory).record.exists():
        raise ExportDirectoryError(f"{directory}: this is a run; name another folder with --output-dir")
    for name in ("sessions", "analysis", "report"):
        if directory.resolve().is_relative_to((source.directory.path / name).resolve()):
            raise ExportDirectoryError(
                f"{directory}: here the run keeps its {name}; name another folder with --output-dir"
            )


def _check_files(directory: Path, source: Source, format: ExportFormat) -> None:  # noqa: A002 - the flag's name
    """Refuse to overwrite a file that no export wrote, before anything is written."""
    if format == "otlp":
        _check_file(directory / SPANS, _is_spans)
        return
    files = source.side_files()
    for row in source.rows():
        path = _atif_path(directory, row)
        if path.exists() and isinstance(files.trace(row), SessionTrace):
            _check_file(path, _is_trajectory)


def _check_file(path: Path, is_ours: Callable[[bytes], bool]) -> None:
    if path.is_file():
        with path.open("rb") as file:
            if is_ours(file.readline()):
                return
    elif not path.exists():
        return
    raise ExportDirectoryError(
        f"{path}: no export wrote this file, and this one would overwrite it; "
        "take it away, or name another folder with --output-dir"
    )


def _atif_path(directory: Path, row: ProfileRow) -> Path:
    return directory / row.cell.path.with_name(f"{row.cell.path.name}.json")


def _write_atif(source: Source, directory: Path) -> Exported:
    prompts = dict(_prompts(source))
    rows = written = 0
    problems: list[Problem] = []
    files = source.side_files()
    for row in source.rows():
        rows += 1
        match files.trace(row):
            case None:
                continue
            case Problem() as problem:
                problems.append(problem)
            case trace:
                agent = AgentInfo(name=row.agent_name, model=row.model)
                # Sessions of version 0.1.0 do not know their prompt, but their run knows what it was made from.
                template = prompts.get(row.scenario_id)
                prompt = None if template is None else fill_text(template, row.bindings.__getitem__)
                document = to_atif(trace, row, agent=agent, prompt=prompt)
                write_file(_atif_path(directory, row), _bytes(document))
                written += 1
    return Exported(directory=directory, files=written, rows=rows, sessions=written, problems=tuple(problems))


def _write_otlp(source: Source, directory: Path) -> Exported:
    version = "unknown" if source.record is None else source.record.versions.get("ghxBench", "unknown")
    rows = sessions = 0
    problems: list[Problem] = []
    files = source.side_files()
    directory.mkdir(parents=True, exist_ok=True)
    with replacing(directory / SPANS) as temporary, temporary.open("wb") as file:
        for row in source.rows():
            trace = files.trace(row)
            if isinstance(trace, Problem):
                problems.append(trace)
                trace = None
            file.write(_bytes(to_otlp(row, trace, version=version)))
            rows += 1
            sessions += trace is not None
    return Exported(directory=directory, files=1, rows=rows, sessions=sessions, problems=tuple(problems))


def _prompts(source: Source) -> Iterator[tuple[str, str]]:
    """Yield the task prompt of each scenario, if the run recorded it."""
    for scenario in () if source.record is None else source.record.scenarios:
        name, prompt = scenario.get("id"), scenario.get("prompt")
        if isinstance(name, str) and isinstance(prompt, str):
            yield name, prompt


def _bytes(document: JsonValue) -> bytes:
    return to_json(document, inf_nan_mode="null") + b"\n"


@contextmanager
def _writing(directory: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ExportDirectoryError(
            f"{directory}: {error.strerror or error}; choose another folder with --output-dir"
        ) from error


def _is_trajectory(line: bytes) -> bool:
    """Return whether a file that begins with this line is a trajectory of ours; ours have one line."""
    return _leads_to(line, "schema_version") and _leads_to(line, "extra", OURS, "version")


def _is_spans(line: bytes) -> bool:
    """Return whether a file that begins with this line has spans of ours."""
    return _leads_to(line, "resourceSpans", 0, "scopeSpans", 0, "scope", "name", ends_in=SCOPE)


def _leads_to(line: bytes, *path: str | int, ends_in: str | None = None) -> bool:
    """Return whether there is something at a path, or just this."""
    try:
        found: Any = json.loads(line)
        for part in path:
            found = found[part]
    except (ValueError, LookupError, TypeError, RecursionError):
        return False
    return found is not None if ends_in is None else found == ends_in
