"""A run on a terminal: how far it is, drawn to fit any size and redrawn in place."""

import sys
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Self, TextIO, TypeVar

from rich.cells import set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from ghx_base.clock import Clock
from ghx_profiler.events import CellFinished, Event, RunFinished, RunStarted
from ghx_profiler.plan.cell import Cell
from ghx_profiler.progress.lines import NameWidths, ended_line, finished_line
from ghx_profiler.progress.run_progress import CellCounts, RunProgress
from ghx_profiler.progress.status_text import clock_time, one_line, rate, rough_time

_T = TypeVar("_T")

_WIDEST_NAME = 40
_GAP = "  "


def draw(progress: RunProgress, now: datetime, *, width: int, height: int) -> list[Text]:
    """Draw how far a run is in at most `height` lines of at most `width` columns.

    The bar, the counts and the times come first; modes and running cells share what is left, and what finds no place
    is counted.
    """
    lines = [_bar(progress, width), _counts(progress, width), _times(progress, now), _title(progress)][:height]
    room = height - len(lines)
    name_width = min(max(map(len, progress.by_arm), default=0), max(width // 2, 1), _WIDEST_NAME)
    # Running cells come and go: they take what the modes leave, but up to half if these leave less.
    for_modes = max(room - len(progress.running), (room + 1) // 2)
    modes, more_modes = _fit(list(progress.by_arm.items()), for_modes, "more modes")
    lines += [*(_mode(name, counts, name_width) for name, counts in modes), *more_modes]
    running, more_running = _fit(list(progress.running.items()), height - len(lines), "more running")
    lines += [
        *(_running(cell, now, began, several_agents=len(progress.agents) > 1) for cell, began in running),
        *more_running,
    ]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def _bar(progress: RunProgress, width: int) -> Text:
    label = f" {progress.done}/{progress.total}"
    room = max(width - len(label), 0)
    full = room * progress.done // progress.total if progress.total else 0
    return Text.assemble(("━" * full, "green"), ("─" * (room - full), "dim"), label)


def _counts(progress: RunProgress, width: int) -> Text:
    total = progress.earlier + progress.counts
    counts = [
        (f"{total.ok} ok", "green"),
        (f"{total.wrong} wrong", "yellow" if total.wrong else "dim"),
        (f"{total.failed} not measured", "red" if total.failed else "dim"),
        (f"{len(progress.running)} running", ""),
    ]
    if progress.retries:
        counts.append((f"{progress.retries} retries" if progress.retries > 1 else "1 retry", "yellow"))
    gap = _GAP if len(_GAP.join(words for words, _ in counts)) <= width else " "
    return Text(gap).join(Text(words, style=style) for words, style in counts)


def _times(progress: RunProgress, now: datetime) -> Text:
    parts = [clock_time(progress.elapsed_s(now))]
    per_second, rest_s = progress.rate_per_s(now), progress.rest_s(now)
    if rest_s is not None:
        parts.append(f"about {rough_time(rest_s)} left" if rest_s else "any moment now")
    if per_second is not None:
        parts.append(rate(per_second))
    return Text(_GAP.join(parts))


def _title(progress: RunProgress) -> Text:
    state = progress.status
    if progress.warming_up is not None:
        state = f"warming up {progress.warming_up.mode}"
        if len(progress.agents) > 1:
            state += f" with {progress.warming_up.agent}"
    return Text(
        _GAP.join(filter(None, map(one_line, (state, progress.run_id, ", ".join(progress.agents))))), style="dim"
    )


def _mode(name: str, counts: CellCounts, name_width: int) -> Text:
    share = f"{counts.ok / counts.scored:4.0%}" if counts.scored else "   -"
    line = Text(f"{_shorten(name, name_width)}{_GAP}{share}{_GAP}{counts.ok}/{counts.scored}")
    if counts.failed:
        line.append(f"{_GAP}{counts.failed} not measured", style="red")
    return line


def _running(cell: Cell, now: datetime, began: datetime, *, several_agents: bool) -> Text:
    since = clock_time(max((now - began).total_seconds(), 0.0))
    agent = (cell.agent,) if several_agents else ()
    names = map(one_line, (cell.mode, cell.scenario_id, f"#{cell.iteration}", cell.model, *agent))
    return Text(f"{since:>7}{_GAP}{_GAP.join(names)}", style="dim")


def _shorten(name: str, width: int) -> str:
    """Make a name exactly this wide; a long one loses its middle, since names often differ at their end."""
    line = one_line(name)
    if len(line) > width:
        tail = (width - 1) // 2
        line = f"{line[: width - 1 - tail]}…{line[len(line) - tail :]}"
    return set_cell_size(line, width)


def _fit(items: list[_T], room: int, what: str) -> tuple[list[_T], list[Text]]:
    """Return as many items as there is room for, and a line that counts those left out, if any are."""
    if len(items) <= room:
        return items, []
    if room <= 0:
        return [], []
    return items[: room - 1], [Text(f"... and {len(items) - room + 1} {what}", style="dim")]


_DRAWN_PER_SECOND = 4


class LiveDisplay:
    """Shows how far the run is; cells that could not be measured scroll by above, with their reason.

    Between events a thread of Rich's redraws the picture, so that the clock goes on. It takes the screen with the first
    event, and gives it back with the last one or when it is left.
    """

    def __init__(self, stream: TextIO, *, environment: Mapping[str, str], clock: Clock) -> None:
        self._clock = clock
        self._progress = RunProgress()
        self._widths = NameWidths()
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
        self._progress = self._progress.after(event)
        self._live.start()
        match event:
            case RunStarted(matrix=matrix):
                self._widths = NameWidths.of(matrix)
            case CellFinished(row=row) if row.success is None:
                self._console.print(Text(finished_line(event, self._progress, self._widths), style="red"))
            case RunFinished():
                self._live.stop()
                self._console.print(Text(ended_line(event, self._progress)))
            case _:
                pass

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the picture as of now."""
        # One line stays free: a picture that fills the screen would scroll it with every redrawing.
        size = {"width": options.max_width, "height": max(options.size.height - 1, 1)}
        yield from draw(self._progress, self._clock.now(), **size)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
