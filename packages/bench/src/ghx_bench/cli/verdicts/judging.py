"""Judging a run for a pipeline: gates, a baseline, a quarantine, and the files that tell of it."""

import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import JsonValue, TypeAdapter

from ghx_base.clock import SystemClock
from ghx_base.errors import FlagError, InputError
from ghx_base.extras import require_extra
from ghx_base.problems import one_line, plural
from ghx_bench.checking.project_contents import built_in_ids, scenario_ids, with_variants
from ghx_bench.cli.flags import GateFlags
from ghx_bench.cli.stored.run_names import find_against, refuse_shard, results_folder
from ghx_bench.cli.verdicts.baseline_comparison import (
    BaselineComparison,
    compare_with_baseline,
    resolve_metric,
    why_incomparable,
)
from ghx_bench.cli.verdicts.publication import (
    Case,
    CaseTally,
    render_summary,
    require_place_for_file,
    say_gates,
    write_junit,
    write_summary,
)
from ghx_bench.project.baselines import baselines_file
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.config_file import project_config, project_file
from ghx_bench.project.gates import (
    Condition,
    GateResult,
    GateTally,
    Quarantine,
    QuarantineEntry,
    judge,
    quarantine_mistakes,
    read_gates,
    require_baseline,
)
from ghx_profiler.errors import CanaryError, ScopeError
from ghx_profiler.plan.cell import Matrix
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.sources import Source, open_run
from ghx_profiler.store.record import MatrixRecord, RunRecord, read_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """By which gates a run is judged, against which other one, without which scenarios, and where that is written."""

    fail_on: tuple[str, ...] = ()
    against: Path | None = None
    quarantine: tuple[QuarantineEntry, ...] = ()
    junit: Path | None = None
    markdown: Path | None = None

    def require_sense(self, *, known_scenarios: Iterable[str] = (), today: date | None = None) -> None:
        """Refuse what could not be judged before anything is measured: a gate without a baseline, an old quarantine."""
        for flag, file in (("--junit", self.junit), ("--markdown", self.markdown)):
            if file is not None:
                require_place_for_file(flag, file)
        if self.against is None:
            require_baseline(self.fail_on, remedy="name a run, or a blessed one, with --against")
        else:
            require_extra("report", for_what="--against")
            record = read_record(open_run(self.against).directory.record)
            refuse_shard(record)
            for gate in self.fail_on:
                resolve_metric(Condition.of(gate).metric, record)
        if self.fail_on:
            today = today or SystemClock().now().date()
            for _, reason, remedy in quarantine_mistakes(self.quarantine, today=today, known=set(known_scenarios)):
                raise InputError(f"quarantine: {reason}; {remedy}")

    def require_comparable(self, matrix: Matrix | MatrixRecord, *, controls: Collection[str]) -> None:
        """Refuse a baseline that nothing of the planned cells could be compared with; `controls` are agents of them."""
        if self.against is None:
            return
        aside = {each.scenario for each in self.quarantine}
        reason = why_incomparable(open_run(self.against), matrix, controls=controls, aside=aside)
        if reason is not None:
            raise FlagError("--against", f"this run cannot be compared with {self.against}: {reason}")


def judging_of(
    config: EvalConfig,
    flags: GateFlags,
    *,
    baselines: Path,
    scenarios: Iterable[str] = (),
    merging: Collection[str] = (),
) -> tuple[Judging, EvalConfig]:
    """Return how a run is judged by its configuration, and the configuration with its baseline as the folder it is in.

    It goes into the run's record so: what is the latest run, or blessed, may be another when the run is resumed. A
    shard is not judged, since a rate or a comparison of a part of the cells says nothing of the whole: `merge` does it.

    A quarantine may name `scenarios` that the project here does not have. Of a run that is made of shards, `merging`
    are their ids.
    """
    if config.execution.shard is not None:
        _refuse_gates_of_shard(flags)
        judging = Judging(junit=flags.junit, markdown=flags.markdown)
        judging.require_sense()
        return judging, config
    against = None
    if config.against is not None:
        against = find_against(config.against, config.output.results_dir, baselines, merging=merging)
    judging = Judging(
        fail_on=config.fail_on,
        against=against,
        quarantine=config.quarantine,
        junit=flags.junit,
        markdown=flags.markdown,
    )
    judging.require_sense(known_scenarios=(*scenarios, *_known_scenarios(config)))
    if against is None:
        return judging, config
    # With a folder in front: a bare name would be that of a baseline, if one is blessed so later.
    place = str(against) if against.name != str(against) else os.path.join(os.curdir, against)  # noqa: PTH118 - see above
    return judging, config.model_copy(update={"against": place})


def judging_of_flags(
    flags: GateFlags, results: Path | None = None, *, shard: str | None = None, merging: Collection[str] = ()
) -> Judging:
    """Return how the run of a profile is judged, whose configuration says nothing of that; a shard is not."""
    against = None
    if shard is not None:
        _refuse_gates_of_shard(flags)
    if flags.against is not None:
        against = find_against(flags.against, results or results_folder(), baselines_file(), merging=merging)
    judging = Judging(
        fail_on=read_gates(flags.fail_on or ()), against=against, junit=flags.junit, markdown=flags.markdown
    )
    judging.require_sense()
    return judging


def _refuse_gates_of_shard(flags: GateFlags) -> None:
    """Refuse gates on the command line; those of a configuration are for the merged run."""
    if flags.fail_on or flags.against:
        flag = "--fail-on" if flags.fail_on else "--against"
        raise FlagError(flag, "shards are judged when they are together; give it to `ghx-bench merge`")


def judge_stored_run(
    run: Path,
    gates: Sequence[str],
    *,
    against: Path | None,
    config: Path | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
    labels: Mapping[Path, str] | None = None,
) -> "Judgement":
    """Judge a run that is over, with the quarantine of the project, or else with that of the run itself."""
    source = open_run(run)
    judging = judging_of_stored_run(source, gates, against=against, config=config, junit=junit, markdown=markdown)
    run_judge = RunJudge(run, judging)
    for row in source.rows():
        run_judge.add(row)
    return run_judge.conclude(labels)


def judging_of_stored_run(
    source: Source,
    gates: Sequence[str],
    *,
    against: Path | None,
    config: Path | None = None,
    junit: Path | None = None,
    markdown: Path | None = None,
) -> Judging:
    """Return how a run that is over is judged; refuse what could not be."""
    record = read_record(source.directory.record)
    refuse_shard(record)
    settings = project_config(config)
    if project_file(config) is None:
        recorded = TypeAdapter[Quarantine](Quarantine).validate_python(record.config.get("quarantine", ()))
        settings = settings.model_copy(update={"quarantine": recorded})
    judging = Judging(
        fail_on=read_gates(gates), against=against, quarantine=settings.quarantine, junit=junit, markdown=markdown
    )
    judging.require_sense(known_scenarios=(*record.matrix.scenario_ids, *_known_scenarios(settings)))
    return judging


def _known_scenarios(config: EvalConfig) -> frozenset[str]:
    """Return the valid names of quarantine entries; without a quarantine, nothing is looked up."""
    if not config.quarantine:
        return frozenset()
    known = built_in_ids() | scenario_ids(config.scenario_dirs)
    return with_variants(known, (each.scenario for each in config.quarantine))


class RunJudge:
    """Counts the rows of a run as they go by, and judges it in the end."""

    def __init__(self, run: Path, judging: Judging) -> None:
        self._run, self._judging = run, judging
        self._record = read_record(open_run(run).directory.record)
        self._aside = frozenset(each.scenario for each in judging.quarantine)
        self._tally = GateTally.of(self._record, aside=self._aside)
        self._cases = CaseTally(self._record)

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        self._tally.add(row)
        self._cases.add(row)

    def conclude(self, labels: Mapping[Path, str] | None = None) -> "Judgement":
        """Compare the run with its baseline, if it has one, and hold it against its gates."""
        judging, comparison = self._judging, None
        if judging.against is not None:
            conditions = map(Condition.of, judging.fail_on)
            metrics = [each.metric for each in conditions if each.needs_baseline]
            comparison = compare_with_baseline(
                judging.against, self._run, aside=self._aside, metrics=metrics, labels=labels
            )
        gates = judge(judging.fail_on, self._tally, None if comparison is None else comparison.verdict_on)
        return self._judgement(gates, comparison)

    def conclude_without_baseline(self, reason: str) -> "Judgement":
        """Hold the run against the gates that need no baseline; those that do fail for this reason."""
        gates = (
            GateResult(gate=gate, reason=f"could not be judged: {reason}")
            if Condition.of(gate).needs_baseline
            else judge([gate], self._tally)[0]
            for gate in self._judging.fail_on
        )
        return self._judgement(tuple(gates), None)

    def _judgement(self, gates: tuple[GateResult, ...], comparison: BaselineComparison | None) -> "Judgement":
        return Judgement(
            record=self._record,
            judging=self._judging,
            gates=gates,
            comparison=comparison,
            cases=self._cases.cases,
            solved=self._tally.by_arm,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a run came to, for a pipeline."""

    record: RunRecord
    judging: Judging
    gates: tuple[GateResult, ...]
    comparison: BaselineComparison | None
    cases: tuple[Case, ...]
    solved: Mapping[str, Sequence[bool]]
    """For each arm, whether each of its measured cells was right; without what is in quarantine."""

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON: what gates said and, where there is a baseline, the comparison with it."""
        beside = {} if self.comparison is None else {"comparison": self.comparison.to_wire()}
        aside = [each.scenario for each in self.judging.quarantine]
        quarantine: dict[str, JsonValue] = {"quarantined": [*aside]} if aside else {}
        return {"gates": [each.to_wire() for each in self.gates], **quarantine, **beside}

    def publish(self) -> None:
        """Say which gates failed, and write what was asked for: JUnit, a summary, annotations."""
        say_gates(self.gates)
        if self.judging.quarantine:
            entries = "; ".join(map(str, self.judging.quarantine))
            print(f"in quarantine, and not counted by gates: {entries}", file=sys.stderr)
        if self.judging.junit is not None:
            quarantine = {each.scenario: each for each in self.judging.quarantine}
            write_junit(self.judging.junit, self.record, self.cases, self.gates, quarantine)
        write_summary(self.summary, self.judging.markdown)

    @property
    def summary(self) -> str:
        """The summary in Markdown."""
        if self.comparison is not None:
            headline, lines = self.comparison.headline, self.comparison.lines
            table = self.comparison.table
        else:
            measured = plural(sum(map(len, self.solved.values())), "measured cell")
            # No rate over all arms: two models with 100 % and 0 % are not one with 50 %.
            headline, lines = f"{self.record.provider}, {measured}{self._words_on_gates()}", ()
            table = [["arm", "solved"], *([arm, f"{sum(each)} of {len(each)}"] for arm, each in self.solved.items())]
        return render_summary(
            headline, lines, table, gates=self.gates, cases=self.cases, quarantine=self.judging.quarantine
        )

    def _words_on_gates(self) -> str:
        failed = sum(each.failed for each in self.gates)
        if not self.gates:
            return ""
        return f": {failed} of {plural(len(self.gates), 'gate')} failed" if failed else ": all gates passed"


def publish_failed_start(record: RunRecord, judging: Judging, error: CanaryError | ScopeError) -> None:
    """Tell a pipeline of a run that no cell was started of: as one case that could not be measured; no gate passes."""
    what = "warm-up" if isinstance(error, CanaryError) else "preparation"
    reason = f"could not be judged: the {what} of the run failed, and no cell was started"
    Judgement(
        record=record,
        judging=judging,
        gates=tuple(GateResult(gate=gate, reason=reason) for gate in judging.fail_on),
        comparison=None,
        cases=(Case(arm=record.provider, scenario=what, repetitions=1, unmeasured=[one_line(str(error))]),),
        solved={},
    ).publish()
