"""A run beside an earlier one, for `compare` and `--against`: the verdict first, what differs, then arm by arm."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ghx_base.errors import FlagError, InputError
from ghx_base.problems import did_you_mean, one_line
from ghx_bench.project.gates import BaselineVerdict
from ghx_bench.scoring.github_metrics import EVAL_METRICS
from ghx_profiler.records.metric_table import ATTACK_SUCCESS
from ghx_profiler.reports.data.runs import changes_between
from ghx_profiler.reports.data.sources import Source, open_sources
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.store.record import RunRecord

if TYPE_CHECKING:  # numpy loads where runs are compared, and is only there where the extra `report` is installed
    from ghx_profiler.plan.cell import Matrix
    from ghx_profiler.reports.data.material import Material
    from ghx_profiler.reports.data.reading import ReadRows
    from ghx_profiler.stats.result_records import OverallComparison, RunComparison
    from ghx_profiler.stats.run_comparison import AttackCheck, AttackCounts
    from ghx_profiler.store.record import MatrixRecord
    from ghx_profiler.store.run_environment import Changes

_SUCCESS = "success"
"""As `stats.observations` has it, which loads numpy."""
_LEADING = (_SUCCESS, ATTACK_SUCCESS)
"""The metrics whose verdicts stand before everything else."""


def resolve_metric(name: str, record: RunRecord) -> str:
    """Return the id of a metric that a gate names by it, or as people call it; raise if there is none.

    Those of a run's own collectors are known by the run's record.
    """
    metrics = {each.name: each for each in EVAL_METRICS}
    if name in metrics or name in record.metric_units or EVAL_METRICS.find(name) is not None:
        return name
    plain = name.casefold()
    for each in metrics.values():
        if plain in {each.label.casefold(), each.heading.casefold()} - {""}:
            return each.name
    # "tokens" and "time" are those of the plan, which most people mean, whatever else is counted in tokens.
    for each in EVAL_METRICS.shown_in("plan"):
        if plain in re.split(r"\W+", each.label.casefold()):
            return each.name
    names = [*metrics, *(each.label for each in metrics.values() if each.label), *record.metric_units]
    raise FlagError("--fail-on", f"there is no metric {name!r}; {did_you_mean(name, names)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmLine:
    """One arm of both runs: how many of how many cells were solved, before and after."""

    arm: str
    before: tuple[int, int]
    after: tuple[int, int]
    verdict: str

    def columns(self) -> list[str]:
        """Return the line of a table."""
        return [self.arm, *(f"{solved} of {rows}" for solved, rows in (self.before, self.after)), self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineComparison:
    """What a run is beside its baseline."""

    before: Source
    after: Source
    compared: RunComparison
    asked: Mapping[str, OverallComparison]
    """What gates ask for, by the metric as it is written there; each as the only question."""
    changes: Changes
    known: Collection[str]
    """The metrics that some row of both runs knows."""
    arms: tuple[ArmLine, ...]
    apart: str
    """Which arms differ in success by themselves where the runs as a whole do not; empty where none does."""
    attacks: AttackCheck
    """Attacks in all arms under test, also those that only one of the runs has."""

    def verdict_on(self, metric: str) -> BaselineVerdict:
        """Return what the run is on a metric that a gate named."""
        comparison = self.asked[metric]
        verdict = BaselineVerdict(tier=comparison.tier_alone, words=one_line(comparison.words))
        if comparison.metric != ATTACK_SUCCESS:
            return verdict
        # Where the run as a whole is worse, its arms explain nothing new.
        worse_arms = self.attacks.worse_arms if comparison.tier_alone != "worse" else ()
        return replace(
            verdict,
            must_be_judged=self.attacks.counts.has_risen,
            other_failures=tuple(map(one_line, (*worse_arms, *_explain_unjudged_attacks(self.attacks.counts)))),
            note=_note_partial_attacks(self.attacks.counts),
        )

    @property
    def headline(self) -> str:
        """The verdict on success in a sentence, or that on attacks if they succeed more often."""
        return one_line(self.compared.verdicts[0].words)

    @property
    def lines(self) -> tuple[str, ...]:
        """The other verdict of success and attacks, arms that went apart, what differs, verdicts on other metrics."""
        verdicts = self.compared.verdicts[1:]
        leading = [one_line(each.words) for each in verdicts if each.metric in _LEADING]
        # Of a metric that neither run knows, such as the cost of an agent without a model, there is nothing to say.
        reported = [each for each in verdicts if each.metric in self.known and each.metric not in _LEADING]
        apart = [one_line(self.apart)] if self.apart else []
        changed = one_line(f"Changed: {self.changes}.")
        new_arms = _report_attacks_on_new_arms(self.attacks.unpaired_arms)
        return (*leading, *new_arms, *apart, changed, *(one_line(each.words) for each in reported))

    @property
    def table(self) -> list[list[str]]:
        """The arms, with a head."""
        head = ["arm", self.before.label, self.after.label, "verdict"]
        return [head, *(each.columns() for each in self.arms)]

    def print(self) -> None:
        """Print the verdict first, then what differs, then the arms."""
        from ghx_bench.cli.listing import in_columns

        print(self.headline)
        for line in self.lines:
            print(line)
        head, *rows = self.table
        print()
        print(in_columns(head, rows))

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "headline": self.headline,
            "before": _describe_source(self.before),
            "after": _describe_source(self.after),
            "changes": self.changes.to_wire(),
            "comparison": self.compared.to_wire(),
            "arms": [
                {
                    "arm": each.arm,
                    "before": {"solved": each.before[0], "rows": each.before[1]},
                    "after": {"solved": each.after[0], "rows": each.after[1]},
                    "verdict": each.verdict,
                }
                for each in self.arms
            ],
        }


def _explain_unjudged_attacks(counts: AttackCounts) -> Iterator[str]:
    """Yield why a gate on attacks fails for sessions that are not compared."""
    from ghx_profiler.stats.run_comparison import describe_uncompared

    if uncompared := describe_uncompared(counts):
        yield uncompared
    if counts.missing_cases:
        yield (
            f"The later run knows no attack outcome in {counts.missing_cases} of the {counts.known_cases} cases (a "
            f"scenario in an arm) in which the baseline knows one, such as {counts.first_missing}."
        )


def _report_attacks_on_new_arms(counts: AttackCounts) -> Iterator[str]:
    """Yield that attacks succeeded in arms that the baseline does not have."""
    if counts.uncompared_succeeded:
        yield (
            f"Attacks succeeded in {counts.uncompared_succeeded} of {counts.uncompared} sessions of arms that the "
            "baseline does not have."
        )


def _note_partial_attacks(counts: AttackCounts) -> str | None:
    """Return how many sessions a verdict on attacks rests on; `None` where it rests on all."""
    if counts.is_complete:
        return None
    (sessions_before, sessions_after), (before, after) = counts.sessions, counts.compared
    return (
        f"{after} of {sessions_after} sessions compared, {before} of {sessions_before} in the baseline; the other "
        "outcomes are not known in both runs."
    )


def _describe_source(source: Source) -> dict[str, JsonValue]:
    return {
        "label": source.label,
        "directory": str(source.directory.path),
        "runId": None if source.record is None else source.record.run_id,
    }


def compare_with_baseline(
    before: Path,
    after: Path,
    *,
    aside: Collection[str] = frozenset(),
    metrics: Iterable[str] = (),
    labels: Mapping[Path, str] | None = None,
) -> BaselineComparison:
    """Compare a run with an earlier one, without the scenarios `aside`; `wanted` are metrics that gates ask for."""
    from ghx_profiler.reports.data.reading import read_sources

    sources = open_sources([before, after], (), labels)
    read = read_sources(sources, with_findings=False, without=aside)
    if not read.arrangement.is_before_and_after:
        raise InputError(f"{after}: has no mode in common with {before}; name runs of the same modes")
    compared = compare_rows(read, metrics=metrics)
    if compared is None:
        raise InputError(f"{after}: cannot be compared with {before}: {_explain_no_pairs(sources, aside)}")
    return compared[0]


def compare_rows(read: ReadRows, *, metrics: Iterable[str] = ()) -> tuple[BaselineComparison, Material] | None:
    """Compare the second of two sources with the first, and return what that rests on; `None` if there are no pairs."""
    from ghx_profiler.reports.data.material import gather
    from ghx_profiler.reports.sections.headline import describe_diverging_arms
    from ghx_profiler.stats.run_comparison import check_attacks

    sources = read.arrangement.sources
    record = sources[0].record
    resolved = {name: name if record is None else resolve_metric(name, record) for name in metrics}
    material = gather(_narrow(read, resolved.values()), (), EVAL_METRICS)
    if not material.run_comparisons:
        return None
    comparison = BaselineComparison(
        before=sources[0],
        after=sources[1],
        compared=material.run_comparisons[0],
        asked={name: material.ask(metric)[0] for name, metric in resolved.items()},
        changes=changes_between(sources, read.inventories)[0],
        known=frozenset(material.observations.metrics),
        arms=tuple(_arm_lines(material)),
        apart=describe_diverging_arms(material, material.run_comparisons[0]),
        attacks=check_attacks(
            material.paired,
            material.plan,
            runs=(sources[0].label, sources[1].label),
            pairs=material.pairs,
            arms=material.arms_under_test,
            seed=material.seed,
        ),
    )
    return comparison, material


def _explain_no_pairs(sources: Sequence[Source], aside: Collection[str]) -> str:
    before, after = sources
    if after.record is not None and (
        reason := why_incomparable(before, after.record.matrix, controls=after.record.control_agents, aside=aside)
    ):
        return reason
    return "no agent was measured in the same mode, with the same model; name runs of the same agents"


def why_incomparable(
    before: Source, after: Matrix | MatrixRecord, *, controls: Collection[str], aside: Collection[str]
) -> str | None:
    """Return why a run cannot be held against an earlier one, and what to do; `None` if it can.

    `after` are its cells, measured or not, `controls` its control agents, and scenarios `aside` do not count. Agents
    and models are told apart where one of both runs has several, as in a report on both.
    """
    if (record := before.record) is None:
        return None
    if set(after.scenario_ids) <= set(aside):
        return "all its scenarios are in quarantine; run others as well"
    pooled, matrices = (before.plan() or AnalysisPlan()).pool, (record.matrix, after)
    proving = {*record.control_agents, *controls}
    if proving.issuperset((*record.matrix.agents, *after.agents)):
        proving = set[str]()  # controls are compared with their like
    tells_agents = any(
        len(each.agents) > 1 and ("agents" not in pooled or not proving.isdisjoint(each.agents)) for each in matrices
    )
    tells_models = "models" not in pooled and any(len(each.models) > 1 for each in matrices)
    has_rows = has_counted_rows = False
    for row in before.rows():
        has_rows = True
        if row.scenario_id in aside:
            continue
        has_counted_rows = True
        agents = {row.agent_name} if tells_agents else {*after.agents}
        if (
            row.mode in after.modes
            and (not tells_models or row.model in after.models)
            and row.agent_name not in proving
            and (agents & {*after.agents}) - proving
        ):
            return None
    if not has_rows:
        return "the earlier run has no rows; name one that measured something"
    if not has_counted_rows:
        return "all scenarios of the earlier run are in quarantine; name another run"
    return _name_difference(record.matrix, after, tells_agents=tells_agents, tells_models=tells_models)


def _name_difference(
    before: MatrixRecord, after: Matrix | MatrixRecord, *, tells_agents: bool, tells_models: bool
) -> str:
    """Return in what two runs without an arm in common differ."""
    factors = (
        ("mode", True, before.modes, after.modes),
        ("agent", tells_agents, before.agents, after.agents),
        ("model", tells_models, before.models, after.models),
    )
    for word, is_told, earlier, later in factors:
        if is_told and set(earlier).isdisjoint(later):
            there, here = (", ".join(names) for names in (earlier, later))
            return f"they have no {word} in common, there {there}, here {here}; name a run of the same {word}s"
    return (
        "no agent under test was measured there in the same mode, with the same model; "
        "name a run of the same agents (controls are compared with controls alone)"
    )


def _narrow(read: ReadRows, metrics: Iterable[str]) -> ReadRows:
    """Return the rows with the metrics of the plan, attacks and those asked for: others would be compared for nothing.

    Controls are compared where there are no other agents: a replay with its like, or a solution with an older one.
    """
    from ghx_profiler.reports.data.controls import ControlTally

    observations = read.columns.observations
    if set(observations.arm.known) <= set(read.tally.controls.arms):
        read.tally.controls = ControlTally()
    metric_names = {*read.arrangement.plan.plan.primary, ATTACK_SUCCESS, *metrics}
    columns = {name: values for name, values in observations.metrics.items() if name in metric_names}
    return replace(read, columns=replace(read.columns, observations=replace(observations, metrics=columns)))


def _arm_lines(material: Material) -> Iterator[ArmLine]:
    """Yield how often each arm succeeded in both runs, and what was found of it."""
    success = {(each.a, each.b): each for each in material.comparisons if each.metric == _SUCCESS}
    for later, earlier in material.pairs:
        comparison = success[str(later), str(earlier)]
        counts = (material.summaries[arm].success for arm in (earlier, later))
        before, after = ((each.k, each.n) for each in counts)
        # Arms are tested only where the runs differ as a whole; else theirs is an aside.
        verdict = comparison.verdict if comparison.family == "primary" else f"{comparison.verdict} (exploratory)"
        yield ArmLine(arm=str(replace(later, run=None)), before=before, after=after, verdict=verdict)
