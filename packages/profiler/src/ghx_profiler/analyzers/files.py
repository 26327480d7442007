"""Sessions on disk, analyzed one at a time; an unreadable session is a value, and the others are analyzed."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, cast
from urllib.parse import unquote

from pydantic import JsonValue, ValidationError

from ghx_base.errors import InputError
from ghx_base.files.atomic_files import write_atomically
from ghx_base.problems import Problem
from ghx_profiler.analyzers.defaults import DEFAULT_ANALYZERS, POST_HOC_ANALYZERS
from ghx_profiler.contracts import Analyzer
from ghx_profiler.errors import BadRowsError, RunDirectoryError
from ghx_profiler.evidence import Answer, CompletionReason, Evidence, Mode, Stage
from ghx_profiler.plan.cell import Cell
from ghx_profiler.records.analysis import AnalysisResult, SessionAnalysisBundle
from ghx_profiler.records.causes import describe_error
from ghx_profiler.records.metrics import Cost, Timing
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.score import Score
from ghx_profiler.records.trace import SessionTrace, TextOutputEvent
from ghx_profiler.runner.toolcalls import summarise_tool_calls
from ghx_profiler.scenario import BaseScenario
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import read_record
from ghx_profiler.store.rows import read_rows
from ghx_profiler.store.traces import NoTraceError, parse_trace

ALL_ANALYZERS: tuple[Analyzer[BaseScenario], ...] = (*DEFAULT_ANALYZERS, *POST_HOC_ANALYZERS)
"""Those that run as a session ends, and those for sessions that are over."""

_ITERATION = re.compile(r"(?P<mode>.+)-iter-(?P<iteration>\d{1,9})")
_IN_A_RUN = 5
_IN_A_RUN_OF_VERSION_1 = 4
"""How many names the path of a session has; the first runs had one agent, and no folder for it."""


class NothingToAnalyzeError(InputError):
    """A path has no sessions."""

    code = "NOTHING_TO_ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """The trace of one session, where it lies, and what else is known of it."""

    path: Path
    place: PurePosixPath
    """Where it lies below the folder of sessions; its findings lie there below their own."""
    cell: Cell
    row: ProfileRow | None = None
    scenario: BaseScenario | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzedSession:
    """A session whose findings are on disk."""

    session: SessionFile
    path: Path
    bundle: SessionAnalysisBundle


def sessions_of_run(run: Path) -> Iterator[SessionFile | Problem]:
    """Yield the sessions of a run, first those with a row, in the order of the rows; damaged files come as problems.

    A session without a row is one that was interrupted.
    """
    directory = RunDirectory(run)
    folder = run / "sessions"
    if not folder.is_dir():
        read_record(directory.record)
        raise NothingToAnalyzeError(f"{run}: the run has no sessions yet; run it first")
    scenarios, problem = _scenarios(directory)
    if problem is not None:
        yield problem
    seen: set[str] = set()
    for row in _rows(directory):
        if isinstance(row, Problem):
            yield row
            continue
        path = directory.find_session(row.cell)
        place = PurePosixPath(path.relative_to(folder).as_posix())
        if str(place) in seen or not path.exists():
            continue
        seen.add(str(place))
        yield SessionFile(path=path, place=place, cell=row.cell, row=row, scenario=scenarios.get(row.scenario_id))
    for each in sessions_in(folder):
        match each:
            case SessionFile(place=place, cell=cell) if str(place) not in seen:
                scenario = scenarios.get(cell.scenario_id)
                yield SessionFile(path=each.path, place=place, cell=cell, scenario=scenario)
            case SessionFile():
                continue
            case Problem():
                yield each


def sessions_in(folder: Path) -> Iterator[SessionFile | Problem]:
    """Yield every JSON file below a folder, by name, as a session; folders that cannot be read come as problems."""
    refused: list[Problem] = []
    for parent, folders, names in os.walk(folder, onerror=lambda error: refused.append(_unreadable(error))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".json") and not name.startswith("."):
                path = Path(parent, name)
                place = PurePosixPath(path.relative_to(folder).as_posix())
                yield SessionFile(path=path, place=place, cell=_cell_of(place))
    yield from refused


def analyze_sessions(
    sessions: Iterable[SessionFile | Problem],
    output: Path,
    analyzers: Sequence[Analyzer[Any]] = ALL_ANALYZERS,
) -> Iterator[AnalyzedSession | Problem]:
    """Analyze sessions as they come, and put what is found below `output`, one file for each."""
    for session in sessions:
        if isinstance(session, Problem):
            yield session
        else:
            yield from _analyze_one(session, output, analyzers)


def examine(
    session: SessionFile, analyzers: Sequence[Analyzer[Any]] = ALL_ANALYZERS
) -> SessionAnalysisBundle | Problem:
    """Analyze one session, and write nothing."""
    try:
        return _bundle(session, parse_trace(session.path.read_bytes()), analyzers)
    except OSError as error:
        return _unreadable(error, session.path)
    except NoTraceError as error:
        return Problem(
            file=str(session.path), reason=f"no trace of a session ({error.reason})", suggestion=error.remedy
        )
    except Exception as error:  # noqa: BLE001 - plugin call
        return Problem(file=str(session.path), reason=f"could not be analyzed ({describe_error(error)})")


def _analyze_one(
    session: SessionFile, output: Path, analyzers: Sequence[Analyzer[Any]]
) -> Iterator[AnalyzedSession | Problem]:
    """Yield the session with its findings once these are on disk, and what is wrong with files of earlier findings."""
    path = output / session.place
    bundle = examine(session, analyzers)
    if isinstance(bundle, Problem):
        yield bundle
        return
    for earlier in _older_findings(session, output):
        if isinstance(earlier, Problem):
            yield earlier
        elif earlier.session_id == bundle.session_id:
            bundle = supplemented(bundle, earlier)
    try:
        bundle = _join_earlier(path, bundle)
        # Not durable: findings can be made again, and syncing thousands of files would take longer than that.
        write_atomically(path, bundle.to_bytes() + b"\n", durable=False)
    except OSError as error:
        yield Problem(
            file=str(path), reason=error.strerror or str(error), suggestion="choose another folder with --output-dir"
        )
    except ValidationError as error:
        remedy = "it is left as it is; take it away, or choose another folder with --output-dir"
        yield _invalid(path, error, "a file that holds no findings is in the way", remedy)
    else:
        yield AnalyzedSession(session=session, path=path, bundle=bundle)


def _older_findings(session: SessionFile, output: Path) -> Iterator[SessionAnalysisBundle | Problem]:
    """Yield what the older packages found in a session: they call the file after the session's, `-analysis` behind."""
    folder = session.path.parents[len(session.place.parts) - 1].parent / "analysis"
    place = session.place.with_name(f"{session.place.name.removesuffix('.json')}-analysis.json")
    for path in {path.resolve(): path for path in (output / place, folder / place)}.values():
        try:
            yield SessionAnalysisBundle.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield _unreadable(error, path)
        except ValidationError as error:
            yield _invalid(path, error, "holds no findings", "restore the file, or take it away")


def supplemented(bundle: SessionAnalysisBundle, earlier: SessionAnalysisBundle) -> SessionAnalysisBundle:
    """Add the parts that only the earlier file has: names missing in the session's file, other analyzers' results."""
    return bundle.model_copy(
        update={
            "scenario_id": bundle.scenario_id or earlier.scenario_id,
            "mode": bundle.mode or earlier.mode,
            "model": bundle.model or earlier.model,
            "results": {**earlier.results, **bundle.results},
        }
    )


def _bundle(session: SessionFile, trace: SessionTrace, analyzers: Sequence[Analyzer[Any]]) -> SessionAnalysisBundle:
    evidence = recollect(session.cell, trace, row=session.row, scenario=session.scenario)
    agent = {"agent": session.cell.agent} if session.cell.agent else {}
    results: dict[str, AnalysisResult] = {each.name: each.analyze(evidence).with_all_keys() for each in analyzers}
    return SessionAnalysisBundle(
        session_id=trace.session_id,
        scenario_id=session.cell.scenario_id,
        mode=session.cell.mode,
        model=session.cell.model,
        **agent,
        results=results,
    )


def _join_earlier(path: Path, bundle: SessionAnalysisBundle) -> SessionAnalysisBundle:
    """Keep what analyzers of the consumer's own found in the same session before."""
    try:
        before = SessionAnalysisBundle.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return bundle
    if before.session_id != bundle.session_id:
        return bundle
    return bundle.model_copy(update={"results": {**before.results, **bundle.results}})


def _scenarios(directory: RunDirectory) -> tuple[Mapping[str, BaseScenario], Problem | None]:
    if not directory.record.exists():
        return {}, None
    try:
        return recorded_scenarios(read_record(directory.record).scenarios), None
    except RunDirectoryError as error:
        return {}, _as_problem(directory.record, error)


def _rows(directory: RunDirectory) -> Iterator[ProfileRow | Problem]:
    """Yield the rows up to where they are damaged; the rest is analyzed by its traces only."""
    if not directory.rows.exists():
        return
    try:
        yield from read_rows(directory.rows)
    except (BadRowsError, RunDirectoryError) as error:
        yield _as_problem(directory.rows, error)


def _cell_of(place: PurePosixPath) -> Cell:
    """Return which cell a file belongs to, by its name; unknown parts are empty."""
    folders, stem = place.parent.parts, place.name.removesuffix(".json")
    if len(place.parts) in (_IN_A_RUN, _IN_A_RUN_OF_VERSION_1) and stem.isascii() and stem.isdigit():
        *agent, model, mode, scenario_id = map(unquote, folders)
        return Cell(agent="".join(agent), model=model, mode=mode, scenario_id=scenario_id, iteration=int(stem[:9]))
    scenario_id = folders[-1] if folders else ""
    match = _ITERATION.fullmatch(stem)
    mode, iteration = (match["mode"], int(match["iteration"])) if match else ("", 0)
    return Cell(agent="", model="", mode=mode, scenario_id=scenario_id, iteration=iteration)


def _as_problem(path: Path, error: Exception) -> Problem:
    """Return an error that names its file as a problem with that file."""
    place, message = str(path), str(error)
    return Problem(file=place, reason=message.removeprefix(f"{place}: ").removeprefix(place))


def _unreadable(error: OSError, path: Path | None = None) -> Problem:
    where = str(path or error.filename or "")
    return Problem(file=where, reason=error.strerror or str(error), suggestion="make it readable, or take it away")


def _invalid(path: Path, error: ValidationError, what: str, remedy: str) -> Problem:
    first = error.errors(include_url=False)[0]
    where = "".join(f"/{part}" for part in first["loc"])
    return Problem(file=str(path), reason=f"{what} ({where or 'all of it'}: {first['msg']})", suggestion=remedy)


_NOT_RECORDED = "(not recorded)"


def recorded_scenarios(snapshots: Iterable[Mapping[str, JsonValue]]) -> dict[str, BaseScenario]:
    """Return the scenarios of a run by id, as far as every scenario has them.

    What a consumer adds to its own kind of scenario is left out: without that kind its meaning is unknown. A
    snapshot that is not a scenario is left out as a whole.
    """
    keys = {key for name, field in BaseScenario.model_fields.items() for key in (name, field.alias or name)}
    scenarios: dict[str, BaseScenario] = {}
    for snapshot in snapshots:
        try:
            scenario = BaseScenario.model_validate({key: snapshot[key] for key in keys & snapshot.keys()})
        except ValidationError:
            continue
        scenarios[scenario.id] = scenario
    return scenarios


def unrecorded_scenario(scenario_id: str) -> BaseScenario:
    """Return what stands for a scenario of which at most the name is known."""
    name = scenario_id or _NOT_RECORDED
    return BaseScenario(id=name, name=name, description=_NOT_RECORDED, prompt=_NOT_RECORDED, timeout_ms=1)


def recollect(
    cell: Cell, trace: SessionTrace, *, row: ProfileRow | None = None, scenario: BaseScenario | None = None
) -> Evidence[BaseScenario]:
    """Return what is known of a session from its trace and, where there is one, the row that it left.

    A row of another session is not used: its numbers are not those of this trace.
    """
    row = row if row is not None and row.session_id == trace.session_id else None
    scenario = scenario or unrecorded_scenario(cell.scenario_id)
    reason = _reason(trace) if row is None else row.completion_reason
    known: dict[str, Any] = _facts_of_trace(trace) if row is None else _facts_of_row(row)
    return Evidence(
        cell=cell,
        scenario=scenario,
        mode=Mode(name=cell.mode, facts=_facts(row, "mode")),
        stage=Stage(scenario=scenario, facts=_facts(row, "stage")),
        completion_reason=reason,
        answer=_answer(trace, reason),
        trace=trace,
        **known,
    )


def _facts_of_row(row: ProfileRow) -> dict[str, Any]:
    score = None
    if row.success is not None and row.output_valid is not None:
        score = Score(
            success=row.success, checkpoints=row.checkpoint_details, output_valid=row.output_valid, safety=row.safety
        )
    return {
        "tokens": row.tokens,
        "timing": row.timing,
        "tool_calls": row.tool_calls,
        "cost": row.cost,
        "score": score,
        "refused_hosts": row.refused_hosts,
        "not_implemented": row.not_implemented,
        "tool_use": row.tool_use,
    }


def _facts_of_trace(trace: SessionTrace) -> dict[str, Any]:
    cost = trace.summary.total_cost_usd
    return {
        "tokens": trace.summary.total_tokens,
        "timing": Timing(wall_ms=trace.summary.total_duration),
        "tool_calls": summarise_tool_calls(trace, lambda call: call.name),
        "cost": Cost() if cost is None else Cost(total_usd=cost, source="reported"),
    }


def _reason(trace: SessionTrace) -> CompletionReason:
    """Return how a session seems to have ended: an agent that stops by itself has the last word."""
    return "stop" if trace.events and isinstance(trace.events[-1], TextOutputEvent) else "error"


def _answer(trace: SessionTrace, reason: CompletionReason) -> Answer | None:
    if reason not in {"stop", "tool_limit"}:
        return None
    last = next((event.content for event in reversed(trace.events) if isinstance(event, TextOutputEvent)), "")
    return Answer(text=last, reason="tool_limit" if reason == "tool_limit" else "stop")


def _facts(row: ProfileRow | None, kind: str) -> Mapping[str, JsonValue]:
    facts = row.extensions.get(kind) if row else None
    return cast("Mapping[str, JsonValue]", facts) if isinstance(facts, dict) else {}
