"""Binds the mutations of the schema to the functions that do them, by name."""

from collections.abc import Callable
from typing import Any

from graphql import GraphQLObjectType, GraphQLSchema

from ghx_bench.twin.graphql.binding import Info, UnboundFieldError, snake
from ghx_bench.twin.graphql.changes.change import Change, Mutation, Payload
from ghx_bench.twin.graphql.changes.comments import COMMENT_CHANGES
from ghx_bench.twin.graphql.changes.issues import ISSUE_CHANGES, RELATION_CHANGES
from ghx_bench.twin.graphql.changes.pulls import PULL_CHANGES
from ghx_bench.twin.graphql.changes.repositories import REPOSITORY_CHANGES
from ghx_bench.twin.graphql.changes.reviews import REVIEW_CHANGES

CHANGES: dict[str, Mutation] = {
    change.__name__: change
    for change in (
        *ISSUE_CHANGES,
        *RELATION_CHANGES,
        *COMMENT_CHANGES,
        *PULL_CHANGES,
        *REVIEW_CHANGES,
        *REPOSITORY_CHANGES,
    )
}


def bind_changes(schema: GraphQLSchema) -> None:
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
        for part, shown in payload.fields.items():
            shown.resolve = _payload_resolver(snake(part))


def _mutation_resolver(change: Mutation) -> Callable[..., Payload]:
    """Return a resolver that does one mutation in an act of its own.

    A document may hold several: each happens whole or not at all, and one that is refused does not stop the next.
    """

    def resolve(_root: object, info: Info, inputs: dict[str, Any]) -> Payload:
        context = info.context
        inputs = dict(inputs)
        token = inputs.pop("client_mutation_id", None)
        context.forget()  # the mutation before may have changed what was looked up for its payload
        try:
            with context.world.acting(context.viewer) as act:
                outcome = change(Change(context, act), **inputs)
        finally:
            context.forget()
        return Payload(context, outcome, token)

    return resolve


def _payload_resolver(name: str) -> Callable[..., Any]:
    def resolve(payload: Payload, _info: Info) -> Any:
        return payload.field(name)

    return resolve
