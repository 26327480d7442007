"""Code owners: whose review a changed file needs, by the CODEOWNERS file of the base branch."""

import re
from collections.abc import Collection, Iterator
from functools import cache

from ghx_bench.twin.git.repository import GitRepository
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.comparison import base_tip, files, git_of
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.state.records import Pull, TeamMember
from ghx_bench.twin.world import World

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")  # the first that is there counts


def missing_reviews(world: World, pull: Pull, approvers: Collection[int]) -> list[str]:
    """Return the owners of changed files none of whose owners has approved, as the file spells them."""
    lines = _read_owners(git_of(world, pull), base_tip(world, pull))
    missing: dict[str, None] = {}
    for change in files(world, pull):
        for path in filter(None, (change.path, change.previous_path)):
            owners = _owners_of(path, lines)
            if owners and not any(_members(world, owner) & set(approvers) for owner in owners):
                missing |= dict.fromkeys(owner.removeprefix("@") for owner in owners)
    return list(missing)


def _read_owners(git: GitRepository, commit: str) -> list[tuple[str, tuple[str, ...]]]:
    entry = next((found for place in PLACES if (found := git.entry(commit, place))), None)
    text = (git.blob(entry.sha) or b"").decode("utf-8", "replace") if entry else ""
    written = (line.partition("#")[0].split() for line in text.splitlines())
    return [(words[0], tuple(words[1:])) for words in written if words]


def _owners_of(path: str, lines: list[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    """Return the owners of a path: the last line that matches counts, also one that names nobody."""
    return next((owners for pattern, owners in reversed(lines) if _compile(pattern).fullmatch(path)), ())


def _members(world: World, owner: str) -> set[int]:
    """Return the ids of the users behind `@login` or `@organization/team`; of anything else, nobody."""
    login, _, team = owner.removeprefix("@").partition("/")
    try:
        if not team:
            return {lookup.user(world, login).id}
        found = lookup.team(world, lookup.organization(world, login), team)
    except NotFoundRefusal:
        return set()
    return {member.user_id for member in world.database.all(TeamMember, team_id=found.id)}


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Return a pattern of a CODEOWNERS file, which are those of .gitignore, as one of paths."""
    anchored = "/" in pattern.rstrip("/")
    body = "".join(_translate(pattern.strip("/")))
    # What matches a folder matches everything in it, save for `docs/*`, which GitHub takes for one level only.
    rest = "/.*" if pattern.endswith("/") else "" if pattern.endswith("/*") else "(?:/.*)?"
    return re.compile(("" if anchored else "(?:.*/)?") + body + rest)


def _translate(pattern: str) -> Iterator[str]:
    for piece in re.findall(r"\*\*/|/\*\*|\*\*|\*|\?|.", pattern):
        yield {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece) or re.escape(piece)
