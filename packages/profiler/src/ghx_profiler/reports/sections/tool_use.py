"""Use of the mode's tools: whether sessions kept to them, and what they took to exist and does not."""

from collections.abc import Iterator

from ghx_base.problems import plural
from ghx_profiler.plan.cell import Arm, Cell
from ghx_profiler.records.metric_table import UNKNOWN
from ghx_profiler.reports.data.material import Material
from ghx_profiler.reports.report_document import Element, Link, Note, Paragraph, Section, Table, TableCell
from ghx_profiler.reports.wording import join_names, percent

_MOST_NAMED = 3
_MOST_LINES = 100


def section(material: Material) -> Section:
    """Show purity and adoption of every arm, and what was made up in it."""
    return Section(
        id="tool-use", title="Use of the mode's tools", elements=(*_requests_by_tool(material), *_made_up(material))
    )


def warn_of_leaks(material: Material) -> Iterator[str]:
    """Yield the modes that leaked: their figures are not about their tools alone."""
    for arm in material.arms:
        count = material.tally.tool_uses.get(arm)
        if count is None or not count.foreign:
            continue
        requests = count.own.total() + count.foreign.total()
        past = join_names([f"{tool} ({times:,})" for tool, times in count.foreign.most_common(_MOST_NAMED)])
        cells = ", ".join(f"{cell.scenario_id} #{cell.iteration}" for cell in count.impure_cells[:_MOST_NAMED])
        more = f" and {count.impure_sessions - _MOST_NAMED:,} more" if count.impure_sessions > _MOST_NAMED else ""
        yield (
            f"{arm} is not pure: in {count.impure_sessions:,} of {plural(count.sessions, 'session')}, "
            f"{count.foreign.total():,} of {plural(requests, 'request')} went past the tools of the mode, through "
            f"{past}. What is said of {arm} is not about its tools alone: {cells}{more}."
        )


def _requests_by_tool(material: Material) -> Iterator[Element]:
    """Yield how many requests of each arm came through its tools, and the sessions with others."""
    uses = {arm: material.tally.tool_uses[arm] for arm in material.arms if arm in material.tally.tool_uses}
    if not uses:
        return
    yield Table(
        caption="Requests by whether they came through the tools of the mode; those of git are neutral",
        headers=(
            material.arm_word,
            "purity",
            "through its tools",
            "past them",
            "neutral",
            "adoption",
            "past them by",
        ),
        rows=tuple(
            (
                str(arm),
                UNKNOWN if use.purity is None else percent(use.purity),
                f"{use.own.total():,}",
                f"{use.foreign.total():,}",
                f"{use.neutral.total():,}",
                f"{use.adopted:,} of {plural(use.requesting, 'session')}",
                ", ".join(f"{tool} {times:,}" for tool, times in use.foreign.most_common()),
            )
            for arm, use in uses.items()
        ),
        is_text=True,
    )
    if impure := [(arm, cell) for arm, use in uses.items() for cell in use.impure_cells]:
        yield Table(
            caption="Sessions that went past the tools of their mode",
            headers=(material.arm_word, "session"),
            rows=tuple((str(arm), _lead_to(material, arm, cell)) for arm, cell in impure),
            is_text=True,
            is_list=True,
        )


def _made_up(material: Material) -> Iterator[Element]:
    """Yield hallucinated commands by frequency."""
    made_up = material.findings.hallucinated_commands.ordered()
    if not made_up:
        return
    yield Paragraph(
        "What agents took to exist and does not: commands, flags, fields, tools and arguments that a program or a "
        "server refused as unknown. Each says what an agent expects of a tool."
    )
    yield Table(
        caption="Made up, what was asked for most often first",
        headers=(material.arm_word, "kind", "made up", "at", "suggested", "calls", "sessions", "for example"),
        rows=tuple(
            (
                str(arm),
                thing.kind,
                thing.name,
                thing.at,
                thing.suggested,
                f"{count.calls:,}",
                f"{count.sessions:,}",
                _lead_to(material, arm, count.cells[0]),
            )
            for arm, thing, count in made_up[:_MOST_LINES]
        ),
        is_text=True,
        is_list=True,
    )
    if len(made_up) > _MOST_LINES:
        yield Note(f"{len(made_up) - _MOST_LINES:,} more are in summary.json.")


def _lead_to(material: Material, arm: Arm, cell: Cell) -> TableCell:
    """Return what a session is called; it leads to its page where it has one."""
    name = f"{cell.scenario_id} #{cell.iteration}"
    for page in material.pages:
        if (page.arm, page.scenario_id, page.model, page.iteration) == (
            arm,
            cell.scenario_id,
            cell.model,
            cell.iteration,
        ):
            return Link(name, page.path)
    return name
