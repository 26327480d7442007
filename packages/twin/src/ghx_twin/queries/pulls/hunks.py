"""The lines of a file's patch: which can be commented on, and where a line has moved."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Side = Literal["LEFT", "RIGHT"]

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchLine:
    """A line below a hunk's header; a side it is not on is None."""

    text: str  # with its mark: " ", "+", "-" or "\\"
    left: int | None
    right: int | None
    position: int  # lines below the first hunk header of the file

    def number(self, side: Side) -> int | None:
        """Return the line's number on a side."""
        return self.left if side == "LEFT" else self.right


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A stretch of changed lines with the unchanged ones around it."""

    header: str
    left_start: int
    left_count: int
    right_start: int
    right_count: int
    lines: tuple[PatchLine, ...]

    def find(self, side: Side, number: int) -> PatchLine | None:
        """Return the line with this number on a side."""
        return next((line for line in self.lines if line.number(side) == number), None)

    def until(self, last: PatchLine) -> str:
        """Return the text from the header to a line of this hunk, which GitHub shows above a comment."""
        lines = [line.text for line in self.lines if line.position <= last.position]
        return "\n".join((self.header, *lines))


@lru_cache(maxsize=512)
def parse_patch(patch: str) -> tuple[Hunk, ...]:
    """Return the hunks of one file's patch, as `FileDiff.patch` has it."""
    hunks: list[Hunk] = []
    rows = patch.removesuffix("\n").split("\n")
    starts = list(_headers(rows))
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        hunks.append(_hunk(rows[start:end], start))
    return tuple(hunks)


def find_line(hunks: tuple[Hunk, ...], side: Side, number: int) -> tuple[Hunk, PatchLine] | None:
    """Return the line with this number on a side of the diff, and its hunk."""
    for hunk in hunks:
        if line := hunk.find(side, number):
            return hunk, line
    return None


def line_at(hunks: tuple[Hunk, ...], position: int) -> PatchLine | None:
    """Return the line at a position below the first hunk header."""
    return next((line for hunk in hunks for line in hunk.lines if line.position == position), None)


def find_moved_line(hunks: tuple[Hunk, ...], number: int) -> int | None:
    """Return where line `number` of the old file is in the new one; None if it was changed or removed."""
    shift = 0
    for hunk in hunks:
        if number < hunk.left_start or (hunk.left_count == 0 and number == hunk.left_start):
            break
        if line := hunk.find("LEFT", number):
            return line.right
        shift += hunk.right_count - hunk.left_count
    return number + shift


def _headers(rows: list[str]) -> Iterator[int]:
    """Yield the indices of the hunk headers."""
    # The lines of a hunk are counted off, since a removed line can look like a header.
    index = 0
    while index < len(rows):
        match = _HEADER.match(rows[index])
        if match is None:
            index += 1
            continue
        yield index
        old_count, right = _count(match[2]), _count(match[4])
        index += 1
        while index < len(rows) and (old_count > 0 or right > 0):
            old_count -= rows[index][:1] in {" ", "-", ""}
            right -= rows[index][:1] in {" ", "+", ""}
            index += 1


def _hunk(rows: list[str], above: int) -> Hunk:
    match = _HEADER.match(rows[0])
    assert match is not None  # noqa: S101 - found by `_headers`
    line_number, right = int(match[1]), int(match[3])
    lines: list[PatchLine] = []
    for offset, text in enumerate(rows[1:], start=1):
        mark = text[:1] or " "
        on_left, on_right = mark in " -", mark in " +"
        lines.append(
            PatchLine(
                text=text,
                left=line_number if on_left else None,
                right=right if on_right else None,
                position=above + offset,
            )
        )
        line_number, right = line_number + on_left, right + on_right
    return Hunk(
        header=rows[0],
        left_start=int(match[1]),
        left_count=_count(match[2]),
        right_start=int(match[3]),
        right_count=_count(match[4]),
        lines=tuple(lines),
    )


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)
