"""Prints the names that our files and streams use, one per line and sorted; names of classes are not among them.

`test_wire_names` compares them with `tests/data/wire-names.txt`: `python wire_names.py >wire-names.txt` writes that.
"""

import ast
import hashlib
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.alias_generators import to_camel, to_snake
from typing_extensions import TypeAliasType

from ghx_base.own_code import PACKAGES
from ghx_bench.agent_factory import AGENTS
from ghx_bench.checking.json_schemas import SchemaName, json_schema
from ghx_profiler.events import Event
from ghx_profiler.records.metric_table import METRICS
from ghx_profiler.reports.render.data_files import COLUMN_NAMES
from ghx_twin.seed.document import WorldSeed

_LEFT_OUT = ("ghx_profiler.testing", "ghx_twin.pytest_plugin")


def main() -> None:
    """Print all names."""
    modules = [module for package in PACKAGES for module in load(package)]
    for line in sorted(set(lines(modules))):
        print(line)


def load(package: str) -> Iterator[ModuleType]:
    """Import all modules of a package."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if not found.name.endswith("__main__") and not found.name.startswith(_LEFT_OUT):
            yield importlib.import_module(found.name)


def lines(modules: list[ModuleType]) -> Iterator[str]:
    """Yield the names, each behind what it is."""
    classes = {each for module in modules for each in vars(module).values() if inspect.isclass(each)}
    for each in (each for each in classes if each.__module__.partition(".")[0] in PACKAGES):
        if issubclass(each, BaseModel):
            yield f"record: {', '.join(sorted(wire_name(name, field) for name, field in each.model_fields.items()))}"
            for field in each.model_fields.values():
                yield from values(field.annotation)
        if issubclass(each, Exception) and "code" in vars(each):
            yield f"error: {each.code} {getattr(each, 'exit_code', '')}"
        if hasattr(each, "analyze") and not getattr(each, "_is_protocol", False):
            yield f"analyzer: {each().name}: {', '.join(sorted(keys_in(inspect.getsource(each))))}"
    for event in get_args(unwrapped(Event)):
        yield f"event: {to_snake(event.__name__)}: {', '.join(sorted(map(to_camel, event.__dataclass_fields__)))}"
    yield from tables()


def wire_name(name: str, field: Any) -> str:
    """Return a field as it is written."""
    return field.serialization_alias or field.alias or name


def unwrapped(annotation: object) -> object:
    """Return what a type alias stands for."""
    return annotation.__value__ if isinstance(annotation, TypeAliasType) else annotation


def values(annotation: object) -> Iterator[str]:
    """Yield the closed sets of words in an annotation."""
    annotation = unwrapped(annotation)
    if get_origin(annotation) is Literal:
        yield f"values: {', '.join(sorted(map(str, get_args(annotation))))}"
    elif inspect.isclass(annotation) and issubclass(annotation, Enum):
        yield f"values: {', '.join(sorted(str(member.value) for member in annotation))}"
    for part in get_args(annotation):
        yield from values(part)


def keys_in(source: str) -> set[str]:
    """Return the words that are keys of dicts in a piece of code."""
    dicts = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Dict))
    return {key.value for each in dicts for key in each.keys if isinstance(key, ast.Constant)}


def tables() -> Iterator[str]:
    """Yield what stands in tables of the bench."""
    yield from (f"metric: {each.name}" for each in METRICS)
    yield f"results.csv: {', '.join(COLUMN_NAMES)}"
    yield from (f"schema of {kind}: {digest(json_schema(kind))}" for kind in get_args(SchemaName))
    yield f"schema of seed: {digest(WorldSeed.model_json_schema(by_alias=True))}"
    yield f"agents: {', '.join(sorted(AGENTS))}"


def digest(schema: dict[str, Any]) -> str:
    """Return a short hash of a JSON Schema without its texts; its definitions are named by their order."""
    order: dict[str, str] = {}

    def plain(part: Any) -> Any:
        if isinstance(part, list):
            return [plain(each) for each in part]
        if not isinstance(part, dict):
            return part
        kept = {
            key: value
            for key, value in part.items()
            if not (key in ("description", "title") and isinstance(value, str))
        }
        if "$ref" in kept:
            name = kept["$ref"].rpartition("/")[2]
            first = name not in order
            order.setdefault(name, f"T{len(order)}")
            kept |= {"$ref": order[name]} | ({"is": schema["$defs"].get(name)} if first else {})
        if "mapping" in kept:
            kept["mapping"] = sorted(kept["mapping"])
        return {key: plain(value) for key, value in kept.items() if key != "$defs"}

    return hashlib.sha256(json.dumps(plain(schema), sort_keys=True).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
