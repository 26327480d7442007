"""Validation with GitHub's messages, for the mistakes that people and agents make when they write a query by hand.

Everything else is left to graphql-core's rules. One of those is dropped on purpose: gh's own documents select fields
of different types under one name (`OverlappingFieldsCanBeMerged`), and GitHub answers them.
"""

import re
from typing import Any, cast

from graphql import (
    ArgumentNode,
    DirectiveNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLArgument,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLNamedType,
    InlineFragmentNode,
    Node,
    OperationDefinitionNode,
    get_named_type,
    is_leaf_type,
    is_required_argument,
    print_ast,
)
from graphql.language import VariableDefinitionNode, VariableNode, VisitorAction
from graphql.validation import (
    ASTValidationRule,
    FieldsOnCorrectTypeRule,
    KnownArgumentNamesRule,
    KnownFragmentNamesRule,
    KnownTypeNamesRule,
    MaxIntrospectionDepthRule,
    NoFragmentCyclesRule,
    NoUndefinedVariablesRule,
    NoUnusedFragmentsRule,
    NoUnusedVariablesRule,
    OverlappingFieldsCanBeMergedRule,
    ProvidedRequiredArgumentsRule,
    ScalarLeafsRule,
    ValidationRule,
    ValuesOfCorrectTypeRule,
    specified_rules,
)

# what graphql-core says of a field that an input object lacks
_MISSING = re.compile(r"(?s)Expected value of type '(\w+)' to include required field '(\w+)', found: .*")


class UnknownField(ValidationRule):
    """A field that the type does not have."""

    def enter_field(self, node: FieldNode, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]) -> None:
        """Report a field without a definition."""
        parent = self.context.get_parent_type()
        if parent is None or self.context.get_field_def() is not None:
            return
        name = node.name.value
        details = {"code": "undefinedField", "typeName": parent.name, "fieldName": name}
        message = f"Field '{name}' doesn't exist on type '{parent.name}'"
        _report(self, message, [node], [*_place(ancestors), _label(node)], details)


class Leaves(ValidationRule):
    """Selections on scalars, and objects without any."""

    def enter_field(self, node: FieldNode, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]) -> None:
        """Report a field that has selections and must not, or the reverse."""
        context: Any = self.context
        kind = context.get_type()
        if kind is None:
            return
        named_type, name = cast("GraphQLNamedType", get_named_type(kind)), node.name.value
        chosen = node.selection_set.selections if node.selection_set else ()
        if is_leaf_type(named_type) == (not chosen):
            return
        details = {"code": "selectionMismatch", "nodeName": f"field '{name}'", "typeName": str(kind)}
        if chosen:
            names = ", ".join(f'"{_label(one)}"' for one in chosen)
            message = (
                f"Selections can't be made on scalars (field '{name}' returns {kind} but has selections [{names}])"
            )
        else:
            message = (
                f"Field must have selections (field '{name}' returns {named_type.name} but has no selections. "
                f"Did you mean '{name} {{ ... }}'?)"
            )
        _report(self, message, [node], [*_place(ancestors), _label(node)], details)


class UnknownArgument(ValidationRule):
    """An argument that the field or directive does not have."""

    def enter_argument(self, node: ArgumentNode, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]) -> None:
        """Report an argument without a definition."""
        owner = _last_owner(ancestors)
        directive = self.context.get_directive() if isinstance(owner, DirectiveNode) else self.context.get_field_def()
        if owner is None or directive is None or node.name.value in directive.args:
            return
        kind, name = ("Directive" if isinstance(owner, DirectiveNode) else "Field"), owner.name.value
        details = {
            "code": "argumentNotAccepted",
            "name": name,
            "typeName": kind,
            "argumentName": node.name.value,
            "_owner": parent.name if (parent := self.context.get_parent_type()) else "",
        }
        message = f"{kind} '{name}' doesn't accept argument '{node.name.value}'"
        _report(self, message, [node], [*_place(ancestors), node.name.value], details)


class RequiredArguments(ValidationRule):
    """A field whose required arguments are not all there."""

    def leave_field(self, node: FieldNode, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]) -> VisitorAction:
        """Report missing arguments, all in one error."""
        field_def = self.context.get_field_def()
        if field_def is not None:
            self._check(node, "Field", field_def.args, [*_place(ancestors), _label(node)])
        return None

    def leave_directive(
        self, node: DirectiveNode, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]
    ) -> VisitorAction:
        """Report missing arguments, all in one error."""
        directive = self.context.schema.get_directive(node.name.value)
        if directive is not None:
            self._check(node, "Directive", directive.args, _place(ancestors))
        return None

    def _check(
        self, node: FieldNode | DirectiveNode, kind: str, definitions: dict[str, GraphQLArgument], place: list[str]
    ) -> None:
        names = {argument.name.value for argument in node.arguments or ()}
        missing = [name for name, one in definitions.items() if is_required_argument(one) and name not in names]
        if not missing:
            return
        name, names = node.name.value, ", ".join(missing)
        details = {"code": "missingRequiredArguments", "className": kind, "name": name, "arguments": names}
        _report(self, f"{kind} '{name}' is missing required arguments: {names}", [node], place, details)


class Literals(ValuesOfCorrectTypeRule):
    """A literal that does not fit its argument; checked as graphql-core does, reported as GitHub does."""

    def enter_argument(
        self, node: ArgumentNode, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]
    ) -> VisitorAction:
        """Remember which argument the literals that follow belong to."""
        self._argument, self._ancestors = node, list(ancestors)
        context: Any = self.context
        self._expected = str(context.get_input_type())
        return None

    def leave_argument(self, *_: Any) -> VisitorAction:
        """Forget the argument."""
        self._argument = None
        return None

    _argument: ArgumentNode | None = None

    def report_error(self, error: GraphQLError) -> None:
        """Put GitHub's words in the place of graphql-core's, once for each argument."""
        argument = self._argument
        if argument is None:
            super().report_error(error)
            return
        if missing := _MISSING.fullmatch(error.message):
            self._report_missing(argument, error, *missing.groups())  # of which there may be several
            return
        self._argument = None
        owner = _last_owner(self._ancestors)
        kind, name = ("Directive" if isinstance(owner, DirectiveNode) else "Field"), owner.name.value if owner else ""
        message = (
            f"Argument '{argument.name.value}' on {kind} '{name}' has an invalid value "
            f"({print_ast(argument.value)}). Expected type '{self._expected}'."
        )
        details = {
            "code": "argumentLiteralsIncompatible",
            "typeName": kind,
            "argumentName": argument.name.value,
            "_reason": error.message,
        }
        _report_to(super().report_error, message, [argument], [*_place(self._ancestors), argument.name.value], details)

    def _report_missing(self, argument: ArgumentNode, error: GraphQLError, kind: str, name: str) -> None:
        expected_type = str(cast("GraphQLInputObjectType", self.context.schema.type_map[kind]).fields[name].type)
        message = f"Argument '{name}' on InputObject '{kind}' is required. Expected type {expected_type}"
        details = {
            "code": "missingRequiredInputObjectAttribute",
            "argumentName": name,
            "argumentType": expected_type,
            "inputObjectType": kind,
        }
        place = [*_place(self._ancestors), argument.name.value, name]
        _report_to(super().report_error, message, error.nodes, place, details)


class Variables(ASTValidationRule):
    """Variables used and not declared, or declared and not used."""

    def enter_operation_definition(self, operation: OperationDefinitionNode, *_: Any) -> VisitorAction:
        """Report both sorts for one operation."""
        place = [_label(operation)]
        kind = operation.operation.value if operation.name is None else operation.name.value
        declared = {one.variable.name.value: one for one in operation.variable_definitions or ()}
        context: Any = self.context  # that of queries, which knows how variables are used
        used: dict[str, VariableNode] = {
            one.node.name.value: one.node for one in context.get_recursive_variable_usages(operation)
        }
        for name, node in used.items():
            if name not in declared:
                details = {"code": "variableNotDefined", "variableName": name}
                _report(self, f"Variable ${name} is used by {kind} but not declared", [node], place, details)
        for name, node in declared.items():
            if name not in used:
                details = {"code": "variableNotUsed", "variableName": name}
                _report(self, f"Variable ${name} is declared by {kind} but not used", [node], place, details)
        return None


class Fragments(ASTValidationRule):
    """Fragments that are used and not defined, or defined and not used, or on types there are not."""

    def enter_document(self, document: Any, *_: Any) -> VisitorAction:
        """Collect what is defined."""
        self._defined = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
        self._used = set[str]()
        return None

    def enter_fragment_spread(
        self, node: FragmentSpreadNode, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]
    ) -> VisitorAction:
        """Report a fragment without a definition."""
        name = node.name.value
        self._used.add(name)
        if name not in self._defined:
            details = {"code": "useAndDefineFragment", "fragmentName": name}
            message = f"Fragment {name} was used, but not defined"
            _report(self, message, [node], [*_place(ancestors), f"... {name}"], details)
        return None

    def leave_document(self, *_: Any) -> VisitorAction:
        """Report definitions that nothing uses."""
        for name, node in self._defined.items():
            if name not in self._used:
                details = {"code": "useAndDefineFragment", "fragmentName": name}
                _report(self, f"Fragment {name} was defined, but not used", [node], [f"fragment {name}"], details)
        return None


class UnknownType(ValidationRule):
    """A type condition or variable type that the schema does not have."""

    def enter_named_type(self, node: Any, _key: Any, _parent: Any, _path: Any, ancestors: list[Any]) -> VisitorAction:
        """Report a type without a definition."""
        name = node.name.value
        if name in self.context.schema.type_map:
            return None
        on_variable = any(isinstance(one, VariableDefinitionNode) for one in ancestors)
        purpose = "isn't a defined input type" if on_variable else "so it can't be a fragment condition"
        message = f"{name} {purpose}" if on_variable else f"No such type {name}, {purpose}"
        _report(self, message, [node], _place(ancestors), {"code": "undefinedType", "typeName": name})
        return None


class Cycles(NoFragmentCyclesRule):
    """A fragment that contains itself."""

    def report_error(self, error: GraphQLError) -> None:
        """Put GitHub's words in the place of graphql-core's."""
        nodes = error.nodes or []
        name = next((one.name.value for one in nodes if isinstance(one, FragmentSpreadNode)), "")
        details = {"code": "infiniteLoop", "fragmentName": name}
        _report_to(
            super().report_error, f"Fragment {name} contains an infinite loop", nodes, [f"fragment {name}"], details
        )


_REPLACED = (
    FieldsOnCorrectTypeRule, KnownArgumentNamesRule, KnownFragmentNamesRule, KnownTypeNamesRule, NoFragmentCyclesRule,
    NoUndefinedVariablesRule, NoUnusedFragmentsRule, NoUnusedVariablesRule, OverlappingFieldsCanBeMergedRule,
    ProvidedRequiredArgumentsRule, ScalarLeafsRule, ValuesOfCorrectTypeRule,
)  # fmt: skip

RULES: tuple[type[ASTValidationRule], ...] = (
    *(rule for rule in specified_rules if rule not in _REPLACED),
    *(() if MaxIntrospectionDepthRule in specified_rules else (MaxIntrospectionDepthRule,)),
    UnknownField, Leaves, UnknownArgument, RequiredArguments, Literals, Variables, Fragments, UnknownType, Cycles,
)  # fmt: skip


def _report(rule: ASTValidationRule, message: str, nodes: list[Any], place: list[str], details: dict[str, str]) -> None:
    _report_to(rule.report_error, message, nodes, place, details)


def _report_to(report: Any, message: str, nodes: Any, place: list[str], details: dict[str, str]) -> None:
    report(GraphQLError(message, nodes, path=place, extensions=details))


def _place(ancestors: list[Any]) -> list[str]:
    """Return the way from the operation to here, as GitHub writes it into the path of an error."""
    steps = (OperationDefinitionNode, FragmentDefinitionNode, InlineFragmentNode, FieldNode)
    return [_label(one) for one in ancestors if isinstance(one, steps)]


def _label(node: Node) -> str:
    match node:
        case OperationDefinitionNode():
            return node.operation.value + (f" {node.name.value}" if node.name else "")
        case FragmentDefinitionNode():
            return f"fragment {node.name.value}"
        case InlineFragmentNode():
            return f"... on {node.type_condition.name.value}" if node.type_condition else "..."
        case FragmentSpreadNode():
            return f"... {node.name.value}"
        case FieldNode():
            return node.alias.value if node.alias else node.name.value
        case _:
            return node.kind


def _last_owner(ancestors: list[Any]) -> FieldNode | DirectiveNode | None:
    return next((one for one in reversed(ancestors) if isinstance(one, (FieldNode, DirectiveNode))), None)
