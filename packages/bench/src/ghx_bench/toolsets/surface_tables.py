"""What `ghx-bench surface` has measured, as tables for a terminal and for a page."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ghx_base.problems import plural
from ghx_bench.toolsets.answers import AnswerFigures, AnswerRatios, AnswerRow
from ghx_bench.toolsets.surface import ModeSurface, Surface

WriteNumber = Callable[[int | None], str]

_MOST_LINES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A heading, what the columns are called, and the cells."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables_of(surface: Surface) -> Iterator[Table]:
    """Yield the tables of a measurement, those without a row left out."""
    tables = [_told(surface), *(_answers(surface) if any(each.answers for each in surface.modes) else ())]
    tables += [_lint(surface)]
    yield from (each for each in tables if each.rows)


def _told(surface: Surface) -> Table:
    number = _numbers(surface)
    return Table(
        title="Before the first call",
        header=("mode", "version", "tools", "tokens told", "bytes", "largest tool", "help, tokens", "help texts"),
        rows=tuple(
            (
                each.name,
                ", ".join(_versions(each)) or "-",
                str(each.tools) if each.servers else "-",
                f"{'>' if each.is_abridged else ''}{number(each.told.tokens)}",
                f"{'>' if each.is_abridged else ''}{each.told.bytes:,}",
                _largest_tool(each, number),
                number(sum(program.size.tokens for program in each.programs)) if each.programs else "-",
                str(sum(len(program.help) for program in each.programs)) if each.programs else "-",
            )
            for each in surface.modes
        ),
    )


def _answers(surface: Surface) -> Iterator[Table]:
    number = _numbers(surface)
    answered = [each for each in surface.modes if each.answers is not None]
    has_gaps = any(row.outcome == "not-measurable" for each in answered for row in each.rows)
    header = ("mode", "questions", "no call", "failed", *(("not measurable",) if has_gaps else ()), "p50", "p95",
              "largest", "calls", "API requests", "over limit", "whole lists", "cut off silently",
              "errors without a hint")  # fmt: skip
    yield Table(
        title="Answers, in tokens",
        header=header,
        rows=tuple(
            (
                each.name,
                str(each.answers.questions if each.answers else 0),
                _count(each.rows, lambda row: row.outcome == "none"),
                _count(each.rows, lambda row: row.outcome == "failed"),
                *((_count(each.rows, lambda row: row.outcome == "not-measurable"),) if has_gaps else ()),
                *_weights(each.answers, each.rows, number),
                str(each.answers.calls if each.answers else 0),
                str(each.answers.requests if each.answers else 0),
                _count(each.rows, lambda row: row.over_limit),
                _count_whole(each),
                _count_cut_off(each),
                _share([row.no_hint for row in each.rows if row.outcome in ("refused", "failed")]),
            )
            for each in answered
        ),
    )
    yield _lists(answered)
    if len(answered) > 1:
        yield _ratios(answered)
        yield Table(
            title=f"Answers to the {plural(len(surface.common_questions), 'question')} that all answer, in tokens",
            header=("mode", "p50", "p95", "largest", "API requests"),
            rows=tuple(
                (
                    each.name,
                    *_weights(each.common, each.rows, number),
                    str(each.common.requests) if each.common else "-",
                )
                for each in answered
            ),
        )


def _lists(answered: Sequence[ModeSurface]) -> Table:
    """Return how much of lists each mode shows: an answer is short if it says little, and also if it ends early."""
    totals = [{row.id: row for row in each.rows if row.total is not None} for each in answered]
    ids = dict.fromkeys(row.id for each in answered for row in each.rows if any(row.id in rows for rows in totals))
    return Table(
        title="Lists: items shown of how many there are, and tokens written and read for each item",
        header=("list", *(each.name for each in answered)),
        rows=tuple((id_, *(_list_cell(rows.get(id_)) for rows in totals)) for id_ in ids),
    )


def _list_cell(row: AnswerRow | None) -> str:
    if row is None or row.items is None:
        return "-"
    marks = "".join(mark for mark, is_so in ((", silently", row.cut_off), (", over limit", row.over_limit)) if is_so)
    each = "" if row.cost is None else f": {row.cost:,.1f}"
    return f"{row.items} of {row.total}{marks}{each}"


def _ratios(answered: Sequence[ModeSurface]) -> Table:
    first = answered[0].name
    return Table(
        title=f"Held against {first}, question by question: tokens written and read, of lists for each item",
        header=("mode", "both answer", "smaller", "larger", "geometric mean", "median", "of reads", "of changes",
                "lowest", "highest"),
        rows=tuple((each.name, *_ratio_cells(each.against)) for each in answered[1:] if each.against is not None),
    )  # fmt: skip


def _ratio_cells(ratios: AnswerRatios) -> tuple[str, ...]:
    return (
        str(ratios.questions),
        str(ratios.smaller),
        str(ratios.larger),
        *(_times(each) for each in (ratios.geometric_mean, ratios.median, ratios.reads, ratios.changes)),
        *(f"{_times(ratio)} ({id_})" for id_, ratio in (ratios.lowest, ratios.highest)),
    )


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f} x"


def brief_table(surface: Surface) -> Table:
    """Return one table that fits a terminal: what is told, and how answers compare with those of the first mode.

    Not how large they are together, or the largest: that is a matter of one or two questions, and of how much of a list
    an answer has.
    """
    number = _numbers(surface)
    first = next((each.name for each in surface.modes if each.answers is not None), "")
    return Table(
        title=f"Without a model, in tokens ({surface.tokenizer}): what agents are told before the first call, "
        f"and answers to {plural(len(surface.common_questions), 'question')}",
        header=(
            "mode", "told", "help", "answer p50", f"smaller / larger than {first}".rstrip(), "ratio", "whole lists",
            "cut off silently", "API requests",
        ),
        rows=tuple(
            (
                each.name,
                number(each.told.tokens),
                number(sum(program.size.tokens for program in each.programs)) if each.programs else "-",
                number(each.common.tokens_p50) if each.common else "-",
                "-" if each.against is None
                else f"{each.against.smaller} / {each.against.larger} of {each.against.questions}",
                "-" if each.against is None else _times(each.against.geometric_mean),
                _count_whole(each),
                _count_cut_off(each),
                str(each.common.requests) if each.common else "-",
            )
            for each in surface.modes
        ),
    )  # fmt: skip


def _lint(surface: Surface) -> Table:
    kinds = sorted({finding.kind for each in surface.modes for finding in each.lint or ()})
    linted = [each for each in surface.modes if each.lint is not None]
    return Table(
        title="Lint of MCP servers",
        header=("mode", "findings", *kinds, "read-only tools called"),
        rows=tuple(
            (
                each.name,
                _checked(len(each.lint or ()), each),
                *(_checked(sum(finding.kind == kind for finding in each.lint or ()), each) for kind in kinds),
                "-" if each.by_schema_only else str(each.read_only_called),
            )
            for each in linted
        ),
    )


def _checked(count: int, mode: ModeSurface) -> str:
    """Return a number of findings; none in a list that leaves out what they would be found in is not a good sign."""
    return "-" if mode.is_abridged and not count else str(count)


def lines_of(surface: Surface, *, with_all: bool = False) -> Iterator[str]:
    """Yield what the tables do not say: what went wrong where, and what tokens are."""
    number = _numbers(surface)
    yield f"tokens: {surface.tokenizer}" + (
        ", an estimate (the extra `tokens` counts them)" if surface.tokens_are_estimated else ""
    )
    for each in surface.modes:
        if each.by_schema_only:
            yield f"{each.name}: measured by its schema only; nothing of it was called" + (
                ", and the list has no descriptions of arguments: its real size is larger, and neither these nor "
                "annotations were checked"
                if each.is_abridged
                else ""
            )
        elif each.answers is None and not with_all:
            why = "the table of questions has no calls of this mode; --questions FILE adds some"
            yield f"{each.name}: no answer was measured, since {why}"
        for skill in each.skills:
            brief, body = (number(size.tokens) for size in (skill.told, skill.body))
            yield f"{each.name}: the skill {skill.name} is told with {brief} tokens, and is {body} more when it is read"
        if missing_tools := [row.lacking_tool for row in each.rows if row.lacking_tool is not None]:
            count, tools = plural(len(missing_tools), "question"), ", ".join(dict.fromkeys(missing_tools))
            yield f"{each.name}: {count} of the table not asked, since it does not offer {tools}"
        yield from _shortened(each.name, [*_row_lines(each)], with_all=with_all)
        findings = [f"lint: {item.tool} {item.message} ({item.kind})" for item in each.lint or ()]
        yield from _shortened(each.name, findings, with_all=with_all)


def _row_lines(mode: ModeSurface) -> Iterator[str]:
    for row in mode.rows:
        if row.outcome == "failed":
            yield f"{row.id} failed: {row.reason}"
        if row.outcome == "not-measurable":
            yield f"{row.id} is not measurable here: the embedded GitHub has no {', '.join(row.gaps)}"
        if row.outcome == "no-error":
            yield f"{row.id} was to be refused, and was answered"
        if row.over_limit:
            items = "" if row.items is None else f", with {row.items} of {row.total} items"
            yield f"{row.id} is over the limit: {row.tokens:,} tokens{items}"
        if row.cut_off:
            yield f"{row.id} is cut off without saying so: {row.items} of {row.total}"
        if row.no_hint and row.outcome == "refused":
            yield f"{row.id} does not say what to do: {row.reason}"


def _shortened(name: str, lines: Sequence[str], *, with_all: bool) -> Iterator[str]:
    excerpt = lines if with_all else lines[:_MOST_LINES]
    yield from (f"{name}: {each}" for each in excerpt)
    if len(excerpt) < len(lines):
        yield f"{name}: and {len(lines) - len(excerpt)} more (--json has all)"


def as_markdown(surface: Surface) -> str:
    """Return a measurement as Markdown: its tables, and what they do not say."""
    parts = [markdown_of(each) for each in tables_of(surface)]
    parts.append("\n".join(f"- {escaped(each)}" for each in lines_of(surface)))
    return "\n\n".join(parts) + "\n"


def markdown_of(table: Table) -> str:
    """Return a table as Markdown, its title above it."""
    head = f"| {' | '.join(table.header)} |\n|{'---|' * len(table.header)}\n"
    body = "\n".join(f"| {' | '.join(escaped(each) for each in row)} |" for row in table.rows)
    return f"**{table.title}**\n\n{head}{body}"


def escaped(text: str) -> str:
    """Return a text as Markdown shows it in a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def _numbers(surface: Surface) -> WriteNumber:
    mark = "~" if surface.tokens_are_estimated else ""

    def write(number: int | None) -> str:
        return "-" if number is None else f"{mark}{number:,}"

    return write


def _weights(figures: AnswerFigures | None, rows: Sequence[AnswerRow], number: WriteNumber) -> tuple[str, str, str]:
    """Return p50, p95 and the largest answer, with its question, and of a list how much of it that is."""
    if figures is None:
        return ("-", "-", "-")
    largest = next((row for row in rows if row.id == figures.largest), None)
    label = ""
    if largest is not None:
        label = f" ({largest.id}" + ("" if largest.items is None else f": {largest.items} of {largest.total}") + ")"
    return (number(figures.tokens_p50), number(figures.tokens_p95), f"{number(figures.tokens_largest)}{label}")


def _versions(mode: ModeSurface) -> Iterator[str]:
    for each in (*mode.programs, *mode.servers):
        if each.version is not None:
            yield f"{each.name} {each.version}"


def _largest_tool(mode: ModeSurface, number: WriteNumber) -> str:
    tools = [tool for each in mode.servers for tool in each.tools]
    if not tools:
        return "-"
    largest = max(tools, key=lambda each: each.size.tokens)
    return f"{largest.name} ({number(largest.size.tokens)})"


def _count_whole(mode: ModeSurface) -> str:
    return _share([row.items == row.total for row in mode.rows if row.items is not None])


def _count_cut_off(mode: ModeSurface) -> str:
    return _share([row.cut_off for row in mode.rows if row.items is not None])


def _count(rows: Sequence[AnswerRow], fits: Callable[[AnswerRow], bool]) -> str:
    return str(sum(map(fits, rows)))


def _share(marks: Sequence[bool]) -> str:
    return f"{sum(marks)} of {len(marks)}"
