"""What a document may cost, known before anything of it is executed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
)

MAX_DEPTH = 25
MAX_COMPLEXITY = 10_000  # fields, fragments counted wherever they are spread
MAX_NODES = 500_000
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
        """Prepare to measure the operations of a document with these variables."""
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
                found = self.variables.get(value.name.value) if isinstance(value, VariableNode) else None
                found = int(value.value) if isinstance(value, IntValueNode) and len(value.value) < 12 else found  # noqa: PLR2004 - longer is refused as no Int
                if isinstance(found, int):
                    return max(0, min(found, _SATURATED))
        return None
