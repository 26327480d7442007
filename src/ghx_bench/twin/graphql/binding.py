"""Binds the fields of the schema to the methods that answer them, by name."""

import dataclasses
import re
from collections.abc import Callable, Container, Mapping
from inspect import getattr_static
from typing import Any, TypeAlias, cast

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    SelectionSetNode,
    get_named_type,
    is_abstract_type,
)

from ghx_bench.twin.graphql.connections import Connection, Edge
from ghx_bench.twin.graphql.context import Context
from ghx_bench.twin.graphql.paging import Page

Resolver: TypeAlias = Callable[..., Any]
Info: TypeAlias = GraphQLResolveInfo[Context]
_PAGE = ("first", "last", "after", "before")
_RENAMED = {"id": "identity", "type": "kind"}  # no builtins as arguments
_ATTRIBUTES = {"context": "context_", "subject": "subject_"}  # what a view has for itself
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class UnboundFieldError(LookupError):
    """The schema has a field that no view has a method for."""


def snake(name: str) -> str:
    """Return the Python spelling of a GraphQL name."""
    return _HUMP.sub("_", name).lower()


def bind(
    schema: GraphQLSchema,
    views: Mapping[str, type[Any]],
    *,
    connections: Mapping[str, type[Any]],
    edges: Mapping[str, type[Any]],
    empty: Container[str],
) -> None:
    """Set the resolver of every field of the schema's object types, and the type resolver of every abstract type.

    `views` are by the name of the GraphQL type; `connections` and `edges` those that say more than the plain ones.
    Types in `empty` are never shown. Mutations and their payloads are bound apart. A field without a method raises
    `UnboundFieldError` here, when the schema is built, and not when the first client asks for it.
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
            if kind.name in empty:
                continue
            view = views.get(kind.name) or _connection_or_edge(kind.name, connections, edges)
            for name, field in kind.fields.items():
                _bind_field(kind, name, field, view, connections)


def _connection_or_edge(name: str, connections: Mapping[str, type[Any]], edges: Mapping[str, type[Any]]) -> type[Any]:
    if name.endswith("Connection"):
        return connections.get(name, Connection)
    if name.endswith("Edge"):
        return edges.get(name, Edge)
    raise UnboundFieldError(f"no view shows {name}")


def resolver_of(view: type[Any], name: str) -> Resolver | None:
    """Return the resolver of a field: the view's method, or a field of one of its records; None if it has neither."""
    attribute = _ATTRIBUTES.get(snake(name), snake(name))
    if getattr_static(view, attribute, None) is not None:
        return _method_resolver(attribute)
    for source, model in getattr(view, "sources", {}).items():
        if attribute in {field.name for field in dataclasses.fields(model)}:
            return _column_resolver(source, attribute)
    return None


def _bind_field(
    kind: GraphQLObjectType, name: str, field: GraphQLField, view: type[Any], connections: Mapping[str, type[Any]]
) -> None:
    for argument_name, argument in field.args.items():
        spelled = snake(argument_name)
        argument.out_name = _RENAMED.get(spelled, spelled)
    resolver = resolver_of(view, name)
    if resolver is None:
        raise UnboundFieldError(f"{kind.name}.{name} has no method {snake(name)} in {view.__name__}")
    declared: Any = field
    target = cast("GraphQLNamedType", get_named_type(declared.type)).name
    paged = target.endswith("Connection")
    field.resolve = _connection_resolver(name, resolver, connections.get(target, Connection)) if paged else resolver


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
