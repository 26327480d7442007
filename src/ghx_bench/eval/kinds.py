"""What a file is, told by its name and content: a scenario, the sets, a manifest, or a configuration."""

import re
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from ghx_bench.eval.folders import SETS_NAME, is_scenario_name
from ghx_bench.eval.sets import SCHEMA_KEY

Kind = Literal["configuration", "manifest", "sets", "scenario"]

SCENARIOS_FOLDER = "scenarios"
CONFIG_NAME = "eval.config"

_SCENARIO_KEYS = frozenset(
    {"prompt", "assertions", "timeoutMs", "timeout_ms", "difficulty", "allowedRetries", "fixture"}
)
_MANIFEST_KEYS = frozenset({"seedId", "seed_id", "createdAt", "created_at"})
_SCENARIO_STEM = re.compile(r"[a-z0-9-]+-\d{3}")
_TELLING = re.compile(rb"\b(?:prompt|assertions|checkpoints|seedId|modes)\b")
_ENOUGH = 2
_FIRST_BYTES = 65_536


def kind_of(value: JsonValue, path: Path) -> Kind | None:
    """Return what a document is, or `None` if it seems to be none of ours."""
    by_name = _kind_by_name(path)
    if by_name or not isinstance(value, dict):
        return by_name
    if len(_SCENARIO_KEYS & value.keys()) >= _ENOUGH:
        return "scenario"
    if "fixtures" in value and _MANIFEST_KEYS & value.keys():
        return "manifest"
    if "modes" in value:
        return "configuration"
    return "sets" if _are_sets(value) else None


def seems_ours(path: Path) -> bool:
    """Say whether a file that cannot be read as a document was probably meant as one of ours."""
    if _kind_by_name(path):
        return True
    try:
        with path.open("rb") as file:
            return _TELLING.search(file.read(_FIRST_BYTES)) is not None
    except OSError:
        return False


def _kind_by_name(path: Path) -> Kind | None:
    if path.stem == SETS_NAME:
        return "sets"
    if path.stem == CONFIG_NAME:
        return "configuration"
    in_folder = SCENARIOS_FOLDER in path.absolute().parts[:-1] and is_scenario_name(path)
    return "scenario" if in_folder or _SCENARIO_STEM.fullmatch(path.stem) else None


def _are_sets(value: dict[str, JsonValue]) -> bool:
    groups = [each for name, each in value.items() if name != SCHEMA_KEY]
    return bool(groups) and all(
        isinstance(group, list) and group and all(isinstance(each, str) for each in group) for group in groups
    )
