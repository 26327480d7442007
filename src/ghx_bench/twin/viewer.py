"""The user behind a request, and the scopes of the token."""

from dataclasses import dataclass

from ghx_bench.twin.state.records import User

EVERY_SCOPE = frozenset({"repo", "read:org", "workflow", "gist", "delete_repo", "admin:org", "user", "project"})
"""What a token carries unless told otherwise."""

_NO_ACCOUNT = 0  # no account has this id


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A user behind a token, or nobody in particular; what they may do is the smaller of their role and the scopes."""

    user: User
    scopes: frozenset[str] = EVERY_SCOPE
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

ANONYMOUS = Viewer(user=User(id=_NO_ACCOUNT, login="", created_at="", updated_at=""), scopes=frozenset())
"""Who asks without a token."""
