"""What every mutation gets: the request it came with, and the act in which the world changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ghx_twin.graphql.connections import Edge
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.failures import LACKS
from ghx_twin.graphql.node_lookup import find_as, find_conversation
from ghx_twin.refusals import NotImplementedRefusal
from ghx_twin.state.records import Issue, Record, User
from ghx_twin.world import Act

_T = TypeVar("_T")
Outcome: TypeAlias = Mapping[str, Any]  # what the payload shows, by the Python name of its field
Mutation: TypeAlias = Callable[..., Outcome]


@dataclass(frozen=True, slots=True)
class Change:
    """One mutation in progress."""

    context: Context
    act: Act

    @property
    def actor(self) -> User:
        """Return who does it."""
        return self.context.viewer.user

    def find(self, identity: str, *models: type[_T]) -> _T:
        """Return the record or subject with a global id, if it is of one of these sorts."""
        return find_as(self.context, identity, *models)

    def find_all(self, identities: list[str] | None, model: type[_T]) -> list[_T]:
        """Return everything that has one of these global ids, each once."""
        return [self.find(identity, model) for identity in dict.fromkeys(identities or ())]

    def conversation(self, identity: str) -> Issue:
        """Return the shared record of an issue or pull request."""
        return find_conversation(self.context, identity)


@dataclass(frozen=True, slots=True)
class AsEdge:
    """Something that a payload shows as an edge."""

    subject: object


class Payload:
    """What a mutation returns; its records are read again after the change."""

    __slots__ = ("_context", "_outcome", "_token")

    def __init__(self, context: Context, outcome: Outcome, token: str | None) -> None:
        self._context, self._outcome, self._token = context, outcome, token

    def field(self, name: str) -> Any:
        """Return one field, by its Python name."""
        return self._token if name == "client_mutation_id" else self._view_of(self._outcome[name])

    def _view_of(self, value: Any) -> Any:
        if isinstance(value, AsEdge):
            return Edge(self._context, self._fresh(value.subject), 0)
        value = self._fresh(value)
        return self._context.view_of(value) if type(value) in self._context.view_makers else value

    def _fresh(self, value: Any) -> Any:
        """Return a record as it is now; one that is gone as it was."""
        return (self._context.database.get(type(value), value.id) or value) if isinstance(value, Record) else value


def refuse_arguments(mutation: str, **given: object) -> None:
    """Refuse inputs that GitHub acts on and the emulator does not; an empty input asks for nothing."""
    for name, value in given.items():
        if value:
            raise NotImplementedRefusal(f"{mutation}.{name} {LACKS}")
