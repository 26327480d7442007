"""`ghx-bench analyze`: how agents worked in sessions that are over."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ghx_base.errors import FlagError, InputError
from ghx_base.problems import Problem, one_line
from ghx_bench.cli.flags import AsJson, OptionalRunPath

if TYPE_CHECKING:  # loaded when the command runs, not for its --help
    from rich.progress import Progress

    from ghx_profiler.analyzers.files import AnalyzedSession, SessionFile
    from ghx_profiler.records.analysis import SessionAnalysisBundle


_SOME_UNREADABLE = 2
_MOST_LINES = 40

_COLUMNS = {
    "errors": ("error", "errors_encountered"),
    "turns": ("efficiency", "total_turns"),
    "wasted turns": ("efficiency", "wasted_turns"),
    "backtracking": ("efficiency", "backtracking_events"),
    "tools": ("tool-pattern", "unique_tools_used"),
    "made up": ("desire_paths", "made_up"),
    "past its tools": ("purity", "foreign_calls"),
    "planning": ("reasoning", "planning_quality"),
    "strategy": ("strategy", "strategy_summary"),
}
"""The findings that the table shows, by title."""

_Value = str | int | float | None


@dataclass(slots=True)
class _Tally:
    """What happened so far; the sessions themselves are not kept."""

    analyzed: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])


def analyze(
    run: OptionalRunPath = None,
    /,
    *,
    sessions: Path | None = None,
    output_dir: Annotated[Path | None, Parameter(name=("--output-dir", "--out"))] = None,
    as_json: AsJson = False,
) -> int:
    """Say how agents worked in sessions that are over, and write what was found, one file for each session.

    Traces are only read. Files that cannot be read are named, the others are analyzed, and the exit code is 2.

    Parameters
    ----------
    run
        A run directory, the id of a run, `latest`, or the name of a blessed one.
    sessions
        Instead of a run: a folder with traces, from here or elsewhere, each a JSON file.
    output_dir
        Where findings go; `analysis` in the run directory, or here for a folder of sessions, unless given.
    as_json
        Print a line for each session as JSON.
    """
    from ghx_bench.scoring.purity_analyzer import PurityAnalyzer
    from ghx_profiler.analyzers.files import ALL_ANALYZERS, NothingToAnalyzeError, analyze_sessions

    folder, sessions_found, output = _source(run, sessions, output_dir)
    tally = _Tally()
    with _progress(folder) as progress:
        analyzed = _watch(analyze_sessions(sessions_found, output, (*ALL_ANALYZERS, PurityAnalyzer())), tally, progress)
        show = _show_json if as_json else _show_table
        show(analyzed, tally, output, progress)
    for problem in tally.problems:
        print(f"error: {problem}", file=sys.stderr)
    if not tally.analyzed and not tally.problems:
        raise NothingToAnalyzeError(f"{folder}: there are no sessions in it; they are files that end in .json")
    return _SOME_UNREADABLE if tally.problems else 0


def _source(
    run: Path | None, sessions: Path | None, output_dir: Path | None
) -> tuple[Path, Iterator[SessionFile | Problem], Path]:
    """Return the folder of traces, the sessions to read from it, and where their findings go."""
    from ghx_profiler.analyzers.files import sessions_in, sessions_of_run

    if (run is None) == (sessions is None):
        raise InputError("name either a run directory or, with --sessions, a folder of traces")
    if run is not None:
        _check_run(run)
        folder, output = run / "sessions", output_dir or run / "analysis"
    else:
        folder, output = sessions or Path(), output_dir or Path("analysis")
        _check_sessions(folder)
    _check_output(output, folder)
    return folder, sessions_in(folder) if run is None else sessions_of_run(run), output


def _check_run(run: Path) -> None:
    """Refuse a folder that is not a run, so that nothing is written into it."""
    from ghx_profiler.store.record import NAME_A_RUN

    if (run / "run.json").exists():
        return
    reason = f"{run}: not a run directory, it holds no run.json"
    if not run.is_dir():
        raise InputError(f"{reason}; {NAME_A_RUN}")
    traces = run / "sessions" if (run / "sessions").is_dir() else run
    raise InputError(f"{reason}; with --sessions {traces} its traces are analyzed, and findings go to --output-dir")


def _check_sessions(folder: Path) -> None:
    if not folder.is_dir():
        raise FlagError("--sessions", f"{folder} is no folder; name one with traces in it")
    if (folder / "run.json").exists():
        raise FlagError("--sessions", f"{folder} is a run directory; name it without the flag")


def _check_output(output: Path, folder: Path) -> None:
    if output.exists() and not output.is_dir():
        raise FlagError("--output-dir", f"{output} is a file; choose a folder")
    if output.resolve().is_relative_to(folder.resolve()):
        raise FlagError("--output-dir", f"{output} is among the traces in {folder}; choose another folder")
    if (output / "run.json").exists():
        raise FlagError("--output-dir", f"{output} is a run, whose files findings would mix with; choose another")


def _progress(folder: Path) -> Progress:
    """Return a bar on standard error where that is a terminal; counting the files first costs no reading."""
    from rich.console import Console
    from rich.progress import Progress

    from ghx_profiler.analyzers.files import sessions_in

    is_shown = sys.stderr.isatty()
    progress = Progress(console=Console(stderr=True), transient=True, disable=not is_shown)
    if is_shown:
        progress.add_task("analyzing", total=sum(1 for _ in sessions_in(folder)))
    return progress


def _watch(items: Iterator[AnalyzedSession | Problem], tally: _Tally, progress: Progress) -> Iterator[AnalyzedSession]:
    """Yield the sessions that could be analyzed; problems are put aside."""
    from ghx_profiler.analyzers.files import AnalyzedSession

    for item in items:
        for task in progress.task_ids:
            progress.advance(task)
        match item:
            case AnalyzedSession():
                tally.analyzed += 1
                yield item
            case Problem():
                tally.problems.append(item)


def _show_json(analyzed: Iterator[AnalyzedSession], tally: _Tally, output: Path, progress: Progress) -> None:
    """Print one document, piece by piece: a run may have more sessions than memory should hold."""
    print(f'{{"directory": {json.dumps(str(output))}, "sessions": [', end="")
    separator = "\n"
    for each in analyzed:
        print(f"{separator}{json.dumps(_describe(each))}", end="")
        separator = ",\n"
    progress.stop()
    problems = json.dumps([problem.to_dict() for problem in tally.problems])
    print(f'\n], "analyzed": {tally.analyzed}, "problems": {problems}}}')


def _describe(each: AnalyzedSession) -> dict[str, object]:
    bundle = each.bundle
    return {
        "file": str(each.session.path),
        "analysis": str(each.path),
        "sessionId": bundle.session_id,
        "model": bundle.model,
        "mode": bundle.mode,
        "scenarioId": bundle.scenario_id,
        "iteration": each.session.cell.iteration,
        "findings": {finding: _value(bundle, analyzer, finding) for analyzer, finding in _COLUMNS.values()},
        "summaries": {name: result.summary for name, result in bundle.results.items()},
    }


def _show_table(analyzed: Iterator[AnalyzedSession], tally: _Tally, output: Path, progress: Progress) -> None:
    """Print a table; of many sessions, those with the most errors."""
    numbered = ((_errors(each.bundle), -number, _line(each)) for each, number in zip(analyzed, count(), strict=False))
    worst = nlargest(_MOST_LINES, numbered)  # keeps no more than it returns, however many sessions there are
    progress.stop()
    lines = [line for _, _, line in sorted(worst, key=lambda entry: -entry[1])]
    if lines:
        titles = ("session", *_COLUMNS)
        widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
        for line in (titles, *lines):
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        print()
    unread = f", {len(tally.problems):,} could not be" if tally.problems else ""
    limit_note = f" (shown: the {len(lines)} with the most errors)" if tally.analyzed > len(lines) else ""
    words = f"{tally.analyzed:,} session{'s' * (tally.analyzed != 1)} analyzed{unread}{limit_note}"
    if tally.analyzed or tally.problems:
        print(f"{words}: {output}")


def _errors(bundle: SessionAnalysisBundle) -> float:
    errors = _value(bundle, *_COLUMNS["errors"])
    return errors if isinstance(errors, int | float) else -1


def _line(each: AnalyzedSession) -> tuple[str, ...]:
    values = (_value(each.bundle, analyzer, finding) for analyzer, finding in _COLUMNS.values())
    return (
        one_line(str(each.session.place.with_suffix(""))),
        *("-" if value is None else f"{value}" for value in values),
    )


def _value(bundle: SessionAnalysisBundle, analyzer: str, finding: str) -> _Value:
    from ghx_profiler.records.analysis import NumberFinding, RatioFinding, StringFinding

    result = bundle.results.get(analyzer)
    match result.findings.get(finding) if result else None:
        case NumberFinding(value=value) | RatioFinding(value=value):
            return value
        case StringFinding(value=value):
            return value
        case _:
            return None
