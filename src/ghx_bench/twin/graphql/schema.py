"""The schema: our SDL, with every field joined to what answers it."""

from functools import cache
from importlib.resources import files

from graphql import GraphQLSchema, build_schema

from ghx_bench.twin.graphql.binding import bind
from ghx_bench.twin.graphql.changes.binding import bind_changes
from ghx_bench.twin.graphql.registry import CONNECTIONS, EDGES, EMPTY_TYPES, VIEWS
from ghx_bench.twin.graphql.scalars import bind_scalars


def sdl() -> str:
    """Return the text of the schema, all domains in one."""
    folder = files("ghx_bench.twin.graphql").joinpath("schema")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".graphql"))
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


@cache
def schema() -> GraphQLSchema:
    """Return the schema, built once in a process."""
    built = build_schema(sdl(), assume_valid=True, assume_valid_sdl=True, no_location=True)
    bind_scalars(built)
    bind(built, VIEWS, connections=CONNECTIONS, edges=EDGES, empty=EMPTY_TYPES)
    bind_changes(built)
    return built
