"""A run as plain lines, for pipes, files and terminals that cannot do more."""

from dataclasses import dataclass
from types import TracebackType
from typing import Self, TextIO

from ghx_base.problems import plural
from ghx_profiler.events import CellFinished, CellRetried, Event, RunFinished, RunStarted
from ghx_profiler.plan.cell import Cell, Matrix
from ghx_profiler.progress.run_progress import RunProgress
from ghx_profiler.progress.status_text import clock_time, one_line, reason_of, spend, verdict

_WIDEST_COLUMN = 40


class LineLog:
    """Writes one line for each finished cell and each retry, and for the beginning and the end of the run.

    ```
    [12/40] ok   baseline  scenario-001  #3  12.3 s  21,667 tokens
    ```
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._progress = RunProgress()
        self._widths = NameWidths()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave the stream open: it was not opened here."""

    def __call__(self, event: Event) -> None:
        """Write the line of this event, if it has one."""
        self._progress = self._progress.after(event)
        if isinstance(event, RunStarted):
            self._widths = NameWidths.of(event.matrix)
        line = self._line_of(event)
        if line is not None:
            # In one piece, and with a mark for what the stream's encoding does not have.
            encoding = self._stream.encoding or "utf-8"
            self._stream.write(f"{line}\n".encode(encoding, errors="replace").decode(encoding))
            self._stream.flush()

    def _line_of(self, event: Event) -> str | None:
        match event:
            case RunStarted():
                return _started_line(event)
            case CellRetried():
                pause = f"again in {event.pause_s:.0f} s" if event.pause_s else "again"
                where = self._widths.describe(event.cell)
                return f"{_place(self._progress)} try{event.attempt} {where}  {pause}: {one_line(event.error)}"
            case CellFinished():
                return finished_line(event, self._progress, self._widths)
            case RunFinished():
                return ended_line(event, self._progress)
            case _:
                return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameWidths:
    """How wide the names of a matrix are, so that lines stand in columns; those of which there is one are left out."""

    mode: int = 0
    scenario: int = 0
    model: int | None = None
    agent: int | None = None

    @classmethod
    def of(cls, matrix: Matrix) -> "NameWidths":
        """Measure the names."""
        return cls(
            mode=_widest(matrix.modes),
            scenario=_widest(matrix.scenario_ids),
            model=_widest(matrix.models) if len(matrix.models) > 1 else None,
            agent=_widest(matrix.agents) if len(matrix.agents) > 1 else None,
        )

    def describe(self, cell: Cell) -> str:
        """Name the cell in columns."""
        names = [one_line(cell.mode).ljust(self.mode), one_line(cell.scenario_id).ljust(self.scenario)]
        for name, width in ((cell.model, self.model), (cell.agent, self.agent)):
            if width is not None:
                names.insert(0, one_line(name).ljust(width))
        return "  ".join((*names, f"#{cell.iteration}"))


def finished_line(event: CellFinished, progress: RunProgress, widths: NameWidths) -> str:
    """Return how a cell went, in a line: verdict, name, time, tokens, and the reason if something was amiss."""
    row = event.row
    what = "  ".join(filter(None, (widths.describe(event.cell), *spend(row), reason_of(row))))
    return f"{_place(progress)} {verdict(row.success):<5} {what}"


def ended_line(event: RunFinished, progress: RunProgress) -> str:
    """Return how the run went, in a line."""
    took = clock_time(progress.elapsed_s(event.at))
    counts = f"{plural(event.measured, 'cell')} measured, {event.failed:,} not measured"
    return f"run {one_line(event.status)} after {took}: {counts}: {one_line(str(event.directory))}"


def _started_line(event: RunStarted) -> str:
    before = f", {event.done} of them done before" if event.done else ""
    agents = "agents" if len(event.matrix.agents) > 1 else "agent"
    return (
        f"{one_line(event.run_id)}: {plural(len(event.matrix), 'cell')}{before}, {event.max_concurrency} at a time, "
        f"{agents} {one_line(event.provider)}: {one_line(str(event.directory))}"
    )


def _place(progress: RunProgress) -> str:
    return f"[{progress.done:>{len(str(progress.total))}}/{progress.total}]"


def _widest(names: tuple[str, ...]) -> int:
    return min(max((len(one_line(name)) for name in names), default=0), _WIDEST_COLUMN)
