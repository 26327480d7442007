"""The schema is a subset of GitHub's, and every field of it is answered."""

import inspect
from typing import Any

import pytest
from catalogue_script import catalogue_script as _script
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_required_argument,
    is_required_input_field,
    validate_schema,
)
from published_schema import PACKAGE, NotObtainableError, published_schema

from ghx_twin.graphql import registry
from ghx_twin.graphql.connections import Connection, Edge
from ghx_twin.graphql.documents import published_names
from ghx_twin.graphql.schema import CHANGES, schema, sdl, snake


@pytest.fixture(scope="module")
def github() -> GraphQLSchema:
    try:
        return published_schema()
    except NotObtainableError as error:
        pytest.skip(str(error))


def _own_types() -> dict[str, Any]:
    return {name: kind for name, kind in schema().type_map.items() if not name.startswith("__")}


def test_the_schema_is_valid() -> None:
    assert validate_schema(_script().parse_schema(sdl())) == []


def test_every_type_field_argument_and_value_is_one_of_githubs(github: GraphQLSchema) -> None:
    newer = _script().NEWER
    found = (one for one in _differences(schema(), github) if one.split(" ")[0] not in newer)
    wrong = [one for one in found if not (one.endswith("is no member") and one.split(" ")[1] in newer)]

    assert wrong == []


def test_nothing_is_on_the_list_of_newer_things_that_github_has_published_meanwhile(github: GraphQLSchema) -> None:
    published = [one for one in _script().NEWER if _has(github, one)]

    assert published == []


def test_the_names_that_tell_missing_from_misspelt_are_up_to_date(github: GraphQLSchema) -> None:
    assert _script().schema_names(github) | {"source": PACKAGE} == published_names()


def test_no_type_is_out_of_reach() -> None:
    used = {"Query", "Mutation"}
    for kind in _own_types().values():
        for field in getattr(kind, "fields", {}).values():
            used.add(get_named_type(field.type).name)
            used |= {get_named_type(one.type).name for one in getattr(field, "args", {}).values()}
        used |= {one.name for one in getattr(kind, "types", ())}
        if isinstance(kind, GraphQLObjectType) and kind.interfaces:
            used.add(kind.name)  # whatever gives the interface may give it
            used |= {one.name for one in kind.interfaces}
    built_in = {"String", "Int", "Float", "Boolean", "ID"}

    assert set(_own_types()) - used - built_in == set()


def test_every_field_has_a_resolver() -> None:
    missing = [
        f"{kind.name}.{name}"
        for kind in _own_types().values()
        if isinstance(kind, GraphQLObjectType) and kind.name not in registry.EMPTY_TYPES
        for name, field in kind.fields.items()
        if field.resolve is None
    ]

    assert missing == []


def test_no_resolver_is_unused() -> None:
    defined: set[str] = set()
    used: set[str] = set()
    for kind in _own_types().values():
        view = _view(kind.name) if isinstance(kind, GraphQLObjectType) else None
        for name, method in inspect.getmembers(view, inspect.isfunction) if view else ():
            if not name.startswith("_") and method.__module__.startswith("ghx_twin.graphql.views"):
                defined.add(method.__qualname__)
                used |= {method.__qualname__} if name.rstrip("_") in {snake(field) for field in kind.fields} else set()

    assert sorted(defined - used) == []
    assert {snake(name) for name in schema().type_map["Mutation"].fields} == set(CHANGES)


def test_every_argument_of_a_field_is_taken_by_its_resolver() -> None:
    lost = []
    for kind in _own_types().values():
        view = _view(kind.name) if isinstance(kind, GraphQLObjectType) else None
        for name, field in kind.fields.items() if view else ():
            method = inspect.getattr_static(view, {"context": "context_"}.get(snake(name), snake(name)), None)
            if not inspect.isfunction(method):
                continue
            taken = inspect.signature(method).parameters
            if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
                continue
            paged = get_named_type(field.type).name.endswith("Connection")
            given = {one.out_name for one in field.args.values()} - (
                {"first", "last", "after", "before"} if paged else set()
            )
            lost += [f"{kind.name}.{name}({one}:)" for one in given - set(taken)]

    assert lost == []


def test_every_input_of_a_mutation_is_taken_by_its_function() -> None:
    lost = []
    for name, field in schema().type_map["Mutation"].fields.items():
        taken = inspect.signature(CHANGES[snake(name)]).parameters
        if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
            continue
        given = {one.out_name for one in get_named_type(field.args["input"].type).fields.values()}
        lost += [f"{name}.{one}" for one in given - set(taken) - {"client_mutation_id"}]

    assert lost == []


def _view(name: str) -> type[Any] | None:
    if name in registry.EMPTY_TYPES or name == "Mutation" or name.endswith("Payload"):
        return None
    plain = Connection if name.endswith("Connection") else Edge if name.endswith("Edge") else None
    return registry.VIEWS.get(name) or registry.CONNECTIONS.get(name) or registry.EDGES.get(name) or plain


def _has(github: GraphQLSchema, coordinate: str) -> bool:
    owner, _, name = coordinate.partition(".")
    kind = github.type_map.get(owner)
    return kind is not None and (not name or name in {**getattr(kind, "fields", {}), **getattr(kind, "values", {})})


def _differences(ours: GraphQLSchema, github: GraphQLSchema) -> list[str]:
    found: list[str] = []
    for name, kind in ours.type_map.items():
        if name.startswith("__"):
            continue
        theirs = github.type_map.get(name)
        if type(theirs) is not type(kind):
            found.append(f"{name} is not GitHub's")
        elif isinstance(kind, GraphQLEnumType):
            found += [f"{name}.{one} is no value" for one in set(kind.values) - set(theirs.values)]
        elif isinstance(kind, GraphQLUnionType):
            found += [f"{name} {one} is no member" for one in _names(kind.types) - _names(theirs.types)]
        elif isinstance(kind, GraphQLInputObjectType):
            found += _input_differences(name, kind, theirs)
        elif isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
            found += [f"{name} does not implement {one}" for one in _names(kind.interfaces) - _names(theirs.interfaces)]
            found += _field_differences(name, kind, theirs)
    return found


def _field_differences(name: str, kind: Any, theirs: Any) -> list[str]:
    found: list[str] = []
    for field, entry in kind.fields.items():
        other = theirs.fields.get(field)
        place = f"{name}.{field}"
        if other is None:
            found.append(f"{place} is no field")
            continue
        if str(other.type) != str(entry.type):
            found.append(f"{place} is {other.type}, not {entry.type}")
        for argument, given in entry.args.items():
            taken = other.args.get(argument)
            if taken is None or str(taken.type) != str(given.type) or taken.default_value != given.default_value:
                found.append(f"{place}({argument}:) differs")
        missing = {one for one, given in other.args.items() if is_required_argument(given)} - set(entry.args)
        found += [f"{place}({one}:) is required" for one in missing]
    return found


def _input_differences(name: str, kind: Any, theirs: Any) -> list[str]:
    found = [
        f"{name}.{field} differs"
        for field, entry in kind.fields.items()
        if field not in theirs.fields
        or str(theirs.fields[field].type) != str(entry.type)
        or theirs.fields[field].default_value != entry.default_value
    ]
    missing = {one for one, entry in theirs.fields.items() if is_required_input_field(entry)} - set(kind.fields)
    return found + [f"{name}.{one} is required" for one in missing]


def _names(kinds: Any) -> set[str]:
    return {kind.name for kind in kinds}
