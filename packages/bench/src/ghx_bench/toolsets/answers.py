"""What is said of answers: their size, whether one fails its reader, and how those of two modes compare."""

import hashlib
import json
import math
import re
import statistics
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, cast

from pydantic import Field

from ghx_base.wire import Count, WireModel
from ghx_bench.toolsets.calls import Call
from ghx_bench.toolsets.questions import Items, Question, QuestionKind
from ghx_bench.toolsets.sizes import Ruler, Size, percentile, total

Outcome = Literal["answered", "failed", "refused", "no-error", "none", "not-measurable"]
"""`refused` is an error where one was due, `no-error` none where one was; `none`: the mode has no such call.

`not-measurable`: the call asked for what the emulator lacks, so that its answer says nothing of the tool.
"""

_HINT = re.compile(
    r"\b(?:did you mean|try|use|using|run|see|specify|provide|pass|check|must be|should be|expected|expects|required|"
    r"requires|needs|missing|valid values|one of|available|known|instead|usage|help)\b|`[^`]+`|(?<!\S)--[a-z]",
    re.IGNORECASE,
)
_SAYS_THERE_IS_MORE = re.compile(
    r"has_?(?:next_?page|more)\W{1,4}true|next page|\bmore\b|truncated(?!\W{1,4}false)|"
    r"\bomitted\b|left out|--limit|--paginate|--page\b|showing \d+ of|incomplete_results\W{1,4}true",
    re.IGNORECASE,
)
_POINTS_TO_NEXT_PAGE = re.compile(
    r"(?:end|next)_?cursor\W{1,4}(?!(?:null|none|nil|undefined|false|0)\b)\w|next_?page\W{1,4}[1-9]",
    re.IGNORECASE,
)
_SAYS_IT_IS_THE_LAST = re.compile(r"has_?(?:next_?page|more)\W{1,4}false", re.IGNORECASE)

_TOTAL = re.compile(r"\btotal_?(?:count)?\W{1,4}(\d{1,9})\b|\b\d+ of (\d{1,9})\b|\b(\d{1,9}) total\b", re.IGNORECASE)


class AnswerRow(WireModel):
    """The outcome of one question in one mode."""

    id: str
    kind: QuestionKind
    outcome: Outcome
    reason: str | None = None
    """Why there is no call; of one that failed, the first line of what it said."""
    lacking_tool: str | None = None
    """The tool that the call in the table names and the mode does not offer, where that is why there is none."""
    size: Size | None = None
    call: Size | None = None
    """What an agent writes to ask: the commands, or the tools and their arguments as JSON."""
    calls: Count = 0
    requests: Count | None = 0
    """`None` where a program asks several things at once and drops some, so that it is another number each time."""
    items: Count | None = None
    total: Count | None = None
    no_hint: bool = False
    over_limit: bool = False
    cut_off: bool = False
    gaps: tuple[str, ...] = ()
    """What the calls asked for and the emulator lacks."""
    fields: tuple[str, ...] | None = Field(default=None, exclude=True)
    """The fields of an answer in JSON, as `labels[].name`, to be compared with others; `None` of any other text."""
    digest: str | None = Field(default=None, exclude=True)
    """Of the text, which is too long to be kept."""

    @property
    def tokens(self) -> int:
        """The tokens of the answer; 0 where there is none."""
        return self.size.tokens if self.size is not None else 0

    @property
    def cost(self) -> float | None:
        """The tokens that an agent writes and reads for it, of a list for each item; `None` where nothing compares.

        For each item, since one mode shows thirty of a hundred where another one shows all.
        """
        if self.outcome != "answered" or self.call is None or self.items == 0:
            return None
        return (self.call.tokens + self.tokens) / (self.items or 1)


class AnswerRatios(WireModel):
    """The questions that a mode and the first one both answer: how their costs compare, each question alike.

    Sums are not compared: a few long answers would be the whole of them.
    """

    reference: str
    questions: Count
    smaller: Count
    """Questions that cost less than in the first mode, by more than 5 %."""
    larger: Count
    geometric_mean: float
    """Of the ratios; below 1, the mode costs less."""
    median: float
    reads: float | None
    """The geometric mean for questions, without changes."""
    changes: float | None
    lowest: tuple[str, float]
    """The question with the smallest ratio, and that ratio."""
    highest: tuple[str, float]


class AnswerFigures(WireModel):
    """The answers of a mode, or some of them, in numbers."""

    questions: Count
    tokens_p50: Count | None
    tokens_p95: Count | None
    tokens_largest: Count | None
    largest: str | None
    """The question with the largest answer."""
    size: Size
    calls: Count
    requests: Count


def says_what_to_do(text: str) -> bool:
    """Return whether an error helps its reader on: it names a command, a flag or choices, or uses a word of advice."""
    return _HINT.search(text) is not None


def says_there_is_more(text: str, count: int) -> bool:
    """Return whether a part of a list says that it is one: by a total, a cursor, a page that follows, or in words.

    A cursor that is `null`, and one next to the word that there is no other page, point to nothing.
    """
    totals = (int(number) for match in _TOTAL.finditer(text) for number in match.groups() if number)
    if any(each > count for each in totals) or _SAYS_THERE_IS_MORE.search(text) is not None:
        return True
    return _POINTS_TO_NEXT_PAGE.search(text) is not None and _SAYS_IT_IS_THE_LAST.search(text) is None


def count_items(text: str, items: Items) -> int:
    """Return how many different things of a list an answer has."""
    return len(set(re.findall(items.pattern, text)))


def judge(question: Question, calls: Sequence[Call], ruler: Ruler, *, limit_tokens: int, column: str = "") -> AnswerRow:
    """Return what is to be said of the answer to a question, made of one call or several."""
    answers = [each.answer for each in calls]
    gaps = tuple(dict.fromkeys(gap for each in calls for gap in each.gaps))
    size = total(ruler.measure(each.text) for each in answers)
    text, has_failed = "\n".join(each.text for each in answers), any(each.failed for each in answers)
    is_lost = any(each.is_lost for each in calls)
    complaint = next((each.answer.complaint for each in calls if each.is_lost and each.answer.complaint), text)
    is_over = any(ruler.measure(each.text).tokens > limit_tokens for each in answers)
    item_count = None if question.items is None or has_failed else count_items(text, question.items)
    is_cut = (
        question.items is not None
        and item_count is not None
        and item_count < question.items.total
        and not says_there_is_more(text, item_count)
    )
    return AnswerRow(
        id=question.id,
        kind=question.kind,
        outcome="not-measurable" if gaps else _outcome(question, has_failed=has_failed, is_lost=is_lost),
        size=size,
        call=total(ruler.measure(each.written) for each in calls),
        calls=len(calls),
        requests=None if column in question.races else sum(len(each.requests) for each in calls),
        no_hint=has_failed and not gaps and not says_what_to_do(text),
        over_limit=is_over and not gaps,
        cut_off=is_cut and not gaps,
        gaps=gaps,
        items=item_count,
        total=None if question.items is None else question.items.total,
        reason=first_line(complaint) if has_failed else None,
        fields=fields_of([each.text for each in answers]),
        digest=digest_of(text),
    )


def digest_of(text: str) -> str:
    """Return what two texts have in common only if they are the same."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def fields_of(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the fields of answers in JSON, each once and in order; `None` where none of the texts is JSON."""
    fields: set[str] = set()
    has_json = False
    for text in texts:
        try:
            values = [*_json_values(text)]
        except (ValueError, RecursionError):
            continue
        has_json |= any(isinstance(each, dict | list) for each in values)
        for value in values:
            fields.update(_paths(value, ""))
    return tuple(sorted(fields)) if has_json else None


def _json_values(text: str) -> Iterator[object]:
    """Yield the JSON values of a text, of which several may follow each other, as pages and lines do."""
    decoder, text, at = json.JSONDecoder(), text.strip(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def _paths(value: object, path: str) -> Iterator[str]:
    match value:
        case dict():
            for key, each in cast("dict[str, object]", value).items():
                inner = f"{path}.{key}" if path else key
                yield inner
                yield from _paths(each, inner)
        case list():
            for each in cast("list[object]", value):
                yield from _paths(each, f"{path}[]")
        case _:
            return


def _outcome(question: Question, *, has_failed: bool, is_lost: bool) -> Outcome:
    # A tool that hangs, or whose server ends, has refused nothing.
    if question.kind == "error" and not is_lost:
        return "refused" if has_failed else "no-error"
    return "failed" if has_failed else "answered"


def first_line(text: str) -> str:
    """Return the first line of a text that says something, shortened."""
    return next((each.strip() for each in text.splitlines() if each.strip()), "(nothing)")[:160]


def figures(rows: Sequence[AnswerRow], *, uncounted: Collection[str] = ()) -> AnswerFigures:
    """Return the numbers of answers to questions, errors left out: what an error says is judged, not weighed.

    Requests for the questions in `uncounted` are left out, as are those of rows that do not know them.
    """
    answered = [each for each in rows if each.outcome == "answered"]
    tokens = [each.tokens for each in answered]
    largest = max(answered, key=lambda each: each.tokens, default=None)
    return AnswerFigures(
        questions=len(answered),
        tokens_p50=percentile(tokens, 50),
        tokens_p95=percentile(tokens, 95),
        tokens_largest=max(tokens, default=None),
        largest=None if largest is None else largest.id,
        size=total(each.size for each in answered if each.size is not None),
        calls=sum(each.calls for each in answered),
        requests=sum(each.requests or 0 for each in answered if each.id not in uncounted),
    )


_ABOUT_THE_SAME = 0.05


def compare_answers(reference: str, first: Sequence[AnswerRow], rows: Sequence[AnswerRow]) -> AnswerRatios | None:
    """Return how the answers of a mode compare in cost with those of the first one; `None` where none compares."""
    costs = {each.id: each.cost for each in first}
    ratios = {
        row.id: row.cost / cost
        for row in rows
        if row.cost is not None and (cost := costs.get(row.id)) is not None and cost > 0 and row.cost > 0
    }
    if not ratios:
        return None
    kinds = {each.id: each.kind for each in rows}
    lowest, highest = (choose(ratios, key=ratios.__getitem__) for choose in (min, max))
    return AnswerRatios(
        reference=reference,
        questions=len(ratios),
        smaller=sum(each < 1 - _ABOUT_THE_SAME for each in ratios.values()),
        larger=sum(each > 1 + _ABOUT_THE_SAME for each in ratios.values()),
        geometric_mean=_geometric_mean([*ratios.values()]) or 1.0,
        median=round(statistics.median(ratios.values()), 3),
        reads=_geometric_mean([each for id_, each in ratios.items() if kinds[id_] == "read"]),
        changes=_geometric_mean([each for id_, each in ratios.items() if kinds[id_] == "change"]),
        lowest=(lowest, round(ratios[lowest], 3)),
        highest=(highest, round(ratios[highest], 3)),
    )


def _geometric_mean(ratios: Sequence[float]) -> float | None:
    return round(math.exp(math.fsum(map(math.log, ratios)) / len(ratios)), 3) if ratios else None
