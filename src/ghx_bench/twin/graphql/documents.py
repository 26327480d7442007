"""Documents made ready: parsed, measured against the limits of text, validated, and kept for the next time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OperationType,
    parse,
    validate,
)

from ghx_bench.twin.graphql import published
from ghx_bench.twin.graphql.failures import LACKS, syntax_failure, validation_failure
from ghx_bench.twin.graphql.limits import Cost, Meter
from ghx_bench.twin.graphql.rules import RULES
from ghx_bench.twin.graphql.schema import schema

MAX_CHARACTERS = 1_000_000
MAX_TOKENS = 20_000
MAX_ERRORS = 100
_KEPT, _KEPT_CHARACTERS, _KEPT_COSTS = 512, 32_768, 64


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document that is not executed: what to answer instead."""

    errors: tuple[dict[str, Any], ...]
    lacks: str | None = None  # what GitHub has and the twin does not


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that fits the schema."""

    document: DocumentNode
    operations: Mapping[str | None, OperationDefinitionNode]
    _costs: dict[tuple[object, ...], Cost] = field(default_factory=dict[tuple[object, ...], Cost])

    def operation(self, name: str | None) -> OperationDefinitionNode | Rejected:
        """Return the operation to execute."""
        if name:
            found = self.operations.get(name)
            return found or Rejected(({"message": f'No operation named "{name}"'},))
        if len(self.operations) == 1:
            return next(iter(self.operations.values()))
        return Rejected(({"message": "An operation name is required"},))

    def cost(self, operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> Cost:
        """Return what an operation costs with these variables; only numbers among them can matter."""
        numbers = {name: value for name, value in variables.items() if type(value) is int}
        key = (id(operation), *sorted(numbers.items()))
        found = self._costs.get(key)
        if found is None:
            found = Meter.of(self.document, numbers).operation(operation)
            if len(self._costs) < _KEPT_COSTS:
                self._costs[key] = found
        return found


def prepare(query: str) -> Prepared | Rejected:
    """Parse and validate a document, or say what is wrong with it."""
    return _prepare_and_keep(query) if len(query) <= _KEPT_CHARACTERS else _prepare(query)


def root_fields(operation: OperationDefinitionNode) -> list[str]:
    """Return the names of the fields an operation starts with."""
    return [one.name.value for one in operation.selection_set.selections if isinstance(one, FieldNode)]


def name_of(operation: OperationDefinitionNode) -> str:
    """Return what the journal calls an operation: its kind, its name and the fields it starts with."""
    named = [operation.name.value] if operation.name else []
    return " ".join([operation.operation.value, *named, *root_fields(operation)])


def name_in(query: str, name: str | None) -> str | None:
    """Return what the journal calls the operation that a document asks for, whether or not it fits the schema."""
    try:
        operations = _operations(_parsed(query))
    except (GraphQLError, RecursionError):
        return None
    asked = [one for one in operations if not name or (one.name and one.name.value == name)]
    return name_of(asked[0]) if len(asked) == 1 else None


def _parsed(query: str) -> DocumentNode:
    return parse(query, max_tokens=MAX_TOKENS, max_source_length=MAX_CHARACTERS, allow_empty_selection_sets=False)


def _operations(document: DocumentNode) -> list[OperationDefinitionNode]:
    return [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]


def _prepare(query: str) -> Prepared | Rejected:
    try:
        document = _parsed(query)
    except GraphQLSyntaxError as error:
        return Rejected((syntax_failure(error),))
    except GraphQLError as error:
        return Rejected(({"message": error.message},))
    except RecursionError:
        return Rejected(({"message": "Query is nested too deeply to be parsed"},))
    operations = _operations(document)
    return _refusal(document, operations) or Prepared(
        document, {one.name.value if one.name else None: one for one in operations}
    )


def _refusal(document: DocumentNode, operations: list[OperationDefinitionNode]) -> Rejected | None:
    """Return what stands against a document; cheap checks first, so that abuse never reaches the costly ones."""
    if not operations:
        return Rejected(({"message": "A query attribute must be specified and must be a string."},))
    if any(one.operation is OperationType.SUBSCRIPTION for one in operations):
        return Rejected(({"message": "Schema is not configured for subscriptions"},))
    costs = (Meter.of(document, {}).operation(one) for one in operations)
    if refusal := next((found for cost in costs if (found := cost.refusal())), None):
        return Rejected((refusal,))
    try:
        errors = validate(schema(), document, RULES, max_errors=MAX_ERRORS, hide_suggestions=True)
    except RecursionError:
        return Rejected(({"message": "Query is nested too deeply to be validated"},))
    if not errors:
        return None
    lacks = next((found for error in errors if (found := _lacked(error))), None)
    return Rejected(tuple(validation_failure(error) for error in errors), lacks)


def _lacked(error: GraphQLError) -> str | None:
    """Return what GitHub has and we lack, where that is why a document does not fit."""
    match error.extensions or {}:
        case {"code": "undefinedField", "typeName": str(owner), "fieldName": str(name)}:
            found = f"{owner}.{name}" if published.lacks_field(owner, name) else None
        case {"code": "argumentNotAccepted", "_owner": str(owner), "name": str(name), "argumentName": str(argument)}:
            found = f"{owner}.{name}({argument}:)" if published.lacks_argument(owner, name, argument) else None
        case {"code": "undefinedType", "typeName": str(name)}:
            found = name if published.lacks_type(name) else None
        case {"_reason": str(reason)}:
            found = published.lacked_value(reason)
        case _:
            found = None
    return f"{found} {LACKS}" if found else None


_prepare_and_keep = lru_cache(maxsize=_KEPT)(_prepare)
