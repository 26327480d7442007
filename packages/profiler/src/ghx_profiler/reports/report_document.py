"""A report before it is HTML or Markdown: sections of plain text, tables and figures, none of it escaped yet."""

from dataclasses import dataclass
from typing import Any, Literal

Tone = Literal["good", "bad", "neutral"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A Vega-Lite chart: its file name without suffix, what it shows in words, and its specification."""

    name: str
    title: str
    description: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that a reader may skip, in small print."""

    text: str


@dataclass(frozen=True, slots=True)
class Caution:
    """What must be known before anything else is read."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Untrusted text under a title, line by line; collapsed if the medium supports that."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """Text that leads to another file of the report, by its path from the report's folder."""

    text: str
    path: str
    anchor: str = ""
    """The place in it, encoded already."""


TableCell = str | Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under headers; the first column names the row, the others hold numbers unless `is_text`."""

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    is_text: bool = False
    is_folded: bool = False
    """Collapsed if the medium supports that."""
    is_list: bool = False
    """A list of many like things, which readers sort and filter where the medium can do that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One line of an interval chart: whose it is, and the number with its interval in words and as shares of the axis.

    A share is 0 at the worse end of the axis and 1 at the better one; `None` is a number that is not known.
    """

    name: str
    label: str
    words: str
    at: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalChart:
    """One metric of several arms, drawn small: lines with direct labels, better to the right."""

    title: str
    lines: tuple[Interval, ...]
    better: str = ""
    """Which way is better, in words; empty where nothing is compared."""
    worse_end: str = ""
    better_end: str = ""
    """What the ends of the axis stand for."""
    mark: tuple[float, str] | None = None
    """Where the reference stands, and what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalCharts:
    """A row of interval charts that share their arms."""

    charts: tuple[IntervalChart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCell:
    """How often one scenario was solved in one arm; without rows `n` is 0. `path`, encoded, leads to its sessions."""

    k: int
    n: int
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeMatrix:
    """Scenarios by arms: how often each was solved."""

    caption: str
    arms: tuple[tuple[str, str], ...]
    """The name of each arm, and a word on its part in the comparison."""
    rows: tuple[tuple[str, tuple[OutcomeCell, ...]], ...]
    """The name of each scenario, and its cells in the order of the arms."""
    is_folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """One verdict in a few words."""

    text: str
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The answer: sentences for the top of the page, what they hold for, and single verdicts."""

    sentences: tuple[str, ...]
    scope: tuple[str, ...] = ()
    chips: tuple[Chip, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """One conclusion: a word, its tone, and a sentence with the evidence."""

    word: str
    tone: Tone
    sentence: str


@dataclass(frozen=True, slots=True)
class Conclusions:
    """Conclusions, the most important first."""

    conclusions: tuple[Conclusion, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart in its place."""

    chart: Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Tables under one title, collapsed if the medium supports that."""

    title: str
    tables: tuple[Table, ...]


Element = Paragraph | Note | Caution | Quote | Table | Conclusions | Figure | Fold | IntervalCharts | OutcomeMatrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what stands under it; `id` is its anchor."""

    id: str
    title: str
    elements: tuple[Element, ...]
    is_folded: bool = False
    """Collapsed if the medium supports that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    footer: str
    headline: Headline | None = None
    """The answer, which then is the heading of the page; without one its title is."""
    banner: str | None = None
    alarms: tuple[str, ...] = ()
    """What makes the report other than it seems, before everything else."""
    cautions: tuple[str, ...] = ()
    """What must be known of the headline."""
    home: str | None = None
    """The way to the report's own page, from a page that belongs to it."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts, in the order they appear."""
        return tuple(
            element.chart for section in self.sections for element in section.elements if isinstance(element, Figure)
        )
