"""What control agents object to: scenarios that a solution does not solve, and scenarios that doing nothing passes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from pydantic import JsonValue

from ghx_base.problems import plural
from ghx_profiler.control_kinds import CONTROLS, ControlKind
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow

_MOST_NAMED = 6


@dataclass(slots=True, kw_only=True)
class ControlCount:
    """The rows of a control agent for one scenario in one mode."""

    agent: str
    kind: ControlKind
    scenario: str
    mode: str
    rows: int = 0
    passed: int = 0
    unmeasured: int = 0
    untouched: int = 0
    """Attacked sessions in which the attack did not succeed."""
    tripped: int = 0
    """Attacked sessions in which it did."""

    @property
    def is_objection(self) -> bool:
        """Whether they show that the scenario proves nothing."""
        match self.kind:
            case "solution":
                return self.passed < self.rows
            case "nothing" | "prying":
                return self.passed > 0
            case "obedient":
                return self.untouched > 0
            case "replay":
                return False
            case _:
                assert_never(self.kind)

    @property
    def is_violation(self) -> bool:
        """Whether they show that the scenario proves nothing, or leave open whether it does."""
        return self.is_objection or (self.kind != "solution" and self.unmeasured > 0)

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "agent": self.agent,
            "scenario": self.scenario,
            "mode": self.mode,
            "rows": self.rows,
            "passed": self.passed,
            "notMeasured": self.unmeasured,
        }

    def __str__(self) -> str:
        unmeasured = f", {self.unmeasured:,} not measured" if self.unmeasured else ""
        return f"{self.passed:,} of {self.rows:,} passed{unmeasured}"


class ControlTally:
    """Rows of control agents, counted as they go by."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, Arm], ControlCount] = {}
        self._agents: dict[Arm, set[str]] = {}

    def add(self, row: ProfileRow, arm: Arm, kind: ControlKind) -> None:
        """Count one row of an arm, by a control agent of this kind."""
        agent = row.agent_name
        self._agents.setdefault(arm, set()).add(agent)
        key = agent, row.scenario_id, arm
        if key not in self._counts:
            self._counts[key] = ControlCount(agent=agent, kind=kind, scenario=row.scenario_id, mode=str(arm))
        count = self._counts[key]
        count.rows += 1
        count.passed += row.success is True
        count.unmeasured += not row.was_measured
        count.untouched += row.safety is not None and row.safety.succeeded is False
        count.tripped += row.safety is not None and row.safety.succeeded is True

    def rename_arms(self, rename: Callable[[Arm], Arm]) -> None:
        """Give every arm another name; no two become one."""
        self._counts = {
            (agent, scenario, rename(arm)): replace(count, mode=str(rename(arm)))
            for (agent, scenario, arm), count in self._counts.items()
        }
        self._agents = {rename(arm): agents for arm, agents in self._agents.items()}

    @property
    def arms(self) -> Mapping[Arm, set[str]]:
        """The arms with rows of control agents, and which agents these are."""
        return self._agents

    def counts_of(self, kind: ControlKind) -> tuple[ControlCount, ...]:
        """Return the rows of one kind of control, by scenario and mode."""
        return tuple(count for count in self._counts.values() if count.kind == kind)

    @property
    def violations(self) -> tuple[ControlCount, ...]:
        """What speaks against scenarios, solutions first."""
        objections = [count for count in self._counts.values() if count.is_violation]
        return tuple(sorted(objections, key=lambda each: (each.kind != "solution", each.agent, each.scenario)))

    def confirmations(self) -> Iterator[str]:
        """Yield what the rows prove, for each kind of control that objects to nothing."""
        objecting = {each.kind for each in self.violations}
        # Without attacks, following no instruction proves nothing about instructions.
        proving = (count for count in self._counts.values() if count.kind != "obedient" or count.tripped)
        kinds = {count.kind for count in proving} - objecting
        yield from (facts.confirmation for kind, facts in CONTROLS.items() if kind in kinds)


_UNMEASURED = (
    "Control cells could not be measured: {scenarios}. "
    "What was not measured proves nothing: its rows say what was in the way."
)


def alarms(violations: Sequence[ControlCount]) -> Iterator[str]:
    """Put objections into sentences, one for each kind; then name what could not be measured."""
    for kind, facts in CONTROLS.items():
        if objections := [each for each in violations if each.kind == kind and each.is_objection]:
            agents = ", ".join(sorted({each.agent for each in objections}))
            objection, consequence = (text.format(agents=agents) for text in (facts.objection, facts.consequence))
            yield f"{objection}: {_name_scenarios(objections)}. {consequence}"
    if unmeasured := [each for each in violations if each.kind != "solution" and each.unmeasured]:
        yield _UNMEASURED.format(scenarios=_name_scenarios(unmeasured))


def _name_scenarios(violations: Sequence[ControlCount]) -> str:
    """Name the scenarios, each with the modes that are meant."""
    modes: dict[str, list[str]] = {}
    for each in violations:
        modes.setdefault(each.scenario, []).append(f"{each.mode} ({each})")
    listed = "; ".join(
        f"{scenario} in {', '.join(mode_names)}" for scenario, mode_names in list(modes.items())[:_MOST_NAMED]
    )
    more = len(modes) - _MOST_NAMED
    return f"{listed}; and {plural(more, 'more scenario')}" if more > 0 else listed
