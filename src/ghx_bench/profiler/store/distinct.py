"""The rows of a file, each cell of a run once: what a file put together by hand may break."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ghx_bench.profiler.errors import BadRowsError
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.store.rows import RowLine, parse_row, scan_lines

_Group = tuple[str, str, str, str]
_Places = dict[int, tuple[int, int]]
"""By iteration: the number of a row's line, and where it begins."""


class DistinctRows:
    """The rows of a file, one at a time: a repeated row is left out and counted, one that contradicts another refused.

    `repeats` and `is_torn` tell of the latest reading, as far as it got. Only places of rows are kept, no row.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repeats = 0
        """How many rows were left out, because they say what another says."""
        self.is_torn = False
        """Whether a crash cut off the last line, which was left out."""
        self.start = 0
        """Where the latest row begins, for `row_at`."""

    def __iter__(self) -> Iterator[ProfileRow]:
        self.repeats, self.is_torn = 0, False
        known: dict[_Group, _Places] = defaultdict(dict)
        for line in scan_lines(self.path):
            if line.row is None:
                self.is_torn = True
            elif self._is_new(line, line.row, known):
                self.start = line.start
                yield line.row

    def _is_new(self, line: RowLine, row: ProfileRow, known: dict[_Group, _Places]) -> bool:
        places = known[row.run_id, row.model, row.mode, row.scenario_id]
        first = places.setdefault(row.iteration, (line.number, line.start))
        if first == (line.number, line.start):
            return True
        if self.row_at(first[1]) != row:
            raise BadRowsError(
                f"{self.path}:{line.number}: contradicts line {first[0]}, which is a row of the same cell "
                f"({row.cell}) of the same run ({row.run_id}); remove one of them"
            )
        self.repeats += 1
        return False

    def row_at(self, start: int) -> ProfileRow:
        """Read the row that begins at a place in the file once more."""
        with self.path.open("rb") as file:
            file.seek(start)
            return parse_row(file.readline())
