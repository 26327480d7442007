"""The schema: its text, and what answers its fields, does its mutations and checks its scalars."""

import base64
import binascii
import dataclasses
import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from importlib.resources import files
from inspect import getattr_static
from typing import Any, TypeAlias, cast

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLScalarType,
    GraphQLSchema,
    SelectionSetNode,
    build_schema,
    get_named_type,
    is_abstract_type,
)

from ghx_twin.graphql.changes.change import Change, Mutation, Payload
from ghx_twin.graphql.changes.comments import COMMENT_CHANGES
from ghx_twin.graphql.changes.issue_relations import RELATION_CHANGES
from ghx_twin.graphql.changes.issues import ISSUE_CHANGES
from ghx_twin.graphql.changes.projects import PROJECT_CHANGES
from ghx_twin.graphql.changes.pulls import PULL_CHANGES
from ghx_twin.graphql.changes.repositories import REPOSITORY_CHANGES
from ghx_twin.graphql.changes.reviews import REVIEW_CHANGES
from ghx_twin.graphql.connections import Connection, Edge
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.paging import Page
from ghx_twin.graphql.registry import CONNECTIONS, EDGES, EMPTY_TYPES, VIEWS
from ghx_twin.queries.permissions import NO_INTEGRATION
from ghx_twin.refusals import ForbiddenRefusal

Resolver: TypeAlias = Callable[..., Any]
Info: TypeAlias = GraphQLResolveInfo[Context]
_PAGE = ("first", "last", "after", "before")
_RENAMED = {"id": "identity", "type": "kind"}  # no builtins as arguments
_ATTRIBUTES = {"context": "context_", "subject": "subject_"}  # what a view has for itself
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SHA = re.compile(r"[0-9a-f]{40}")

CHANGES: dict[str, Mutation] = {
    change.__name__: change
    for change in (
        *ISSUE_CHANGES,
        *RELATION_CHANGES,
        *COMMENT_CHANGES,
        *PULL_CHANGES,
        *REVIEW_CHANGES,
        *REPOSITORY_CHANGES,
        *PROJECT_CHANGES,
    )
}
"""The functions that do the mutations, by name."""


class UnboundFieldError(LookupError):
    """The schema has a field that no view has a method for."""


def snake(name: str) -> str:
    """Return the Python spelling of a GraphQL name."""
    return _HUMP.sub("_", name).lower()


def sdl() -> str:
    """Return the text of the schema, all domains in one."""
    folder = files("ghx_twin.graphql").joinpath("schema")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".graphql"))
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


@cache
def schema() -> GraphQLSchema:
    """Return the schema, built once in a process."""
    # Validated in the tests, not at every start.
    built = build_schema(sdl(), assume_valid=True, assume_valid_sdl=True, no_location=True)
    _bind_scalars(built)
    _bind_fields(built)
    _bind_changes(built)
    return built


def _bind_fields(schema: GraphQLSchema) -> None:
    """Set the resolver of every field of the schema's object types, and the type resolver of every abstract type.

    Mutations and their payloads are bound apart. A field without a method raises `UnboundFieldError` here, when the
    schema is built, and not when the first client asks for it.
    """
    for kind in schema.type_map.values():
        if is_abstract_type(kind):
            kind.resolve_type = _type_of  # pyright: ignore[reportAttributeAccessIssue] - both abstract types have it
        elif isinstance(kind, GraphQLInputObjectType):
            for name, entry in kind.fields.items():
                entry.out_name = snake(name)
        elif isinstance(kind, GraphQLObjectType):
            # Introspection is graphql-core's, mutations and payloads are bound apart, empty types are never reached.
            if kind.name.startswith("__") or kind.name == "Mutation" or kind.name.endswith("Payload"):
                continue
            if kind.name in EMPTY_TYPES:
                continue
            view = VIEWS.get(kind.name) or _connection_or_edge(kind.name)
            for name, field in kind.fields.items():
                _bind_field(kind, name, field, view)


def _connection_or_edge(name: str) -> type[Any]:
    if name.endswith("Connection"):
        return CONNECTIONS.get(name, Connection)
    if name.endswith("Edge"):
        return EDGES.get(name, Edge)
    raise UnboundFieldError(f"no view shows {name}")


def _resolver_of(view: type[Any], name: str) -> Resolver | None:
    """Return the resolver of a field: the view's method, or a field of one of its records; None if it has neither."""
    attribute = _ATTRIBUTES.get(snake(name), snake(name))
    if getattr_static(view, attribute, None) is not None:
        return _method_resolver(attribute)
    for source, model in getattr(view, "sources", {}).items():
        if attribute in {field.name for field in dataclasses.fields(model)}:
            return _column_resolver(source, attribute)
    return None


def _bind_field(kind: GraphQLObjectType, name: str, field: GraphQLField, view: type[Any]) -> None:
    for argument_name, argument in field.args.items():
        spelled = snake(argument_name)
        argument.out_name = _RENAMED.get(spelled, spelled)
    resolver = _resolver_of(view, name)
    if resolver is None:
        raise UnboundFieldError(f"{kind.name}.{name} has no method {snake(name)} in {view.__name__}")
    declared: Any = field
    target = cast("GraphQLNamedType", get_named_type(declared.type)).name
    paged = target.endswith("Connection")
    field.resolve = _connection_resolver(name, resolver, CONNECTIONS.get(target, Connection)) if paged else resolver


def _method_resolver(attribute: str) -> Resolver:
    def resolve(view: Any, _info: Info, **arguments: Any) -> Any:
        return getattr(view, attribute)(**arguments)

    return resolve


def _column_resolver(source: str, attribute: str) -> Resolver:
    def resolve(view: Any, _info: Info) -> Any:
        return getattr(getattr(view, source), attribute)

    return resolve


def _connection_resolver(name: str, resolver: Resolver, connection: type[Any]) -> Resolver:
    def resolve(view: Any, info: Info, **arguments: Any) -> Any:
        page = Page(connection=name, **{key: arguments.pop(key, None) for key in _PAGE})
        page.check()
        has_one_size = (page.first is None) != (page.last is None)
        # As on GitHub, `totalCount` alone needs no size. Selections are walked only where a size is missing.
        if not has_one_size and any(_selects_items(node.selection_set, info) for node in info.field_nodes):
            page.check_items_wanted()
        items = resolver(view, info, **arguments)
        return None if items is None else connection(info.context, items, page)

    return resolve


def _selects_items(selections: SelectionSetNode | None, info: Info) -> bool:
    for selection in selections.selections if selections else ():
        if isinstance(selection, FieldNode):
            if selection.name.value in {"nodes", "edges"}:
                return True
        else:
            spread = info.fragments[selection.name.value] if isinstance(selection, FragmentSpreadNode) else selection
            if _selects_items(getattr(spread, "selection_set", None), info):
                return True
    return False


def _type_of(view: Any, *_: Any) -> str:
    return view.typename


def _bind_changes(schema: GraphQLSchema) -> None:
    """Set the resolver of every mutation, and of every field of its payload."""
    mutation = schema.mutation_type
    assert mutation is not None  # noqa: S101 - the schema is ours
    for name, field in mutation.fields.items():
        change = CHANGES.get(snake(name))
        if change is None:
            raise UnboundFieldError(f"Mutation.{name} has no function {snake(name)}")
        field.args["input"].out_name = "inputs"
        field.resolve = _mutation_resolver(change)
        payload: object = field.type
        assert isinstance(payload, GraphQLObjectType)  # noqa: S101 - the same
        for part, exposed in payload.fields.items():
            resolver = _payload_resolver(snake(part))
            paged = cast("GraphQLNamedType", get_named_type(exposed.type)).name.endswith("Connection")
            exposed.resolve = _connection_resolver(part, resolver, Connection) if paged else resolver


def _mutation_resolver(change: Mutation) -> Callable[..., Payload]:
    """Return a resolver that does one mutation in an act of its own.

    A document may hold several: each happens whole or not at all, and one that is refused does not stop the next.
    """

    def resolve(_root: object, info: Info, inputs: dict[str, Any]) -> Payload:
        context = info.context
        inputs = dict(inputs)
        token = inputs.pop("client_mutation_id", None)
        if context.viewer.app is not None and not context.viewer.app.may(*_permissions_for(change.__name__)):
            raise ForbiddenRefusal(NO_INTEGRATION)
        context.forget()  # the mutation before may have changed what was looked up for its payload
        try:
            with context.world.acting(context.viewer) as act:
                outcome = change(Change(context, act), **inputs)
        finally:
            context.forget()
        return Payload(context, outcome, token)

    return resolve


def _permissions_for(mutation: str) -> tuple[str, ...]:
    """Return the permissions of a GitHub App, one of which a mutation takes."""
    words = set(mutation.split("_"))
    if "project" in words:
        return ("organization_projects",)
    if mutation == "merge_pull_request" or words & {"ref", "commit", "branch"}:
        return ("contents",)
    if words & {"repository"}:
        return ("administration",)
    return ("pull_requests",) if {"pull", "request"} <= words or "review" in words else ("issues", "pull_requests")


def _payload_resolver(name: str) -> Callable[..., Any]:
    def resolve(payload: Payload, _info: Info) -> Any:
        return payload.field(name)

    return resolve


def _bind_scalars(schema: GraphQLSchema) -> None:
    """Set the checks of the schema's own scalars; in answers they are always text."""
    for name, check in _CHECKS.items():
        scalar = schema.type_map[name]
        assert isinstance(scalar, GraphQLScalarType)  # noqa: S101 - the schema is ours
        scalar.coerce_input_value = check  # pyright: ignore[reportAttributeAccessIssue] - the way to bind a built schema
        scalar.parse_value = check  # pyright: ignore[reportAttributeAccessIssue] - the same


def _text(name: str, is_valid: Callable[[str], bool]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or not is_valid(value):
            raise GraphQLError(f"Could not coerce value {value!r} to {name}")
        return value

    return check


def _moment(name: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise GraphQLError(f"Could not coerce value {value!r} to {name}") from None
        return _to_utc(moment)

    return check


def _to_utc(moment: datetime) -> str:
    """Return a moment as the records spell theirs, so that the two compare as text."""
    offset = moment.utcoffset()
    utc = (moment if offset is None else moment - offset).replace(tzinfo=None)
    return utc.isoformat(timespec="seconds") + "Z"


def _is_day(text: str) -> bool:
    try:
        datetime.fromisoformat(text)  # some clients send a whole time for a day
    except ValueError:
        return False
    return True


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeError, binascii.Error):
        return False
    return True


_CHECKS: dict[str, Callable[[Any], str]] = {
    "Base64String": _text("Base64String", _is_base64),
    "Date": _text("Date", _is_day),
    "DateTime": _moment("DateTime"),
    "GitObjectID": _text("GitObjectID", lambda text: _SHA.fullmatch(text) is not None),
    "GitTimestamp": _moment("GitTimestamp"),
    "URI": _text("URI", lambda text: text.isprintable()),
}
