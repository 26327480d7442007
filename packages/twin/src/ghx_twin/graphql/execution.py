"""GraphQL's endpoint: from the bytes of a request to the reply."""

import json
from dataclasses import dataclass
from typing import Any, cast

from graphql import ExecutionResult, OperationDefinitionNode, VariableDefinitionNode
from graphql.execution import execute_sync  # pyright: ignore[reportUnknownVariableType] - its optional arguments

from ghx_twin.graphql.context import Budget, Context
from ghx_twin.graphql.documents import Prepared, Rejected, find_lacked_value, name_in, name_of, prepare
from ghx_twin.graphql.failures import LACKS, execution_failure, lacks_in, variable_failures
from ghx_twin.graphql.registry import VIEW_MAKERS
from ghx_twin.graphql.schema import schema
from ghx_twin.graphql.views.root import QueryView
from ghx_twin.reply import Reply, json_reply
from ghx_twin.urls import BaseUrls
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

_DOCUMENTATION = "https://docs.github.com/graphql"
_UNNAMED = "query"  # what the journal calls a document that cannot be read
_OK, _BAD_REQUEST, _NOT_IMPLEMENTED = 200, 400, 501


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    query: str
    variables: dict[str, Any]
    operation_name: str | None


def execute(world: World, viewer: Viewer, body: bytes, base: BaseUrls, *, budget: Budget | None = None) -> Reply:
    """Return the reply to one request; whatever a client sends is answered, only an error of our own is raised."""
    request = _read(body)
    if isinstance(request, Reply):
        return request
    prepared = prepare(request.query)
    if isinstance(prepared, Rejected):
        return _rejection_reply(prepared, operation=_name(request))
    operation = prepared.operation(request.operation_name)
    if isinstance(operation, Rejected):
        return _rejection_reply(operation, operation=_name(request))
    cost = prepared.cost(operation, request.variables)
    name = name_of(operation)
    if refusal := cost.refusal():
        return _reply(_OK, {"errors": [refusal]}, operation=name)
    context = Context(
        world=world, viewer=viewer, base=base, view_makers=VIEW_MAKERS, budget=budget or Budget(), node_count=cost.nodes
    )
    return _run(prepared, operation, request, context)


def possible_nodes(body: bytes) -> int:
    """Return how many nodes the answer to a request could have; 0 where it is refused."""
    request = _read(body)
    prepared = None if isinstance(request, Reply) else prepare(request.query)
    if isinstance(request, Reply) or not isinstance(prepared, Prepared):
        return 0
    operation = prepared.operation(request.operation_name)
    return 0 if isinstance(operation, Rejected) else prepared.cost(operation, request.variables).nodes


def operation_of(body: bytes) -> str:
    """Return what the journal calls a request, whether or not it is answered."""
    request = _read(body)
    return request.operation if isinstance(request, Reply) else _name(request)


def _name(request: _Request) -> str:
    return name_in(request.query, request.operation_name) or _UNNAMED


def _run(prepared: Prepared, operation: OperationDefinitionNode, request: _Request, context: Context) -> Reply:
    result = execute_sync(
        schema(),
        prepared.document,
        root_value=QueryView(context),
        context_value=context,
        variable_values=request.variables,
        operation_name=operation.name.value if operation.name else None,
        hide_suggestions=True,
    )
    # graphql-core checks variables when it executes; GitHub answers such a request without `data`.
    blamed = (node for error in result.errors or () for node in error.nodes or ())
    if result.data is None and any(isinstance(node, VariableDefinitionNode) for node in blamed):
        return _bad_variables_reply(result, request, name_of(operation))
    content: dict[str, Any] = {"data": result.data}
    if result.errors:
        content["errors"] = [execution_failure(error, context.viewer) for error in result.errors]
        # One field that the emulator lacks makes the whole answer a 501: with 200 its null would pass for GitHub's.
        if lacks := lacks_in(result.errors):
            content = {"message": lacks, "documentation_url": _DOCUMENTATION, **content}
            return _lacking_reply(lacks, content, operation=name_of(operation))
    return _reply(_OK, content, operation=name_of(operation))


def _read(body: bytes) -> _Request | Reply:
    try:
        content = json.loads(body.decode("utf-8"))
        if b"\\u" in body:  # only escapes can smuggle them in: the body itself was decoded as UTF-8
            content = _without_lone_surrogates(content)
    except (ValueError, RecursionError):
        return _refusal_reply("Problems parsing JSON")
    if not isinstance(content, dict):
        return _refusal_reply("A query attribute must be specified and must be a string.", status=_OK)
    fields = cast("dict[str, Any]", content)
    query, variables, name = fields.get("query"), fields.get("variables"), fields.get("operationName")
    if not isinstance(query, str) or not query.strip():
        return _refusal_reply("A query attribute must be specified and must be a string.", status=_OK)
    if isinstance(variables, str):
        variables = _variables_in_text(variables)
    if not isinstance(variables, dict | None):
        return _refusal_reply("Variables must be a JSON object.", status=_OK)
    return _Request(
        query=query,
        variables=cast("dict[str, Any]", variables or {}),
        operation_name=name if isinstance(name, str) else None,
    )


def _variables_in_text(text: str) -> object:
    """Return variables that come as JSON inside JSON, which GitHub accepts too."""
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return text


def _without_lone_surrogates(value: Any) -> Any:
    """Return a value with U+FFFD for lone surrogates: JSON can escape them, UTF-8 cannot encode them."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_without_lone_surrogates(item) for item in cast("list[Any]", value)]
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in pairs}
        case _:
            return value


def _bad_variables_reply(result: ExecutionResult, request: _Request, name: str) -> Reply:
    errors = result.errors or []
    if lacks := next((lacked_value for error in errors if (lacked_value := find_lacked_value(error.message))), None):
        return _rejection_reply(Rejected((), f"{lacks} {LACKS}"), operation=name)
    return _reply(_OK, {"errors": variable_failures(schema(), errors, request.variables)}, operation=name)


def _rejection_reply(rejected: Rejected, *, operation: str) -> Reply:
    if rejected.lacks is None:
        return _reply(_OK, {"errors": list(rejected.errors)}, operation=operation)
    error = {"type": "NOT_IMPLEMENTED", "message": rejected.lacks}
    content = {"message": rejected.lacks, "documentation_url": _DOCUMENTATION, "errors": [error]}
    return _lacking_reply(rejected.lacks, content, operation=operation)


def _lacking_reply(lacks: str, content: dict[str, Any], *, operation: str) -> Reply:
    reply = _reply(_NOT_IMPLEMENTED, content, operation=operation)
    reply.not_implemented = lacks.removesuffix(f" {LACKS}")  # the name alone, where that is what the sentence is about
    return reply


def _refusal_reply(message: str, *, status: int = _BAD_REQUEST) -> Reply:
    if status == _OK:  # GitHub answers what is JSON and no query with 200 and `errors`, what is no JSON with 400
        return _reply(status, {"errors": [{"message": message}]}, operation=_UNNAMED)
    content = {"message": message, "documentation_url": _DOCUMENTATION, "status": str(status)}
    return _reply(status, content, operation=_UNNAMED)


def _reply(status: int, content: dict[str, Any], *, operation: str) -> Reply:
    reply = json_reply(content, status=status)
    reply.operation = operation
    reply.failed = "errors" in content or status != _OK
    return reply
