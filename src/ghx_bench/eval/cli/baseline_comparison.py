"""A run beside an earlier one, for `compare` and `--against`: the verdict first, what differs, then arm by arm."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ghx_bench._base.errors import FlagError
from ghx_bench._base.problems import did_you_mean, one_line
from ghx_bench.eval.scoring.github_metrics import EVAL_METRICS
from ghx_bench.profiler.reports.data.sources import Source
from ghx_bench.profiler.store.record import RunRecord

if TYPE_CHECKING:  # numpy loads where runs are compared, and is only there where the extra `report` is installed
    from ghx_bench.profiler.stats.result_records import OverallComparison, RunComparison, Tier

SUCCESS = "success"


def resolve_metric(name: str, record: RunRecord) -> str:
    """Return the id of a metric that a gate names by it, or as people call it; raise if there is none.

    Those of a run's own collectors are known by the run's record.
    """
    known = {each.name: each for each in EVAL_METRICS}
    if name in known or name in record.metric_units or EVAL_METRICS.find(name) is not None:
        return name
    plain = name.casefold()
    for each in known.values():
        if plain in {each.label.casefold(), each.heading.casefold()} - {""}:
            return each.name
    # "tokens" and "time" are those of the plan, which most people mean, whatever else is counted in tokens.
    for each in EVAL_METRICS.shown_in("plan"):
        if plain in re.split(r"\W+", each.label.casefold()):
            return each.name
    names = [*known, *(each.label for each in known.values() if each.label), *record.metric_units]
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
    changed: tuple[str, ...]
    arms: tuple[ArmLine, ...]

    def tier_of(self, metric: str) -> tuple[Tier, str]:
        """Return what the run is on a metric that a gate named, and in which words."""
        found = self.asked[metric]
        return found.tier_alone, one_line(found.words)

    @property
    def headline(self) -> str:
        """The verdict on success, in a sentence."""
        return one_line(self.compared.metrics[0].words)

    @property
    def lines(self) -> tuple[str, ...]:
        """What differs between the runs, and the verdicts on other metrics."""
        changed = f"Changed: {'; '.join(self.changed)}." if self.changed else "Changed: nothing that was recorded."
        others = (f"{_label(each.metric)}: {one_line(each.words)}" for each in self.compared.metrics[1:])
        return (one_line(changed), *others)

    @property
    def table(self) -> list[list[str]]:
        """The arms, with a head."""
        head = ["arm", self.before.label, self.after.label, "verdict"]
        return [head, *(each.columns() for each in self.arms)]

    def print(self) -> None:
        """Print the verdict first, then what differs, then the arms."""
        from ghx_bench.eval.cli.listing import in_columns

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
            "changed": [*self.changed],
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


def _label(metric: str) -> str:
    label = EVAL_METRICS.label(metric)
    return label[:1].upper() + label[1:]


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
    wanted: Iterable[str] = (),
    labels: Mapping[Path, str] | None = None,
) -> BaselineComparison:
    """Compare a run with an earlier one, without the scenarios `aside`; `wanted` are metrics that gates ask for."""
    from ghx_bench.profiler.reports.data.reading import read_sources
    from ghx_bench.profiler.stats.run_comparison import compare_overall, compare_runs

    sources = open_sources([before, after], ())
    read = read_sources(sources, with_findings=False, without=aside)
    earlier, later = sources
    plan, seed = _plan_of(sources)
    asked = {name: resolve_metric(name, _record_of(earlier)) for name in wanted}
    observations = _narrow(read.columns.observations, {*plan.primary, *asked.values()})
    pairs, runs = _pairs_of(read, earlier, later), (earlier.label, later.label)
    compared = compare_runs(observations, plan, runs=runs, pairs=pairs, seed=seed)
    alone = {
        metric: compare_overall(observations, metric, plan, runs=runs, pairs=pairs, seed=seed)[0]
        for metric in dict.fromkeys(asked.values())
    }
    return BaselineComparison(
        before=earlier,
        after=later,
        compared=compared.runs[0],
        asked={name: alone[metric] for name, metric in asked.items()},
        changed=tuple(str(each) for each in differing_conditions(sources, read.inventories)),
        arms=tuple(_arm_lines(observations, pairs, compared.arms)),
    )


def _record_of(source: Source) -> RunRecord:
    if source.record is None:
        raise InputError(f"{source.rows_path}: only runs can be compared; name the folder of one")
    return source.record


def _plan_of(sources: Sequence[Source]) -> tuple[AnalysisPlan, int]:
    """Return the plan of the later run: it is the one that is judged."""
    from ghx_bench.profiler.stats.plan import AnalysisPlan

    record = _record_of(sources[-1])
    return sources[-1].plan() or AnalysisPlan(), record.matrix.seed


def _narrow(observations: Observations, metrics: Collection[str]) -> Observations:
    """Return the rows with these metrics alone: each of the others would be compared, and nobody asks for them here."""
    kept = {name: values for name, values in observations.metrics.items() if name in metrics}
    return replace(observations, metrics=kept)


def _pairs_of(read: ReadRows, before: Source, after: Source) -> tuple[tuple[Arm, Arm], ...]:
    """Return the arms that both runs have, the later run's first; controls only where there is nothing else."""
    arms = read.columns.observations.arm.known
    for left_out in (read.tally.controls.arms, ()):
        kept = [arm for arm in arms if arm not in left_out]
        earlier = {replace(arm, run=None): arm for arm in kept if arm.run == before.label}
        later = {replace(arm, run=None): arm for arm in kept if arm.run == after.label}
        if common := [(later[arm], earlier[arm]) for arm in later if arm in earlier]:
            return tuple(common)
    raise InputError(
        f"{after.directory.path}: has no arm (agent, model and mode) in common with {before.directory.path}; "
        "name runs of the same modes"
    )


def _arm_lines(
    observations: Observations, pairs: Iterable[tuple[Arm, Arm]], compared: Sequence[ModeComparison]
) -> Iterator[ArmLine]:
    """Yield how often each arm succeeded in both runs, and what was found of it."""
    found = {(each.a, each.b): each for each in compared if each.metric == SUCCESS}
    for later, earlier in pairs:
        comparison = found[str(later), str(earlier)]
        # Arms are tested only where the runs differ as a whole; else theirs is an aside.
        verdict = comparison.verdict if comparison.family == "primary" else f"{comparison.verdict} (exploratory)"
        yield ArmLine(
            arm=str(replace(later, run=None)),
            before=_count(observations, earlier),
            after=_count(observations, later),
            verdict=verdict,
        )


def _count(observations: Observations, arm: Arm) -> tuple[int, int]:
    rows = observations.arm.are(arm)
    return int((observations.success[rows] == 1).sum()), int(rows.sum())
