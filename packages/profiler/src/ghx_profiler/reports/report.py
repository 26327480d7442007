"""A report: everything known of a run, for people and for programs, in one folder."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from ghx_base.clock import SystemClock, timestamp
from ghx_base.extras import is_installed, require_extra
from ghx_base.problems import plural
from ghx_profiler.plan.cell import NO_MODEL
from ghx_profiler.records.metric_table import METRICS, UNKNOWN, MetricTable
from ghx_profiler.reports.data.controls import alarms
from ghx_profiler.reports.data.inventory import moment_of
from ghx_profiler.reports.data.material import Material, gather
from ghx_profiler.reports.data.reading import ReadRows, read_sources
from ghx_profiler.reports.data.sources import open_sources
from ghx_profiler.reports.data.tally import SessionChoice
from ghx_profiler.reports.errors import NothingToReportError, ReportDirectoryError
from ghx_profiler.reports.folder import FORMATS, Format, ReportFolder
from ghx_profiler.reports.render.charts import chart_bundle, chart_svg
from ghx_profiler.reports.render.data_files import (
    summary_of,
    write_frame,
    write_rows,
    write_summary,
)
from ghx_profiler.reports.render.html import to_page
from ghx_profiler.reports.render.markdown import chart_path, to_markdown
from ghx_profiler.reports.render.session_files import write_session_pages
from ghx_profiler.reports.render.session_list import LISTING, session_list_page
from ghx_profiler.reports.report_document import Document, Headline, Paragraph, Section, Table
from ghx_profiler.reports.sections import (
    conditions,
    cost,
    differences,
    distributions,
    failures,
    glance,
    reliability,
    safety,
    scenarios,
    sessions,
    tool_use,
    verdicts,
)
from ghx_profiler.reports.sections.headline import headline_of
from ghx_profiler.reports.wording import TIMES
from ghx_profiler.scenario import scenario_of, variant_of

_BuildSection = Callable[[Material], Section]
FIRST_SCREEN: tuple[_BuildSection, ...] = (glance.section, scenarios.matrix)
"""What stands below the headline, open."""
DETAILS: tuple[_BuildSection, ...] = (
    verdicts.section,
    safety.section,
    differences.section,
    glance.numbers,
    distributions.section,
    reliability.section,
    cost.section,
    scenarios.variants,
    scenarios.section,
    failures.section,
    tool_use.section,
    sessions.findings,
    sessions.section,
    conditions.section,
)
"""What a reader unfolds, in the order of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult:
    """The folder of a report, its data for programs, and remarks on its generation."""

    directory: Path
    rows: int
    pages: int
    headline: Headline
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
    metrics: MetricTable = METRICS,
    read: ReadRows | None = None,
) -> ReportResult:
    """Write a report on run directories and files of rows; several runs with common modes are compared.

    Goes to `report/` in the first run unless `output_dir` names another folder. The same rows make the same bytes;
    `generated_at`, now unless given, is the one thing that comes from outside. Reads files alone, and fetches nothing.

    `metrics` names and explains the metrics of the rows. `read` are the rows of these runs and files where a command
    has read them already, with `read_sources`: then they, and the sessions chosen then, are not read again.
    """
    generated_at = generated_at or timestamp(SystemClock().now())
    if "parquet" in formats:
        require_extra("frames", for_what="--format parquet")
    sources = open_sources(runs, results) if read is None else read.arrangement.sources
    directory = _directory(output_dir, runs)
    # Read before the folder is touched: rows that cannot be read leave an earlier report as it is.
    if read is None:
        read = read_sources(sources, choice=sessions if "html" in formats else "none")
    with ReportFolder(directory, formats) as folder:
        material = gather(read, write_session_pages(read, folder.write), metrics)
        headline = headline_of(material)
        summary = summary_of(material, generated_at=generated_at)
        summary |= {"headline": _headline_to_wire(headline), "matrix": scenarios.matrix_to_wire(material)}
        if "html" in formats or "markdown" in formats:
            _write_documents(folder, _document(material, headline, generated_at), material, formats)
        _write_data(folder, material, summary, formats)
    remarks = (*material.notes, material.findings.gap if material.findings.commands else None)
    return ReportResult(
        directory=folder.path,
        rows=len(material.observations),
        pages=len(material.pages),
        headline=headline,
        summary=summary,
        notes=tuple(remark for remark in remarks if remark),
    )


def _write_data(
    folder: ReportFolder, material: Material, summary: Mapping[str, JsonValue], formats: Collection[Format]
) -> None:
    """Write the files for programs; the frame also by default, if it can be written."""
    if "data" in formats:
        for name in ("results.csv", "results.json"):
            folder.claim(f"data/{name}")
        write_rows(folder.path / "data", material.columns)
        write_summary(folder.claim("data/summary.json"), summary)
    if is_installed("frames") and ("data" in formats or "parquet" in formats):
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


def _document(material: Material, headline: Headline, generated_at: str) -> Document:
    has_rows = len(material.observations) > 0
    # The speed of a script is meaningless and would mislead: a control run opens without charts.
    first = FIRST_SCREEN if material.arms_under_test else (scenarios.matrix,)
    details = (section(material) for section in (DETAILS if has_rows else (conditions.section,)))
    return Document(
        title=f"Report on {', '.join(source.label for source in material.sources)}",
        subtitle=_describe_run(material),
        headline=headline,
        banner=verdicts.banner(material),
        sections=(
            *(section(material) for section in (first if has_rows else ())),
            *(replace(section, is_folded=True) for section in details if section.elements),
        ),
        footer=f"Made by ghx-bench at {generated_at} from {plural(len(material.observations), 'row')}.",
        alarms=tuple(alarms(material.violations)),
        cautions=(*tool_use.warn_of_leaks(material), *verdicts.cautions(material)),
    )


def _write_documents(folder: ReportFolder, document: Document, material: Material, formats: Collection[Format]) -> None:
    if "html" in formats:
        folder.write("index.html", to_page(document, chart_bundle() if document.charts else ""))
        if material.pages:
            observations = material.observations
            listing = session_list_page(
                material.pages,
                arm_word=material.arm_word,
                metrics=material.metrics,
                sessions=Counter(zip(observations.scenario.each(), map(str, observations.arm.each()), strict=True)),
            )
            folder.write(LISTING, listing)
    if "markdown" in formats:
        for chart in document.charts:
            folder.write(chart_path(chart), chart_svg(chart))
        folder.write("report.md", to_markdown(document))
        folder.write("analysis.md", to_markdown(_analysis(material, document.headline)))


def _analysis(material: Material, headline: Headline | None) -> Document:
    """Return everything the analyzers found, mode by mode."""
    tallies = material.findings
    lines = tuple(tallies.everything(material.arms))
    table = Table(
        caption="Averages, or how often a word was found; n sessions each",
        headers=("finding", *material.arm_names),
        rows=lines,
        is_text=True,
    )
    everything = Section(
        id="everything", title="All findings", elements=(table,) if lines else (Paragraph(tallies.gap),)
    )
    counted = ", ".join(f"{arm} {tallies.sessions[arm]}" for arm in material.arms)
    return Document(
        title="Analysis of sessions",
        subtitle=f"Analyzed sessions by mode: {counted or 'none'}",
        headline=headline,
        banner=verdicts.banner(material),
        sections=(sessions.findings(material), everything),
        footer="They describe these sessions; no test was made.",
        alarms=tuple(alarms(material.violations)),
    )


def _headline_to_wire(headline: Headline) -> dict[str, JsonValue]:
    """Return a headline as JSON."""
    return {
        "sentences": list(headline.sentences),
        "scope": list(headline.scope),
        "chips": [{"text": each.text, "tone": each.tone} for each in headline.chips],
    }


def _describe_run(material: Material) -> str:
    """Return what a report is about, in a line: agents, models, how many sessions of what, when, and of which kind."""
    inventories = [material.inventories[source.label] for source in material.sources]
    agents, models, modes, scenarios = (
        list(dict.fromkeys(getattr(case, name) for each in inventories for case in each.cases))
        for name in ("agent", "model", "mode", "scenario")
    )
    tasks = plural(len(set(map(scenario_of, scenarios))), "task")
    varied = f" in {plural(len(scenarios), 'variant')}" if any(map(variant_of, scenarios)) else ""
    size = [f"{tasks}{varied}", plural(len(modes), "mode")]
    size += [plural(len(agents), "agent")] * (len(agents) > 1) + [plural(len(models), "model")] * (len(models) > 1)
    repetitions = max((each.repetitions for each in inventories), default=0)
    size += [plural(repetitions, "repetition")] + [plural(len(inventories), "run")] * (len(inventories) > 1)
    model_names = [model for model in models if model != NO_MODEL]
    who = ", ".join("agent unknown" if agent == UNKNOWN else agent for agent in agents)
    kind = "" if material.arms_under_test or not material.arms else "control run"
    if imported := {each.record.imported.format for each in material.sources if each.record and each.record.imported}:
        kind = f"imported {', '.join(sorted(imported))} rows"
    sessions = f"{f' {TIMES} '.join(size)}, {plural(len(material.observations), 'session')}"
    return " \N{MIDDLE DOT} ".join(filter(None, (who, ", ".join(model_names), sessions, _date_of(material), kind)))


def _date_of(material: Material) -> str:
    """Return the day of the first run, or the days of the first and the last."""
    moments = [
        moment_of(source.record.created_at) if source.record else material.inventories[source.label].began
        for source in material.sources
    ]
    days = [f"{moment.day} {moment:%B %Y}" for moment in moments if moment is not None]
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
