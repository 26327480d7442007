"""What every rendering needs: the world, who looks, and from which address."""

from collections.abc import Callable
from urllib.parse import quote

from ghx_twin.git.repository import GitRepository
from ghx_twin.nodes import node_id
from ghx_twin.queries import permissions
from ghx_twin.queries.permissions import Role
from ghx_twin.reply import JsonObject
from ghx_twin.state.database import Database
from ghx_twin.state.records import Issue, Record, Repository, User
from ghx_twin.urls import BaseUrls
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


class View:
    """A world as one viewer sees it in one request; remembers the records that many renderings share."""

    def __init__(self, world: World, viewer: Viewer, base: BaseUrls, media: frozenset[str] = frozenset()) -> None:
        self.world, self.viewer, self.base, self.media = world, viewer, base, media
        self._users: dict[int, User] = {}
        self._repositories: dict[int, Repository] = {}
        self._roles: dict[int, Role] = {}
        self._associations: dict[tuple[int, int], str] = {}
        self._rendered: dict[tuple[str, Record], JsonObject] = {}

    @property
    def database(self) -> Database:
        """Return the records of the world."""
        return self.world.database

    def git(self, repository: Repository) -> GitRepository:
        """Return the git side of a repository."""
        return self.world.git(repository)

    def node(self, record: Record) -> str:
        """Return the global id of a record."""
        return node_id(self.database, record)

    def user(self, identity: int) -> User:
        """Return a user that a record refers to."""
        if identity not in self._users:
            user = self.database.get(User, identity)
            self._users[identity] = user or _ghost(self.database.now())  # as GitHub shows deleted accounts
        return self._users[identity]

    def repository(self, identity: int) -> Repository:
        """Return a repository that a record refers to."""
        if identity not in self._repositories:
            repository = self.database.get(Repository, identity)
            assert repository is not None  # noqa: S101 - what refers to a repository goes with it
            self._repositories[identity] = repository
        return self._repositories[identity]

    def role(self, repository: Repository) -> Role:
        """Return what the viewer may do in a repository."""
        if repository.id not in self._roles:
            self._roles[repository.id] = permissions.role(self.world, self.viewer, repository)
        return self._roles[repository.id]

    def association(self, repository: Repository, user: User) -> str:
        """Return the association of a user with a repository: OWNER, MEMBER, CONTRIBUTOR, ..."""
        key = (repository.id, user.id)
        if key not in self._associations:
            self._associations[key] = permissions.author_association(self.world, repository, user)
        return self._associations[key]

    def once(self, shape: str, record: Record, render: Callable[[], JsonObject]) -> JsonObject:
        """Return what `render` gives, rendered once for each record in a request; callers must not change it.

        A list of a hundred issues repeats its repository and a few users in every item.
        """
        key = (shape, record)
        if key not in self._rendered:
            self._rendered[key] = render()
        return self._rendered[key]

    def full_name(self, repository: Repository) -> str:
        """Return owner and name."""
        return f"{self.user(repository.owner_id).login}/{repository.name}"

    def api(self, repository: Repository, path: str = "") -> str:
        """Return an address in the API below a repository."""
        return f"{self.base.api}/repos/{self.full_name(repository)}{path}"

    def html(self, repository: Repository, path: str = "") -> str:
        """Return an address of a page below a repository."""
        return f"{self.base.html}/{self.full_name(repository)}{path}"

    def issue_page(self, issue: Issue) -> str:
        """Return the page of an issue or pull request."""
        kind = "pull" if issue.is_pull else "issues"
        return self.html(self.repository(issue.repository_id), f"/{kind}/{issue.number}")


def quote_part(text: str, *, safe: str = "") -> str:
    """Return a text as a part of an address."""
    return quote(text, safe=safe)


def _ghost(at: str) -> User:
    return User(id=10137, login="ghost", name="Deleted user", created_at=at, updated_at=at)
