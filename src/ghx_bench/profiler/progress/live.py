"""A run on a terminal, redrawn in place."""

import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from ghx_bench._base.clock import Clock
from ghx_bench.profiler.events import CellFinished, Event, RunFinished, RunStarted
from ghx_bench.profiler.progress.lines import Columns, ended_line, finished_line
from ghx_bench.profiler.progress.picture import draw
from ghx_bench.profiler.progress.tally import Tally

_DRAWN_PER_SECOND = 4


class LiveDisplay:
    """Shows how far the run is; cells that could not be measured scroll by above, with their reason.

    Between events a thread of Rich's redraws the picture, so that the clock goes on. It takes the screen with the first
    event, and gives it back with the last one or when it is left.
    """

    def __init__(self, stream: TextIO, *, environment: Mapping[str, str], clock: Clock) -> None:
        self._clock = clock
        self._tally = Tally()
        self._columns = Columns()
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False, _environ=environment)
        self._live = Live(
            self,
            console=self._console,
            refresh_per_second=_DRAWN_PER_SECOND,
            vertical_overflow="crop",
            # Redirected output would come out above the picture: right on this terminal, wrong if it goes to a file.
            redirect_stdout=_is_terminal(sys.stdout),
            redirect_stderr=_is_terminal(sys.stderr),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give the screen back."""
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Take the event into the picture."""
        self._tally = self._tally.after(event)
        self._live.start()
        match event:
            case RunStarted(matrix=matrix):
                self._columns = Columns.of(matrix)
            case CellFinished(row=row) if row.success is None:
                self._console.print(Text(finished_line(event, self._tally, self._columns), style="red"))
            case RunFinished():
                self._live.stop()
                self._console.print(Text(ended_line(event, self._tally)))
            case _:
                pass

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the picture as of now."""
        # One line stays free: a picture that fills the screen would scroll it with every redrawing.
        size = {"width": options.max_width, "height": max(options.size.height - 1, 1)}
        yield from draw(self._tally, self._clock.now(), **size)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
