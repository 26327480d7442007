"""Documents made ready for execution: parsed, measured, validated, and kept for the next request.

What a document may cost is known before anything of it is executed. The names of GitHub's published schema distinguish
what the emulator lacks, which is a 501, from what is misspelt, which is GitHub's own error.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLSyntaxError,
    IntValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    VariableNode,
    parse,
    validate,
)

from ghx_twin.graphql.failures import LACKS, syntax_failure, validation_failure
from ghx_twin.graphql.rules import RULES
from ghx_twin.graphql.schema import schema

MAX_CHARACTERS = 1_000_000
MAX_TOKENS = 20_000
MAX_ERRORS = 100
MAX_DEPTH = 25
MAX_COMPLEXITY = 10_000  # fields, fragments counted wherever they are spread
MAX_NODES = 500_000
# At most 512 documents of 32 KB are kept, so the texts of the cache take 16 MB at most.
_KEPT, _KEPT_CHARACTERS, _KEPT_COSTS = 512, 32_768, 64
# What graphql-core says of an input field or enum value that our schema lacks; there is no structured form of it.
_INPUT_FIELD = re.compile(r"type '(\w+)[!\]]*' not to include unknown field '(\w+)'")
_ENUM_VALUE = re.compile(r"Value '(\w+)' does not exist in '(\w+)' enum")
_SATURATED = 10**12  # large enough to refuse; counting on would only make the number long


@dataclass(frozen=True, slots=True)
class Cost:
    """What a selection asks for: how deep it goes, how many fields it has, how many nodes it may return."""

    depth: int = 0
    complexity: int = 0
    nodes: int = 0

    def refusal(self) -> dict[str, Any] | None:
        """Return the error of a document that asks for too much."""
        if self.depth > MAX_DEPTH:
            return {"message": f"Query has depth of {self.depth}, which exceeds max depth of {MAX_DEPTH}"}
        if self.complexity > MAX_COMPLEXITY:
            message = f"Query has complexity of {self.complexity}, which exceeds max complexity of {MAX_COMPLEXITY}"
            return {"message": message}
        if self.nodes > MAX_NODES:
            message = (
                f"This query requests up to {self.nodes:,} possible nodes which exceeds the maximum limit of "
                f"{MAX_NODES:,}."
            )
            return {"type": "MAX_NODE_LIMIT_EXCEEDED", "message": message}
        return None


@dataclass(slots=True)
class Meter:
    """Measures operations of one document; each fragment is measured once, whatever spreads it."""

    fragments: dict[str, FragmentDefinitionNode]
    variables: Mapping[str, Any]
    _measured: dict[str, Cost] = field(default_factory=dict[str, Cost])

    @classmethod
    def of(cls, document: DocumentNode, variables: Mapping[str, Any]) -> "Meter":
        """Return a meter for the operations of a document with these variables."""
        fragments = {d.name.value: d for d in document.definitions if isinstance(d, FragmentDefinitionNode)}
        return cls(fragments, variables)

    def operation(self, operation: OperationDefinitionNode) -> Cost:
        """Return what an operation costs."""
        defaults = {
            definition.variable.name.value: int(definition.default_value.value)
            for definition in operation.variable_definitions or ()
            if isinstance(definition.default_value, IntValueNode)
        }
        self.variables = {**defaults, **self.variables}
        return self._selections(operation.selection_set)

    def _selections(self, selections: SelectionSetNode | None) -> Cost:
        depth = complexity = nodes = 0
        for selection in selections.selections if selections else ():
            match selection:
                case FieldNode():
                    cost = self._field(selection)
                case FragmentSpreadNode():
                    cost = self._fragment(selection.name.value)
                case _:
                    cost = self._selections(getattr(selection, "selection_set", None))
            depth = max(depth, cost.depth)
            complexity = min(complexity + cost.complexity, _SATURATED)
            nodes = min(nodes + cost.nodes, _SATURATED)
        return Cost(depth, complexity, nodes)

    def _field(self, node: FieldNode) -> Cost:
        inner = self._selections(node.selection_set)
        size = self._size(node)
        nodes = inner.nodes if size is None else min(size + size * inner.nodes, _SATURATED)
        return Cost(inner.depth + 1, min(inner.complexity + 1, _SATURATED), nodes)

    def _fragment(self, name: str) -> Cost:
        if name not in self._measured:
            self._measured[name] = Cost()  # a fragment inside itself is refused later, and must not send us in circles
            definition = self.fragments.get(name)
            self._measured[name] = self._selections(definition.selection_set) if definition else Cost()
        return self._measured[name]

    def _size(self, node: FieldNode) -> int | None:
        for argument in node.arguments or ():
            if argument.name.value in {"first", "last"}:
                value = argument.value
                size = self.variables.get(value.name.value) if isinstance(value, VariableNode) else None
                size = int(value.value) if isinstance(value, IntValueNode) and len(value.value) < 12 else size  # noqa: PLR2004 - longer is refused as no Int
                if isinstance(size, int):
                    return max(0, min(size, _SATURATED))
        return None


@cache
def published_names() -> dict[str, Any]:
    """Return the names of GitHub's published schema, and the package they are from."""
    return json.loads(files("ghx_twin.graphql").joinpath("published.json").read_bytes())


def lacks_field(type_name: str, field: str) -> bool:
    """Return whether GitHub has a field that we do not."""
    return field in published_names()["fields"].get(type_name, {})


def lacks_argument(type_name: str, field: str, argument: str) -> bool:
    """Return whether GitHub takes an argument that we do not."""
    return argument in published_names()["fields"].get(type_name, {}).get(field, ())


def lacks_type(name: str) -> bool:
    """Return whether GitHub has a type that we do not."""
    return name in published_names()["types"]


def find_lacked_value(message: str) -> str | None:
    """Return the input field or enum value that a message complains of, where GitHub has it."""
    if match := _INPUT_FIELD.search(message):
        owner, name = match.groups()
    elif match := _ENUM_VALUE.search(message):
        name, owner = match.groups()
    else:
        return None
    return f"{owner}.{name}" if name in published_names()["values"].get(owner, ()) else None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document that is not executed: what to answer instead."""

    errors: tuple[dict[str, Any], ...]
    lacks: str | None = None  # what GitHub has and the emulator does not


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that fits the schema."""

    document: DocumentNode
    operations: Mapping[str | None, OperationDefinitionNode]
    _costs: dict[tuple[object, ...], Cost] = field(default_factory=dict[tuple[object, ...], Cost])

    def operation(self, name: str | None) -> OperationDefinitionNode | Rejected:
        """Return the operation to execute."""
        if name:
            operation = self.operations.get(name)
            return operation or Rejected(({"message": f'No operation named "{name}"'},))
        if len(self.operations) == 1:
            return next(iter(self.operations.values()))
        return Rejected(({"message": "An operation name is required"},))

    def cost(self, operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> Cost:
        """Return what an operation costs with these variables; only numbers among them can matter."""
        numbers = {name: value for name, value in variables.items() if type(value) is int}
        key = (id(operation), *sorted(numbers.items()))  # the document is kept, so the id of its node stays its own
        cost = self._costs.get(key)
        if cost is None:
            cost = Meter.of(self.document, numbers).operation(operation)
            if len(self._costs) < _KEPT_COSTS:
                self._costs[key] = cost
        return cost


def prepare(query: str) -> Prepared | Rejected:
    """Parse and validate a document, or say what is wrong with it."""
    return _prepare_and_keep(query) if len(query) <= _KEPT_CHARACTERS else _prepare(query)


def root_fields(operation: OperationDefinitionNode) -> list[str]:
    """Return the names of the fields an operation starts with."""
    return [one.name.value for one in operation.selection_set.selections if isinstance(one, FieldNode)]


def name_of(operation: OperationDefinitionNode) -> str:
    """Return what the journal calls an operation: its kind, its name and the fields it starts with."""
    name = [operation.name.value] if operation.name else []
    return " ".join([operation.operation.value, *name, *root_fields(operation)])


def name_in(query: str, name: str | None) -> str | None:
    """Return what the journal calls the operation that a document asks for, whether or not it fits the schema."""
    try:
        operations = _operations(_parse(query))
    except (GraphQLError, RecursionError):
        return None
    names = [one for one in operations if not name or (one.name and one.name.value == name)]
    return name_of(names[0]) if len(names) == 1 else None


def _parse(query: str) -> DocumentNode:
    return parse(query, max_tokens=MAX_TOKENS, max_source_length=MAX_CHARACTERS, allow_empty_selection_sets=False)


def _operations(document: DocumentNode) -> list[OperationDefinitionNode]:
    return [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]


def _prepare(query: str) -> Prepared | Rejected:
    try:
        document = _parse(query)
    except GraphQLSyntaxError as error:
        return Rejected((syntax_failure(query, error),))
    except GraphQLError as error:
        return Rejected(({"message": error.message},))
    except RecursionError:
        return Rejected(({"message": "Query is nested too deeply to be parsed"},))
    operations = _operations(document)
    return _refusal(document, operations) or Prepared(
        document, {one.name.value if one.name else None: one for one in operations}
    )


def _refusal(document: DocumentNode, operations: list[OperationDefinitionNode]) -> Rejected | None:
    """Return why a document is refused; cheap checks come first, so that abuse never reaches the costly ones."""
    if not operations:
        return Rejected(({"message": "A query attribute must be specified and must be a string."},))
    if any(one.operation is OperationType.SUBSCRIPTION for one in operations):
        return Rejected(({"message": "Schema is not configured for subscriptions"},))
    # Before validation, which takes the longer the larger a document is. Variables are counted later, in `cost`.
    costs = (Meter.of(document, {}).operation(one) for one in operations)
    if refusal := next((name_lack for cost in costs if (name_lack := cost.refusal())), None):
        return Rejected((refusal,))
    try:
        errors = validate(schema(), document, RULES, max_errors=MAX_ERRORS, hide_suggestions=True)
    except RecursionError:
        return Rejected(({"message": "Query is nested too deeply to be validated"},))
    if not errors:
        return None
    lacks = next((name_lack for error in errors if (name_lack := _name_lack(error))), None)
    return Rejected(tuple(validation_failure(error) for error in errors), lacks)


def _name_lack(error: GraphQLError) -> str | None:
    """Return what GitHub has and the emulator lacks, where that is why a document does not fit."""
    match error.extensions or {}:
        case {"code": "undefinedField", "typeName": str(owner), "fieldName": str(name)}:
            lacked_value = f"{owner}.{name}" if lacks_field(owner, name) else None
        case {"code": "argumentNotAccepted", "_owner": str(owner), "name": str(name), "argumentName": str(argument)}:
            lacked_value = f"{owner}.{name}({argument}:)" if lacks_argument(owner, name, argument) else None
        case {"code": "undefinedType", "typeName": str(name)}:
            lacked_value = name if lacks_type(name) else None
        case {"_reason": str(reason)}:
            lacked_value = find_lacked_value(reason)
        case _:
            lacked_value = None
    return f"{lacked_value} {LACKS}" if lacked_value else None


_prepare_and_keep = lru_cache(maxsize=_KEPT)(_prepare)
