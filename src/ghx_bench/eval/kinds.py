"""What a file is, told by its name and content: a scenario or its solution, the sets, a fixture, a manifest, ..."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from ghx_bench.agents.solution import SUFFIX
from ghx_bench.eval.folders import CONFIG_NAME, FIXTURES_FOLDER, SCENARIOS_FOLDER, SETS_NAME, is_scenario_name
from ghx_bench.eval.sets import SCHEMA_KEY

Kind = Literal["configuration", "fixture", "manifest", "sets", "scenario", "solution"]

_SCENARIO_KEYS = frozenset(
    {"prompt", "assertions", "timeoutMs", "timeout_ms", "difficulty", "allowedRetries", "fixture"}
)
_MANIFEST_KEYS = frozenset({"seedId", "seed_id", "createdAt", "created_at"})
_FIXTURE_KEYS = frozenset({"branches", "issues", "pulls"})
_KEYS_OF_OTHERS = frozenset({"prompt", "assertions", "fixtures", "modes", "extends", "tools", "users", "repositories"})
_SCENARIO_STEM = re.compile(r"[a-z0-9-]+-\d{3}")
_TELLING = re.compile(rb"\b(?:prompt|assertions|checkpoints|seedId|modes)\b|^(?:branches|issues|pulls):", re.MULTILINE)
_ENOUGH = 2
_FIRST_BYTES = 65_536


def kind_of(value: JsonValue, path: Path, folders: Collection[str]) -> Kind | None:
    """Return what a document is, or `None` if it seems to be none of ours; `folders` are those it was found in."""
    by_name = kind_by_name(path, folders)
    if not isinstance(value, dict) or by_name in {"sets", "configuration", "solution"}:
        return by_name
    if len(_SCENARIO_KEYS & value.keys()) >= _ENOUGH:
        return None if FIXTURES_FOLDER in folders else "scenario"
    if "fixtures" in value and _MANIFEST_KEYS & value.keys():
        return "manifest"
    if is_fixture_like(value) and (FIXTURES_FOLDER in folders or _FIXTURE_KEYS & value.keys()):
        return "fixture"
    if "modes" in value:
        return "configuration"
    return by_name or ("sets" if _are_sets(value) else None)


def kind_by_name(path: Path, folders: Collection[str]) -> Kind | None:
    """Return what a file is meant to be, as far as its name and the folders it was found in tell."""
    if path.stem == SETS_NAME:
        return "sets"
    if path.stem == CONFIG_NAME:
        return "configuration"
    if path.name.endswith(SUFFIX):
        return "solution"
    if FIXTURES_FOLDER in folders:
        return None
    in_folder = SCENARIOS_FOLDER in folders and is_scenario_name(path)
    return "scenario" if in_folder or _SCENARIO_STEM.fullmatch(path.stem) else None


def is_fixture_like(value: JsonValue) -> bool:
    """Say whether a document was probably meant as a fixture; those of other kinds may lie beside them."""
    if not isinstance(value, dict) or _KEYS_OF_OTHERS & value.keys():
        return False
    return bool(_FIXTURE_KEYS & value.keys()) or {"name", "description"} <= value.keys()


def mentions_ours(path: Path) -> bool:
    """Say whether a file that cannot be read as a document was probably meant as one of ours, by the words in it."""
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
