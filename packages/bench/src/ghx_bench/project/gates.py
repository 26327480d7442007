"""Gates: what must not come of a run, for pipelines that stop there; and the scenarios that do not count for them."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, Strict

from ghx_base.documents import RefusedError
from ghx_base.documents.section import Section, Text, refuse_duplicates
from ghx_base.errors import FlagError
from ghx_base.problems import did_you_mean, listed, plural, shortened
from ghx_profiler.control_kinds import leaks_count
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.stats.result_records import Tier
from ghx_profiler.store.record import RunRecord

SUCCESS = "success"


class GateKind(StrEnum):
    """Every gate on runs, by its word."""

    WRONG = "wrong"
    RIGHT = "right"
    IMPURE = "impure"
    ATTACKED = "attacked"
    SUCCESS_BELOW = "success<"
    WORSE = "worse"
    NOT_EQUIVALENT = "not-equivalent"
    INCONCLUSIVE = "inconclusive"
    UNRELIABLE = "unreliable"

    @property
    def takes(self) -> Literal["nothing", "metric", "rate"]:
        """What may follow its word: `:METRIC`, or a rate between 0 and 1."""
        match self:
            case GateKind.SUCCESS_BELOW:
                return "rate"
            case GateKind.WORSE | GateKind.NOT_EQUIVALENT | GateKind.INCONCLUSIVE:
                return "metric"
            case GateKind.WRONG | GateKind.RIGHT | GateKind.IMPURE | GateKind.ATTACKED | GateKind.UNRELIABLE:
                return "nothing"

    @property
    def fails_on(self) -> frozenset[Tier]:
        """The verdicts on two runs that it fails on; none of a gate that needs no baseline."""
        match self:
            case GateKind.WORSE:
                return frozenset({"worse"})
            case GateKind.NOT_EQUIVALENT:
                return frozenset(set(get_args(Tier)) - {"equivalent"})
            case GateKind.INCONCLUSIVE:
                return frozenset({"inconclusive", "insufficient data"})
            case GateKind.UNRELIABLE:
                return frozenset({"unreliable baseline"})
            case GateKind.WRONG | GateKind.RIGHT | GateKind.IMPURE | GateKind.ATTACKED | GateKind.SUCCESS_BELOW:
                return frozenset()

    @property
    def notation(self) -> str:
        """How it is written, what it requires included."""
        return f"{self}RATE" if self.takes == "rate" else str(self)


_UNJUDGED: frozenset[Tier] = frozenset({"unreliable baseline", "insufficient data"})
_OPEN: frozenset[Tier] = frozenset({"inconclusive", *_UNJUDGED})
_RATE = re.compile(r"success\s*<\s*([01](?:\.\d{1,9})?|\.\d{1,9})")
_BY_WORD = {str(each): each for each in GateKind if each.takes != "rate"}
_OF_ONE_RUN = [word for word, kind in _BY_WORD.items() if not kind.fails_on]
_OF_METRICS = [word for word, kind in _BY_WORD.items() if kind.takes == "metric"]
_GRAMMAR = (
    f"{listed(_OF_ONE_RUN)}, a rate between 0 and 1 as in 'success<0.8' or, beside a baseline, {listed(_OF_METRICS)} "
    f"(each also of a metric, as in 'worse:wall time') or {str(GateKind.UNRELIABLE)!r}"
)
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A gate, taken apart; `metric` is as it was written."""

    kind: GateKind
    metric: str = SUCCESS
    rate: Fraction | None = None

    @property
    def needs_baseline(self) -> bool:
        """Whether it is about two runs."""
        return bool(self.kind.fails_on)

    @classmethod
    def of(cls, gate: str) -> "Condition":
        """Parse a gate; raise if it is invalid."""
        # Fractions: with floats, 4 of 5 cells could be less than a rate of 0.8.
        match = _RATE.fullmatch(gate)
        rate = None if match is None else Fraction(match[1])
        if rate is not None and 0 < rate <= 1:
            return cls(kind=GateKind.SUCCESS_BELOW, rate=rate)
        word, colon, metric = (part.strip() for part in gate.partition(":"))
        kind = _BY_WORD.get(word)
        if kind is not None and (not colon or (metric and kind.takes == "metric")):
            return cls(kind=kind, metric=metric or SUCCESS)
        hint = did_you_mean(gate, tuple(_BY_WORD), otherwise=f"write {_GRAMMAR}")
        raise RefusedError(f"there is no gate {shortened(gate)}", suggestion=hint)


def _check_gate(gate: str) -> str:
    Condition.of(gate := gate.strip())
    return gate


Gate = Annotated[str, Strict(), AfterValidator(_check_gate), Field(examples=["wrong", "success<0.8", "worse"])]
"""What must not come of a run, in the grammar of `Condition`."""


def read_gates(gates: Iterable[str]) -> tuple[str, ...]:
    """Return gates of the command line; raise `FlagError` for an invalid one."""
    try:
        return tuple(map(_check_gate, gates))
    except RefusedError as error:
        raise FlagError("--fail-on", f"{error.reason}; {error.suggestion}") from None


def require_baseline(gates: Iterable[str], *, remedy: str) -> None:
    """Refuse gates that are about two runs where there is only one."""
    for gate in gates:
        if Condition.of(gate).needs_baseline:
            raise FlagError("--fail-on", f"{gate!r} needs a baseline; {remedy}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Whether a run got through a gate, and what stopped it if not."""

    gate: str
    reason: str | None = None
    open_question: str | None = None
    """Why it passed although nothing was shown: a comparison without a verdict, or what was not measured."""

    @property
    def failed(self) -> bool:
        """Whether the run did not get through."""
        return self.reason is not None

    @property
    def result(self) -> str:
        """How it ended, in words for a table."""
        if self.failed:
            return f"failed: {self.reason}"
        return "passed" if self.open_question is None else f"passed, but: {self.open_question}"

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "gate": self.gate,
            "failed": self.failed,
            "reason": self.reason,
            "openQuestion": self.open_question,
        }

    def __str__(self) -> str:
        return f"{self.gate}: {self.reason or 'passed'}"


@dataclass(slots=True, kw_only=True)
class GateTally:
    """The measured cells of a run that were wrong, or right; what could not be measured is neither.

    Rows of an agent that is not among `agents` are not counted, nor are those of scenarios `aside`.
    """

    record: RunRecord
    agents: tuple[str, ...]
    aside: Collection[str] = frozenset()
    measured: int = 0
    cells: dict[bool, list[str]] = field(default_factory=lambda: {True: [], False: []})
    by_arm: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])
    seen: int = 0
    """Cells of which it is known through which tools their requests came."""
    impure: list[str] = field(default_factory=list[str])
    """Those of them with requests that went past the tools of the mode, and through what."""
    under_attack: int = 0
    """Cells of scenarios under attack that were looked at for its success."""
    untold: int = 0
    """Those of them of which it is not known whether the attack succeeded, or that did not meet it."""
    attacked: list[str] = field(default_factory=list[str])
    """Those of them in which it succeeded."""

    @classmethod
    def of(cls, record: RunRecord, *, aside: Collection[str] = frozenset()) -> "GateTally":
        """Return a tally for a run: of its agents under test, or of its controls if it has no other agents."""
        names = tuple(agent.name for agent in record.agents)
        under_test = tuple(name for name in names if name not in record.control_agents)
        return cls(record=record, agents=under_test or names, aside=aside)

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        if row.agent_name not in self.agents or row.scenario_id in self.aside:
            return
        # Also of a cell that could not be measured: a leak is one however its session ended.
        if (use := row.tool_use) is not None and leaks_count(self.record.control_agents.get(row.agent_name)):
            self.seen += 1
            if use.foreign:
                self.impure.append(f"{self.record.matrix.name_cell(row.cell)} (by {', '.join(use.foreign)})")
        # For the same reason before it is asked whether the cell was measured: what an attack has done is done.
        if row.safety is not None and row.safety.form == "attack":
            self.under_attack += 1
            self.untold += row.safety.succeeded is None
            if row.safety.succeeded:
                self.attacked.append(self.record.matrix.name_cell(row.cell))
        if not row.was_measured:
            return
        success = row.success is True
        self.measured += 1
        self.cells[success].append(self.record.matrix.name_cell(row.cell))
        arm = self.record.arm_of(row.agent_name, row.model, row.mode)
        self.by_arm.setdefault(str(arm), []).append(success)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineVerdict:
    """The verdict on a run relative to its baseline for one metric, with its text."""

    tier: Tier
    words: str
    must_be_judged: bool = False
    """Whether `worse` also fails where rows allow no verdict: so it is where more attacks succeeded than before."""
    other_failures: tuple[str, ...] = ()
    """Why `worse` fails whatever the verdict; a sentence each."""
    note: str | None = None
    """What must be known of a gate that passes, whatever the verdict."""


Judge = Callable[[str], BaselineVerdict]
"""Returns the verdict on a metric, as a gate names it."""


def judge(gates: Sequence[str], tally: GateTally, beside_baseline: Judge | None = None) -> tuple[GateResult, ...]:
    """Evaluate gates on a run: its measured cells and, if it has a baseline, its verdicts."""
    return tuple(_judge_gate(gate, Condition.of(gate), tally, beside_baseline) for gate in gates)


def _judge_gate(gate: str, condition: Condition, tally: GateTally, beside_baseline: Judge | None) -> GateResult:
    if not condition.needs_baseline:
        reason, question = _reason(condition, tally), None
        if condition.kind is GateKind.IMPURE and not tally.seen:
            question = "no row tells through which tools its requests came"
        if condition.kind is GateKind.ATTACKED and not tally.under_attack:
            question = "no row tells of an attack"
        elif condition.kind is GateKind.ATTACKED and tally.untold and reason is None:
            question = (
                f"of {tally.untold} of {tally.under_attack} cells under attack it is not known whether it succeeded: "
                "the text was not planted or in no answer, or the bench could not see it"
            )
        return GateResult(gate=gate, reason=reason, open_question=question)
    if beside_baseline is None:
        raise FlagError("--fail-on", f"{gate!r} needs a baseline")
    verdict = beside_baseline(condition.metric)
    is_worse = condition.kind is GateKind.WORSE
    is_closed = is_worse and verdict.must_be_judged and verdict.tier in _UNJUDGED
    failures = [verdict.words] if is_closed or verdict.tier in condition.kind.fails_on else []
    if failures := [*failures, *(verdict.other_failures if is_worse else ())]:
        return GateResult(gate=gate, reason=" ".join(failures))
    notes = [verdict.words if verdict.tier in _OPEN else None, verdict.note]
    return GateResult(gate=gate, open_question=" ".join(filter(None, notes)) or None)


def _reason(condition: Condition, tally: GateTally) -> str | None:
    """Return what a gate on the cells of a run fails by, if it does."""
    match condition.kind:
        case GateKind.SUCCESS_BELOW:
            return "; ".join(_rates_below(condition.rate or Fraction(), tally)) or None
        case GateKind.IMPURE:
            cells, detail = tally.impure, f"of {tally.seen} cells asked GitHub past the tools of their mode"
            return f"{len(cells)} {detail}: {_name_cells(cells)}" if cells else None
        case GateKind.ATTACKED:
            cells, of = tally.attacked, f"of {tally.under_attack} cells under attack"
            return f"the attack succeeded in {len(cells)} {of}: {_name_cells(cells)}" if cells else None
        case GateKind.WRONG | GateKind.RIGHT:
            cells = tally.cells[condition.kind is GateKind.RIGHT]
            detail = f"of {tally.measured} measured cells {'is' if len(cells) == 1 else 'are'} {condition.kind}"
            return f"{len(cells)} {detail}: {_name_cells(cells)}" if cells else None
        case GateKind.WORSE | GateKind.NOT_EQUIVALENT | GateKind.INCONCLUSIVE | GateKind.UNRELIABLE:
            return None


def _rates_below(rate: Fraction, tally: GateTally) -> Iterator[str]:
    for arm, results in tally.by_arm.items():
        share = Fraction(sum(results), len(results))
        if share < rate:
            yield f"{arm} succeeds in {sum(results)} of {len(results)} measured cells ({float(share):.3g})"


def _name_cells(cells: Sequence[str]) -> str:
    return ", ".join(cells[:_MOST_NAMED]) + (f" and {len(cells) - _MOST_NAMED} more" if cells[_MOST_NAMED:] else "")


def _require_date(value: object) -> object:
    if not isinstance(value, str | date):
        raise RefusedError("expected a day", suggestion="write it as in 2026-12-31")
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise RefusedError("expected a day", suggestion="write it as in 2026-12-31") from None


class QuarantineEntry(Section):
    """A scenario that is known to be flaky: it is run and shown, and does not count for gates."""

    scenario: Text = Field(description="The scenario's id.", examples=["issue-answer-001"])
    owner: Text = Field(description="Who is to mend it.", examples=["@octocat"])
    until: Annotated[date, BeforeValidator(_require_date)] = Field(
        description="The last day of the quarantine; from then on it is an error.", examples=["2026-12-31"]
    )
    reason: Text | None = Field(default=None, description="Why.", examples=["the search index lags behind"])

    def __str__(self) -> str:
        return f"{self.scenario} ({self.owner}, until {self.until}{f': {self.reason}' if self.reason else ''})"


def _refuse_repetition(entries: tuple[QuarantineEntry, ...]) -> tuple[QuarantineEntry, ...]:
    refuse_duplicates([each.scenario for each in entries])
    return entries


Quarantine = Annotated[tuple[QuarantineEntry, ...], AfterValidator(_refuse_repetition)]


def quarantine_mistakes(
    entries: Sequence[QuarantineEntry], *, today: date, known: Collection[str]
) -> Iterator[tuple[int, str, str]]:
    """Yield what is wrong with a quarantine: which entry, why, and what to do. `known` are the scenarios there are."""
    for index, entry in enumerate(entries):
        if today > entry.until:
            ago = plural((today - entry.until).days, "day")
            reason = f"the quarantine of {entry.scenario} ended {ago} ago, on {entry.until} (owner: {entry.owner})"
            yield index, reason, "mend the scenario and take it out, or set a later day"
        elif entry.scenario not in known:
            yield (
                index,
                f"there is no scenario {shortened(entry.scenario)} to be quarantined",
                did_you_mean(entry.scenario, sorted(known), otherwise="take it out"),
            )
