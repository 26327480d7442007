"""Errors as GitHub writes them into the `errors` of an answer."""

from collections.abc import Mapping
from typing import Any

from graphql import FieldNode, GraphQLError, GraphQLSyntaxError, VariableDefinitionNode, print_ast

from ghx_bench.twin.graphql.scopes import before_lookup
from ghx_bench.twin.refusals import NotImplementedRefusal, Refusal, RoleRefusal
from ghx_bench.twin.viewer import Viewer

LACKS = "is not implemented by the twin"


def syntax_failure(error: GraphQLSyntaxError) -> dict[str, Any]:
    """Return the error of a document that is no GraphQL."""
    found = error.locations[0] if error.locations else None
    place = f" at [{found.line}, {found.column}]" if found else ""
    reason = error.message.removeprefix("Syntax Error: ").rstrip(".")
    return {"message": f"Parse error: {reason}{place}", **_locations(error)}


def validation_failure(error: GraphQLError) -> dict[str, Any]:
    """Return the error of a document that does not fit the schema."""
    written: dict[str, Any] = {}
    if error.path:
        written["path"] = list(error.path)
    if error.extensions:
        written["extensions"] = {key: value for key, value in error.extensions.items() if not key.startswith("_")}
    return {**written, **_locations(error), "message": error.message}


def variable_failure(error: GraphQLError, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the error of a variable whose value does not fit its type."""
    definition = next((node for node in error.nodes or () if isinstance(node, VariableDefinitionNode)), None)
    if definition is None:
        return {"message": error.message, **_locations(error)}
    name, kind = definition.variable.name.value, print_ast(definition.type)
    value = variables.get(name)
    explanation = "Expected value to not be null" if value is None else error.message
    return {
        "message": f"Variable ${name} of type {kind} was provided invalid value",
        **_locations(error),
        "extensions": {"value": value, "problems": [{"path": [], "explanation": explanation}]},
    }


def execution_failure(error: GraphQLError, viewer: Viewer) -> dict[str, Any]:
    """Return the error of a field that was refused; a failure of our own is raised instead."""
    cause = error.original_error
    if cause is not None and not isinstance(cause, (Refusal, GraphQLError)):
        raise cause
    written: dict[str, Any] = {}
    message = error.message
    if isinstance(cause, Refusal):
        sentence = cause.graphql_message
        if isinstance(cause, RoleRefusal):  # GraphQL names the mutation, where REST says what the role cannot do
            field = next(node.name.value for node in error.nodes or () if isinstance(node, FieldNode))
            mutation = f"{field[0].upper()}{field[1:]}"
            sentence = f"{viewer.user.login} does not have the correct permissions to execute `{mutation}`"
        written["type"], message = before_lookup(cause, error, viewer) or (cause.graphql_type, sentence)
    if error.path:
        written["path"] = list(error.path)
    return {**written, **_locations(error), "message": message}


def lacks_in(errors: list[GraphQLError]) -> str | None:
    """Return what a refused field needed that GitHub has and the twin lacks."""
    causes = (error.original_error for error in errors)
    return next((cause.message for cause in causes if isinstance(cause, NotImplementedRefusal)), None)


def _locations(error: GraphQLError) -> dict[str, Any]:
    found = [{"line": place.line, "column": place.column} for place in error.locations or ()]
    return {"locations": found} if found else {}
