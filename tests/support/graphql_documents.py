"""Random documents that fit a schema and ask for things that are there."""

from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_leaf_type,
    is_required_argument,
    is_required_input_field,
)
from hypothesis import strategies as st


class Documents:
    """Draws selections of a schema.

    `values` are strategies for arguments by their name or type, `nodes` global ids that exist, with their types.
    """

    def __init__(
        self, schema: GraphQLSchema, values: dict[str, st.SearchStrategy[str]], nodes: list[tuple[str, str]]
    ) -> None:
        self._schema, self._values, self._nodes = schema, values, nodes
        self._ids = [*(identity for _, identity in nodes), "I_nonsense", ""]

    def query(self, draw: Any, *, depth: int = 4) -> str:
        """Draw a query from the root, or one that begins at a node."""
        if draw(st.integers(0, 9)) == 0:
            return self._selection(draw, self._schema.type_map["Query"], depth, width=3)
        typename, identity = draw(st.sampled_from(self._nodes))
        inner = self._selection(draw, self._schema.type_map[typename], depth, width=6)
        return f'{{ node(id: "{identity}") {{ ... on {typename} {inner} }} }}'

    def mutation(self, draw: Any) -> str:
        kind = self._schema.type_map["Mutation"]
        name = draw(st.sampled_from(sorted(kind.fields)))
        return f"mutation {{ {self._field(draw, name, kind.fields[name], 3)} }}"

    def _selection(self, draw: Any, kind: Any, depth: int, width: int = 4) -> str:
        if isinstance(kind, GraphQLUnionType):
            return self._fragments(draw, kind, depth, "__typename")
        fields = {n: f for n, f in kind.fields.items() if depth > 0 or is_leaf_type(get_named_type(f.type))}
        names = (
            draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=width, unique=True)) if fields else []
        )
        parts = ["__typename", *(self._field(draw, name, fields[name], depth) for name in names)]
        if isinstance(kind, GraphQLInterfaceType):
            return self._fragments(draw, kind, depth, *parts)
        return "{ " + " ".join(parts) + " }"

    def _fragments(self, draw: Any, kind: Any, depth: int, *parts: str) -> str:
        possible = sorted(one.name for one in self._schema.get_possible_types(kind))
        chosen = draw(st.lists(st.sampled_from(possible), max_size=2, unique=True))
        inside = [f"... on {n} {self._selection(draw, self._schema.type_map[n], depth - 1, 3)}" for n in chosen]
        return "{ " + " ".join([*parts, *inside]) + " }"

    def _field(self, draw: Any, name: str, field: Any, depth: int) -> str:
        kind = get_named_type(field.type)
        alias = f"a{draw(st.integers(0, 10**6))}: "
        given = self._arguments(draw, name, field, kind.name.endswith("Connection"))
        inner = "" if is_leaf_type(kind) else f" {self._selection(draw, kind, depth - 1)}"
        return f"{alias}{name}{given}{inner}"

    def _arguments(self, draw: Any, name: str, field: Any, paged: bool) -> str:
        given: list[str] = []
        if paged:
            given.append(f"{draw(st.sampled_from(['first', 'last']))}: {draw(st.integers(0, 3))}")
        for argument, entry in field.args.items():
            if argument in {"first", "last", "before", "after"} and paged:
                continue
            if is_required_argument(entry) or draw(st.booleans()):
                given.append(f"{argument}: {self._value(draw, argument, entry.type, 2)}")
        return f"({', '.join(given)})" if given else ""

    def _value(self, draw: Any, name: str, kind: Any, depth: int) -> str:
        if isinstance(kind, GraphQLNonNull):
            return self._value(draw, name, kind.of_type, depth)
        if isinstance(kind, GraphQLList):
            return (
                "["
                + ", ".join(self._value(draw, name, kind.of_type, depth) for _ in range(draw(st.integers(0, 2))))
                + "]"
            )
        if isinstance(kind, GraphQLEnumType):
            return draw(st.sampled_from(sorted(kind.values)))
        if isinstance(kind, GraphQLInputObjectType):
            chosen = {
                field: entry
                for field, entry in kind.fields.items()
                if is_required_input_field(entry) or (depth > 0 and draw(st.booleans()))
            }
            return "{" + ", ".join(f"{n}: {self._value(draw, n, e.type, depth - 1)}" for n, e in chosen.items()) + "}"
        return self._scalar(draw, name, kind.name)

    def _scalar(self, draw: Any, name: str, kind: str) -> str:
        if kind == "ID":
            return _quoted(draw(st.sampled_from(self._ids)))
        if kind == "Int":
            return str(draw(st.integers(-1, 9)))
        if kind == "Float":
            return str(draw(st.floats(allow_nan=False, allow_infinity=False)))
        if kind == "Boolean":
            return draw(st.sampled_from(["true", "false"]))
        return _quoted(draw(self._values.get(name, self._values[kind])))


def _quoted(text: str) -> str:
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text)
    return f'"{escaped}"'
