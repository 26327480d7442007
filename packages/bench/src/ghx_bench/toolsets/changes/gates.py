"""Gates on what differs between two tool sets, for pipelines that stop there."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from ghx_base.documents import RefusedError
from ghx_base.errors import FlagError
from ghx_base.problems import listed, plural, shortened
from ghx_bench.project.gates import Condition, GateResult
from ghx_bench.toolsets.changes.toolset_changes import SizeChange, ToolSetChanges
from ghx_bench.toolsets.changes.words import growth_words, name_some

GATES = ("changed", "larger", "larger-total", "breaking", "failing", "more-exposed", "read-only-writes", "lint")
"""The gates that need no run; `larger` and `larger-total` take a limit, as in `larger>10%`."""

ON_EXPOSURE = frozenset({"more-exposed", "read-only-writes"})
"""Those that say nothing of a mode of which it is not known what its tools show and change."""

_LARGER = re.compile(r"larger(-total)?(?:\s*>\s*(\d{1,6}(?:\.\d{1,6})?)\s*%)?")
_FEWEST_TOKENS = 50
"""A part that grows by no more than this is not larger: 30 % of a short answer is noise."""
_OF_RUNS = "wrong, right, impure, attacked, success<RATE, worse, not-equivalent, inconclusive and unreliable"


def split_gates(gates: Sequence[str], *, has_runs: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the gates on tools and those on runs; raise for what is neither, and for those on runs without any."""
    of_tools = [each.strip() for each in gates if is_on_tools(each.strip())]
    of_runs = [each.strip() for each in gates if not is_on_tools(each.strip())]
    for gate in of_runs:
        try:
            Condition.of(gate)
        except RefusedError:
            raise FlagError(
                "--fail-on",
                f"there is no gate {shortened(gate)}; of tool sets there are {listed(GATES)} (also larger>10%), "
                f"of runs {_OF_RUNS}",
            ) from None
        if not has_runs:
            raise FlagError("--fail-on", f"{gate!r} is about runs; name one that has both modes, or two")
    return tuple(of_tools), tuple(of_runs)


def is_on_tools(gate: str) -> bool:
    """Return whether this is a gate on what differs between tool sets."""
    return gate in GATES or _LARGER.fullmatch(gate) is not None


def judge_changes(gates: Sequence[str], changes: ToolSetChanges) -> tuple[GateResult, ...]:
    """Hold what differs against gates."""
    return tuple(_judge(gate, changes) for gate in gates)


def _judge(gate: str, changes: ToolSetChanges) -> GateResult:
    found: list[str] = []
    questions: list[str | None] = []
    match gate:
        case "changed":
            found = ["the tool sets are not the same"] if changes.differs else []
        case "breaking":
            broken = [each for each in changes.tools if each.is_breaking]
            named = {each.name for each in broken}
            found = [each.title for each in broken]
            found += [each.title for each in changes.stopped if each.kind == "question" or each.name not in named]
            if unclear := [each.title for each in changes.tools if each.is_unclear]:
                told = f"whether {name_some(unclear)} may refuse what they took before is not told by their schemas"
                questions.append(told)
            questions.append(_not_measurable(changes))
        case "failing":
            found = [each.title for each in changes.stopped]
            questions = [_why_unasked(changes), _not_measurable(changes)]
        case "more-exposed":
            found = [f"{each.carrier} by {each.author}" for each in changes.exposure if each.is_more]
            questions = [_stopped_tools(changes, "show"), _not_measurable(changes)]
        case "read-only-writes":
            found = [*changes.read_only[1].wrote]
            questions = [_stopped_tools(changes, "change"), _not_measurable(changes)]
        case "lint":
            found = [f"{each.tool} {each.message}" for each in changes.lint.new]
        case _:
            found = _larger(gate, changes)
            questions = [_why_unasked(changes)]
            if stopped := sum(each.kind == "question" for each in changes.stopped):
                told = f"{plural(stopped, 'question')} answered before and not now, which no size is compared of"
                questions = [told]
    if not found:
        return GateResult(gate=gate, open_question="; ".join(filter(None, questions)) or None)
    return GateResult(gate=gate, reason=_MEANING.get(gate, "") + "; ".join(found))


def _why_unasked(changes: ToolSetChanges) -> str | None:
    return None if changes.answers.before and changes.answers.after else "answers of both were not measured"


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
    "breaking": "calls that were right may be refused or fail now, of ",
    "failing": "answered before and not any more: ",
    "more-exposed": "more reaches the agent of ",
    "read-only-writes": "tools that say they only read tried to change something: ",
    "lint": "new findings: ",
}


def _larger(gate: str, changes: ToolSetChanges) -> list[str]:
    """Return the parts that have grown beyond what the gate allows, the one that has grown most first."""
    given = _LARGER.fullmatch(gate)
    of_totals, limit = (None, None) if given is None else given.groups()
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
