"""The tool-change report: what differs between two tool sets, as a document for a page, a comment or a terminal."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ghx_base.problems import plural
from ghx_bench.project.gates import GateResult
from ghx_bench.toolsets.changes.exposure_changes import ToolExposureChange
from ghx_bench.toolsets.changes.toolset_changes import AnswerChange, SizeChange, ToolSetChanges
from ghx_bench.toolsets.changes.words import (
    answer_words,
    growth_words,
    name_some,
    percent_words,
    shorten_text,
    size_change_words,
    state_words,
    tool_words,
    write_sizes,
    write_tokens,
)
from ghx_profiler.reports.render.markdown import to_markdown
from ghx_profiler.reports.report_document import (
    Chip,
    Document,
    Element,
    Headline,
    Note,
    Paragraph,
    Section,
    Table,
    TableCell,
)

_MOST_ROWS = 30
"""Of a table; JSON has everything."""
LONGEST_COMMENT = 65_536
"""Characters that a comment on GitHub holds; a longer one is refused."""
_SHORTENINGS = ((30, 600), (30, 300), (15, 240), (8, 160), (3, 120), (1, 80), (0, 80))
"""Rows of each table, and characters of a text in it, that are tried until a comment fits."""
_KINDS = ("added", "removed", "renamed", "changed")


def change_document(
    changes: ToolSetChanges,
    *,
    gates: Sequence[GateResult] = (),
    flows: Sequence[Section] = (),
    verdict: str | None = None,
    cautions: Sequence[str] = (),
    not_measured: Sequence[str] = (),
) -> Document:
    """Return the report; `flows` is what runs showed, with their `verdict`, and `cautions` what must be known of it."""
    sections = (
        _gates(gates),
        _surface(changes),
        _answers(changes),
        _exposure(changes),
        _proof(changes),
        _lint(changes),
        *flows,
        Section(id="not-measured", title="Not measured", elements=tuple(map(Paragraph, not_measured))),
    )
    return Document(
        title=f"Tool changes from {changes.before} to {changes.after}",
        subtitle=_subtitle(changes),
        headline=Headline(
            sentences=(*_sentences(changes), *([verdict] if verdict is not None else [])),
            chips=tuple(_chips(changes)),
        ),
        sections=tuple(each for each in sections if each.elements),
        footer=f"Made by ghx-bench, without a model; tokens: {changes.tokenizer}.",
        cautions=tuple(cautions),
    )


def _subtitle(changes: ToolSetChanges) -> str:
    before, after = (
        ", ".join(f"{name} {version or 'of unknown version'}" for name, version in versions.items())
        for versions in (changes.versions_before, changes.versions_after)
    )
    return f"Before: {changes.before} ({before or 'no tools'}). After: {changes.after} ({after or 'no tools'})."


def _sentences(changes: ToolSetChanges) -> Iterator[str]:
    """Yield what differs, part by part; of parts without a difference, only that."""
    if not changes.differs:
        tools = f"{plural(changes.tool_count_after, 'tool')}, " if changes.tool_count_after else ""
        question_words = f"answers to {plural(len(_asked(changes)), 'question')}, " if changes.answers.after else ""
        yield (
            f"Nothing differs between {changes.before} and {changes.after}: {tools}{question_words}"
            "exposure and lint are the same."
        )
        return
    # A tool that is gone is among the tools below.
    if stopped := [each.title for each in changes.stopped if each.kind == "question" or not each.is_gone]:
        yield f"Answered before and not any more: {name_some(stopped)}."
    counted = Counter(each.kind for each in changes.tools)
    kinds = ", ".join(f"{counted[kind]} {kind}" for kind in _KINDS if counted[kind])
    has_tools = changes.tool_count_before or changes.tool_count_after
    yield f"Tools: {kinds or 'the same'}." if has_tools else "Tools: programs, and no MCP server."
    growth = growth_words(changes.told, is_estimate=changes.tokens_are_estimated)
    yield f"Told before the first call: {growth if changes.told.has_changed else 'the same'}."
    if changes.skills:
        names = dict.fromkeys(each.name.partition(":")[0].removeprefix("skill ") for each in changes.skills)
        yield f"Skills that differ: {name_some([*names])}."
    if changes.settings:
        yield f"Set otherwise: {name_some([each.name for each in changes.settings])}."
    yield _answers_sentence(changes)
    more = sum(each.is_more for each in changes.exposure)
    if changes.exposure:
        less = len(changes.exposure) - more
        yield f"Exposure: more of {plural(more, 'text')} of others reaches the agent, less of {less}."
    else:
        yield f"Exposure: {'the same in all, not tool by tool' if changes.exposure_by_tool else 'the same'}."


def _answers_sentence(changes: ToolSetChanges) -> str:
    answers = changes.answers
    if answers.before is None or answers.after is None:
        return "Answers: not measured."
    questions = _asked(changes)
    if not answers.changed:
        return f"Answers to {plural(len(questions), 'question')}: the same."
    both = SizeChange(name="", before=answers.before.size, after=answers.after.size)
    together = growth_words(both, is_estimate=changes.tokens_are_estimated)
    return f"Answers: {len(answers.changed)} of {len(questions)} differ, together {together}."


def _asked(changes: ToolSetChanges) -> list[AnswerChange]:
    """Return the questions for which one of the modes at least has a call."""
    return [
        each
        for each in changes.answers.questions
        if any(row is not None and row.outcome != "none" for row in (each.before, each.after))
    ]


def _chips(changes: ToolSetChanges) -> Iterator[Chip]:
    if breaking := [each.title for each in changes.tools if each.is_breaking]:
        yield Chip(text=f"breaks calls of {name_some(breaking)}", tone="bad")
    if failing := [each.name for each in changes.stopped if not each.is_gone]:
        yield Chip(text=f"fails now: {name_some(failing)}", tone="bad")
    if wrote := changes.read_only[1].wrote:
        yield Chip(text=f"NOT read-only where it says so: {name_some(wrote)}", tone="bad")


def _table(
    caption: str, headers: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, is_text: bool = True
) -> tuple[Table, ...]:
    """Return a table, or nothing where it has no rows."""
    every = tuple(rows)
    return (Table(caption=caption, headers=headers, rows=every, is_text=is_text),) if every else ()


def _gates(gates: Sequence[GateResult]) -> Section:
    rows = ((each.gate, each.result) for each in gates)
    table = _table("What must not come of the change", ("gate", "result"), rows)
    return Section(id="gates", title="Gates", elements=table)


def _surface(changes: ToolSetChanges) -> Section:
    before, after, is_estimate = changes.before, changes.after, changes.tokens_are_estimated
    texts = [each for each in (*changes.instructions, *changes.skills, *changes.help) if each.has_changed]
    told = [changes.told, *texts] if changes.told.has_changed or texts or changes.tools else []
    told_rows = (
        (each.name, *write_sizes(each.before, each.after, is_estimate=is_estimate), size_change_words(each))
        for each in told
    )
    tool_rows = (
        (
            each.title,
            each.kind,
            *write_sizes(each.size_before, each.size_after, is_estimate=is_estimate),
            percent_words(each.size_before, each.size_after),
            "; ".join(tool_words(each)),
        )
        for each in changes.tools
    )
    settings = ((each.name, each.before, each.after) for each in changes.settings)
    rewritten = (
        (each.name, shorten_text(text.before), shorten_text(text.after))
        for each in changes.tools
        if (text := each.description) is not None
    )
    tables = (
        *_table("What an agent is told, in tokens", ("text", before, after, "change"), told_rows, is_text=False),
        *_table("Settings of the mode", ("setting", before, after), settings),
        *_table("Tools, in tokens", ("tool", "change", before, after, "difference", "what"), tool_rows),
        *_table("Descriptions", ("tool", before, after), rewritten),
    )
    return Section(id="surface", title="Surface", elements=tables)


def _answers(changes: ToolSetChanges) -> Section:
    answers, tables = changes.answers, list[Table]()
    if answers.changed and answers.before is not None and answers.after is not None:
        tables += _table(
            f"Answers to the {plural(answers.after.questions, 'question')} that both answer, in tokens",
            ("mode", "p50", "p95", "largest", "together", "calls", "API requests"),
            (
                (
                    name,
                    *(
                        write_tokens(tokens, is_estimate=changes.tokens_are_estimated)
                        for tokens in (each.tokens_p50, each.tokens_p95, each.tokens_largest, each.size.tokens)
                    ),
                    f"{each.calls:,}",
                    f"{each.requests:,}",
                )
                for name, each in ((changes.before, answers.before), (changes.after, answers.after))
            ),
            is_text=False,
        )
    headers = ("question", changes.before, changes.after, "difference", "what")
    rows = (_answer_row(changes, each) for each in answers.changed)
    tables += _table("Questions whose answers differ, in tokens", headers, rows)
    return Section(id="answers", title="Answers on the fixed world", elements=tuple(tables))


def _answer_row(changes: ToolSetChanges, change: AnswerChange) -> tuple[str, ...]:
    old, new = (None if each is None else each.size for each in (change.before, change.after))
    return (
        change.id,
        *write_sizes(old, new, is_estimate=changes.tokens_are_estimated),
        percent_words(old, new),
        "; ".join(answer_words(change)),
    )


def _exposure(changes: ToolSetChanges) -> Section:
    states = ((each.carrier, each.author, each.before, each.after) for each in changes.exposure)
    tools = ((_tool_name(each), "; ".join(state_words(each.states))) for each in changes.exposure_by_tool)
    headers = ("carrier", "by", changes.before, changes.after)
    tables = (
        *_table("What reaches the agent of the text of others", headers, states),
        *_table("Tool by tool", ("tool", "what"), tools),
    )
    return Section(id="exposure", title="Exposure to the text of others", elements=tables)


def _tool_name(change: ToolExposureChange) -> str:
    if change.before is None:
        return f"{change.name} (new)"
    return f"{change.name} (gone)" if change.after is None else change.name


def _proof(changes: ToolSetChanges) -> Section:
    """Return what the journals say of tools that say they only read; it is there whether or not it differs."""
    rows = (
        (
            each.mode,
            f"{each.tools_called:,}",
            f"{each.calls:,}",
            f"{each.read_only:,}",
            f"{len(each.wrote)}: {name_some(each.wrote)}" if each.wrote else "0",
            f"{each.not_called:,}",
        )
        for each in (changes.read_only if changes.differs else ())
    )
    headers = ("mode", "tools called", "calls", "read-only by their word", "of these tried to write", "not called")
    table = _table("Tools that say they only read, by the journal of requests", headers, rows, is_text=False)
    return Section(id="read-only", title="Read-only proof", elements=table)


def _lint(changes: ToolSetChanges) -> Section:
    rows = (
        (word, each.tool, each.message, each.kind)
        for word, findings in (("new", changes.lint.new), ("gone", changes.lint.gone))
        for each in findings
    )
    return Section(id="lint", title="Lint", elements=_table("Findings", ("", "tool", "what", "kind"), rows))


def bound_document(document: Document, *, rows: int = _MOST_ROWS, characters: int | None = None) -> Document:
    """Return a report whose tables and texts are not too long, with a word on what is left out of them."""
    sections = (
        replace(section, elements=tuple(part for each in section.elements for part in _bound(each, rows, characters)))
        for section in document.sections
    )
    return replace(document, sections=tuple(sections))


def _bound(element: Element, rows: int, characters: int | None) -> Iterator[Element]:
    def cut(text: TableCell) -> TableCell:
        if characters is None or not isinstance(text, str) or len(text) <= characters:
            return text
        return f"{text[: characters - 1]}…"

    match element:
        case Table():
            first_rows = tuple(tuple(map(cut, row)) for row in element.rows[:rows])
            yield replace(element, rows=first_rows)
            if len(element.rows) > rows:
                yield Note(f"and {len(element.rows) - rows:,} more; --json has all")
        case Paragraph(text):
            yield Paragraph(str(cut(text)))
        case _:
            yield element


def write_comment(document: Document) -> str:
    """Return a report as Markdown that GitHub takes as a comment; where it is shortened for that, it says so."""
    text = to_markdown(bound_document(document))
    note = "Shortened to what a comment holds: --json has everything, and --html longer tables."
    shorter = replace(document, cautions=(*document.cautions, note))
    for rows, characters in _SHORTENINGS:
        if len(text) <= LONGEST_COMMENT:
            return text
        text = to_markdown(bound_document(shorter, rows=rows, characters=characters))
    # Sections of runs may have parts that no rule here shortens.
    end = "\n\n*The rest is left out.*\n"
    return text if len(text) <= LONGEST_COMMENT else text[: LONGEST_COMMENT - len(end)].rpartition("\n")[0] + end
