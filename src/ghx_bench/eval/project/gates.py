"""Gates: what must not come of a run, for pipelines that stop there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, Strict

from ghx_bench._base.problems import did_you_mean, shortened
from ghx_bench.documents import RefusedError
from ghx_bench.profiler.cell import Arm
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.store.record import MatrixRecord, RunRecord

WRONG, RIGHT = "wrong", "right"
_RATE = re.compile(r"success\s*<\s*([01](?:\.\d{1,9})?|\.\d{1,9})")
_GRAMMAR = "'wrong', 'right', or a rate between 0 and 1 as in 'success<0.8'"
_MOST_NAMED = 3


def _least(gate: str) -> Fraction | None:
    """Return the rate that a gate asks for, if it asks for one."""
    # Fractions: with floats, 4 of 5 cells could be less than a rate of 0.8.
    found = _RATE.fullmatch(gate)
    rate = None if found is None else Fraction(found[1])
    return rate if rate is not None and 0 < rate <= 1 else None


def _check_gate(gate: str) -> str:
    gate = gate.strip()
    if gate not in (WRONG, RIGHT) and _least(gate) is None:
        hint = did_you_mean(gate, (WRONG, RIGHT), otherwise=f"write {_GRAMMAR}")
        raise RefusedError(f"there is no gate {shortened(gate)}", suggestion=hint)
    return gate


Gate = Annotated[str, Strict(), AfterValidator(_check_gate), Field(examples=["wrong", "success<0.8"])]
"""`wrong` fails on a measured cell that is no success, `right` on one that is, `success<RATE` on a mode below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """Whether a run got through a gate, and what stopped it if not."""

    gate: str
    reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the run did not get through."""
        return self.reason is not None

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {"gate": self.gate, "failed": self.failed, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.gate}: {self.reason or 'passed'}"


@dataclass(slots=True, kw_only=True)
class GateTally:
    """The measured cells of a run that were wrong, or right; what could not be measured is neither.

    With several `agents`, modes are named with theirs. Rows of an agent that is not among them are not counted.
    """

    matrix: MatrixRecord
    agents: tuple[str, ...]
    measured: int = 0
    cells: dict[bool, list[str]] = field(default_factory=lambda: {True: [], False: []})
    by_arm: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])

    @classmethod
    def of(cls, record: RunRecord) -> "GateTally":
        """Return a tally for a run: of its agents under test, or of its controls if it has no other agents."""
        names = tuple(agent.name for agent in record.agents)
        under_test = tuple(name for name in names if name not in record.control_agents)
        return cls(matrix=record.matrix, agents=under_test or names)

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        if not row.was_measured or row.agent_name not in self.agents:
            return
        success, agent = row.success is True, row.agent_name if len(self.agents) > 1 else None
        self.measured += 1
        self.cells[success].append(self.matrix.name_cell(row.cell))
        self.by_arm.setdefault(str(Arm(mode=row.mode, agent=agent)), []).append(success)


def judge(gates: Sequence[str], tally: GateTally) -> tuple[GateResult, ...]:
    """Hold the measured cells of a run against gates."""
    return tuple(GateResult(gate=gate, reason=_reason(gate, tally)) for gate in gates)


def _reason(gate: str, tally: GateTally) -> str | None:
    """Return what a gate fails by, if it does."""
    if (least := _least(gate)) is not None:
        below = [
            f"{mode} succeeds in {sum(results)} of {len(results)} measured cells ({float(share):.3g})"
            for mode, results in tally.by_arm.items()
            if (share := Fraction(sum(results), len(results))) < least
        ]
        return "; ".join(below) or None
    cells = tally.cells[gate == RIGHT]
    if not cells:
        return None
    named = ", ".join(cells[:_MOST_NAMED]) + (f" and {len(cells) - _MOST_NAMED} more" if cells[_MOST_NAMED:] else "")
    return f"{len(cells)} of {tally.measured} measured cells {'is' if len(cells) == 1 else 'are'} {gate}: {named}"
