"""What differs between two tool sets, thing by thing in words."""

from collections.abc import Iterator, Sequence

from ghx_base.problems import plural
from ghx_bench.toolsets.answers import AnswerRow
from ghx_bench.toolsets.changes.argument_changes import Argument, ArgumentChange
from ghx_bench.toolsets.changes.exposure_changes import StateChange
from ghx_bench.toolsets.changes.tool_changes import ToolChange
from ghx_bench.toolsets.changes.toolset_changes import AnswerAspect, AnswerChange, SizeChange
from ghx_bench.toolsets.exposure.carriers import AUTHORS
from ghx_bench.toolsets.sizes import Size

_MOST_NAMED = 8
_LONGEST_TEXT = 240


def tool_words(change: ToolChange) -> Iterator[str]:
    """Yield what of a tool has changed; its size stands next to it."""
    if (text := change.description) is not None:
        lengths = len(text.before), len(text.after)
        word = "shortened" if lengths[1] < lengths[0] else "lengthened" if lengths[1] > lengths[0] else "reworded"
        yield f"description {word} ({lengths[0]:,} -> {lengths[1]:,} characters)"
    yield from map(_argument_words, change.arguments)
    if (hints := change.annotations) is not None:
        names = [key for key in {**hints.before, **hints.after} if hints.before.get(key) != hints.after.get(key)]
        yield "; ".join(f"{key} {hints.before.get(key, 'unsaid')} -> {hints.after.get(key, 'unsaid')}" for key in names)
    if change.has_other_schema:
        yield f"its schema beyond its arguments{_COVERAGE[change.takes_all]}"


def _argument_words(change: ArgumentChange) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        of = next(each for each in (after, before) if each is not None)
        must = "required " if of.required else ""
        return f"argument {change.name} {change.change} ({must}{of.type})"
    return f"argument {change.name}: {', '.join(_aspect_words(change, before, after))}{_COVERAGE[change.takes_all]}"


_COVERAGE = {
    True: "",
    False: " (refuses what it took before)",
    None: " (whether it takes all that it took before cannot be told)",
}


def _aspect_words(change: ArgumentChange, before: Argument, after: Argument) -> Iterator[str]:
    for aspect in change.aspects:
        match aspect:
            case "type":
                yield f"type {before.type} -> {after.type}"
            case "required":
                yield "now required" if after.required else "no longer required"
            case "choices":
                old, new = (set(map(str, each.choices or ())) for each in (before, after))
                removed, added = (", ".join(sorted(each)) for each in (old - new, new - old))
                yield f"choices{f' without {removed}' if removed else ''}{f' with {added}' if added else ''}"
            case "description":
                yield f"description ({len(before.description):,} -> {len(after.description):,} characters)"
            case "schema":
                yield "other parts of its schema"


def answer_words(change: AnswerChange) -> Iterator[str]:
    """Yield what of an answer has changed; its size stands next to it."""
    before, after = change.before, change.after
    if before is None or after is None:
        return
    words: dict[AnswerAspect, str] = {
        "outcome": _outcome_words(before, after),
        "text": "other text of the same size",
        "fields": "; ".join(_field_words(change, before, after)),
        "calls": f"{before.calls} -> {plural(after.calls, 'call')}",
        "requests": f"{before.requests} -> {after.requests} API requests",
        "items": f"{_unknown(before.items)} -> {_unknown(after.items)} items",
        "over limit": f"{'now' if after.over_limit else 'no longer'} over the limit",
        "cut off": f"{'now' if after.cut_off else 'no longer'} cut off silently",
        "hint": f"its error {'no longer says' if after.no_hint else 'now says'} what to do",
    }
    yield from (words[aspect] for aspect in change.aspects if words.get(aspect))


def _outcome_words(before: AnswerRow, after: AnswerRow) -> str:
    reason = f": {after.reason}" if after.reason and after.outcome in ("failed", "none") else ""
    return f"{_OUTCOMES[before.outcome]} -> {_OUTCOMES[after.outcome]}{reason}"


_OUTCOMES = {
    "answered": "answered",
    "failed": "failed",
    "refused": "refused",
    "no-error": "not refused",
    "not-measurable": "not measurable here",
    "none": "no such call",
}


def _field_words(change: AnswerChange, before: AnswerRow, after: AnswerRow) -> Iterator[str]:
    for word, fields in (("new", change.new_fields), ("without", change.lost_fields)):
        if fields:
            yield f"{word} {'field' if len(fields) == 1 else 'fields'} {name_some(fields)}"
    if (before.fields is None) != (after.fields is None) and {before.outcome, after.outcome} == {"answered"}:
        yield "no longer JSON" if after.fields is None else "now JSON"


def _unknown(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def state_words(states: Sequence[StateChange]) -> Iterator[str]:
    """Yield what changes for which texts, those with the same change together."""
    tools: dict[tuple[str, str], dict[str, list[str]]] = {}
    for each in states:
        tools.setdefault((each.before, each.after), {}).setdefault(each.carrier, []).append(each.author)
    for (before, after), carriers in tools.items():
        names = [
            each if len(authors) == len(AUTHORS) else f"{each} by {authors[0]}" for each, authors in carriers.items()
        ]
        yield f"{before} -> {after}: {name_some(names)}"


def name_some(names: Sequence[str]) -> str:
    """Return names in one line, the first few if there are many."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def shorten_text(text: str) -> str:
    """Return a text on one line that fits into a table."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_TEXT else f"{flat[: _LONGEST_TEXT - 1]}…"


def write_tokens(tokens: int | None, *, is_estimate: bool) -> str:
    """Return a number of tokens, with a mark where it is an estimate."""
    return "-" if tokens is None else f"{'~' if is_estimate else ''}{tokens:,}"


def write_sizes(before: Size | None, after: Size | None, *, is_estimate: bool) -> tuple[str, str]:
    """Return the tokens of a text before and after."""
    old, new = (
        write_tokens(None if each is None else each.tokens, is_estimate=is_estimate) for each in (before, after)
    )
    return old, new


def growth_words(change: SizeChange, *, is_estimate: bool) -> str:
    """Return the tokens of a text before and after, and by how much they differ."""
    old, new = write_sizes(change.before, change.after, is_estimate=is_estimate)
    return f"{old} -> {new} tokens ({size_change_words(change)})"


def size_change_words(change: SizeChange) -> str:
    """Return by how much a text has grown or shrunk, or that it is another of the same size."""
    if change.is_reworded and change.before == change.after:
        return "other words"
    return percent_words(change.before, change.after)


def percent_words(before: Size | None, after: Size | None) -> str:
    """Return by how much the tokens have grown or shrunk."""
    old, new = (0 if each is None else each.tokens for each in (before, after))
    if old == new:
        # Another text may have as many tokens.
        more = (after or Size()).characters - (before or Size()).characters
        return "0 %" if before == after else f"{more:+,} character{'' if abs(more) == 1 else 's'}"
    if not old or before is None or after is None:
        return f"{new - old:+,}"
    change = 100 * (new - old) / old
    return f"{change:+.0f} %" if abs(change) >= 1 else f"{change:+.1f} %"
