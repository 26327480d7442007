"""Capabilities that can be called: an entry of the index, and the operation that its module holds."""

import importlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.entries import Entry
from ghx_tools.capabilities.envelope import Route
from ghx_tools.capabilities.index import get_entry
from ghx_tools.capabilities.models import InputModel, OutputModel

I = TypeVar("I", bound=InputModel)  # noqa: E741 - the letter of inputs
O = TypeVar("O", bound=OutputModel)  # noqa: E741 - the letter of outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[I, O]):
    """How a capability is carried out; `example` is a valid input, for help and docs."""

    input: type[I]
    output: type[O]
    function: Callable[[GitHubClient, I], Awaitable[O]]
    route: Route
    example: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """A capability, loaded."""

    entry: Entry
    operation: Operation[Any, Any]

    @property
    def id(self) -> str:
        """Return its id."""
        return self.entry.id

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its input."""
        return self.operation.input.model_json_schema()

    @property
    def output_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its output."""
        return self.operation.output.model_json_schema()


def capability(id_: str) -> Capability:
    """Load one capability; raise `UnknownCapabilityError` with the nearest id."""
    entry = get_entry(id_)
    # Imported by name: `ghx` runs once for each call of an agent, and must not pay for the models of all the others.
    module = importlib.import_module(f"ghx_tools.capabilities.domains.{entry.domain}.{entry.module}")
    operations = cast("Mapping[str, Operation[Any, Any]]", module.OPERATIONS)
    return Capability(entry=entry, operation=operations[id_])
