"""What a file is, by its name and content: a scenario or its solution, the sets, a fixture, a manifest, ..."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from ghx_bench.modes.definitions import ModeDefinition
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.folders import CONFIG_NAME, FIXTURES_FOLDER, SCENARIOS_FOLDER, SETS_NAME, is_scenario_name
from ghx_bench.project.sets import SCHEMA_KEY
from ghx_profiler.agents.controls.solution import SUFFIX
from ghx_profiler.agents.drivers.recipe import Recipe

Kind = Literal["agent", "configuration", "fixture", "manifest", "mode", "seed", "sets", "scenario", "solution"]

SEED_SUFFIX = ".seed"
"""How the names of seeds end, before `.yaml` or `.json`."""

_SCENARIO_KEYS = frozenset(
    {"prompt", "assertions", "timeoutMs", "timeout_ms", "difficulty", "allowedRetries", "fixture"}
)
_MANIFEST_KEYS = frozenset({"seedId", "seed_id", "createdAt", "created_at"})
_FIXTURE_KEYS = frozenset({"branches", "issues", "pulls", "world"})
_CONFIG_KEYS = frozenset(EvalConfig.model_fields) | {SCHEMA_KEY}
_MODE_KEYS = frozenset(ModeDefinition.model_fields) | {SCHEMA_KEY}
_AGENT_KEYS = frozenset(Recipe.model_fields) - {"schema_url"} | {SCHEMA_KEY}
_TELLING_MODE_KEYS = frozenset({"extends", "tools", "mcp_servers", "instructions"})
_KEYS_OF_OTHERS = frozenset({"prompt", "assertions", "fixtures", "modes", "extends", "tools", "users", "repositories"})
_RECORDS: Mapping[str, frozenset[str]] = {
    "a run's record": frozenset({"runId", "matrix", "modes"}),
    "what a run printed": frozenset({"runId", "directory", "measured"}),
    "the list of blessed runs": frozenset({"baselines"}),
    "the data of a report": frozenset({"generatedAt", "sources", "modes"}),
    "the rows of a report": frozenset({"version", "rows"}),
    "the trace of a session": frozenset({"sessionId", "events", "turns"}),
    "the findings of a session": frozenset({"sessionId", "scenarioId", "results"}),
}
"""What the bench writes itself, and the keys it is known by."""

_SCENARIO_STEM = re.compile(r"[a-z0-9-]+-\d{3}")
_TELLING = re.compile(rb"\b(?:prompt|assertions|checkpoints|seedId|modes)\b|^(?:branches|issues|pulls):", re.MULTILINE)
_ENOUGH = 2
_FIRST_BYTES = 65_536


def kind_of(value: JsonValue, path: Path, folders: Collection[str], *, is_named: bool = False) -> Kind | None:
    """Return what a document is, or `None` if it seems to be none of ours; `folders` are those it was found in.

    One that was named is taken for what it resembles; one that was found, only for what it surely is.
    """
    by_name = kind_by_name(path, folders)
    if not isinstance(value, dict) or by_name in {"sets", "configuration", "solution", "seed"}:
        return by_name
    if record_in(value) is not None:
        return None
    if len(_SCENARIO_KEYS & value.keys()) >= _ENOUGH:
        return None if FIXTURES_FOLDER in folders else "scenario"
    return (_resembled_kind if is_named else _certain_kind)(value, folders) or by_name


def _resembled_kind(value: dict[str, JsonValue], folders: Collection[str]) -> Kind | None:
    if "fixtures" in value and _MANIFEST_KEYS & value.keys():
        return "manifest"
    if is_fixture_like(value) and (FIXTURES_FOLDER in folders or _FIXTURE_KEYS & value.keys()):
        return "fixture"
    if "modes" in value:
        return "configuration"
    if {"name", "command"} <= value.keys():
        return "agent"
    if "name" in value and _TELLING_MODE_KEYS & value.keys():
        return "mode"
    return "sets" if _are_sets(value) else None


def _certain_kind(value: dict[str, JsonValue], folders: Collection[str]) -> Kind | None:
    kind = _resembled_kind(value, folders)
    match kind:
        case "fixture":
            is_sure = FIXTURES_FOLDER in folders or "name" in value
        case "configuration":
            ours = len(_CONFIG_KEYS & value.keys())
            is_sure = isinstance(value["modes"], list) and ours * _ENOUGH > len(value)
        case "agent":
            is_sure = value.keys() <= _AGENT_KEYS
        case "mode":
            is_sure = value.keys() <= _MODE_KEYS
        case "sets":
            groups = [group for group in value.values() if isinstance(group, list)]
            is_sure = all(_SCENARIO_STEM.fullmatch(str(each)) for group in groups for each in group)
        case _:
            is_sure = True
    return kind if is_sure else None


def record_in(value: JsonValue) -> str | None:
    """Return in words what a document is that the bench wrote itself; `None` where it did not."""
    if not isinstance(value, dict):
        return None
    return next((words for words, keys in _RECORDS.items() if keys <= value.keys()), None)


def kind_by_name(path: Path, folders: Collection[str]) -> Kind | None:
    """Return what a file is meant to be, as far as its name and the folders it was found in tell."""
    if path.stem == SETS_NAME:
        return "sets"
    if path.stem == CONFIG_NAME:
        return "configuration"
    if path.name.endswith(SUFFIX):
        return "solution"
    if path.stem.endswith(SEED_SUFFIX):
        return "seed"
    if FIXTURES_FOLDER in folders:
        return None
    in_folder = SCENARIOS_FOLDER in folders and is_scenario_name(path)
    return "scenario" if in_folder or _SCENARIO_STEM.fullmatch(path.stem) else None


def is_fixture_like(value: JsonValue) -> bool:
    """Return whether a document was probably meant as a fixture; those of other kinds may lie next to them."""
    if not isinstance(value, dict) or _KEYS_OF_OTHERS & value.keys():
        return False
    return bool(_FIXTURE_KEYS & value.keys()) or {"name", "description"} <= value.keys()


def mentions_ours(path: Path) -> bool:
    """Return whether a file that cannot be read as a document was probably meant as one of ours, by the words in it."""
    try:
        with path.open("rb") as file:
            return _TELLING.search(file.read(_FIRST_BYTES)) is not None
    except OSError:
        return False


def _are_sets(value: dict[str, JsonValue]) -> bool:
    groups = [each for name, each in value.items() if name != SCHEMA_KEY]
    return bool(groups) and all(
        isinstance(group, list) and group and all(isinstance(each, str) for each in group) for group in groups
    )
