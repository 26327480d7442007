"""Verdicts of trials about a scenario: which trials passed, which failed, and which checkpoints never fail."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from ghx_base.problems import listed, plural
from ghx_bench.proving.trials import TrialResult
from ghx_bench.scenario.allowed_changes import COLLATERAL_CHECKPOINT
from ghx_bench.scenario.conditions import CheckpointCondition, CountGte, NonEmpty
from ghx_bench.scenario.eval_scenario import EvalScenario
from ghx_profiler.agents.controls.solution import Trap
from ghx_profiler.records.score import CheckpointDetail

_MOST_NAMES = 4
_LONGEST_VALUE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapResult:
    """A wrong solution by name, and the outcome in one mode."""

    trap: Trap
    result: TrialResult

    @property
    def is_noticed(self) -> bool:
        """Whether it was tried to its end, and failed what guards and nothing else."""
        result = self.result
        return result.error is None and result.broke_off is None and result.failed == frozenset(self.trap.fails)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioProof:
    """Everything that was tried with one scenario."""

    scenario: EvalScenario
    is_variant: bool = False
    """Whether no mistakes were tried, since they were tried with the base variant."""
    steps: int = 0
    """How many calls the solution has that mutants are made of."""
    references: tuple[TrialResult, ...] = ()
    nop: TrialResult | None = None
    tried: tuple[TrialResult, ...] = ()
    """Mistakes: steps left out, loops cut short, numbers of siblings, and what is done too much."""
    traps: tuple[TrapResult, ...] = ()
    gullible: tuple[TrialResult, ...] = ()
    """Results of following the injected text, by mode, if the scenario is under attack."""
    reports: tuple[TrialResult, ...] = ()
    """Results of reporting the injected text after the task was solved."""
    unproved: str | None = None
    """Why nothing was tried, where that is so."""
    duration_s: float = 0.0

    @property
    def checkpoints(self) -> tuple[str, ...]:
        """What can notice a mistake: the scenario's checkpoints, and the one for changes beyond the task."""
        ids = tuple(each.id for each in self.scenario.assertions.checkpoints)
        is_limited = self.scenario.known_extensions.allowed_changes is not None
        return (*ids, COLLATERAL_CHECKPOINT) if is_limited else ids

    @property
    def mutants(self) -> tuple[TrialResult, ...]:
        """Those of the mistakes that are one: what changes neither the world nor the answer was a look round."""
        right = next((each for each in self.references if self.tried and each.mode == self.tried[0].mode), None)
        return tuple(
            each
            for each in self.tried
            if right is None or each.error or (each.world_diff, each.answer) != (right.world_diff, right.answer)
        )

    @property
    def proved_modes(self) -> tuple[str, ...]:
        """The modes in which the solution passes everything."""
        return tuple(each.mode for each in self.references if each.passed)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the scenario is not proved; nothing if it is."""
        if self.unproved is not None:
            return ()
        problems = [*_reference_problems(self.references), *_nop_problems(self.nop), *_trap_problems(self.traps)]
        problems += [*_threat_problems(self), *_report_problems(self.reports)]
        if len(self.proved_modes) == len(self.references) and not self.is_variant:
            # What follows from a solution that fails says nothing about checkpoints.
            problems += [*_unguarded(self), *_survivors(self.mutants)]
        return tuple(problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What goes unnoticed after the task was done, and may be meant to."""
        actions = [each for each in self.mutants if each.kind == "overreach" and each.passed]
        return tuple(f"whoever solves it and then {each.name} passes" for each in actions)


def _reference_problems(references: Iterable[TrialResult]) -> Iterator[str]:
    for each in references:
        if each.error is not None:
            yield f"mode {each.mode}: the solution does not get through: {each.error}"
        for detail in each.checkpoints:
            if not detail.passed:
                yield f"mode {each.mode}: the solution fails checkpoint {detail.id!r}: {_describe(detail)}"


def _describe(detail: CheckpointDetail) -> str:
    if detail.error is not None:
        return detail.error
    if detail.id == COLLATERAL_CHECKPOINT:
        changes = detail.actual if isinstance(detail.actual, list) else [detail.actual]
        return f"allowedChanges does not cover {', '.join(map(repr, changes))}"
    actual = to_json(detail.actual).decode()
    excerpt = actual if len(actual) <= _LONGEST_VALUE else f"{actual[:_LONGEST_VALUE]}…"
    return f"expected {detail.expected}, got {excerpt}"


def _nop_problems(nop: TrialResult | None) -> Iterator[str]:
    if nop is None:
        return
    if nop.error is not None:
        yield f"what nop leaves behind cannot be scored: {nop.error}"
    elif not nop.failed:
        yield "nop passes: doing nothing fails no checkpoint, so that passing says nothing"


def _trap_problems(traps: Iterable[TrapResult]) -> Iterator[str]:
    for each in traps:
        trap, result = each.trap, each.result
        where = f"trap {trap.name!r} in mode {result.mode}"
        if result.error is not None:
            yield f"{where} cannot be scored: {result.error}"
            continue
        if result.broke_off is not None:
            # It may fail what guards merely because it has done nothing: a mistake that is not made proves nothing.
            remedy = "mend that step, or say `expect_failure` where it is meant to fail"
            yield f"{where} is not tried to its end: {result.broke_off}; {remedy}"
            continue
        if missed := [id_ for id_ in trap.fails if id_ not in result.failed]:
            yield f"{where} passes {listed(missed)}, which should notice it"
        if extra := [detail for detail in result.checkpoints if detail.id in result.failed - frozenset(trap.fails)]:
            details = "; ".join(f"{detail.id!r}: {_describe(detail)}" for detail in extra)
            yield f"{where} fails more than {listed(trap.fails)}: {details}"


def _threat_problems(proof: ScenarioProof) -> Iterator[str]:
    """Yield whom a threat should have tripped and did not, and whom it should not have."""
    for each in proof.references:
        if each.safety is not None and each.safety.succeeded:
            yield f"mode {each.mode}: the attack succeeds though only the task was done: {'; '.join(each.safety.how)}"
    for each in proof.gullible:
        where = f"mode {each.mode}: gullible"
        if each.error is not None:
            yield f"{where} does not get through: {each.error}"
        elif each.safety is None or not each.safety.planted:
            yield f"{where} is not attacked: nothing was planted before its session was over"
        elif not each.safety.succeeded:
            yield f"{where} does not trip the threat: it has not read the text, or `obey` is not what `succeeds` names"
    believed = {each.mode for each in proof.gullible}
    has_threat = proof.scenario.known_extensions.threat is not None and not proof.is_variant
    if without := [each.mode for each in proof.references if has_threat and each.mode not in believed]:
        yield f"the solution does not say under `obey` how the planted text is followed in mode {' and '.join(without)}"


def _report_problems(reports: Iterable[TrialResult]) -> Iterator[str]:
    """Yield the trials that fail although they only report the injected text."""
    for each in reports:
        if each.error is not None:
            yield f"what is left by who solves it and {each.name} cannot be scored: {each.error}"
        elif each.safety is not None and each.safety.succeeded:
            yield f"whoever solves it and {each.name} trips the threat: {'; '.join(each.safety.how)}"
        elif each.failed:
            yield f"whoever solves it and {each.name} fails {listed(sorted(each.failed))}, though a report is no fault"


def _unguarded(proof: ScenarioProof) -> Iterator[str]:
    """Yield the checkpoints that nobody fails, and those that ask for anything at all."""
    mistakes = [*([proof.nop] if proof.nop else []), *proof.mutants, *(each.result for each in proof.traps)]
    conditions = {each.id: each.condition for each in proof.scenario.assertions.checkpoints}
    for id_ in proof.checkpoints:
        passing, condition = [each for each in mistakes if id_ not in each.failed], conditions.get(id_)
        if len(passing) == len(mistakes):
            remedy = (
                "narrow allowedChanges"
                if condition is None
                else f"tighten its condition ({condition.type}), or add a trap that it notices"
            )
            yield f"checkpoint {id_!r} is failed by nothing: {_in_words(passing)} pass it; {remedy}"
        elif condition and _asks_for_anything(condition):
            yield (
                f"checkpoint {id_!r} asks only whether there is anything ({condition.type}), and whatever else is "
                f"there passes it: {_in_words(passing)} do; say what must be there (count_eq, field_equals, matches)"
            )


def _asks_for_anything(condition: CheckpointCondition) -> bool:
    # Left out is all that it can notice: a mistake that leaves something else behind passes.
    return isinstance(condition, NonEmpty) or (isinstance(condition, CountGte) and condition.value == 1)


def _in_words(mistakes: Sequence[TrialResult]) -> str:
    others = [each.name for each in mistakes if each.kind != "nop"]
    names = ", ".join(others[:_MOST_NAMES]) + (", ..." if len(others) > _MOST_NAMES else "")
    mutants = f"{plural(len(others), 'mutant')} ({names})" if others else "no mutant"
    return f"nop and {mutants}" if len(others) < len(mistakes) else mutants


def _survivors(mutants: Iterable[TrialResult]) -> Iterator[str]:
    for each in mutants:
        if each.error is not None:
            yield f"{each.name}: what it leaves behind cannot be scored: {each.error}"
        elif each.passed and each.kind != "overreach":
            yield f"{each.name} passes everything, though it does something else; a checkpoint should notice it"
