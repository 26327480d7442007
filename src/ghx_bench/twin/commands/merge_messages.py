"""What the commits say that merge a pull request."""

import re

from ghx_bench.twin.commands import kernel
from ghx_bench.twin.git.repository import Commit
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.comparison import commits
from ghx_bench.twin.state.records import Pull
from ghx_bench.twin.world import World

_CO_AUTHOR = re.compile(r"(?im)^co-authored-by:[ \t]*([^<>\n]*?)[ \t]*<([^<>\s]+)>[ \t]*$")


def merge_message(world: World, pull: Pull, title: str | None, message: str | None) -> str:
    """Return the message of a merge commit: which branch it merges, and the pull request's title."""
    issue = lookup.issue_of(world, pull)
    home = lookup.repository_by_id(world, None, pull.head_repository_id or pull.repository_id)
    owner = lookup.owner(world, home).login
    subject = f"Merge pull request #{issue.number} from {owner}/{pull.head_ref}"
    return _join_message(title or subject, issue.title if message is None else message)


def squash_message(world: World, pull: Pull, title: str | None, message: str | None) -> str:
    """Return the message of a squashed commit: that of the only commit, or the title and all their messages."""
    issue, included = lookup.issue_of(world, pull), commits(world, pull)
    subject = _headline(included[0]) if len(included) == 1 else issue.title
    written = message if message is not None else _squash_body(world, pull, included)
    return _join_message(title or f"{subject} (#{issue.number})", written)


def _squash_body(world: World, pull: Pull, included: list[Commit]) -> str:
    co_authors = _co_authors(world, pull, included)
    if len(included) == 1:
        told = _body(included[0])
        co_authors = [line for line in co_authors if line not in told]  # it is all there is: nothing to collect
    else:
        told = "\n\n".join(f"* {commit.message.strip()}" for commit in included)
    return "\n\n---------\n\n".join(part for part in (told, "\n".join(co_authors)) if part)


def _co_authors(world: World, pull: Pull, included: list[Commit]) -> list[str]:
    """Return everyone who wrote a commit or is named in one, each once, but for the author of it all."""
    author = lookup.user_by_id(world, lookup.issue_of(world, pull).author_id)
    named: dict[str, str] = {kernel.user_signature(author, "").email.lower(): author.login}
    for commit in included:
        people = ((commit.author.name, commit.author.email), *_CO_AUTHOR.findall(commit.message))
        for name, email in people:
            named.setdefault(email.lower(), f"Co-authored-by: {name} <{email}>")
    return list(named.values())[1:]


def _headline(commit: Commit) -> str:
    return commit.message.strip().split("\n", 1)[0]


def _body(commit: Commit) -> str:
    return commit.message.strip().partition("\n")[2].strip()


def _join_message(subject: str, body: str) -> str:
    message = f"{subject}\n\n{body.strip()}" if body.strip() else subject
    return message.replace("\0", "")  # which a title can hold and a commit cannot
