"""What the commits say that merge a pull request."""

from ghx_bench.twin.commands import signatures
from ghx_bench.twin.git.repository import Commit
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.comparison import commits
from ghx_bench.twin.state.records import Pull
from ghx_bench.twin.world import World


def merge_message(world: World, pull: Pull, title: str | None, message: str | None) -> str:
    """Return the message of a merge commit: which branch it merges, and the pull request's title."""
    issue = lookup.issue_of(world, pull)
    home = lookup.repository_by_id(world, None, pull.head_repository_id or pull.repository_id)
    owner = lookup.owner(world, home).login
    subject = f"Merge pull request #{issue.number} from {owner}/{pull.head_ref}"
    return _joined(title or subject, issue.title if message is None else message)


def squash_message(world: World, pull: Pull, title: str | None, message: str | None) -> str:
    """Return the message of a squashed commit: that of the only commit, or the title and all their messages."""
    issue, included = lookup.issue_of(world, pull), commits(world, pull)
    subject = _headline(included[0]) if len(included) == 1 else issue.title
    written = message if message is not None else _summary(world, pull, included)
    return _joined(title or f"{subject} (#{issue.number})", written)


def _summary(world: World, pull: Pull, included: list[Commit]) -> str:
    if len(included) == 1:
        told = _body(included[0])
    else:
        told = "\n\n".join(f"* {commit.message.strip()}" for commit in included)
    return "\n\n---------\n\n".join(part for part in (told, _co_authors(world, pull, included)) if part)


def _co_authors(world: World, pull: Pull, included: list[Commit]) -> str:
    author = lookup.user_by_id(world, lookup.issue_of(world, pull).author_id)
    own = signatures.of_user(author, "").email.lower()
    others = {commit.author.email.lower(): commit.author for commit in included}
    named = [f"Co-authored-by: {one.name} <{one.email}>" for email, one in others.items() if email != own]
    return "\n".join(line for line in named if all(line not in commit.message for commit in included))


def _headline(commit: Commit) -> str:
    return commit.message.strip().split("\n", 1)[0]


def _body(commit: Commit) -> str:
    return commit.message.strip().partition("\n")[2].strip()


def _joined(subject: str, body: str) -> str:
    message = f"{subject}\n\n{body.strip()}" if body.strip() else subject
    return message.replace("\0", "")  # which a title can hold and a commit cannot
