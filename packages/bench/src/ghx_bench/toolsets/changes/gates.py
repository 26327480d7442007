"""Gates on what differs between two tool sets, for pipelines that stop there."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from fractions import Fraction

from ghx_base.documents import RefusedError
from ghx_base.errors import FlagError
from ghx_base.problems import listed, plural, shortened
from ghx_bench.project.gates import Condition, GateKind, GateResult
from ghx_bench.toolsets.changes.toolset_changes import SizeChange, ToolSetChanges
from ghx_bench.toolsets.changes.words import growth_words, name_some


class ChangeGate(StrEnum):
    """Every gate on tools, which needs no run; `larger` and `larger-total` take a limit, as in `larger>10%`."""

    CHANGED = "changed"
    LARGER = "larger"
    LARGER_TOTAL = "larger-total"
    BREAKING = "breaking"
    FAILING = "failing"
    MORE_EXPOSED = "more-exposed"
    READ_ONLY_WRITES = "read-only-writes"
    LINT = "lint"


ON_EXPOSURE = frozenset({ChangeGate.MORE_EXPOSED, ChangeGate.READ_ONLY_WRITES})
"""Those that say nothing of a mode of which it is not known what its tools show and change."""

_LARGER = re.compile(r"larger(-total)?(?:\s*>\s*(\d{1,6}(?:\.\d{1,6})?)\s*%)?")
_FEWEST_TOKENS = 50
"""A part that grows by no more than this is not larger: 30 % of a short answer is noise."""
_WORDS = tuple(map(str, ChangeGate))


def split_gates(gates: Sequence[str], *, has_runs: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the gates on tools and those on runs; raise for what is neither, and for those on runs without any."""
    of_tools = [each.strip() for each in gates if _kind_of(each.strip()) is not None]
    of_runs = [each.strip() for each in gates if _kind_of(each.strip()) is None]
    *of_runs_known, last = (each.notation for each in GateKind)
    for gate in of_runs:
        try:
            Condition.of(gate)
        except RefusedError:
            raise FlagError(
                "--fail-on",
                f"there is no gate {shortened(gate)}; of tool sets there are {listed(_WORDS)} (also larger>10%), "
                f"of runs {', '.join(of_runs_known)} and {last}",
            ) from None
        if not has_runs:
            raise FlagError("--fail-on", f"{gate!r} is about runs; name one that has both modes, or two")
    return tuple(of_tools), tuple(of_runs)


def _kind_of(gate: str) -> ChangeGate | None:
    """Return which gate on tools this is; `None` if it is none."""
    if (larger := _LARGER.fullmatch(gate)) is not None:
        return ChangeGate.LARGER_TOTAL if larger[1] else ChangeGate.LARGER
    return ChangeGate(gate) if gate in _WORDS else None


def judge_changes(gates: Sequence[str], changes: ToolSetChanges) -> tuple[GateResult, ...]:
    """Hold what differs against gates."""
    kinds = [(gate, _kind_of(gate)) for gate in gates]
    return tuple(_judge(gate, kind, changes) for gate, kind in kinds if kind is not None)


def _judge(gate: str, kind: ChangeGate, changes: ToolSetChanges) -> GateResult:
    reasons: list[str] = []
    questions: list[str | None] = []
    match kind:
        case ChangeGate.CHANGED:
            reasons = ["the tool sets are not the same"] if changes.differs else []
        case ChangeGate.BREAKING:
            reasons = _broken_calls(changes)
            if unclear := [each.title for each in changes.tools if each.is_unclear]:
                reason = f"whether {name_some(unclear)} may refuse what they took before is not told by their schemas"
                questions.append(reason)
            questions.append(_not_measurable(changes))
        case ChangeGate.FAILING:
            reasons = [each.title for each in changes.stopped]
            questions = [_why_unasked(changes), _not_measurable(changes)]
        case ChangeGate.MORE_EXPOSED:
            reasons = [f"{each.carrier} by {each.author}" for each in changes.exposure if each.is_more]
            questions = [_stopped_tools(changes, "show"), _not_measurable(changes)]
        case ChangeGate.READ_ONLY_WRITES:
            reasons = [*changes.read_only[1].wrote]
            questions = [_stopped_tools(changes, "change"), _not_measurable(changes)]
        case ChangeGate.LINT:
            reasons = [f"{each.tool} {each.message}" for each in changes.lint.new]
        case ChangeGate.LARGER | ChangeGate.LARGER_TOTAL:
            reasons = _larger(gate, changes)
            questions = [_stopped_questions(changes) or _why_unasked(changes)]
    if not reasons:
        return GateResult(gate=gate, open_question="; ".join(filter(None, questions)) or None)
    return GateResult(gate=gate, reason=_MEANING.get(kind, "") + "; ".join(reasons))


def _broken_calls(changes: ToolSetChanges) -> list[str]:
    """Return the tools and questions whose calls may be refused or fail now."""
    broken = [each for each in changes.tools if each.is_breaking]
    names = {each.name for each in broken}
    stopped = [each for each in changes.stopped if each.kind == "question" or each.name not in names]
    return [each.title for each in (*broken, *stopped)]


def _why_unasked(changes: ToolSetChanges) -> str | None:
    return None if changes.answers.before and changes.answers.after else "answers of both were not measured"


def _stopped_questions(changes: ToolSetChanges) -> str | None:
    stopped = sum(each.kind == "question" for each in changes.stopped)
    reason = f"{plural(stopped, 'question')} answered before and not now, which no size is compared of"
    return reason if stopped else None


def _stopped_tools(changes: ToolSetChanges, effect: str) -> str | None:
    """Return what remains open where tools do not answer, or not any more: they passed by saying nothing."""
    # Of a tool that was removed nothing is open: it shows and changes nothing.
    names = [each.name for each in changes.stopped if each.kind == "tool" and not each.is_gone]
    if not names and changes.why_exposure_unknown is not None:
        return f"of {changes.after} nothing is known, since {changes.why_exposure_unknown}"
    whose = "it" if len(names) == 1 else "they"
    stopped = f"{plural(len(names), 'tool')} stopped answering ({name_some(names)})"
    return f"{stopped}, and what {whose} would {effect} is not known" if names else None


def _not_measurable(changes: ToolSetChanges) -> str | None:
    names = changes.not_measurable
    return f"{changes.after} asked for what the embedded GitHub lacks with {name_some(names)}" if names else None


_MEANING = {
    ChangeGate.BREAKING: "calls that were right may be refused or fail now, of ",
    ChangeGate.FAILING: "answered before and not any more: ",
    ChangeGate.MORE_EXPOSED: "more reaches the agent of ",
    ChangeGate.READ_ONLY_WRITES: "tools that say they only read tried to change something: ",
    ChangeGate.LINT: "new findings: ",
}


def _larger(gate: str, changes: ToolSetChanges) -> list[str]:
    """Return the parts that have grown beyond what the gate allows, the one that has grown most first."""
    match = _LARGER.fullmatch(gate)
    of_totals, limit = (None, None) if match is None else match.groups()
    allowed, fewest = Fraction(limit or 0) / 100, 0 if of_totals else _FEWEST_TOKENS
    answers = _total_answers(changes) if of_totals else _single_answers(changes)
    sizes = [changes.told.model_copy(update={"name": "context size at start"}), *answers]
    grown = [each for each in sizes if each.growth > fewest and each.growth > allowed * _tokens_before(each)]
    grown.sort(key=lambda each: each.growth / max(_tokens_before(each), 1), reverse=True)
    return [f"{each.name} {growth_words(each, is_estimate=changes.tokens_are_estimated)}" for each in grown]


def _total_answers(changes: ToolSetChanges) -> Iterator[SizeChange]:
    """Yield the size of all answers together, where both modes were asked."""
    before, after = changes.answers.before, changes.answers.after
    if before is not None and after is not None:
        yield SizeChange(name="answers to the same questions", before=before.size, after=after.size)


def _single_answers(changes: ToolSetChanges) -> Iterator[SizeChange]:
    """Yield the size of each answer to a question that both modes answer."""
    for each in changes.answers.questions:
        before, after = each.before, each.after
        if before is not None and after is not None and {before.outcome, after.outcome} == {"answered"}:
            yield SizeChange(name=f"answer to {each.id}", before=before.size, after=after.size)


def _tokens_before(change: SizeChange) -> int:
    return 0 if change.before is None else change.before.tokens
