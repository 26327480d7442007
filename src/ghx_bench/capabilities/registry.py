"""A capability, loaded: the one module that its entry names is imported when it is called, and no other."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ghx_bench.capabilities.catalogue import entry
from ghx_bench.capabilities.entries import Entry
from ghx_bench.capabilities.operation import Operation

_DOMAINS = "ghx_bench.capabilities.domains"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """What is known of a capability, and how it is carried out."""

    entry: Entry
    operation: Operation[Any, Any]

    @property
    def id(self) -> str:
        """Return its id."""
        return self.entry.id

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what it takes."""
        return self.operation.input.model_json_schema()

    @property
    def output_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what it gives."""
        return self.operation.output.model_json_schema()


def capability(id_: str) -> Capability:
    """Load one capability, and nothing of the others; an unknown id is refused with the nearest one."""
    known = entry(id_)
    module = importlib.import_module(f"{_DOMAINS}.{known.domain}.{known.module}")
    operations = cast("Mapping[str, Operation[Any, Any]]", module.OPERATIONS)
    return Capability(entry=known, operation=operations[id_])
