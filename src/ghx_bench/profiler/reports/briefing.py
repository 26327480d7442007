"""What the agent of one session was told: the prompt, its variables filled in, and the instructions of its mode."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from ghx_bench.profiler.row import ProfileRow
from ghx_bench.profiler.scenario import BaseScenario
from ghx_bench.profiler.store.record import RunRecord

_VARIABLE = re.compile(r"\{\{([A-Za-z0-9_]{1,128})\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What an agent was told, as far as the run wrote it down."""

    prompt: str | None = None
    instructions: str | None = None


def briefing_of(row: ProfileRow, scenario: BaseScenario | None, record: RunRecord | None) -> Briefing:
    """Return what the agent of a row was told; of rows alone nothing is known."""
    details = None if record is None else record.mode_details.get(row.mode)
    return Briefing(
        prompt=None if scenario is None else _bound(scenario.prompt, _bindings(row)),
        instructions=None if details is None else details.instructions,
    )


def _bindings(row: ProfileRow) -> Mapping[str, JsonValue]:
    """Return what the stage says that variables stood for."""
    stage = row.extensions.get("stage")
    bindings = stage.get("bindings") if isinstance(stage, dict) else None
    return bindings if isinstance(bindings, dict) else cast("dict[str, JsonValue]", {})


def _bound(prompt: str, bindings: Mapping[str, JsonValue]) -> str:
    """Put values where their variables stand; one that nobody knows stays as it was written."""

    def value(match: re.Match[str]) -> str:
        known = bindings.get(match[1], match[0])
        return known if isinstance(known, str) else json.dumps(known, ensure_ascii=False)

    return _VARIABLE.sub(value, prompt)
