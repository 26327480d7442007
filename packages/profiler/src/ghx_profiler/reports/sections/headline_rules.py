"""The rules that make a headline of verdicts; docs/reports.md states them.

Arms with the same verdict share a sentence: success first, then cost, then open questions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ghx_profiler.reports.report_document import Chip, Tone
from ghx_profiler.reports.wording import MOST_NAMES, format_change, format_short, join_names, percent
from ghx_profiler.stats.methods.scales import is_binary
from ghx_profiler.stats.observations import SUCCESS
from ghx_profiler.stats.result_records import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One verdict on one metric: an arm relative to its reference."""

    arm: str
    reference: str
    metric: str
    label: str
    """What people call the metric."""
    verdict: Verdict
    change: float | None
    """How much more, in per cent; of a 0/1 metric, in percentage points. `None` if it is undefined."""
    low: float | None = None
    high: float | None = None
    more_is_better: bool = False
    holds_elsewhere: bool = False
    """Whether the verdict is the same for the target that was not planned."""
    why_open: str = ""
    """Why it is open there."""
    is_always_the_same: bool = False
    """Whether success was the same in every row of each task, so that there was nothing to test."""

    @property
    def is_shown(self) -> bool:
        """Whether a difference was shown."""
        return self.verdict in _SHOWN

    @property
    def rises(self) -> bool:
        """Whether the arm has more than its reference."""
        if self.change is None:
            return self.verdict in {"higher", "better" if self.more_is_better else "worse"}
        return self.change > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Successes:
    """How many sessions of an arm succeeded."""

    k: int
    n: int


Rates = Mapping[str, Successes]
"""How often each arm succeeded, by its name."""

_SHOWN = frozenset[Verdict]({"better", "worse", "lower", "higher"})
_COST, _TOKENS, _TIME = "cost_total_usd", "tokens_active", "latency_wall_ms"
_ORDER = (_COST, _TOKENS, _TIME)
"""The amounts that a headline reports first: cost, tokens and time."""
_MOST_SENTENCES = 3
_MANY_GROUPS = 2
_MOST_CHIPS = 8
_NAMING_FACTOR = 50.0
"""From this increase in per cent on, a multiple is clearer."""


def write_sentences(contrasts: Sequence[Contrast], rates: Rates) -> tuple[str, ...]:
    """Return the headline: one sentence for all arms that did equally in success, the best ones first."""
    by_arm: dict[tuple[str, str], list[Contrast]] = {}
    for each in contrasts:
        by_arm.setdefault((each.arm, each.reference), []).append(each)
    groups: dict[tuple[str, str], list[list[Contrast]]] = {}
    for (arm, reference), arm_contrasts in by_arm.items():
        verdict = _success_verdict(arm_contrasts, rates[arm], rates[reference])
        # All arms that solve everything, or nothing, are grouped, whatever their reference.
        groups.setdefault((verdict, "" if verdict in _ALIKE else reference), []).append(arm_contrasts)
    if len(groups) > _MANY_GROUPS:
        _join_with_open(groups)
    sentences: list[str] = []
    named_arms: set[str] = set()
    for (verdict, reference), arms in sorted(groups.items(), key=lambda item: _SUCCESS_VERDICTS.index(item[0][0])):
        names = [told[0].arm for told in arms]
        rest = {arm for arm, of in by_arm if of == reference} - named_arms
        sentences.append(
            _write_sentence(verdict, reference, arms, _Names(names, len(named_arms) > 0 and rest == set(names)), rates)
        )
        named_arms.update(names)
    if len(sentences) > _MOST_SENTENCES:
        sentences[_MOST_SENTENCES:] = ["More comparisons are below."]
    if contrasts and not any(each.is_shown or each.verdict == "equivalent" for each in contrasts):
        sentences.append("No other difference is shown.")
    return tuple(sentences)


def _join_with_open(groups: dict[tuple[str, str], list[list[Contrast]]]) -> None:
    """Put equivalent arms among those of which it is open: the weaker sentence is true of both, and shorter."""
    for verdict, reference in [key for key in groups if key[0] == "equivalent"]:
        if ("inconclusive", reference) in groups:
            groups["inconclusive", reference] += groups.pop((verdict, reference))


_SUCCESS_VERDICTS = ("better", "every", "equivalent", "inconclusive", "none", "not estimable", "worse")
"""Outcomes of success relative to the reference, in the order of the headline."""
_ALIKE = frozenset({"every", "none"})


def _success_verdict(contrasts: Sequence[Contrast], own: Successes, reference: Successes) -> str:
    """Return the outcome of an arm's success."""
    if own.k == own.n and reference.k == reference.n:
        return "every"
    if own.k == reference.k == 0:
        return "none"
    success = next((each for each in contrasts if each.metric == SUCCESS), None)
    if success is None or success.verdict not in _SUCCESS_VERDICTS:
        return "not estimable"
    has_same_rate = own.k * reference.n == reference.k * own.n
    return "equivalent" if success.is_always_the_same and has_same_rate and own.n else success.verdict


class _Names(NamedTuple):
    """The arms of a sentence, and whether they are all that were not named before."""

    names: Sequence[str]
    are_the_rest: bool

    def __str__(self) -> str:
        if self.are_the_rest and len(self.names) > _SEVERAL:
            return f"The other {_NUMBERS.get(len(self.names), len(self.names))}"
        return join_names(self.names)


_SEVERAL = 2
_NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}


def _write_sentence(
    verdict: str, reference: str, arms: Sequence[Sequence[Contrast]], names: _Names, rates: Rates
) -> str:
    if verdict in _ALIKE:
        everyone = [*names.names, *(each[0].reference for each in arms)]
        opening = f"{join_names(list(dict.fromkeys(everyone)))} solve {'every' if verdict == 'every' else 'no'} task"
    else:
        opening = _TEMPLATES[verdict](names, reference, rates)
    clauses: dict[tuple[tuple[str, str, bool], ...], list[list[Contrast]]] = {}
    for arm_contrasts in arms:
        amounts = choose_amounts(arm_contrasts)
        clauses.setdefault(tuple((each.reference, each.metric, each.rises) for each in amounts), []).append(amounts)
    shown_clauses = [group for key, group in clauses.items() if key][:_MOST_SENTENCES]
    if not shown_clauses:
        return f"{opening}{_write_equivalent(arms)}."
    if len(clauses) == 1 and verdict not in _ALIKE:
        is_costly = all(each.rises for each in shown_clauses[0][0])
        link = "but" if (verdict == "better" and is_costly) or (verdict == "worse" and not is_costly) else "and"
        return f"{opening}, {link} {write_amounts(shown_clauses[0])}."
    parts = (f"{_name_side(group, arms)} {write_amounts(group)}" for group in shown_clauses)
    return f"{'; '.join((opening, *parts))}."


def _name_side(group: Sequence[Sequence[Contrast]], arms: Sequence[Sequence[Contrast]]) -> str:
    """Name the arms of a clause, and their reference if it differs within the sentence."""
    names = join_names([own[0].arm for own in group])
    has_one_reference = len({arm_contrasts[0].reference for arm_contrasts in arms}) == 1
    return names if has_one_reference else f"against {group[0][0].reference}, {names}"


def _write_more(names: _Names, reference: str, rates: Rates) -> str:
    how_often = f"{_rates(names.names, rates)} instead of {_rates([reference], rates)}"
    return f"{names} {_verb(names.names, 'succeed')} more often than {reference}: {how_often}"


def _write_less(names: _Names, reference: str, rates: Rates) -> str:
    return _write_more(names, reference, rates).replace(" more often than ", " less often than ", 1)


def _write_equivalent_success(names: _Names, reference: str, rates: Rates) -> str:
    how_often = f"{_rates(names.names, rates)}, {reference} {_rates([reference], rates)}"
    return f"{names} {_verb(names.names, 'succeed')} as often as {reference} ({how_often})"


def _write_inconclusive(names: _Names, reference: str, rates: Rates) -> str:
    own, others = _rates(names.names, rates), _rates([reference], rates)
    return f"{names} {_verb(names.names, 'solve')} {own}, no clear difference from {reference} ({others})"


def _write_too_little_data(names: _Names, reference: str, rates: Rates) -> str:
    own, others = _rates(names.names, rates), _rates([reference], rates)
    return f"{names} {_verb(names.names, 'solve')} {own}, {reference} {others}: too little was measured to compare"


_TEMPLATES: Mapping[str, Callable[[_Names, str, Rates], str]] = {
    "better": _write_more,
    "worse": _write_less,
    "equivalent": _write_equivalent_success,
    "inconclusive": _write_inconclusive,
    "not estimable": _write_too_little_data,
}


def _rates(names: Sequence[str], rates: Rates) -> str:
    """Return how often arms succeed; from the least to the most where they differ."""
    shares = sorted(rates[name].k / rates[name].n for name in names if rates[name].n)
    bounds = list(dict.fromkeys(map(percent, (shares[0], shares[-1])))) if shares else ["nothing"]
    return " to ".join(bounds)


def _verb(names: Sequence[object], verb: str) -> str:
    return verb if len(names) > 1 else "has" if verb == "have" else f"{verb}s"


def choose_amounts(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Return the amounts that a headline reports for one arm: of those that rise, and that fall, one and the time."""
    amounts = sorted((each for each in contrasts if each.is_shown and each.metric != SUCCESS), key=_position)
    kinds = [(each.rises, each.metric == _TIME) for each in amounts]
    return [each for at, each in enumerate(amounts) if kinds[at] not in kinds[:at]]


def write_points(contrasts: Iterable[Contrast]) -> str:
    """Return the change in success as an aside, with its interval: ` (-30 points, -50 to -10)`."""
    for each in contrasts:
        if each.metric == SUCCESS and each.change is not None:
            bounds = _bounds(each)
            return f" ({format_change(each.change)}{_unit(each)}{f', {bounds}' if bounds else ''})"
    return ""


def _position(contrast: Contrast) -> int:
    return _ORDER.index(contrast.metric) if contrast.metric in _ORDER else len(_ORDER)


def write_amounts(group: Sequence[Sequence[Contrast]]) -> str:
    """Return the changes of arms by metric; all differ from their reference in the same direction."""
    return " and ".join(_write_amount(of_arms) for of_arms in zip(*group, strict=True))


def _write_amount(contrasts: Sequence[Contrast]) -> str:
    metric, size = contrasts[0].metric, _write_size(contrasts)
    rises = contrasts[0].rises
    is_factor = "times" in size
    if metric == _COST:
        words = ("cost", "as much" if is_factor else "more" if rises else "less")
    elif metric == _TIME:
        words = ("take", "as long" if is_factor else "longer" if rises else "less time")
    else:
        what = "tokens" if metric == _TOKENS else contrasts[0].label
        words = (
            "have" if contrasts[0].more_is_better else "need",
            f"{'the' if is_factor else 'more' if rises else 'fewer'} {what}",
        )
    verb = _verb(contrasts, words[0])
    if size.endswith(")"):  # the interval comes last
        number, _, interval = size.partition(" (")
        return f"{verb} {number} {words[1]} ({interval}"
    return " ".join(filter(None, (verb, size, words[1])))


def _write_size(contrasts: Sequence[Contrast]) -> str:
    """Return the size of a change: with its interval for one arm, from lowest to highest for several."""
    changes = sorted((each.change for each in contrasts if each.change is not None), key=abs)
    if len(changes) < len(contrasts):
        return ""
    ends, unit = (changes[0], changes[-1]), _unit(contrasts[0])
    if changes[-1] >= _NAMING_FACTOR and unit == " %":
        factors = dict.fromkeys(f"{1 + end / 100:.1f}".removesuffix(".0") for end in ends)
        return f"{' to '.join(factors)} times"
    if len(contrasts) > 1:
        return f"{' to '.join(dict.fromkeys(format_short(abs(end)) for end in ends))}{unit}"
    return f"{format_short(abs(changes[0]))}{unit}{_interval(contrasts[0])}"


def _interval(contrast: Contrast) -> str:
    """Return the interval of one change as an aside; nothing where a bound is missing."""
    if contrast.low is None or contrast.high is None:
        return ""
    near, far = sorted((contrast.low, contrast.high), key=abs)
    return f" ({format_short(abs(near))} to {format_short(abs(far))}{_unit(contrast)})"


def _write_equivalent(arms: Sequence[Sequence[Contrast]]) -> str:
    """Return the first amount that is equivalent for all arms."""
    for metric, words in _SAME.items():
        equivalents = [each for arm_contrasts in arms for each in arm_contrasts if each.metric == metric]
        if len(equivalents) == len(arms) and all(each.verdict == "equivalent" for each in equivalents):
            return words
    return ""


_SAME = {_COST: ", at the same price", _TOKENS: ", with as many tokens", _TIME: ", in the same time"}


def write_scope(contrasts: Sequence[Contrast], *, tasks: int, is_suite: bool) -> str:
    """Return the scope of the headline: these tasks, or tasks like these, and why not both."""
    these = "On this one task" if tasks == 1 else f"On these {tasks:,} tasks"
    here, there = (these, "For tasks like these") if is_suite else ("For tasks like these", these)
    differences = _reported_differences(contrasts)
    if not differences:
        return f"{here}."
    by_metric: dict[str, list[Contrast]] = {}
    for each in differences:
        by_metric.setdefault(each.label, []).append(each)
    if all(each.holds_elsewhere for each in differences):
        return f"{here}, and {there[0].lower()}{there[1:]} too."
    if not any(each.holds_elsewhere for each in differences):
        return f"{here}. {there} it is open{_because(differences)}."
    parts: list[str] = []
    for label, group in by_metric.items():
        generalizing = sum(each.holds_elsewhere for each in group)
        if generalizing in {0, len(group)}:
            parts.append(f"{label} {'holds too' if generalizing else f'is open{_because(group)}'}")
        else:
            holding, rest = ([each.arm for each in group if each.holds_elsewhere is holds] for holds in (True, False))
            parts.append(f"{label} holds for {join_names(holding)}, is open for {join_names(rest)}")
    return f"{here}. {there} {'; '.join(parts)}."


def _reported_differences(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """Return the differences in the sentences, success first."""
    by_arm: dict[tuple[str, str], list[Contrast]] = {}
    for each in contrasts:
        by_arm.setdefault((each.arm, each.reference), []).append(each)
    success = [each for each in contrasts if each.is_shown and each.metric == SUCCESS]
    return success + [each for arm_contrasts in by_arm.values() for each in choose_amounts(arm_contrasts)]


def _because(contrasts: Iterable[Contrast]) -> str:
    why = next((each.why_open for each in contrasts if each.why_open), "")
    return f": {why}" if why else ""


def write_open(contrasts: Sequence[Contrast]) -> str:
    """Return the metrics with inconclusive differences, and the unknown ones; empty without any."""
    open_arms: dict[str, list[str]] = {}
    unknown: dict[str, None] = {}
    pairs = {(each.arm, each.reference) for each in contrasts}
    for each in contrasts:
        if each.metric != SUCCESS and each.verdict == "inconclusive":
            open_arms.setdefault(each.label, []).append(each.arm)
        elif each.metric != SUCCESS and each.verdict == "not estimable":
            unknown[each.label] = None
    listed = [
        label if len(of) == len(pairs) else f"{label} of {join_names(list(dict.fromkeys(of)))}"
        for label, of in open_arms.items()
    ]
    sentences = [f"Open whether they differ: {', '.join(listed)}."] if listed else []
    return " ".join([*sentences, *([f"Not estimable: {', '.join(unknown)}."] if unknown else ())])


_TONES: Mapping[str, Tone] = {"better": "good", "worse": "bad"}


def choose_chips(contrasts: Sequence[Contrast], *, names_references: bool = True) -> tuple[Chip, ...]:
    """Return single verdicts: one for each metric and verdict, success first; arms that share both share it.

    If references differ, each chip names its reference, unless its names already contain it.
    """
    groups: dict[tuple[bool, int, str, str, str], list[Contrast]] = {}
    for each in contrasts:
        if each.is_shown or each.verdict == "equivalent":
            key = (each.metric != SUCCESS, _position(each), each.metric, each.verdict, each.reference)
            groups.setdefault(key, []).append(each)
    ordered = sorted(groups.items(), key=lambda item: item[0][:2])
    names_references &= len({each.reference for each in contrasts}) > 1
    return tuple(
        Chip(text=_write_chip(group, names_reference=names_references), tone=_TONES.get(verdict, "neutral"))
        for (*_, verdict, _), group in ordered[:_MOST_CHIPS]
    )


def _write_chip(group: Sequence[Contrast], *, names_reference: bool) -> str:
    first, names = group[0], join_names([each.arm for each in group])
    if len(group) > MOST_NAMES:
        names = f"{len(group)} of them"
    names = f"{names} against {first.reference}" if names_reference else names
    text = f"{names}: {first.label}{' equivalent' if first.verdict == 'equivalent' else ''}"
    changes = [format_change(each.change) for each in group if each.change is not None]
    if len(changes) < len(group):
        return text if first.verdict == "equivalent" else f"{text} {first.verdict}"
    # One has its interval; several are listed, since a range would read like an interval.
    if len(group) > MOST_NAMES:
        values = sorted((each.change for each in group if each.change is not None), key=abs)
        return f"{text}, at least {format_change(values[0])}{_unit(first)}, at most {format_change(values[-1])}"
    if len(group) > 1:
        return f"{text} {join_names(changes)}{_unit(first)}"
    bounds = _bounds(first)
    return f"{text} {changes[0]}{_unit(first)}{f' ({bounds})' if bounds else ''}"


def _bounds(contrast: Contrast) -> str:
    low, high = contrast.low, contrast.high
    return "" if low is None or high is None else f"{format_change(low)} to {format_change(high)}"


def _unit(contrast: Contrast) -> str:
    return " points" if is_binary(contrast.metric) else " %"
