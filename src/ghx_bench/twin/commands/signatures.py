"""Who writes the commits that GitHub makes for people."""

from ghx_bench.twin.git.repository import Signature
from ghx_bench.twin.state.records import User


def of_user(user: User, at: str) -> Signature:
    """Return a user as author, with GitHub's no-reply address where their own is not known."""
    email = user.email or f"{user.id}+{user.login}@users.noreply.github.com"
    return Signature(name=user.name or user.login, email=email, at=at)


def of_github(at: str) -> Signature:
    """Return the committer of what is done in GitHub's own name."""
    return Signature(name="GitHub", email="noreply@github.com", at=at)
