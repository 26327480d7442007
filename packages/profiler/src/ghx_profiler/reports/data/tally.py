"""What is counted row by row: checkpoints, failures, agents, and which sessions get a page."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ghx_profiler.control_kinds import ControlKind, leaks_count
from ghx_profiler.plan.cell import Arm
from ghx_profiler.records.row import ProfileRow
from ghx_profiler.records.score import Safety
from ghx_profiler.reports.data.controls import ControlTally
from ghx_profiler.reports.data.tool_uses import ToolUseCount
from ghx_profiler.scenario import scenario_of

SessionChoice = Literal["failures", "all", "none"]

LeftOut = Literal["not planted", "not shown", "order not shown", "stopped before the order"]
"""Why a session does not count: under attack the first two, in a benign twin the others."""

MOST_FAILURES_EACH = 3
MOST_FAILURES = 300
MOST_SUCCESSES = 100


@dataclass(slots=True)
class CheckpointCount:
    """How often one checkpoint of a scenario passed in one arm; described as it was first seen."""

    description: str
    passed: int = 0
    total: int = 0


@dataclass(slots=True)
class Tally:
    """Counts over all rows, by arm and scenario."""

    choice: SessionChoice
    checkpoints: dict[tuple[str, Arm], dict[str, CheckpointCount]] = field(
        default_factory=lambda: defaultdict[tuple[str, Arm], dict[str, CheckpointCount]](dict)
    )
    """By scenario and arm, then by checkpoint id, in the order of the first row."""
    failures: Counter[tuple[Arm, str]] = field(default_factory=Counter[tuple[Arm, str]])
    """By arm and why."""
    messages: dict[tuple[Arm, str], str] = field(default_factory=dict[tuple[Arm, str], str])
    """The first message of each failure."""
    agents: dict[Arm, set[str]] = field(default_factory=lambda: defaultdict[Arm, set[str]](set))
    controls: ControlTally = field(default_factory=ControlTally)
    not_implemented: Counter[tuple[Arm, str]] = field(default_factory=Counter[tuple[Arm, str]])
    """Requests for what the world of a session lacks, by arm and what it is."""
    left_out: Counter[tuple[Arm, LeftOut]] = field(default_factory=Counter[tuple[Arm, LeftOut]])
    """Sessions without a verdict on an attack or instruction, by arm and reason."""
    threatened: set[str] = field(default_factory=set[str])
    """Scenarios under threat, without the names of their forms."""
    unseen: Counter[str] = field(default_factory=Counter[str])
    """What could not be seen of attacked sessions, and of how many."""
    tool_uses: dict[Arm, ToolUseCount] = field(default_factory=dict[Arm, ToolUseCount])
    """Through which tools the requests of sessions came, where that was seen."""
    failures_without_page: int = 0
    _shown_failures: Counter[tuple[Arm, str]] = field(default_factory=Counter[tuple[Arm, str]])
    _shown_successes: set[tuple[Arm, str]] = field(default_factory=set[tuple[Arm, str]])

    def add(self, row: ProfileRow, arm: Arm, control_kind: ControlKind | None = None) -> None:
        """Count one row of an arm, by a control agent where that is of a kind."""
        self.agents[arm].add(row.agent_name)
        if control_kind is not None:
            self.controls.add(row, arm, control_kind)
        for what, requests in (row.not_implemented or {}).items():
            self.not_implemented[arm, what] += requests
        if row.safety is not None:
            self.threatened.add(scenario_of(row.scenario_id))
            if (why := reason_left_out(row, row.safety)) is not None:
                self.left_out[arm, why] += 1
            if row.safety.form == "attack":
                self.unseen.update(row.safety.unseen)
        if row.tool_use is not None and leaks_count(control_kind):
            self.tool_uses.setdefault(arm, ToolUseCount()).add(row.tool_use, row.cell)
        for checkpoint in row.checkpoint_details:
            counts = self.checkpoints[row.scenario_id, arm]
            count = counts.setdefault(checkpoint.id, CheckpointCount(checkpoint.description))
            count.passed += checkpoint.passed
            count.total += 1
        if row.success is not True:
            key = arm, failure_reason(row)
            self.failures[key] += 1
            # Put together only for the first: most rows of a failure repeat its message.
            if key not in self.messages:
                failed = ", ".join(each.id for each in row.checkpoint_details if not each.passed)
                self.messages[key] = row.error or (f"failed: {failed}" if failed else "")

    def rename_arms(self, rename: Callable[[Arm], Arm]) -> None:
        """Give every arm that was counted another name; no two become one."""
        self.checkpoints = {(scenario, rename(arm)): counts for (scenario, arm), counts in self.checkpoints.items()}
        self.failures = Counter({(rename(arm), why): rows for (arm, why), rows in self.failures.items()})
        self.messages = {(rename(arm), why): message for (arm, why), message in self.messages.items()}
        lacking = self.not_implemented.items()
        self.not_implemented = Counter({(rename(arm), what): requests for (arm, what), requests in lacking})
        self.left_out = Counter({(rename(arm), why): sessions for (arm, why), sessions in self.left_out.items()})
        self.tool_uses = {rename(arm): count for arm, count in self.tool_uses.items()}
        self.agents = {rename(arm): agents for arm, agents in self.agents.items()}
        self.controls.rename_arms(rename)

    def chooses(self, row: ProfileRow, arm: Arm) -> bool:
        """Return whether the session of this row gets a page; called once per row."""
        if self.choice != "failures":
            return self.choice == "all"
        key = arm, row.scenario_id
        if row.success is True:
            if key in self._shown_successes or len(self._shown_successes) >= MOST_SUCCESSES:
                return False
            self._shown_successes.add(key)
            return True
        if self._shown_failures[key] >= MOST_FAILURES_EACH or self._shown_failures.total() >= MOST_FAILURES:
            self.failures_without_page += 1
            return False
        self._shown_failures[key] += 1
        return True


def reason_left_out(row: ProfileRow, safety: Safety) -> LeftOut | None:
    """Return why a session under threat counts neither for attack success nor for over-refusal; None if it counts."""
    match safety.form:
        case "attack" if not safety.planted:
            return "not planted"
        case "attack" if safety.shown is False:
            return "not shown"
        case "benign" if safety.shown is False:
            return "order not shown"
        case "benign" if not row.has_ended_by_itself:
            return "stopped before the order"
        case _:
            return None


WRONG = "wrong answer"


def outcome_of(row: ProfileRow) -> str:
    """Return how a row ended, in words."""
    return "success" if row.success is True else failure_reason(row)


def failure_reason(row: ProfileRow) -> str:
    """Return the reason why a row is not a success."""
    if row.cause is not None:
        return row.cause.value.replace("_", " ")
    if row.error is not None:
        return "could not be measured, cause not recorded"
    return WRONG if row.success is False else "success not recorded"
