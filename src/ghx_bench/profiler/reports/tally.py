"""What is counted while rows go by: checkpoints, failures, and which sessions get a page."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Literal

from ghx_bench.profiler.reports.controls import ControlTally
from ghx_bench.profiler.row import ProfileRow

SessionChoice = Literal["failures", "all", "none"]

MOST_FAILURES_EACH = 3
MOST_FAILURES = 300
MOST_SUCCESSES = 100


@dataclass(slots=True)
class CheckpointCount:
    """How often one checkpoint of a scenario passed in one mode; described as it was first seen."""

    description: str
    passed: int = 0
    total: int = 0


def _checkpoint_counts() -> dict[tuple[str, str], dict[str, CheckpointCount]]:
    return defaultdict(dict)


@dataclass(slots=True)
class Tally:
    """Counts over all rows, by mode and scenario."""

    choice: SessionChoice
    checkpoints: dict[tuple[str, str], dict[str, CheckpointCount]] = field(default_factory=_checkpoint_counts)
    """By scenario and mode, then by checkpoint id, in the order of the first row."""
    failures: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """By mode and why."""
    messages: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The first message of each failure."""
    providers: Counter[str] = field(default_factory=Counter[str])
    agents: dict[str, set[str]] = field(default_factory=lambda: defaultdict[str, set[str]](set))
    """By mode."""
    controls: ControlTally = field(default_factory=ControlTally)
    problems: Counter[str] = field(default_factory=Counter[str])
    failures_without_page: int = 0
    _shown_failures: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _shown_successes: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        self.providers[row.provider] += 1
        self.agents[row.mode].add(row.provider)
        self.controls.add(row)
        self.problems.update(problem.where for problem in row.problems)
        for checkpoint in row.checkpoint_details:
            counts = self.checkpoints[row.scenario_id, row.mode]
            count = counts.setdefault(checkpoint.id, CheckpointCount(checkpoint.description))
            count.passed += checkpoint.passed
            count.total += 1
        if row.success is not True:
            key = row.mode, why_failed(row)
            self.failures[key] += 1
            self.messages.setdefault(key, row.error or _failed_checkpoints(row))

    def chooses(self, row: ProfileRow) -> bool:
        """Say whether the session of this row gets a page."""
        if self.choice != "failures":
            return self.choice == "all"
        key = row.mode, row.scenario_id
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


WRONG = "wrong answer"


def why_failed(row: ProfileRow) -> str:
    """Name why a row is no success, in words."""
    if (cause := row.known_cause) is not None:
        return cause.value.replace("_", " ")
    if row.error is not None:
        return "could not be measured, cause not recorded"
    return WRONG if row.success is False else "success not recorded"


def _failed_checkpoints(row: ProfileRow) -> str:
    failed = [checkpoint.id for checkpoint in row.checkpoint_details if not checkpoint.passed]
    return f"failed: {', '.join(failed)}" if failed else ""
