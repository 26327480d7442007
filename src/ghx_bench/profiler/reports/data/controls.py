"""What control agents object to: scenarios that the reference does not solve, and scenarios that nop passes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ghx_bench._base.problems import plural
from ghx_bench.profiler.cell import Arm
from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.store.record import NAMED_CONTROLS, RunRecord

CONTROLS = NAMED_CONTROLS
"""Agents that prove the scenarios and are not measured themselves, where no record of a run names them."""

_MOST_NAMED = 6


@dataclass(slots=True, kw_only=True)
class ControlCount:
    """The rows of a control agent for one scenario in one mode."""

    agent: str
    scenario: str
    mode: str
    rows: int = 0
    passed: int = 0
    unmeasured: int = 0

    @property
    def is_objection(self) -> bool:
        """Whether they show that the scenario proves nothing, or leave open whether it does."""
        wrong = {"reference": self.passed < self.rows, "nop": self.passed > 0}.get(self.agent, False)
        return wrong or self.unmeasured > 0

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


def controls_of(records: Iterable[RunRecord | None]) -> frozenset[str]:
    """Return the control agents of runs, by what their records say; of rows without one, by name."""
    return frozenset[str]().union(*(CONTROLS if record is None else record.control_agents for record in records))


class ControlTally:
    """Rows of control agents, counted as they go by; those of other agents are of no interest here."""

    def __init__(self, names: frozenset[str] = CONTROLS) -> None:
        self.names = names
        """Which agents are controls."""
        self._counts: dict[tuple[str, str, Arm], ControlCount] = {}

    def add(self, row: ProfileRow, arm: Arm) -> None:
        """Count one row of an arm."""
        agent = row.provider
        if agent not in self.names:
            return
        key = agent, row.scenario_id, arm
        if key not in self._counts:
            self._counts[key] = ControlCount(agent=agent, scenario=row.scenario_id, mode=str(arm))
        count = self._counts[key]
        count.rows += 1
        count.passed += row.success is True
        count.unmeasured += not row.was_measured

    @property
    def agents(self) -> frozenset[str]:
        """The control agents that rows are of."""
        return frozenset(agent for agent, _, _ in self._counts)

    @property
    def objections(self) -> tuple[ControlCount, ...]:
        """What speaks against scenarios, the reference first."""
        objections = [count for count in self._counts.values() if count.is_objection]
        return tuple(sorted(objections, key=lambda each: (each.agent != "reference", each.agent, each.scenario)))

    def proofs(self) -> Iterator[str]:
        """Yield what the rows prove, for each agent that objects to nothing."""
        objecting = {each.agent for each in self.objections}
        yield from (proof for agent, proof in _PROOFS.items() if agent in self.agents - objecting)


_PROOFS = {
    "reference": "They prove that their scenarios can be solved and checked.",
    "nop": "They prove that doing nothing does not pass.",
    "replay": "They repeat sessions that were recorded.",
}


@dataclass(frozen=True, slots=True)
class _Alarm:
    """A sentence about the objections that it is about: which these are, and what follows from them."""

    is_about: Callable[[ControlCount], bool]
    words: str
    consequence: str


_ALARMS = (
    _Alarm(
        lambda each: each.agent == "reference",
        "The reference does not solve every scenario",
        "Nothing proves that these can be solved: mend the scenario, or its solution.",
    ),
    _Alarm(
        lambda each: each.agent == "nop" and each.passed > 0,
        "Doing nothing passes",
        "What nop passes proves nothing about an agent: have a checkpoint ask for what is not so beforehand.",
    ),
    _Alarm(
        lambda each: each.agent != "reference" and each.unmeasured > 0,
        "Control cells could not be measured",
        "What was not measured proves nothing: its rows say what was in the way.",
    ),
)


def alarms(objections: Sequence[ControlCount]) -> Iterator[str]:
    """Put objections into sentences, one for each kind."""
    for alarm in _ALARMS:
        meant = [each for each in objections if alarm.is_about(each)]
        if meant:
            yield f"{alarm.words}: {_named(meant)}. {alarm.consequence}"


def _named(objections: Sequence[ControlCount]) -> str:
    """Name the scenarios, each with the modes that are meant."""
    modes: dict[str, list[str]] = {}
    for each in objections:
        modes.setdefault(each.scenario, []).append(f"{each.mode} ({each})")
    named = "; ".join(f"{scenario} in {', '.join(told)}" for scenario, told in list(modes.items())[:_MOST_NAMED])
    more = len(modes) - _MOST_NAMED
    return f"{named}; and {plural(more, 'more scenario')}" if more > 0 else named
