"""A report: everything known of a run, for people and for programs, in one folder."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from ghx_bench._base.clock import SystemClock, timestamp
from ghx_bench._base.problems import plural
from ghx_bench.profiler.reports.conclusions import differences, glance, verdicts
from ghx_bench.profiler.reports.conditions import conditions
from ghx_bench.profiler.reports.controls import alarms
from ghx_bench.profiler.reports.data import has_frames, require_frames, write_frame, write_rows, write_summary
from ghx_bench.profiler.reports.document import Document, Section, Table, Text
from ghx_bench.profiler.reports.errors import NothingToReportError, ReportDirectoryError
from ghx_bench.profiler.reports.folder import FORMATS, Format, ReportFolder
from ghx_bench.profiler.reports.grid import Grid
from ghx_bench.profiler.reports.markdown import chart_path, to_markdown
from ghx_bench.profiler.reports.material import Material, gather
from ghx_bench.profiler.reports.page import to_page
from ghx_bench.profiler.reports.proof import banner
from ghx_bench.profiler.reports.reading import parts_of
from ghx_bench.profiler.reports.rendering import chart_bundle, chart_svg
from ghx_bench.profiler.reports.sections import (
    distributions,
    failures,
    findings,
    metric_grids,
    reliability,
    scenarios,
    session_table,
    sessions,
    spending,
)
from ghx_bench.profiler.reports.sources import open_sources
from ghx_bench.profiler.reports.summary import summary_of
from ghx_bench.profiler.reports.tally import SessionChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult:
    """Where a report lies, what it says to programs, and what is to be told about its making."""

    directory: Path
    rows: int
    pages: int
    summary: Mapping[str, JsonValue]
    notes: tuple[str, ...]


def generate_report(
    runs: Sequence[Path] = (),
    *,
    results: Sequence[Path] = (),
    generated_at: str | None = None,
    output_dir: Path | None = None,
    sessions: SessionChoice = "failures",
    formats: Collection[Format] = FORMATS,
) -> ReportResult:
    """Write a report on run directories and files of rows; several runs with common modes are compared.

    Goes to `report/` in the first run unless `output_dir` names another folder. The same rows make the same bytes;
    `generated_at`, now unless given, is the one thing that comes from outside. Reads files alone, and fetches nothing.
    """
    generated_at = generated_at or timestamp(SystemClock().now())
    if "parquet" in formats:
        require_frames()
    sources = open_sources(runs, results)
    with ReportFolder(_directory(output_dir, runs), formats) as folder:
        material = gather(sources, choice=sessions if "html" in formats else "none", write_page=folder.write)
        grids = metric_grids(material)
        summary = summary_of(material, grids, generated_at=generated_at)
        if "html" in formats or "markdown" in formats:
            _write_documents(folder, _document(material, grids, generated_at), material, formats)
        _write_data(folder, material, summary, formats)
    remarks = (*material.notes, material.findings.gap if material.findings.commands else None)
    return ReportResult(
        directory=folder.path,
        rows=len(material.observations),
        pages=len(material.pages),
        summary=summary,
        notes=tuple(remark for remark in remarks if remark),
    )


def _write_data(
    folder: ReportFolder, material: Material, summary: Mapping[str, JsonValue], formats: Collection[Format]
) -> None:
    """Write the files for programs; the frame also where it was not asked for, if it can be written."""
    if "data" in formats:
        for name in ("results.csv", "results.json"):
            folder.claim(f"data/{name}")
        write_rows(folder.path / "data", material.columns)
        write_summary(folder.claim("data/summary.json"), summary)
    if has_frames() and ("data" in formats or "parquet" in formats):
        write_frame(folder.claim("data/rows.parquet"), material.columns)


def _directory(output_dir: Path | None, runs: Sequence[Path]) -> Path:
    if output_dir is None:
        if not runs:
            raise NothingToReportError("say where the report of a file of rows is to go, with --output-dir")
        return runs[0] / "report"
    if any((output_dir / name).exists() for name in ("run.json", "rows.jsonl")):
        raise ReportDirectoryError(
            f"{output_dir}: this is a run, whose files a report would mix with; choose another folder"
        )
    if output_dir.exists() and not output_dir.is_dir():
        raise ReportDirectoryError(f"{output_dir}: this is a file; choose a folder with --output-dir")
    return output_dir


def _document(material: Material, grids: Mapping[str, Grid], generated_at: str) -> Document:
    seen = material.observations
    labels = ", ".join(source.label for source in material.sources)
    size = (
        f"{plural(len(seen), 'row')}: {_modes(material)}, "
        f"{plural(len(seen.scenario.known), 'scenario')}, {plural(len(seen.model.known), 'model')} "
        f"({', '.join(seen.model.known)})"
    )
    return Document(
        title=f"Report on {labels}",
        subtitle=size,
        banner=banner(material),
        sections=(verdicts(material), *(_evidence(material, grids) if len(seen) else ()), conditions(material)),
        footer=f"Made by ghx-bench at {generated_at} from {plural(len(seen), 'row')}.",
        alarms=tuple(alarms(material.objections)),
    )


def _modes(material: Material) -> str:
    """Count the modes; those that several runs have in common, once."""
    if not material.is_before_and_after:
        return plural(len(material.modes), "mode")
    modes = {parts_of(mode)[0] for mode in material.modes}
    return f"{plural(len(modes), 'mode')} in {plural(len(material.sources), 'run')}"


def _evidence(material: Material, grids: Mapping[str, Grid]) -> tuple[Section, ...]:
    return (
        glance(material),
        differences(material),
        distributions(material, grids),
        reliability(material),
        spending(material, grids),
        scenarios(material, grids),
        failures(material),
        findings(material),
        sessions(material),
    )


def _write_documents(folder: ReportFolder, document: Document, material: Material, formats: Collection[Format]) -> None:
    if "html" in formats:
        folder.write("index.html", to_page(document, chart_bundle() if document.charts else ""))
        if material.pages:
            folder.write("sessions/index.html", to_page(_session_list(material), ""))
    if "markdown" in formats:
        for chart in document.charts:
            folder.write(chart_path(chart), chart_svg(chart))
        folder.write("report.md", to_markdown(document))
        folder.write("analysis.md", to_markdown(_analysis(material)))


def _session_list(material: Material) -> Document:
    table = session_table(material, below="sessions/")
    section = Section(id="sessions", title="Pages", blocks=(table,))
    size = plural(len(material.pages), "session")
    return Document(
        title="Sessions",
        subtitle=size,
        banner=None,
        sections=(section,),
        footer="Made by ghx-bench.",
        home="../index.html",
    )


def _analysis(material: Material) -> Document:
    """Return everything the analyzers found, mode by mode."""
    found = material.findings
    lines = tuple(found.everything(material.modes))
    table = Table(
        caption="Averages, or how often a word was found; n sessions each",
        headers=("finding", *material.modes),
        rows=lines,
        is_text=True,
    )
    everything = Section(id="everything", title="All findings", blocks=(table,) if lines else (Text(found.gap),))
    counted = ", ".join(f"{mode} {found.sessions[mode]}" for mode in material.modes)
    return Document(
        title="Analysis of sessions",
        subtitle=f"Analyzed sessions by mode: {counted or 'none'}",
        banner=banner(material),
        sections=(findings(material), everything),
        footer="They describe these sessions; no test was made.",
        alarms=tuple(alarms(material.objections)),
    )
