"""Errors as GitHub writes them into the `errors` of an answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphql import (
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    VariableDefinitionNode,
    print_ast,
    type_from_ast,  # pyright: ignore[reportUnknownVariableType] - its overloads leave lists open
)

from ghx_bench.twin.graphql.syntax_errors import describe_syntax_error
from ghx_bench.twin.graphql.scopes import before_lookup
from ghx_bench.twin.graphql.variable_values import find_problems
from ghx_bench.twin.refusals import NotImplementedRefusal, Refusal, RoleRefusal
from ghx_bench.twin.viewer import Viewer

LACKS = "is not implemented by the twin"


def syntax_failure(query: str, error: GraphQLSyntaxError) -> dict[str, Any]:
    """Return the error of a document that is no GraphQL."""
    message, place = describe_syntax_error(query, error)
    return {"message": message, **({"locations": [{"line": place.line, "column": place.column}]} if place else {})}


def validation_failure(error: GraphQLError) -> dict[str, Any]:
    """Return the error of a document that does not fit the schema."""
    written: dict[str, Any] = {}
    if error.path:
        written["path"] = list(error.path)
    if error.extensions:
        written["extensions"] = {key: value for key, value in error.extensions.items() if not key.startswith("_")}
    return {**written, **_locations(error), "message": error.message}


def variable_failures(
    schema: GraphQLSchema, errors: Sequence[GraphQLError], variables: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return one error for each variable whose value does not fit its type, with all that is wrong with it."""
    failures: dict[str, dict[str, Any]] = {}
    for error in errors:
        definition = next((node for node in error.nodes or () if isinstance(node, VariableDefinitionNode)), None)
        if definition is None:
            failures[error.message] = {"message": error.message, **_locations(error)}
            continue
        name, kind = definition.variable.name.value, print_ast(definition.type)
        value = variables.get(name)
        problems = list(find_problems(value, type_from_ast(schema, definition.type)))
        places = [f"{'.'.join(map(str, path))} ({explanation})" for path, explanation in problems if path]
        where = f" for {', '.join(places)}" if places else ""
        failures[name] = {
            "message": f"Variable ${name} of type {kind} was provided invalid value{where}",
            **_locations(error),
            "extensions": {
                "value": value,
                "problems": [{"path": path, "explanation": explanation} for path, explanation in problems],
            },
        }
    return list(failures.values())


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
