"""What a report says where rows are of control agents: what they prove, and what they object to."""

from collections.abc import Iterator

from ghx_bench._base.problems import plural
from ghx_bench.profiler.reports.document import Block, Note, Table, Text
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.stats.records import ModeSummary

_MOST_LINES = 500


def banner(material: Material) -> str | None:
    """Say of a report with rows of control agents that it is one, and which modes are meant where not all are."""
    controls = material.control_modes
    if not controls:
        return None
    proofs = " ".join((*material.tally.controls.proofs(), "They say nothing about agents."))
    if len(controls) == len(material.modes):
        return f"Control run: these rows are of a control agent. {proofs}"
    agents, names = material.tally.agents, material.tally.controls.names
    named = "; ".join(f"{mode} ({', '.join(sorted(agents[mode] & names))})" for mode in controls)
    return f"Control rows: not all modes were worked by agents under test. Of a control agent: {named}. {proofs}"


def proof(material: Material) -> Iterator[Block]:
    """Say how many cells of each mode passed, and list every objection; nothing is compared."""
    if material.objections:
        yield _objections(material)
    yield from map(Text, (_passed(summary) for summary in material.summaries.values()))
    yield Note("Modes are not held against each other where some are of a control agent.")


def _passed(summary: ModeSummary) -> str:
    success = summary.success
    cells = plural(success.n, "cell")
    return f"{summary.mode}: {success.k} of {cells} passed, in {plural(summary.scenarios, 'scenario')}."


def _objections(material: Material) -> Table:
    found = material.objections
    left = f"; the first {_MOST_LINES}" if len(found) > _MOST_LINES else ""
    return Table(
        caption=f"What control agents object to: {plural(len(found), 'case')}{left}",
        headers=("scenario", "mode", "agent", "rows", "passed", "not measured"),
        rows=tuple(
            (each.scenario, each.mode, each.agent, str(each.rows), str(each.passed), str(each.unmeasured))
            for each in found[:_MOST_LINES]
        ),
        is_text=True,
    )
