"""The user behind a request, and the scopes of the token."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ghx_twin.state.records import Repository, User

EVERY_SCOPE = frozenset({"repo", "read:org", "workflow", "gist", "delete_repo", "admin:org", "user", "project"})
"""What a token carries unless told otherwise."""

_NO_ACCOUNT = 0  # no account has this id


@dataclass(frozen=True, slots=True, kw_only=True)
class AppAccess:
    """What a GitHub App may do with one of its credentials."""

    app_id: int
    installation_id: int | None = None  # None: the app itself, which only looks after its installations
    account_id: int | None = None  # whose repositories the installation is for
    permissions: Mapping[str, str] = field(default_factory=dict[str, str])  # issues: write, ...
    repository_ids: frozenset[int] | None = None  # None: all of the account's
    token: str | None = field(default=None, repr=False)  # the credential itself, which may revoke itself

    def reaches(self, repository: Repository) -> bool:
        """Return whether the installation is for a repository."""
        if self.installation_id is None or repository.owner_id != self.account_id:
            return False
        return self.repository_ids is None or repository.id in self.repository_ids

    def may(self, *permissions: str, level: str = "write") -> bool:
        """Return whether one of these permissions is held at least at a level."""
        enough = {"read", "write", "admin"} if level == "read" else {"write", "admin"}
        return any(self.permissions.get(name) in enough for name in permissions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A user behind a token, or nobody in particular; what they may do is the smaller of their role and the scopes."""

    user: User
    scopes: frozenset[str] = EVERY_SCOPE
    app: AppAccess | None = None  # where the token is an app's, and the user its bot
    unrestricted: bool = False  # the world's maker, who may do everything, speaks in this user's name

    @property
    def id(self) -> int:
        """Return the id of the user."""
        return self.user.id

    @property
    def is_anonymous(self) -> bool:
        """Return whether the request came without a token: then what is public can be read, and nothing else."""
        return self.user.id == _NO_ACCOUNT

    def has_scope(self, scope: str) -> bool:
        """Return whether the token has a scope, itself or inside a wider one."""
        return scope in self.scopes or bool(self.scopes & _WIDER.get(scope, frozenset()))


# GitHub's scopes contain each other: a token with `repo` may do what needs `public_repo`.
_WIDER = {
    "public_repo": frozenset({"repo"}),
    "repo:status": frozenset({"repo"}),
    "read:org": frozenset({"write:org", "admin:org"}),
    "write:org": frozenset({"admin:org"}),
    "read:user": frozenset({"user"}),
    "read:project": frozenset({"project"}),
}

KNOWN_SCOPES = EVERY_SCOPE | _WIDER.keys()
"""The scopes that make a difference here."""

ANONYMOUS = Viewer(user=User(id=_NO_ACCOUNT, login="", created_at="", updated_at=""), scopes=frozenset())
"""Who asks without a token."""
