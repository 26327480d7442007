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
    """A text of others under a title, line by line; shown only when asked for, where the medium can do that."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """Paragraph that leads to another file of the report, by its path from the report's folder."""

    text: str
    path: str


TableCell = str | Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under headers; the first column names the row, the others hold numbers unless `is_text`."""

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    is_text: bool = False
    is_folded: bool = False
    """Shown only when asked for, where the medium can do that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """One conclusion: a word, its tone, the sentence that says what it rests on."""

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


Element = Paragraph | Note | Caution | Quote | Table | Conclusions | Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what stands under it; `id` is its anchor."""

    id: str
    title: str
    elements: tuple[Element, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    banner: str | None
    sections: tuple[Section, ...]
    footer: str
    alarms: tuple[str, ...] = ()
    """What makes the report other than it seems, before everything else."""
    home: str | None = None
    """The way to the report's own page, from a page that belongs to it."""

    @property
    def charts(self) -> tuple[Chart, ...]:
        """The charts, in the order they appear."""
        return tuple(
            element.chart for section in self.sections for element in section.elements if isinstance(element, Figure)
        )
