"""Searching the commits of default branches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ghx_twin.git.objects import Commit, Signature
from ghx_twin.queries.search.grammar import SCOPES, Leaf, Qualifier, Word, compile_query, parse
from ghx_twin.queries.search.matching import compile_time, contains_words, split_words
from ghx_twin.queries.search.scopes import account, find_repositories, in_scope
from ghx_twin.state.records import Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

_SIGNATURES = ("author", "committer")
_KNOWN = frozenset({
    *SCOPES, "is", "merge", "hash", "parent", "tree",
    *(f"{who}{what}" for who in _SIGNATURES for what in ("", "-name", "-email", "-date")),
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitMatch:
    """A commit that fits a search, and where it is."""

    repository: Repository
    commit: Commit


Predicate = Callable[[CommitMatch], bool]


def search_commits(
    world: World, viewer: Viewer | None, query: str, *, sort: str | None = None, order: str = "desc"
) -> list[CommitMatch]:
    """Return the commits on default branches that fit a query, newest first unless asked otherwise."""
    parsed = parse(query, _KNOWN)
    fits = compile_query(parsed.root, lambda leaf: _compile_leaf(world, viewer, leaf))
    repositories = find_repositories(world, viewer, parsed.root)
    hits = [one for repository in repositories for one in _commits(world, repository) if fits(one)]
    written = sort or (parsed.sort or "").removesuffix("-asc").removesuffix("-desc")
    upwards = order == "asc" if sort else (parsed.sort or "").endswith("-asc")
    by_author = written == "author-date"
    return sorted(
        hits, key=lambda one: _signature(one, "author" if by_author else "committer").utc, reverse=not upwards
    )


def _commits(world: World, repository: Repository) -> Iterator[CommitMatch]:
    git = world.git(repository)
    tip = git.ref(f"refs/heads/{repository.default_branch}")
    for commit in git.log(tip) if tip else ():
        yield CommitMatch(repository=repository, commit=commit)


def _compile_leaf(world: World, viewer: Viewer | None, leaf: Leaf) -> Predicate:
    match leaf:
        case Word(text):
            needle = split_words(text)
            return lambda match: (
                contains_words(split_words(match.commit.message), needle) or match.commit.sha == text.lower()
            )
        case Qualifier(_, ()):
            return lambda _: True
        case Qualifier(name) if name in SCOPES:
            within = in_scope(world, viewer, leaf)
            return lambda match: within(match.repository)
        case Qualifier(name, values) if name.partition("-")[0] in _SIGNATURES:
            return _compile_signature(world, viewer, name, values)
        case Qualifier(name, values):
            return _compile_qualifier(name, tuple(value.lower() for value in values))


def _compile_qualifier(name: str, values: tuple[str, ...]) -> Predicate:
    match name:
        case "is":
            return lambda match: match.repository.visibility in values
        case "merge":
            return lambda match: (len(match.commit.parents) > 1) == ("true" in values)
        case "hash":
            return lambda match: match.commit.sha.startswith(values)
        case "tree":
            return lambda match: match.commit.tree.startswith(values)
        case _:
            return lambda match: any(parent.startswith(values) for parent in match.commit.parents)


def _compile_signature(world: World, viewer: Viewer | None, name: str, values: tuple[str, ...]) -> Predicate:
    who, _, what = name.partition("-")
    if what == "date":
        times = [compile_time(value, world.database.now()) for value in values]
        return lambda match: any(fits(_signature(match, who).utc) for fits in times)
    if what == "name":
        return lambda match: any(one.casefold() in _signature(match, who).name.casefold() for one in values)
    if what == "email":
        return lambda match: any(one.casefold() == _signature(match, who).email.casefold() for one in values)
    addresses = {one for value in values for one in _addresses(world, viewer, value)}
    return lambda match: _signature(match, who).email.casefold() in addresses


def _addresses(world: World, viewer: Viewer | None, login: str) -> set[str]:
    user = account(world, viewer, login)
    if user is None:
        return set()
    no_reply = (f"{user.id}+{user.login}@users.noreply.github.com", f"{user.login}@users.noreply.github.com")
    return {address.casefold() for address in (*no_reply, user.email) if address}


def _signature(match: CommitMatch, who: str) -> Signature:
    return match.commit.author if who == "author" else match.commit.committer
