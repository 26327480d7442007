"""Rows for tests of the statistics: only what matters to a comparison is spelled out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ghx_profiler.records.row import ProfileRow

PARTS = {
    "tokens_active": ("tokens", "active"),
    "latency_wall_ms": ("timing", "wallMs"),
    "cost_total_usd": ("cost", "totalUsd"),
}


def row(
    mode: str, scenario: str = "s1", iteration: int = 0, *, success: bool | None = True, **fields: Any
) -> ProfileRow:
    """Return a row; metrics go by name (`tokens_active=...`), row fields by their wire name (`cause=...`)."""
    known: dict[str, Any] = {
        "runId": "run",
        "scenarioId": scenario,
        "mode": mode,
        "model": "model",
        "iteration": iteration,
        "startedAt": "2026-03-03T16:37:17.710Z",
        "completedAt": "2026-03-03T16:38:17.710Z",
        "tokens": {},
        "timing": {},
        "toolCalls": {},
        "cost": {},
        "success": success,
        "checkpointsPassed": None,
        "checkpointsTotal": None,
        "checkpointDetails": [],
        "outputValid": True,
        "provider": "fake",
        "sessionId": "session",
        "agentTurns": None,
        "completionReason": "stop",
        "extensions": {},
    }
    custom: dict[str, float] = {}
    for name, value in fields.items():
        if name in PARTS:
            record, key = PARTS[name]
            known[record] = {**known[record], key: value}
        elif name.startswith("metric_"):
            custom[name.removeprefix("metric_")] = value
        else:
            known[name] = value
    return ProfileRow.model_validate(known | ({"metrics": custom} if custom else {}))


def rows_of(values: Mapping[str, Mapping[str, Sequence[float]]], metric: str = "latency_wall_ms") -> list[ProfileRow]:
    """Return rows for values by mode and scenario."""
    return list(_rows_of(values, metric))


def _rows_of(values: Mapping[str, Mapping[str, Sequence[float]]], metric: str) -> Iterator[ProfileRow]:
    for mode, scenarios in values.items():
        for scenario, repetitions in scenarios.items():
            for iteration, value in enumerate(repetitions):
                if metric == "success":
                    yield row(mode, scenario, iteration, success=bool(value))
                else:
                    yield row(mode, scenario, iteration, **{metric: value})
