"""The later sections of a report: distributions, reliability, scenarios, failures, findings, sessions, conditions."""

from collections.abc import Iterator, Mapping

from ghx_bench._base.problems import plural
from ghx_bench.profiler.reports.charts import (
    distribution,
    failures_by_cause,
    pass_curves,
    scenarios_shown,
    spend_against_success,
)
from ghx_bench.profiler.reports.document import Block, Figure, Link, Note, Section, Table, Text
from ghx_bench.profiler.reports.glance import GLANCE_METRICS
from ghx_bench.profiler.reports.grid import Grid, spread_grid
from ghx_bench.profiler.reports.material import Material
from ghx_bench.profiler.reports.tally import CheckpointCount
from ghx_bench.profiler.reports.wording import UNKNOWN, amount, estimate, metric_name, percent
from ghx_bench.profiler.stats.observations import headline_set
from ghx_bench.profiler.stats.records import Estimate
from ghx_bench.profiler.stats.success import wilson_interval
from ghx_bench.profiler.stats.summary import success_counts

SUCCESS = "success"
_COST, _TOKENS = "cost_total_usd", "tokens_active"
MOST_LINKS = 500


def distributions(material: Material, grids: Mapping[str, Grid]) -> Section:
    """Show how amounts are spread, by mode and scenario."""
    blocks: list[Block] = [
        Text("Bars hold the middle half of the measured rows, lines the middle 90 %, ticks are medians.")
    ]
    for metric in material.plan.primary:
        chart = distribution(metric, grids[metric], material.modes) if metric != SUCCESS else None
        if chart is not None:
            blocks.append(Figure(chart))
        elif metric != SUCCESS:
            blocks.append(Text(f"{metric_name(metric)}: {UNKNOWN} in every row."))
    left = len(material.observations.scenario.known) - len(scenarios_shown(_widest(grids), material.modes)) + 1
    if left > 0:
        blocks.append(Note(f"{plural(left, 'more scenario')} had no room; Scenarios lists every one."))
    return Section(id="distributions", title="Distributions", blocks=tuple(blocks))


def _widest(grids: Mapping[str, Grid]) -> Grid:
    return max(grids.values(), key=len)


def reliability(material: Material) -> Section:
    """Show pass^k and pass@k."""
    chart = pass_curves(material.summaries)
    if chart is None:
        text = Text("There are no repetitions to tell reliability from.")
        return Section(id="reliability", title="Reliability", blocks=(text,))
    lines = tuple(
        (f"{mode}, k = {point.k}", _share(point.pass_hat_k), _share(point.pass_at_k), str(point.pass_hat_k.n))
        for mode, summary in material.summaries.items()
        for point in summary.pass_curve
    )
    points = [point for summary in material.summaries.values() for point in summary.pass_curve]
    confidence = points[0].pass_hat_k.confidence
    methods = sorted({each.method for point in points for each in (point.pass_hat_k, point.pass_at_k)}, key=len)
    table = Table(
        caption=f"pass^k and pass@k with {100 * confidence:.3g} % intervals ({'; or: '.join(methods)})",
        headers=("mode and k", "all k succeed (pass^k)", "any of k succeeds (pass@k)", "rows"),
        rows=lines,
        is_folded=True,
    )
    convention = Note(
        "pass^k is estimated without bias from the repetitions of each scenario and averaged over scenarios, for every "
        "k that all scenarios have repetitions for. The bands are intervals of pass^k."
    )
    return Section(id="reliability", title="Reliability", blocks=(Figure(chart), convention, table))


def _share(value: Estimate) -> str:
    interval = "" if value.low is None else f" ({percent(value.low)} to {percent(value.high)})"
    return f"{percent(value.estimate)}{interval}"


def spending(material: Material, grids: Mapping[str, Grid]) -> Section:
    """Show what is spent against what is won."""
    metric, why = _COST, ""
    if not _is_telling(grids.get(_COST, {})):
        known = bool(grids.get(_COST))
        metric, why = _TOKENS, f"Cost is {'0' if known else UNKNOWN} in every row; active tokens stand in for it."
    chart = spend_against_success(metric, grids.get(metric, {}), grids[SUCCESS], material.modes)
    blocks: list[Block] = [Text(why)] if why else []
    blocks.append(Figure(chart) if chart else Text(f"{metric_name(metric)}: {UNKNOWN} in every row."))
    blocks.append(
        Table(
            caption="Cost per success: all spend, retries and failures included, over all successes",
            headers=("mode", "cost per success", "method"),
            rows=tuple(
                (mode, estimate("_usd", summary.cost_per_success), summary.cost_per_success.method)
                for mode, summary in material.summaries.items()
            ),
            is_text=True,
        )
    )
    return Section(id="spending", title="Cost against success", blocks=tuple(blocks))


def _is_telling(grid: Grid) -> bool:
    return any(spread.high > 0 for spread in grid.values())


def scenarios(material: Material, grids: Mapping[str, Grid]) -> Section:
    """Show every scenario: success, medians and every checkpoint, by mode."""
    blocks: list[Block] = []
    counts = {mode: success_counts(material.observations, mode, "intention-to-treat") for mode in material.modes}
    for scenario in material.observations.scenario.known:
        cells = {mode: counts[mode].get(scenario) for mode in material.modes}
        blocks.append(_scenario_table(scenario, cells, grids, alpha=material.plan.alpha))
        checkpoints = _checkpoint_table(material, scenario)
        if checkpoints is not None:
            blocks.append(checkpoints)
    return Section(id="scenarios", title="Scenarios", blocks=tuple(blocks) or (Text("There are none."),))


def _scenario_table(
    scenario: str, cells: Mapping[str, tuple[int, int] | None], grids: Mapping[str, Grid], *, alpha: float
) -> Table:
    lines: list[tuple[str, ...]] = []
    for mode, cell in cells.items():
        if cell is None:
            lines.append((mode, "no rows: not a pass", *[UNKNOWN] * len(GLANCE_METRICS)))
            continue
        wilson = wilson_interval(*cell, confidence=1 - alpha)
        success = f"{cell[0]}/{cell[1]} ({percent(wilson.low)} to {percent(wilson.high)})"
        lines.append((mode, success, *(_median(metric, grids, scenario, mode) for metric in GLANCE_METRICS)))
    won = sum(cell[0] for cell in cells.values() if cell)
    tried = sum(cell[1] for cell in cells.values() if cell)
    return Table(
        caption=f"{scenario}: {won}/{tried} over all modes",
        headers=("mode", "success", *(f"{metric_name(metric)} p50" for metric in GLANCE_METRICS)),
        rows=tuple(lines),
        is_folded=True,
    )


def _median(metric: str, grids: Mapping[str, Grid], scenario: str, mode: str) -> str:
    spread = grids.get(metric, {}).get((scenario, mode))
    return UNKNOWN if spread is None else f"{amount(metric, spread.p50)} (n {spread.n})"


def _checkpoint_table(material: Material, scenario: str) -> Table | None:
    by_mode = {mode: material.tally.checkpoints.get((scenario, mode), {}) for mode in material.modes}
    described = {id_: count.description for counts in by_mode.values() for id_, count in counts.items()}
    if not described:
        return None
    return Table(
        caption=f"{scenario}: checkpoints passed",
        headers=("checkpoint", *material.modes, "what it checks"),
        rows=tuple(
            (id_, *(_passed(by_mode[mode], id_) for mode in material.modes), description)
            for id_, description in described.items()
        ),
        is_text=True,
        is_folded=True,
    )


def _passed(counts: Mapping[str, CheckpointCount], checkpoint: str) -> str:
    count = counts.get(checkpoint)
    return "not checked" if count is None else f"{count.passed}/{count.total}"


def failures(material: Material) -> Section:
    """Show what was no success, by cause."""
    tally = material.tally
    chart = failures_by_cause(tally.failures, material.modes)
    if chart is None:
        return Section(id="failures", title="Failures", blocks=(Text("Every row is a success."),))
    table = Table(
        caption="Rows without success; the message is that of the first such row",
        headers=("mode", "why", "rows", "first message"),
        rows=tuple(
            (mode, why, str(count), tally.messages[mode, why][:200])
            for (mode, why), count in sorted(
                tally.failures.items(), key=lambda item: (item[0][0], -item[1], item[0][1])
            )
        ),
        is_text=True,
    )
    return Section(id="failures", title="Failures", blocks=(Figure(chart), table))


def findings(material: Material) -> Section:
    """Show where the analyzers found modes to differ."""
    found = material.findings
    lines = tuple(found.differing(material.modes))
    analyzed = plural(found.sessions.total(), "analyzed session")
    if not found.sessions:
        text = f"No findings. {found.gap}"
    elif not lines:
        text = f"In {analyzed} the modes differ in no finding by a tenth or more."
    else:
        text = (
            f"From {analyzed}: averages, or how often a word was found, where "
            "modes differ by a tenth or more. They describe these sessions; no test was made."
        )
    blocks: list[Block] = [Text(text)]
    blocks += (Note(text) for text in (found.gap, found.origin) if found.sessions and text)
    if lines:
        blocks.append(
            Table(caption="Findings, the largest difference first", headers=("finding", *material.modes), rows=lines)
        )
    return Section(id="findings", title="Findings where modes differ", blocks=tuple(blocks))


def session_table(material: Material, *, most: int | None = None, below: str = "") -> Table:
    """List the pages of sessions, failures first; paths are from the folder `below`."""
    ordered = sorted(material.pages, key=lambda each: each.outcome == SUCCESS)
    return Table(
        caption="Sessions with a page",
        headers=("session", "mode", "model", "repetition", "outcome"),
        rows=tuple(
            (
                Link(each.scenario_id, each.path.removeprefix(below)),
                each.mode,
                each.model,
                str(each.iteration),
                each.outcome,
            )
            for each in ordered[:most]
        ),
        is_text=True,
    )


def sessions(material: Material) -> Section:
    """Link to the pages of single sessions."""
    return Section(id="sessions", title="Sessions", blocks=tuple(_sessions(material)))


def _sessions(material: Material) -> Iterator[Block]:
    if not material.pages:
        yield Text("No pages of single sessions were written.")
        return
    yield session_table(material, most=MOST_LINKS)
    if len(material.pages) > MOST_LINKS:
        yield Table(
            caption="The rest",
            headers=("list", "pages"),
            rows=((Link("all pages", "sessions/index.html"), f"{len(material.pages):,}"),),
        )
    if silent := sum(not each.has_session for each in material.pages):
        rows = plural(len(material.pages), "row")
        shown = "" if material.tally.choice == "all" else " with a page"
        have = "has" if silent == 1 else "have"
        yield Note(f"{silent:,} of {rows}{shown} {have} no session: the page tells what the row does.")
    if material.tally.choice == "failures":
        missing = material.tally.failures_without_page
        have = "has" if missing == 1 else "have"
        more = f" {plural(missing, 'more failure')} of the same modes and scenarios {have} none." if missing else ""
        yield Note(
            f"Failures and one success of each mode and scenario have a page.{more} --sessions all writes one for "
            "every row."
        )


def metric_grids(material: Material) -> dict[str, Grid]:
    """Describe every metric that tables and charts show."""
    metrics = dict.fromkeys((SUCCESS, _TOKENS, *material.plan.primary, *GLANCE_METRICS))
    return {metric: spread_grid(material.observations, metric, analysis_set=headline_set(metric)) for metric in metrics}
