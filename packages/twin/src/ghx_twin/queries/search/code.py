"""Searching the files of default branches."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property

from ghx_twin.git.objects import TreeEntry
from ghx_twin.queries.composition import language_of
from ghx_twin.queries.search.grammar import (
    SCOPES,
    Leaf,
    Qualifier,
    Word,
    compile_query,
    parse,
    qualifiers,
    query_refusal,
    words,
)
from ghx_twin.queries.search.matching import compile_number, contains_words, split_words
from ghx_twin.queries.search.scopes import find_repositories, in_scope
from ghx_twin.state.records import Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

LARGEST_FILE = 384 * 1024  # larger ones are not searched
_KNOWN = frozenset({*SCOPES, "path", "filename", "extension", "language", "size", "is", "fork"})
_NARROWING = frozenset({"filename", "extension", "path"})  # enough without a word; a scope or a language is not
_AROUND = 80  # characters shown on either side of a hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A piece of a file around a hit; `hits` are the places in it, each with its text."""

    text: str
    hits: tuple[tuple[str, int, int], ...]


class CodeMatch:
    """A file that fits a search, and where it is."""

    def __init__(self, world: World, repository: Repository, entry: TreeEntry) -> None:
        self._world, self.repository, self.entry = world, repository, entry
        self.fragments: tuple[Fragment, ...] = ()

    @property
    def path(self) -> str:
        """Return the path in its repository."""
        return self.entry.path

    @cached_property
    def text(self) -> str:
        """The text of the file; empty where it is binary."""
        content = self._world.git(self.repository).blob(self.entry.sha) or b""
        # Git's own test of a binary file: a NUL among the first 8,000 bytes.
        return "" if b"\0" in content[:8000] else content.decode("utf-8", errors="replace")

    @cached_property
    def words(self) -> list[str]:
        """The words of the file."""
        return split_words(self.text)


Predicate = Callable[[CodeMatch], bool]


def search_code(world: World, viewer: Viewer | None, query: str) -> list[CodeMatch]:
    """Return the files on default branches that fit a query, by repository and path."""
    parsed = parse(query, _KNOWN)
    needles = [word.text for word in words(parsed.root)]
    if not needles and _NARROWING.isdisjoint(one.name for one in qualifiers(parsed.root)):
        raise query_refusal("Must include at least one search term.")
    fits = compile_query(parsed.root, lambda leaf: _compile_leaf(world, viewer, leaf))
    repositories = find_repositories(world, viewer, parsed.root)
    hits = [one for repository in repositories for one in _files(world, repository) if fits(one)]
    for hit in hits:
        hit.fragments = tuple(_fragments(hit.text, needles))
    return hits


def _files(world: World, repository: Repository) -> Iterator[CodeMatch]:
    git = world.git(repository)
    tip = git.ref(f"refs/heads/{repository.default_branch}")
    for entry in git.tree(tip, recursive=True) if tip else ():
        if entry.type == "blob" and (entry.size or 0) <= LARGEST_FILE:
            yield CodeMatch(world, repository, entry)


def _compile_leaf(world: World, viewer: Viewer | None, leaf: Leaf) -> Predicate:
    match leaf:
        case Word(text, within):
            needle = split_words(text)
            in_path = within is not None and "path" in within
            in_file = within is None or "file" in within or not in_path
            return lambda match: (
                (in_file and contains_words(match.words, needle))
                or (in_path and text.casefold() in match.path.casefold())
            )
        case Qualifier(_, ()):
            return lambda _: True
        case Qualifier(name) if name in SCOPES:
            within_scope = in_scope(world, viewer, leaf)
            return lambda match: within_scope(match.repository)
        case Qualifier(name, values):
            return _compile_qualifier(name, tuple(value.casefold() for value in values))


def _compile_qualifier(name: str, values: tuple[str, ...]) -> Predicate:
    if name == "size":
        sizes = [compile_number(value) for value in values]
        return lambda match: any(fits(match.entry.size or 0) for fits in sizes)
    extensions = tuple(f".{value.lstrip('.')}" for value in values)
    questions: dict[str, Predicate] = {
        "path": lambda match: any(_on_path(match.path.casefold(), value) for value in values),
        "filename": lambda match: any(value in match.path.casefold().rpartition("/")[2] for value in values),
        "extension": lambda match: match.path.casefold().endswith(extensions),
        "language": lambda match: (language_of(match.path) or "").casefold() in values,
        "is": lambda match: match.repository.visibility in values,
        "fork": lambda match: match.repository.parent_id is not None or "only" not in values,
    }
    return questions[name]


def _on_path(path: str, path_part: str) -> bool:
    if path_part == "/":
        return "/" not in path
    if "*" in path_part:
        return fnmatch(path, path_part)
    return f"/{path}".startswith(f"/{path_part.strip('/')}/") or path == path_part.strip("/")


def _fragments(text: str, needles: list[str]) -> Iterator[Fragment]:
    for needle in needles:
        match = re.search(re.escape(needle), text, re.IGNORECASE) if needle else None
        if match:
            start, end = max(0, match.start() - _AROUND), min(len(text), match.end() + _AROUND)
            hit = (match.group(), match.start() - start, match.end() - start)
            yield Fragment(text=text[start:end], hits=(hit,))
