"""Under which conditions each source arose, and in which of them sources differ."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ghx_bench.profiler.reports.inventory import Inventory
from ghx_bench.profiler.reports.sources import Source
from ghx_bench.profiler.reports.wording import UNKNOWN
from ghx_bench.profiler.store.record import RunRecord

_KEPT_OF_HASH = 12
_SHARED_NAMES = ("text of scenario ", "tools of mode ")
"""Conditions of things that not every run needs to have: they differ only between runs that do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A condition in which sources differ: its value by label, for each source that tells it."""

    condition: str
    values: Mapping[str, JsonValue]

    def __str__(self) -> str:
        told = "; ".join(f"{label}: {_short(value)}" for label, value in self.values.items())
        return f"{self.condition} ({told})"

    def to_wire(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {"condition": self.condition, "values": dict(self.values)}


def agents_of(source: Source, inventory: Inventory) -> tuple[str, ...]:
    """Return the agents of a source: the recorded one, or those of the rows."""
    return (source.record.provider,) if source.record else tuple(sorted(inventory.providers))


def models_of(source: Source, inventory: Inventory) -> tuple[str, ...]:
    """Return the models of a source: the planned ones, or those of the rows."""
    return source.record.matrix.models if source.record else inventory.models


def modes_of(source: Source, inventory: Inventory) -> tuple[str, ...]:
    """Return the modes of a source: the planned ones, or those of the rows."""
    return source.record.matrix.modes if source.record else inventory.modes


def differing_conditions(sources: Sequence[Source], inventories: Mapping[str, Inventory]) -> tuple[Difference, ...]:
    """Name every condition in which any two sources differ. What a source did not record is not compared."""
    told = {source.label: _conditions(source, inventories[source.label]) for source in sources}
    recorded = {source.label for source in sources if source.record is not None}
    differing: list[Difference] = []
    for name in dict.fromkeys(name for conditions in told.values() for name in conditions):
        is_shared = name.startswith(_SHARED_NAMES)
        values = {
            label: conditions.get(name)
            for label, conditions in told.items()
            if name in conditions or (label in recorded and not is_shared)
        }
        if len({json.dumps(value, sort_keys=True) for value in values.values()}) > 1:
            differing.append(Difference(condition=name, values=values))
    return tuple(differing)


def _conditions(source: Source, inventory: Inventory) -> dict[str, JsonValue]:
    agents = agents_of(source, inventory)
    told: dict[str, JsonValue] = {
        "agent": agents[0] if len(agents) == 1 else list(agents),
        "models": [*sorted(models_of(source, inventory))],
        "modes": [*sorted(modes_of(source, inventory))],
    }
    if source.record is None:
        return {**told, "repetitions": inventory.repetitions}
    return {**told, **_recorded(source.record)}


def _recorded(record: RunRecord) -> dict[str, JsonValue]:
    matrix = record.matrix
    return {
        "repetitions": matrix.repetitions,
        "order": matrix.order,
        "seed": matrix.seed,
        **{f"analysis {key}": value for key, value in sorted(record.analysis.items())},
        **{f"version of {key}": value for key, value in sorted(record.versions.items())},
        **{f"host {key}": value for key, value in sorted(record.host.items())},
        **{f"tools of mode {key}": value for key, value in sorted(record.modes.items())},
        **{f"text of scenario {each.get('id')}": _fingerprint(each) for each in record.scenarios},
    }


def _fingerprint(scenario: Mapping[str, JsonValue]) -> str:
    """Return a short text that is another for another scenario."""
    content = json.dumps(scenario, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()[:_KEPT_OF_HASH]


def _short(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return UNKNOWN if value is None else str(value)
