"""What differs between the tools of two versions of a server, and which of them only have another name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from pydantic import JsonValue

from ghx_base.wire import WireModel
from ghx_bench.toolsets.changes.argument_changes import ArgumentChange, compare_arguments, takes_all
from ghx_bench.toolsets.sizes import Size
from ghx_bench.toolsets.tool_lists import VERBS, ListedTool, ServerSurface, ToolSize, words_of

ALIKE = 0.75
"""From which share of common arguments, or of common words, on two tools under different names may be one."""

_FEWEST_WORDS = 3
"""That a description must have to be known by."""
_SHORTEST_WORD = 3
_NO_WORDS = frozenset({"the", "and", "for", "with", "from", "this", "that"})

ChangeKind = Literal["added", "removed", "renamed", "changed"]


class TextChange(WireModel):
    """A text before and after."""

    before: str
    after: str


class HintsChange(WireModel):
    """The annotations of a tool before and after."""

    before: dict[str, JsonValue]
    after: dict[str, JsonValue]


class ToolChange(WireModel):
    """A tool that is new, gone, or another than before."""

    kind: ChangeKind
    server: str
    before: str | None
    """Its name before; `None` of one that is new."""
    after: str | None
    size_before: Size | None
    size_after: Size | None
    description: TextChange | None = None
    arguments: tuple[ArgumentChange, ...] = ()
    annotations: HintsChange | None = None
    has_other_schema: bool = False
    """Whether its schema has changed beyond its arguments."""
    takes_all: bool | None = True
    """Whether what it says beyond its arguments refuses nothing that it took before; `None` where that is not told."""

    @property
    def name(self) -> str:
        """What it is called now, or was."""
        return self.after or self.before or ""

    @property
    def title(self) -> str:
        """Its name; of one that was renamed, both."""
        return f"{self.before} -> {self.after}" if self.kind == "renamed" else self.name

    @property
    def is_breaking(self) -> bool:
        """Whether a call that was right before may be refused now."""
        is_narrower = self.takes_all is False or any(each.is_breaking for each in self.arguments)
        return self.kind in ("removed", "renamed") or is_narrower

    @property
    def is_unclear(self) -> bool:
        """Whether it cannot be told if a call that was right before may be refused now."""
        return not self.is_breaking and None in (self.takes_all, *(each.takes_all for each in self.arguments))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPair:
    """A tool in both versions of a server; one of them is `None` where there is no such tool."""

    server: str
    before: ToolSize | None
    after: ToolSize | None


def pair_tools(before: Sequence[ServerSurface], after: Sequence[ServerSurface]) -> tuple[ToolPair, ...]:
    """Return the tools of two versions side by side: by name, and those that only have another name; new ones last."""
    pairs: list[ToolPair] = []
    for old, new in pair_servers(before, after):
        server = next(each.name for each in (new, old) if each is not None)
        earlier = {each.name: each for each in (old.tools if old is not None else ())}
        later = {each.name: each for each in (new.tools if new is not None else ())}
        renamed = find_renamed(
            [each for name, each in earlier.items() if name not in later],
            [each for name, each in later.items() if name not in earlier],
        )
        names = {name: renamed.get(name, name) for name in earlier}
        pairs += [ToolPair(server=server, before=each, after=later.get(names[name])) for name, each in earlier.items()]
        names_before = set(names.values())
        pairs += [
            ToolPair(server=server, before=None, after=each) for name, each in later.items() if name not in names_before
        ]
    return tuple(pairs)


def pair_servers(
    before: Sequence[ServerSurface], after: Sequence[ServerSurface]
) -> Iterator[tuple[ServerSurface | None, ServerSurface | None]]:
    """Yield servers of the same name; where each version has one that the other has not, they are taken for one."""
    earlier, later = ({each.name: each for each in servers} for servers in (before, after))
    lost = [each for name, each in earlier.items() if name not in later]
    new = [each for name, each in later.items() if name not in earlier]
    if len(lost) == len(new) == 1:
        yield lost[0], new[0]
        lost, new = [], []
    yield from ((each, later[name]) for name, each in earlier.items() if name in later)
    yield from ((each, None) for each in lost)
    yield from ((None, each) for each in new)


def find_renamed(removed: Sequence[ToolSize], new: Sequence[ToolSize]) -> dict[str, str]:
    """Return the names of tools that are gone, with the names under which they are there again.

    First those with the same description and schema. Of the others, a pair is one tool if three quarters of all
    arguments of both are common to them, and either their names mean the same (`get_issue`, `issue_read`) or three
    quarters of the words of the shorter description, which has at least three, are in the longer one. The pair with the
    most in common goes first.
    """
    candidates = [(_likeness(one, other), one.name, other.name) for one, other in product(removed, new)]
    # Sorted by likeness alone: of equally like ones, the first in the order of the lists counts.
    renamed: dict[str, str] = {}
    for likeness, name, other in sorted(candidates, key=lambda each: -each[0]):
        if likeness and name not in renamed and other not in renamed.values():
            renamed[name] = other
    return renamed


def _likeness(one: ToolSize, other: ToolSize) -> float:
    """Return how much two tools have in common; 0 where they are two."""
    a, b = one.listed, other.listed
    if a is None or b is None:
        return 0.0
    if (a.description, _schema(a)) == (b.description, _schema(b)):
        return 3.0
    names, others = set(a.arguments), set(b.arguments)
    arguments = len(names & others) / len(names | others) if names | others else 1.0
    words, other_words = _content(a.description), _content(b.description)
    shorter = min(len(words), len(other_words))
    described = len(words & other_words) / shorter if shorter >= _FEWEST_WORDS else 0.0
    is_same_name = _content(a.name) == _content(b.name)
    if arguments < ALIKE or not (is_same_name or described >= ALIKE):
        return 0.0
    return arguments + described


def _content(text: str) -> set[str]:
    """Return the words of a text that say something, verbs by what they mean."""
    words = (VERBS.get(each, each) for each in words_of(text))
    return {each for each in words if len(each) >= _SHORTEST_WORD and each not in _NO_WORDS}


def compare_tools(pairs: Sequence[ToolPair]) -> tuple[ToolChange, ...]:
    """Return the tools that are not the same in both versions."""
    return tuple(change for each in pairs if (change := _compare(each)) is not None)


def _compare(pair: ToolPair) -> ToolChange | None:
    before, after = pair.before, pair.after
    old, new = (None if each is None else each.listed for each in (before, after))
    sizes = tuple(None if each is None else each.size for each in (before, after))
    names = tuple(None if each is None else each.name for each in (before, after))
    if old is None or new is None:
        kind: ChangeKind = "added" if before is None else "removed"
        return ToolChange(
            kind=kind, server=pair.server, before=names[0], after=names[1], size_before=sizes[0], size_after=sizes[1]
        )
    arguments = tuple(compare_arguments(old, new))
    change = ToolChange(
        kind="changed" if old.name == new.name else "renamed",
        server=pair.server,
        before=old.name,
        after=new.name,
        size_before=sizes[0],
        size_after=sizes[1],
        description=_text_change(old.description, new.description),
        arguments=arguments,
        annotations=None
        if old.annotations == new.annotations
        else HintsChange(before=dict(old.annotations), after=dict(new.annotations)),
        has_other_schema=_frame(old) != _frame(new),
        takes_all=takes_all(_frame(old), _frame(new), old.input_schema, new.input_schema),
    )
    is_same = not (arguments or change.description or change.annotations or change.has_other_schema)
    return None if change.kind == "changed" and is_same else change


def _text_change(before: str, after: str) -> TextChange | None:
    return None if before == after else TextChange(before=before, after=after)


def _schema(tool: ListedTool) -> Mapping[str, JsonValue]:
    """Return the schema of a tool without its name, which some libraries put into the title: `get_issueArguments`."""
    title = tool.input_schema.get("title")
    return {**tool.input_schema, "title": title.replace(tool.name, "")} if isinstance(title, str) else tool.input_schema


def _frame(tool: ListedTool) -> dict[str, JsonValue]:
    """Return the schema of a tool without its arguments."""
    return {key: value for key, value in _schema(tool).items() if key not in ("properties", "required")}
