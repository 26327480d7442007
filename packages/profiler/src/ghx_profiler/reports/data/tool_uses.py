"""Whether sessions kept to the tools of their mode, and what they took to exist and does not, arm by arm."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import JsonValue

from ghx_profiler.analyzers.hallucinated_commands import HEADERS, PATHS
from ghx_profiler.plan.cell import Arm, Cell
from ghx_profiler.records.analysis import AnalysisResult, TableFinding
from ghx_profiler.records.tool_use import ToolUse

MOST_CELLS = 100
"""Cells that are named for each arm, or for each thing that was made up."""


@dataclass(slots=True, kw_only=True)
class ToolUseCount:
    """The requests of an arm's sessions by where they came from; sessions of which that is not known are left out."""

    sessions: int = 0
    own: Counter[str] = field(default_factory=Counter[str])
    foreign: Counter[str] = field(default_factory=Counter[str])
    neutral: Counter[str] = field(default_factory=Counter[str])
    requesting: int = 0
    """Sessions that made any request."""
    adopted: int = 0
    """Those of them in which a tool of the mode did."""
    impure_sessions: int = 0
    impure_cells: list[Cell] = field(default_factory=list[Cell])

    def add(self, use: ToolUse, cell: Cell) -> None:
        """Count one session."""
        self.sessions += 1
        self.own.update(use.own)
        self.foreign.update(use.foreign)
        self.neutral.update(use.neutral)
        self.requesting += use.adoption is not None
        self.adopted += use.adoption is True
        if use.foreign:
            self.impure_sessions += 1
            if len(self.impure_cells) < MOST_CELLS:
                self.impure_cells.append(cell)

    @property
    def purity(self) -> float | None:
        """The share of requests that came through the mode's own tools, over all sessions together."""
        return ToolUse(own=dict(self.own), foreign=dict(self.foreign)).purity

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "sessions": self.sessions,
            "purity": self.purity,
            "ownRequests": self.own.total(),
            "foreignRequests": self.foreign.total(),
            "neutralRequests": self.neutral.total(),
            "foreignTools": dict(self.foreign.most_common()),
            "askingSessions": self.requesting,
            "adoptingSessions": self.adopted,
            "impureSessions": self.impure_sessions,
            "impureCells": [cell_to_wire(cell) for cell in self.impure_cells],
        }


@dataclass(frozen=True, slots=True)
class HallucinatedName:
    """A name that does not exist, as sessions of one arm used it."""

    kind: str
    name: str
    at: str
    suggested: str


@dataclass(slots=True)
class NameCount:
    """How often it was used, and in which sessions."""

    calls: int = 0
    sessions: int = 0
    cells: list[Cell] = field(default_factory=list[Cell])

    def add(self, calls: int, cell: Cell) -> None:
        """Count one session."""
        self.calls += calls
        self.sessions += 1
        if len(self.cells) < MOST_CELLS:
            self.cells.append(cell)


@dataclass(slots=True)
class HallucinatedCommands:
    """Hallucinated commands of sessions, by arm."""

    counts: dict[tuple[Arm, HallucinatedName], NameCount] = field(
        default_factory=dict[tuple[Arm, HallucinatedName], NameCount]
    )

    def add(self, arm: Arm, cell: Cell, result: AnalysisResult | None) -> None:
        """Count what the analyzer found in one session."""
        finding = None if result is None else result.findings.get(PATHS)
        if not isinstance(finding, TableFinding) or finding.headers != HEADERS:
            return
        for *thing, calls in finding.rows:
            if calls.isascii() and calls.isdigit():
                self.counts.setdefault((arm, HallucinatedName(*thing)), NameCount()).add(int(calls), cell)

    def rename_arms(self, rename: Callable[[Arm], Arm]) -> None:
        """Give every arm another name; no two become one."""
        self.counts = {(rename(arm), thing): count for (arm, thing), count in self.counts.items()}

    def ordered(self) -> list[tuple[Arm, HallucinatedName, NameCount]]:
        """Return all of them, most frequent first."""
        listed = [(arm, thing, count) for (arm, thing), count in self.counts.items()]
        return sorted(listed, key=lambda each: (-each[2].calls, str(each[0]), each[1].kind, each[1].name, each[1].at))

    def to_wire(self) -> list[JsonValue]:
        """Return them as JSON."""
        return [
            {
                "mode": str(arm),
                "kind": thing.kind,
                "name": thing.name,
                "at": thing.at,
                "suggested": thing.suggested or None,
                "calls": count.calls,
                "sessions": count.sessions,
                "cells": [cell_to_wire(cell) for cell in count.cells],
            }
            for arm, thing, count in self.ordered()
        ]


def cell_to_wire(cell: Cell) -> JsonValue:
    """Return what a cell is found by."""
    return {
        "agent": cell.agent,
        "model": cell.model,
        "mode": cell.mode,
        "scenario": cell.scenario_id,
        "iteration": cell.iteration,
    }
