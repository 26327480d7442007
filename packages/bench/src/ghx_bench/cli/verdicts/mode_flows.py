"""What runs show of two modes, for `compare --mode`: the paired comparison, purity, and what agents made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ghx_base.errors import InputError
from ghx_base.extras import require_extra
from ghx_bench.cli.verdicts.baseline_comparison import BaselineComparison, compare_rows
from ghx_bench.cli.verdicts.judging import judging_of_stored_run
from ghx_bench.project.gates import Condition, GateResult, GateTally, judge
from ghx_profiler.reports.data.sources import Source, open_run
from ghx_profiler.reports.report_document import Paragraph, Section, Table

if TYPE_CHECKING:  # numpy loads where runs are compared
    from ghx_profiler.reports.data.material import Material


@dataclass(frozen=True, slots=True, kw_only=True)
class Flows:
    """Two modes as agents used them, the second held against the first."""

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
    wanted = [each.metric for each in map(Condition.of, judging.fail_on) if each.needs_baseline]
    if (compared := compare_rows(read, wanted=wanted)) is None:
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
