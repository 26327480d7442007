"""Lists as text: one line for each thing, its parts in columns."""

from collections.abc import Sequence

from ghx_bench._base.problems import one_line

BUILT_IN = "built in"
"""Where a thing is from that comes with the package."""


def in_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write rows below their header; a column in which no row has anything is left out."""
    shown = [[one_line(cell) for cell in row] for row in rows]
    columns = [column for column in zip(header, *shown, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*columns, strict=True)
    )
