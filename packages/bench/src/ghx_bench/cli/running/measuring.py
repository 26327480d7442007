"""What `run`, `resume` and `profile` share: a live display, Ctrl-C, the table and the exit code at the end."""

import json
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio
import psutil
from anyio.abc import TaskStatus
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ghx_base.commandline import DEBUG, FAILED, INTERRUPTED, complain
from ghx_base.errors import InputError, ungrouped
from ghx_base.extras import how_to_install, is_installed
from ghx_base.problems import plural
from ghx_bench.cli.verdicts.judging import Judgement, Judging, RunJudge, publish_failed_start
from ghx_bench.project.gates import GateResult
from ghx_bench.scoring.github_metrics import EVAL_METRICS
from ghx_profiler.agents.processes.keeper import kill_descendants
from ghx_profiler.agents.processes.keeper_client import launcher_pid
from ghx_profiler.config import ProfileConfig
from ghx_profiler.errors import CanaryError, RunMismatchError, ScopeError
from ghx_profiler.events import CellFinished, Event, Observer, RunStarted
from ghx_profiler.progress import JsonLog, choose_observer
from ghx_profiler.progress.failed_cells import FailedCells
from ghx_profiler.records.metric_table import Metric
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.controls import alarms
from ghx_profiler.reports.data.sources import Source, open_run
from ghx_profiler.reports.mode_glance import GlanceTally, ModeGlance
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import RECORD_VERSION, RunRecord, read_record
from ghx_profiler.store.rows import read_rows
from ghx_profiler.store.run_store import require_current_version
from ghx_profiler.suite import SuiteResult

if TYPE_CHECKING:  # numpy loads where a report is written, and is only there where the extra `report` is installed
    from ghx_profiler.reports.data.reading import ReadRows

T = TypeVar("T")
C = TypeVar("C", bound=ProfileConfig)

NOT_ALL_MEASURED = 3
"""How a run ends in which a cell could not be measured."""

_WIDEST_TABLE = 1_000
_AS_MEASURED = Judging()

Start = Callable[[Sequence[Observer]], Awaitable[SuiteResult]]
"""Starts a run, whose events these observers get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a run shows, in words, and the page of its report, where one was written."""

    sentences: tuple[str, ...]
    page: Path | None = None


WriteReport = Callable[[SuiteResult, "ReadRows"], Verdict]
"""Concludes from the rows of a run, and may write a report of them."""


def conclude(_: SuiteResult, read: "ReadRows") -> Verdict:
    """Say what a run shows, without a report."""
    from ghx_profiler.reports.data.material import gather
    from ghx_profiler.reports.sections.headline import headline_of

    return Verdict(sentences=headline_of(gather(read, (), EVAL_METRICS)).sentences)


def measure_and_show(
    start: Start,
    *,
    log_json: str | None,
    as_json: bool,
    judging: Judging = _AS_MEASURED,
    report: WriteReport | None = None,
) -> int:
    """Run something, print what came of it, and return the exit code; for the rest see `show_result`."""
    started: list[Path] = []
    try:
        # What the user's own code prints must not get between the lines of --json.
        with redirect_stdout(sys.stderr):
            result = measure(start, log_json=log_json, started=started)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (CanaryError, ScopeError) as error:
        for directory in started:
            publish_failed_start(record_of(directory), judging, error)
        raise
    return show_result(result, as_json=as_json, judging=judging, report=report)


def show_result(
    result: SuiteResult,
    *,
    as_json: bool,
    judging: Judging = _AS_MEASURED,
    report: WriteReport | None = None,
) -> int:
    """Print what a run came to, judge it by its gates, write its report, and return the exit code."""
    source, record = open_run(result.directory), record_of(result.directory)
    run_judge, glance = RunJudge(result.directory, judging), GlanceTally(source, SHOWN_METRICS)
    failures, verdict, mistake = FailedCells(record), None, None
    read = _read_rows(source, report, [run_judge.add, glance.add, failures.add])
    try:
        judgement = run_judge.conclude()
    except InputError as error:
        # A baseline that does not fit must not take the result, the report and other gates with it.
        judgement, mistake = run_judge.conclude_without_baseline(str(error)), error
    if not as_json:
        # Before the report, which may fail and must not take the result with it.
        show(result, glance, failures, judgement)
    try:
        if report is not None and read is not None:
            verdict = report(result, read)
    finally:
        if as_json:
            print(json.dumps(describe(result, glance, failures, judgement, verdict)))
        judgement.publish()
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        if report is not None and verdict is None:
            command = shlex.join(["ghx-bench", "report", str(result.directory)])
            print(f"for verdicts and a report: {how_to_install('report')} && {command}")
        _show_verdict(result, failures, verdict, record)
    if mistake is not None:
        return complain(str(mistake), mistake.exit_code)
    return exit_code(unmeasured=result.failed + result.left, gates=judgement.gates)


def _read_rows(
    source: Source, report: WriteReport | None, watchers: Sequence[Callable[[ProfileRow], None]]
) -> "ReadRows | None":
    """Read the rows of a run once, for gates, table and report; return what a report is made of, if there is one."""
    if report is not None and is_installed("report"):
        from ghx_profiler.reports.data.reading import read_sources

        # Sessions are looked at for a report alone.
        return read_sources([source], choice="failures", with_findings=report is not conclude, watchers=watchers)
    for row in source.rows():
        for watch in watchers:
            watch(row)
    return None


def _show_verdict(result: SuiteResult, failures: FailedCells, verdict: Verdict | None, record: RunRecord) -> None:
    """Report what the run shows, where its report is, and which command may come next."""
    sentences, page = ((), None) if verdict is None else (verdict.sentences, verdict.page)
    for number, sentence in enumerate(sentences):
        print(f"{'verdict:' if number == 0 else '        '} {sentence}")
    if page is not None:
        print(f"report: {page}")
    place = str(result.directory)
    if record.matrix.shard is not None:
        if not result.total:
            print("no block of the run falls into this shard")
        print(f"this is shard {record.matrix.shard}, not judged; next, with all of them: ghx-bench merge OUT RUN...")
    elif failures:
        print(f"next: {shlex.join(['ghx-bench', 'show', place, failures.first])}")
    elif page is None and is_installed("report"):
        print(f"next: {shlex.join(['ghx-bench', 'report', place])}")
    elif page is not None and is_evaluation(record) and not record.control_agents:
        print(f"next: {shlex.join(['ghx-bench', 'run', '--against', result.run_id])}, once something has changed")


def is_evaluation(record: RunRecord) -> bool:
    """Return whether `ghx-bench run` made a run: an evaluation has fixtures in its settings, a profile has not."""
    return not record.config.keys().isdisjoint({"provider", "fixtures"})


def record_of(run: Path) -> RunRecord:
    """Return the record of a run; raise if the folder is none."""
    return read_record(RunDirectory(run).record)


def result_of_older_run(run: Path, record: RunRecord) -> SuiteResult | None:
    """Return what a run of an older version came to, `None` for one of this; raise if it has cells left."""
    if record.version >= RECORD_VERSION:
        return None
    rows = {row.cell: row for row in read_rows(RunDirectory(run).rows)}
    if len(rows) < record.matrix.total:
        require_current_version(run, record)
    measured = sum(row.was_measured for row in rows.values())
    return SuiteResult(run_id=record.run_id, directory=run, total=len(rows), measured=measured)


def settings_of(record: RunRecord, run: Path, kind: type[C]) -> C:
    """Return the settings that a run was started with."""
    try:
        return kind.model_validate(record.config)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "/".join(map(str, first["loc"]))
        raise RunMismatchError(f"{run}: its settings are of another version ({where}: {first['msg']})") from None


def say_notes(config: ProfileConfig) -> None:
    """Say on standard error what in a configuration does not do what its author may think."""
    for note in config.notes():
        print(f"note: {note}", file=sys.stderr)


def exit_code(*, unmeasured: int, gates: Sequence[GateResult] = ()) -> int:
    """Return how a run ends: what was not measured goes before what gates say, since they have not seen it."""
    if unmeasured:
        return NOT_ALL_MEASURED
    return FAILED if any(each.failed for each in gates) else 0


def measure(start: Start, *, log_json: str | None, started: list[Path]) -> SuiteResult:
    """Run it and show how it goes; an interruption says how to go on, and passes as `KeyboardInterrupt`.

    The directory of the run is added to `started` once there is one.
    """

    def remember(event: Event) -> None:
        if isinstance(event, RunStarted):
            started.append(event.directory)

    def say_how_to_resume() -> None:
        print("interrupted", file=sys.stderr)
        for directory in started:
            command = shlex.join(["ghx-bench", "resume", str(directory)])
            print(f"every finished cell is on disk; go on with: {command}", file=sys.stderr)

    try:
        # The displays are closed before it is said how to go on: a live one would write over it.
        with ExitStack() as displays, ungrouped():
            observers = [remember, *_observers(log_json, displays)]
            return anyio.run(run_interruptibly, lambda: start(observers), say_how_to_resume)
    except KeyboardInterrupt:
        say_how_to_resume()
        raise


def _observers(log_json: str | None, displays: ExitStack) -> list[Observer]:
    observers: list[Observer] = []
    if os.environ.get(DEBUG):
        observers.append(_show_tracebacks(displays))
    if log_json != "-":
        observers.append(displays.enter_context(choose_observer(sys.stderr, environment=os.environ)))
    if log_json is not None:
        log = JsonLog.open(log_json)
        displays.callback(_close, log, log_json)
        observers.append(log)
    return observers


def _show_tracebacks(displays: ExitStack) -> Observer:
    """Return what prints, once the displays are closed, what agents and other plugins raised."""
    tracebacks: dict[str, None] = {}

    def note(event: Event) -> None:
        if isinstance(event, CellFinished) and event.row.traceback is not None:
            tracebacks[event.row.traceback] = None

    displays.callback(lambda: sys.stderr.write("".join(f"\n{each}" for each in tracebacks)))
    return note


def _close(log: JsonLog, place: str) -> None:
    """Close the log; report if it could not be written completely."""
    try:
        with log:
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        print(f"note: {place}: the log is not complete: {reason}", file=sys.stderr)


def describe(
    result: SuiteResult, tally: GlanceTally, failures: FailedCells, judgement: Judgement, verdict: Verdict | None
) -> dict[str, object]:
    """Return what a run came to, as JSON, with what gates said."""
    counts = {"total": result.total, "measured": result.measured, "notMeasured": result.failed}
    counts |= {"left": result.left, "stoppedBy": result.stopped_by} if result.stopped_by else {}
    return {
        "runId": result.run_id,
        "directory": str(result.directory),
        **counts,
        "modes": {mode: glance.to_wire() for mode, glance in tally.glances().items()},
        "notSolved": failures.to_wire(),
        "verdict": None if verdict is None else list(verdict.sentences),
        "controlObjections": [each.to_wire() for each in tally.controls.violations],
        **judgement.to_wire(),
    }


def show(result: SuiteResult, tally: GlanceTally, failures: FailedCells, judgement: Judgement) -> None:
    """Print what a run came to: a table, and the cells that were not solved."""
    console = Console()
    table = glance_table(tally.glances())
    # A line that is too long for the terminal can still be read, numbers that were cut off cannot.
    width = console.measure(table, options=console.options.update(max_width=_WIDEST_TABLE)).maximum
    console.width = max(console.width, width)
    console.print(table)
    counts = f"{result.measured} cell{'' if result.measured == 1 else 's'} measured"
    counts += f", {result.failed} could not be measured" if result.failed else ""
    console.print(f"\n{counts}: {result.directory}", markup=False, highlight=False, soft_wrap=True)
    if result.stopped_by is not None:
        command = shlex.join(["ghx-bench", "resume", str(result.directory)])
        # The limit is named as its flag is: max_usd is raised with --max-usd.
        how = f"go on with a higher limit of that name: {command} --max-..."
        stop = f"{plural(result.left, 'cell')} left: {result.stopped_by}; {how}"
        console.print(stop, markup=False, highlight=False, soft_wrap=True)
    for line in failures.lines() if failures else ():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if judgement.comparison is not None:
        print()
        judgement.comparison.print()
    for alarm in alarms(tally.controls.violations):
        console.print(f"WARNING: {alarm}", style="bold red", markup=False, highlight=False, soft_wrap=True)


_SHORT_MS = 1000
_COLUMNS = EVAL_METRICS.shown_in("terminal")
SHOWN_METRICS = tuple(metric.name for metric in _COLUMNS)
"""What the table shows, as far as it is known."""


def glance_table(glances: Mapping[str, ModeGlance]) -> Table:
    """Return one line for each mode: its successes, and the medians of what is known in any of them."""
    columns = [each for each in _COLUMNS if any(glance.metrics[each.name].n for glance in glances.values())]
    table = Table(box=None, pad_edge=False, header_style="bold")
    has_agents = any(" / " in name for name in glances)
    for title in ("agent / mode" if has_agents else "mode", "success"):
        table.add_column(title, no_wrap=True)
    for column in columns:
        table.add_column(f"{column.heading or column.label} p50", justify="right")
    for mode, glance in glances.items():
        unmeasured = f", {glance.unmeasured} not measured" if glance.unmeasured else ""
        attacked = f", {glance.attacked} attacked" if glance.attacked else ""
        success = f"{glance.successes}/{glance.measured}{unmeasured}{attacked}"
        table.add_row(escape(mode), success, *(_cell(column, glance) for column in columns))
    return table


def _cell(metric: Metric, glance: ModeGlance) -> str:
    median = glance.metrics[metric.name]
    if median.p50 is None:
        return "unknown"
    partly = f" (n={median.n})" if median.n < glance.measured else ""
    return f"{_amount(median.p50, metric.unit)}{partly}"


def _amount(value: float, unit: str) -> str:
    match unit:
        case "ms":
            return f"{value:,.0f} ms" if value < _SHORT_MS else f"{value / 1000:,.1f} s"
        case "USD":
            return f"${value:,.4f}"
        case "tokens":
            return f"{value:,.0f}"
        case _:
            return f"{value:,g}"


async def run_interruptibly(work: Callable[[], Awaitable[T]], abandon: Callable[[], None]) -> T:
    """Do the work; the first signal cancels it and, once it has cleaned up, raises `KeyboardInterrupt`.

    On the second, the work's processes are killed, `abandon` has the last word, and this process ends.
    """
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            await tasks.start(_watch, scope, abandon)
            result = await work()
            tasks.cancel_scope.cancel()
            return result
        tasks.cancel_scope.cancel()
    raise KeyboardInterrupt


async def _watch(scope: anyio.CancelScope, abandon: Callable[[], None], *, task_status: TaskStatus[None]) -> None:
    # A terminal that is closed sends SIGHUP; under `nohup` it is ignored, and stays so.
    hangup = () if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else (signal.SIGHUP,)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, *hangup) as signals:
        task_status.started()
        async for _signal in signals:
            if scope.cancel_called:
                # The user insists; every row so far is on disk. Programs of sessions are killed by their keepers once
                # this process is gone, what agents started by other means is killed here.
                for child in psutil.Process().children():
                    if child.pid != launcher_pid():
                        kill_descendants(child.pid)
                        child.kill()
                abandon()
                os._exit(INTERRUPTED)
            scope.cancel()
