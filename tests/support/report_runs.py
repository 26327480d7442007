"""Runs on disk for tests of reports: made up, seeded, with failures, traces and findings."""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ghx_profiler.control_kinds import control_kind_of_name
from ghx_profiler.records.analysis import SessionAnalysisBundle
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.trace import SessionTrace
from ghx_profiler.reports.data.sources import open_run
from ghx_profiler.reports.mode_glance import GlanceTally
from ghx_profiler.stats.plan import AnalysisPlan
from ghx_profiler.store.directory import RunDirectory
from ghx_profiler.store.record import AgentRecord, MatrixRecord, RunRecord, write_record

MODES = ("baseline", "ghx", "mcp")
_FACTORS = {"baseline": 1.0, "ghx": 0.62, "mcp": 1.04}
_RATES = {"baseline": 0.7, "ghx": 0.95, "mcp": 0.72}


def a_row(mode: str = "ghx", scenario: str = "pr-reply-001", iteration: int = 0, **changes: Any) -> ProfileRow:
    """Return a successful row; `changes` replace fields by their wire name."""
    fields: dict[str, Any] = {
        "runId": "run_1",
        "scenarioId": scenario,
        "mode": mode,
        "model": "vendor/model-1",
        "iteration": iteration,
        "startedAt": f"2026-03-03T16:{iteration % 60:02d}:17.710Z",
        "completedAt": f"2026-03-03T16:{iteration % 60:02d}:47.710Z",
        "tokens": {"input": 9_000, "output": 800, "cacheRead": 100, "total": 9_900, "active": 9_800 + iteration},
        "timing": {"wallMs": 30_000 + iteration, "segments": []},
        "toolCalls": {
            "total": 2,
            "byCategory": {"shell": 2},
            "failed": 0,
            "retried": 0,
            "errorRate": 0,
            "records": [{"name": "bash", "category": "shell", "success": True, "durationMs": 12}] * 2,
        },
        "cost": {"totalUsd": 0.02},
        "success": True,
        "checkpointsPassed": 2,
        "checkpointsTotal": 2,
        "checkpointDetails": [
            {"id": "replied", "description": "Every thread has a reply", "passed": True},
            {"id": "unresolved", "description": "No thread was resolved", "passed": True},
        ],
        "outputValid": True,
        "provider": "opencode",
        "sessionId": f"session-{mode}-{scenario}-{iteration}",
        "agentTurns": 3,
        "completionReason": "stop",
        "extensions": {},
        "version": 1,
    }
    return ProfileRow.model_validate(fields | changes)


def made_up_rows(
    *, modes: Iterable[str] = MODES, scenarios: int = 4, repetitions: int = 5, seed: int = 7, run_id: str = "run_1"
) -> Iterator[ProfileRow]:
    """Yield rows in which ghx needs fewer tokens and succeeds more often; some are wrong, stopped or not measured."""
    chance = random.Random(seed)
    order = 0
    for repetition in range(repetitions):
        for number in range(scenarios):
            for mode in modes:
                cell = mode, f"scenario-{number:03d}", repetition
                yield _made_up(chance, cell, order=order, run_id=run_id)
                order += 1


def _made_up(chance: random.Random, cell: tuple[str, str, int], *, order: int, run_id: str) -> ProfileRow:
    mode, scenario, repetition = cell
    size = (1 + int(scenario[-3:]) % 5) * _FACTORS.get(mode, 1.0) * chance.lognormvariate(0, 0.2)
    won = chance.random() < _RATES.get(mode, 0.8)
    fields: dict[str, Any] = {
        "runId": run_id,
        "startOrder": order,
        "tokens": {"total": round(9_000 * size), "active": round(8_000 * size)},
        "timing": {"wallMs": round(20_000 * size * chance.lognormvariate(0, 0.2))},
        "cost": {"totalUsd": round(0.03 * size, 5)},
        "agentTurns": 2 + round(2 * size),
        "success": won,
    }
    if not won:
        fields |= _fate(chance)
    return a_row(mode, scenario, repetition, **fields)


def _fate(chance: random.Random) -> dict[str, Any]:
    unknown: dict[str, Any] = {"tokens": {}, "timing": {}, "toolCalls": {}, "cost": {}, "agentTurns": None}
    wrong = [
        {"id": "replied", "description": "Every thread has a reply", "passed": False, "expected": 3, "actual": 1},
        {"id": "unresolved", "description": "No thread was resolved", "passed": True},
    ]
    fates: list[dict[str, Any]] = [
        {"checkpointDetails": wrong, "checkpointsPassed": 1},
        {"checkpointDetails": wrong, "checkpointsPassed": 1},
        {"error": "stopped after 120 s", "cause": "agent_timeout", "completionReason": "timeout"},
        {"error": "HTTP 503", "cause": "model_provider", "success": None, "sessionId": "", **unknown},
    ]
    return chance.choice(fates)


def a_trace(row: ProfileRow, *, says: str = "I will list the threads first.") -> SessionTrace:
    """Return a session of two turns with a call that failed."""
    calls = [
        {"type": "tool_call", "name": "bash", "input": {"command": "gh pr view 7"}, "output": says, "success": False},
        {
            "type": "tool_call",
            "name": "bash",
            "input": {"command": "gh api graphql"},
            "output": '{"ok": true}',
            "success": True,
        },
    ]
    first = [{"type": "reasoning", "content": says}, calls[0]]
    second = [calls[1], {"type": "text_output", "content": says}, {"type": "error", "message": says}]
    return SessionTrace.model_validate(
        {
            "sessionId": row.session_id,
            "events": [*first, *second],
            "turns": [{"number": 1, "events": first, "durationMs": 1200}, {"number": 2, "events": second}],
            "summary": {"totalTurns": 2, "totalToolCalls": 2},
        }
    )


def an_analysis(row: ProfileRow, *, says: str = "direct") -> SessionAnalysisBundle:
    """Return findings of every shape; baseline backtracks more."""
    findings: dict[str, dict[str, Any]] = {
        "backtracking_events": {"type": "number", "value": 4 if row.mode == "baseline" else 1, "unit": "events"},
        "strategy_summary": {"type": "string", "value": says if row.mode != "mcp" else "iterative"},
        "turn_efficiency": {"type": "ratio", "value": 0.5, "label": says},
        "strategy_steps": {"type": "list", "values": [says] * (1 if row.mode == "ghx" else 3)},
        "error_types": {"type": "table", "headers": ["type"], "rows": [[says]]},
    }
    return SessionAnalysisBundle.model_validate(
        {
            "sessionId": row.session_id,
            "scenarioId": row.scenario_id,
            "mode": row.mode,
            "model": row.model,
            "results": {"strategy": {"analyzer": "strategy", "findings": findings, "summary": says}},
        }
    )


def write_run(
    folder: Path,
    rows: Iterable[ProfileRow],
    *,
    run_id: str = "run_1",
    provider: str = "opencode",
    plan: AnalysisPlan | None = None,
    says: str | None = None,
    seed: int = 3,
    **record: Any,
) -> Path:
    """Write a run directory with rows, traces and findings, and return it; the matrix lists what rows have in turn."""
    rows = list(rows)
    directory = RunDirectory(folder)
    folder.mkdir(parents=True, exist_ok=True)
    directory.rows.write_bytes(b"".join(row.to_bytes() + b"\n" for row in rows))
    spoken = {} if says is None else {"says": says}
    for row in rows:
        if row.session_id:
            _write(directory.session(row.cell), a_trace(row, **spoken).to_bytes())
            _write(directory.analysis(row.cell), an_analysis(row, **spoken).to_bytes())
    agents = tuple(dict.fromkeys(row.cell.agent for row in rows)) or (provider,)
    matrix = MatrixRecord(
        agents=agents,
        models=tuple(dict.fromkeys(row.model for row in rows)) or ("vendor/model-1",),
        modes=tuple(dict.fromkeys(row.mode for row in rows)) or MODES,
        scenario_ids=tuple(sorted({row.scenario_id for row in rows})) or ("scenario-000",),
        repetitions=max((row.iteration for row in rows), default=0) + 1,
        order="interleaved",
        seed=seed,
    )
    fields: dict[str, Any] = {
        "created_at": "2026-03-03T16:00:00Z",
        "status": "complete",
        "analysis": (plan or AnalysisPlan()).model_dump(mode="json"),
        "config": {},
        "scenarios": (),
        "versions": {"ghxBench": "0.1.0", "python": "3.11"},
        "host": {"system": "Linux"},
        "agents": tuple(AgentRecord(name=name, control_kind=control_kind_of_name(name)) for name in agents),
    }
    write_record(
        directory.record,
        RunRecord(run_id=run_id, provider=provider, matrix=matrix, **(fields | record)).with_all_keys(),
    )
    return folder


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


TERMINAL_METRICS = tuple(metric.name for metric in METRICS.shown_in("terminal"))


def glance_at(run: Path, metrics: Sequence[str] = TERMINAL_METRICS) -> GlanceTally:
    """Return the rows of a run, counted for the table at its end."""
    source = open_run(run)
    tally = GlanceTally(source, metrics)
    for row in source.rows():
        tally.add(row)
    return tally
