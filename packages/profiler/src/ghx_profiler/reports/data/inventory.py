"""Facts about a source from its rows, if no run recorded them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from ghx_profiler.records.row import ProfileRow
from ghx_profiler.reports.data.machines import MachineTally

Facts = Mapping[str, JsonValue]
"""Facts of rows about their mode, such as its tools with their versions."""
_MOST_FACTS = 5


class Case(NamedTuple):
    """What is repeated: a scenario in a mode, by an agent with a model."""

    scenario: str
    mode: str
    model: str
    agent: str


@dataclass(slots=True)
class Inventory:
    """Rows, counted as they go by."""

    cases: Counter[Case] = field(default_factory=Counter[Case])
    run_ids: set[str] = field(default_factory=set[str])
    machines: MachineTally = field(default_factory=MachineTally)
    began: datetime | None = None
    """When the first row began; unknown if any row lacks it."""
    _is_timed: bool = True
    _facts: dict[str, list[Facts]] = field(default_factory=dict[str, list[Facts]])
    """By mode, each once."""

    def add(self, row: ProfileRow) -> None:
        """Count one row."""
        self.cases[Case(row.scenario_id, row.mode, row.model, row.agent_name)] += 1
        self.run_ids.add(row.run_id)
        self.machines.add(row)
        self._add_facts(row.mode, row.extensions.get("mode"))
        moment = moment_of(row.started_at) if self._is_timed else None
        if moment is None:
            self._is_timed, self.began = False, None
        elif self.began is None or moment < self.began:
            self.began = moment

    def _add_facts(self, mode: str, facts: JsonValue) -> None:
        if not isinstance(facts, dict) or not facts:
            return
        known = self._facts.setdefault(mode, [])
        # Bounded: facts that differ from row to row would be kept for every row.
        if facts not in known and len(known) < _MOST_FACTS:
            known.append(facts)

    def facts_of(self, mode: str) -> tuple[Facts, ...]:
        """Return the facts of rows about their mode: several values if they differ, up to a limit."""
        return tuple(self._facts.get(mode, ()))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.cases.total()

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the rows."""
        return tuple(sorted({case.agent for case in self.cases}))

    @property
    def models(self) -> tuple[str, ...]:
        """The models of the rows."""
        return tuple(sorted({case.model for case in self.cases}))

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes of the rows."""
        return tuple(sorted({case.mode for case in self.cases}))

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios of the rows."""
        return tuple(sorted({case.scenario for case in self.cases}))

    @property
    def repetitions(self) -> int:
        """How many rows the case with the most has."""
        return max(self.cases.values(), default=0)


def moment_of(text: str) -> datetime | None:
    """Read a timestamp; `None` if it is not one. Without an offset it counts as UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
