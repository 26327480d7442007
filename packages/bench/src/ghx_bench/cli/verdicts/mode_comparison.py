"""The tool-change report of `compare --mode`: two tool sets measured, compared, and told in four ways."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ghx_base.commandline import FAILED
from ghx_base.errors import FlagError, InputError
from ghx_base.extras import require_extra
from ghx_bench.cli.flags import ToolChangeFlags
from ghx_bench.cli.listing import in_columns
from ghx_bench.cli.measured_modes import run_with_modes
from ghx_bench.cli.running.measuring import NOT_ALL_MEASURED
from ghx_bench.cli.verdicts.baseline_comparison import BaselineComparison, compare_rows
from ghx_bench.cli.verdicts.judging import judging_of_stored_run
from ghx_bench.cli.verdicts.publication import require_place_for_file, say_gates, write_file, write_summary
from ghx_bench.project.gates import Condition, GateResult, GateTally, judge
from ghx_bench.toolsets.changes.gates import ON_EXPOSURE, judge_changes, split_gates
from ghx_bench.toolsets.changes.report import bound_document, change_document, write_comment
from ghx_bench.toolsets.changes.toolset_changes import ToolSetChanges, compare_tool_sets
from ghx_bench.toolsets.exposure.measurement import Exposure, expose_modes
from ghx_bench.toolsets.questions import built_in_table, with_own_questions
from ghx_bench.toolsets.sizes import open_ruler
from ghx_bench.toolsets.surface import Measuring, Surface, measure_modes
from ghx_profiler.reports.data.sources import Source, open_run
from ghx_profiler.reports.render.html import to_page
from ghx_profiler.reports.report_document import Conclusions, Document, Element, Note, Paragraph, Section, Table

if TYPE_CHECKING:  # numpy loads where runs are compared
    from ghx_bench.modes.resolver import Modes
    from ghx_profiler.reports.data.material import Material


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Two modes as agents used them, the second compared with the first."""

    comparison: BaselineComparison
    material: Material
    gates: tuple[GateResult, ...]
    cautions: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The verdict on success, in a sentence."""
        return f"Flows: {self.comparison.headline}"

    def sections(self) -> Iterator[Section]:
        """Yield the comparison, and how the tools were used."""
        from ghx_profiler.reports.sections import tool_use

        head, *rows = self.comparison.table
        table = Table(
            caption="Solved, paired within scenario",
            headers=tuple(head),
            rows=tuple((name or "all", *cells) for name, *cells in rows),
            is_text=True,
        )
        lines = map(Paragraph, (self.comparison.headline, *self.comparison.lines))
        yield Section(id="flows", title="Flows", elements=(*lines, table))
        yield tool_use.section(self.material)

    def not_measured(self) -> Iterator[str]:
        """Yield what these runs do not tell."""
        if not self.material.tally.tool_uses:
            yield "Purity and adoption: no row tells through which tools its requests came."
        if not self.material.findings.has_sessions:
            yield "What agents took to exist: there are no sessions beside the rows."

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        uses = self.material.tally.tool_uses
        return {
            **self.comparison.to_wire(),
            "toolUse": {str(arm): uses[arm].to_wire() for arm in self.material.arms if arm in uses},
            "desirePaths": self.material.findings.hallucinated_commands.to_wire(),
        }


def compare_flows(runs: Sequence[Path], modes: tuple[str, str], gates: Sequence[str], config: Path | None) -> Flows:
    """Compare the second mode of the last run with the first mode of the first; they may be one run."""
    require_extra("report", for_what="a comparison of runs")
    from ghx_profiler.reports.data.reading import read_sources
    from ghx_profiler.reports.sections import tool_use

    before, after = (_open_mode(run, mode) for run, mode in zip((runs[0], runs[-1]), modes, strict=True))
    judging = judging_of_stored_run(after, gates, against=runs[0], config=config)
    aside = {each.scenario for each in judging.quarantine}
    if (record := after.record) is None:
        raise InputError(f"{runs[-1]}: has no record; name a run directory")
    tally = GateTally.of(record, aside=aside)
    # Rows of both come by, and the names of two modes differ.
    read = read_sources(
        (before, after),
        without=aside,
        watchers=[lambda row: tally.add(row) if row.mode == after.mode else None],
    )
    for source, run in ((before, runs[0]), (after, runs[-1])):
        if not read.inventories[source.label].rows:
            raise InputError(f"{run}: has no row of mode {source.mode!r}; resume it, or name another run")
    metrics = [each.metric for each in map(Condition.of, judging.fail_on) if each.needs_baseline]
    if (compared := compare_rows(read, metrics=metrics)) is None:
        raise InputError(
            f"{runs[-1]}: mode {after.mode!r} cannot be compared with {before.mode!r} in {runs[0]}: no agent was "
            "measured in both, with the same model; name runs of the same agents"
        )
    comparison, material = compared
    return Flows(
        comparison=comparison,
        material=material,
        gates=judge(judging.fail_on, tally, comparison.verdict_on),
        cautions=(*_warn_of_controls((before, after)), *tool_use.warn_of_leaks(material)),
    )


def _open_mode(run: Path, mode: str) -> Source:
    source = open_run(run)
    known = source.record.matrix.modes if source.record is not None else ()
    if mode not in known:
        raise InputError(f"{run}: has no mode {mode!r}, only {', '.join(known)}; name a run that has it")
    return source.of_mode(mode)


def _warn_of_controls(sources: Sequence[Source]) -> Iterator[str]:
    records = [each.record for each in sources if each.record is not None]
    if all(record.control_agents.keys() >= {*record.matrix.agents} for record in records):
        names = ", ".join(dict.fromkeys(name for record in records for name in record.matrix.agents))
        yield f"The flows are of control agents ({names}): they prove scenarios, and say nothing about agents."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeComparison:
    """Two modes, compared."""

    changes: ToolSetChanges
    flows: Flows | None
    gates: tuple[GateResult, ...]

    @property
    def not_measured(self) -> tuple[str, ...]:
        """What nothing can be said of, in words."""
        before, after = self.changes.before, self.changes.after
        flows = (
            self.flows.not_measured()
            if self.flows is not None
            else (
                "Flows: no run was given, so that nothing is said of how agents do with either: whether they solve "
                "more, at what cost, whether they keep to these tools, and what they take to exist. `ghx-bench run "
                f"--mode {before} --mode {after}` measures that; then name the run here.",
            )
        )
        return (*self.changes.not_measured, *flows)

    @property
    def document(self) -> Document:
        """The report."""
        return change_document(
            self.changes,
            gates=self.gates,
            flows=() if self.flows is None else tuple(self.flows.sections()),
            verdict=None if self.flows is None else self.flows.verdict,
            cautions=() if self.flows is None else self.flows.cautions,
            not_measured=self.not_measured,
        )

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "version": 1,
            **self.changes.to_wire(),
            "differs": self.changes.differs,
            "flows": None if self.flows is None else self.flows.to_wire(),
            "gates": [each.to_wire() for each in self.gates],
            "notMeasured": [*self.not_measured],
        }


def compare_modes(
    modes: Sequence[str],
    runs: Sequence[Path],
    flags: ToolChangeFlags,
    *,
    fail_on: Sequence[str],
    markdown: Path | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Compare two modes, tell what differs, and return the exit code."""
    if len(modes) != 2 or modes[0] == modes[1]:  # noqa: PLR2004 - before and after
        raise FlagError("--mode", "name two different modes, that before and that after, as in --mode A --mode B")
    pair = modes[0], modes[1]
    of_tools, of_runs = split_gates(fail_on, has_runs=bool(runs))
    for flag, file in (("--markdown", markdown), ("--html", flags.html)):
        if file is not None:
            require_place_for_file(flag, file)
    measuring = Measuring(
        table=with_own_questions(built_in_table(), flags.questions or ()),
        ruler=open_ruler(),
        limit_tokens=flags.limit_tokens,
    )
    # What can be wrong with runs is said before anything is measured.
    flows = compare_flows(runs, pair, of_runs, config) if runs else None

    async def measure(modes: Modes, lineages: Mapping[str, Sequence[str]]) -> tuple[Surface, Exposure]:
        surface = await measure_modes(pair, modes, lineages, measuring, are_versions=True)
        return surface, await expose_modes(pair, modes, commands=flags.commands or ())

    changes = compare_tool_sets(*run_with_modes(pair, config, measure))
    gates = (*judge_changes(of_tools, changes), *(flows.gates if flows is not None else ()))
    compared = ModeComparison(changes=changes, flows=flows, gates=gates)
    document = compared.document
    bounded = bound_document(document)
    print(json.dumps(compared.to_wire(), indent=2) if as_json else "\n".join(as_text(bounded)))
    write_summary(write_comment(document), markdown)
    if flags.html is not None:
        write_file("--html", flags.html, to_page(bounded, ""))
    say_gates(gates)
    # A gate that nothing was compared with must not let a pipeline go on.
    unknown = changes.why_exposure_unknown if ON_EXPOSURE.intersection(of_tools) else None
    if unknown is not None:
        print(f"no gate on exposure can be held against {changes.after}, since {unknown}", file=sys.stderr)
    return FAILED if any(each.failed for each in gates) else 0 if unknown is None else NOT_ALL_MEASURED


def as_text(document: Document) -> Iterator[str]:
    """Yield the report for a terminal, line by line."""
    if document.headline is not None:
        yield from document.headline.sentences
    yield from document.cautions
    for section in document.sections:
        yield from ("", section.title)
        for element in section.elements:
            yield from _element_text(element)


def _element_text(element: Element) -> Iterator[str]:
    match element:
        case Paragraph(text) | Note(text):
            yield text
        case Table():
            cells = [[each if isinstance(each, str) else each.text for each in row] for row in element.rows]
            yield from (f"{element.caption}:", in_columns(element.headers, cells))
        case Conclusions(conclusions):
            yield from (f"{each.word}: {each.sentence}" for each in conclusions)
        case _:
            return
