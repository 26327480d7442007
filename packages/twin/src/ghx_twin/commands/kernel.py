"""What every command needs: records as they are now, who acts, the next numbers, signatures, and arguments not given.

A command takes an `Act` first, refuses what GitHub would refuse, and writes. A function whose docstring says "without
a permission check" is for other commands, which have asked already.
"""

from enum import Enum
from typing import TypeVar

from ghx_twin.git.objects import Signature
from ghx_twin.queries import lookup
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.columns import RecordT
from ghx_twin.state.records import (
    Comment,
    CommitComment,
    Issue,
    IssueType,
    Label,
    Milestone,
    Release,
    ReleaseAsset,
    Repository,
    User,
)
from ghx_twin.world import Act

TimedT = TypeVar(
    "TimedT", Comment, CommitComment, Issue, IssueType, Label, Milestone, Release, ReleaseAsset, Repository, User
)


class Unset(Enum):
    """The type of `UNSET`, for an argument that was not given where None means "clear it"; compare with `is`."""

    UNSET = "unset"


UNSET = Unset.UNSET


def reload(act: Act, record: RecordT) -> RecordT:
    """Return a record as it is now.

    Requests look their records up before they hold the world, so another client may have changed or deleted them since.
    """
    current = act.database.get(type(record), record.id)
    if current is None:
        raise NotFoundRefusal(f"Could not resolve to a node: it was deleted from {record.table}.")
    return current


def touch(act: Act, record: TimedT, **changes: object) -> TimedT:
    """Change fields of a record, and `updated_at` with them."""
    # A seed can date a record later than the world's clock: the time of change never goes back.
    return act.database.update(record, **changes, updated_at=max(act.now, record.updated_at))


def actor_id(act: Act, repository: Repository) -> int:
    """Return the id of the user who acts; the world's maker acts as the repository's `default_actor`."""
    return lookup.default_actor(act.world, repository).id if act.viewer is None else act.viewer.id


def take_number(act: Act, repository: Repository) -> int:
    """Return the next number, which issues and pull requests of a repository share, and count it as used."""
    current = reload(act, repository)
    act.database.update(current, next_number=current.next_number + 1)
    return current.next_number


def take_milestone_number(act: Act, repository: Repository) -> int:
    """Return the next number of a repository's milestones, and count it as used."""
    current = reload(act, repository)
    act.database.update(current, next_milestone_number=current.next_milestone_number + 1)
    return current.next_milestone_number


def user_signature(user: User, at: str) -> Signature:
    """Return a user as the author of a commit, with GitHub's no-reply address where their own is not known."""
    email = user.email or f"{user.id}+{user.login}@users.noreply.github.com"
    return Signature(name=user.name or user.login, email=email, at=at)


def github_signature(at: str) -> Signature:
    """Return the committer of the commits that GitHub itself makes."""
    return Signature(name="GitHub", email="noreply@github.com", at=at)
