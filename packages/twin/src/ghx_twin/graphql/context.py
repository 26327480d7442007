"""The context of one request, which all its resolvers share: the world, the viewer, and what was looked up already."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ghx_twin.nodes import node_id
from ghx_twin.queries import lookup, permissions
from ghx_twin.refusals import Refusal
from ghx_twin.state.database import Database
from ghx_twin.state.records import Record, Repository, User
from ghx_twin.urls import BaseUrls
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

MAX_RETURNED_NODES = 50_000  # in one answer; GitHub stops by time, a test bench stops at the same place every time
MAX_RETURNED_BYTES = 32 << 20
_T = TypeVar("_T")
ViewMaker = Callable[["Context", Any], object]


class ResourceLimitsRefusal(Refusal):
    """The answer would hold more nodes than one answer may."""

    code = "RESOURCE_LIMITS_EXCEEDED"
    graphql_type = "RESOURCE_LIMITS_EXCEEDED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The viewer's rate limit for GraphQL, as the server counts it."""

    limit: int = 5000
    used: int = 1
    reset_at: str | None = None  # None: the next full hour of the world's clock


@dataclass(slots=True, kw_only=True)
class Context:
    """One request in execution.

    Views never import each other: they return records and other subjects, and `view_of` makes the view of each. Types
    refer to each other in circles (an issue has a repository, a repository has issues), and so would imports.
    """

    world: World
    viewer: Viewer
    base: BaseUrls
    view_makers: Mapping[type, ViewMaker]
    budget: Budget = field(default_factory=Budget)
    node_count: int = 0  # how many nodes the document could return
    returned: int = 0
    returned_bytes: int = 0
    _known: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])

    @property
    def database(self) -> Database:
        """Return the records."""
        return self.world.database

    def view_of(self, subject: Any) -> Any:
        """Return the view of a record or other subject; None stays None."""
        return None if subject is None else self.view_makers[type(subject)](self, subject)

    def once(self, key: Hashable, find: Callable[[], _T]) -> _T:
        """Return what `find` gives, looked up once in a request (and again after a change)."""
        if key not in self._known:
            self._known[key] = find()
        return cast("_T", self._known[key])

    def forget(self) -> None:
        """Drop what was looked up, because something has changed."""
        self._known.clear()

    def spend(self, nodes: int) -> None:
        """Count nodes that are put into the answer, and stop at the limit."""
        self.returned += nodes
        if self.returned > MAX_RETURNED_NODES:
            raise ResourceLimitsRefusal("Resource limits for this query exceeded.")

    def spend_bytes(self, size: int) -> None:
        """Count the bytes of long texts that are put into the answer, and stop at the limit."""
        self.returned_bytes += size
        if self.returned_bytes > MAX_RETURNED_BYTES:
            raise ResourceLimitsRefusal("Resource limits for this query exceeded.")

    def node_id(self, record: Record) -> str:
        """Return the global id of a record."""
        return self.once(("id", type(record), record.id), lambda: node_id(self.database, record))

    def user(self, identity: int | None) -> User | None:
        """Return an account by its id."""
        return self.once((User, identity), lambda: self.database.get(User, identity))

    def repository(self, identity: int | None) -> Repository | None:
        """Return a repository by its id, whether or not the viewer may see it."""
        return self.once((Repository, identity), lambda: self.database.get(Repository, identity))

    def home(self, identity: int) -> Repository:
        """Return the repository something belongs to."""
        repository = self.repository(identity)
        assert repository is not None  # noqa: S101 - what belongs to a repository goes with it
        return repository

    def owner(self, repository: Repository) -> User:
        """Return whose repository it is."""
        user = self.user(repository.owner_id)
        assert user is not None  # noqa: S101 - the same
        return user

    def full_name(self, repository: Repository) -> str:
        """Return `owner/name`."""
        return f"{self.owner(repository).login}/{repository.name}"

    def may(self, repository: Repository, needed: permissions.Role) -> bool:
        """Return whether the viewer has at least a role in a repository."""
        role = self.once(("role", repository.id), lambda: permissions.role(self.world, self.viewer, repository))
        return permissions.at_least(role, needed)

    def visible(self, repository: Repository | None) -> Repository | None:
        """Return a repository if the viewer may see it."""
        return repository if repository is not None and self.may(repository, "read") else None

    def association(self, repository: Repository, author: User | None) -> str:
        """Return how an author stands to a repository."""
        if author is None:
            return "NONE"
        key = ("association", repository.id, author.id)
        return self.once(key, lambda: permissions.author_association(self.world, repository, author))

    def lookup_repository(self, owner: str, name: str) -> Repository:
        """Return a repository by name, or refuse."""
        return lookup.repository(self.world, self.viewer, owner, name)
