"""Histories: which commits led to a commit, in the orders that git and GitHub list them."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import pygit2
from pygit2.enums import SortMode

from ghx_bench.twin.git.objects import Commit, commit_record, epoch_seconds
from ghx_bench.twin.git.trees import lookup


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which commits of a history to list."""

    path: str | None = None
    since: str | None = None
    until: str | None = None
    author: frozenset[str] | None = None  # names or addresses, without regard to case

    def accepts(self, commit: Commit, time: int) -> bool:
        """Tell whether a commit has the right time and author."""
        if self.since is not None and time < epoch_seconds(self.since):
            return False
        if self.until is not None and time > epoch_seconds(self.until):
            return False
        known = {commit.author.name.casefold(), commit.author.email.casefold()}
        return self.author is None or bool(known & {name.casefold() for name in self.author})


def walk_between(repository: pygit2.Repository, base: pygit2.Oid | None, head: pygit2.Oid) -> Iterator[pygit2.Commit]:
    """Yield the commits that `head` has and `base` has not, parents before children."""
    walker = repository.walk(head, SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE)
    if base is not None:
        walker.hide(base)
    return iter(walker)


def list_commits(start: pygit2.Commit, chosen: Filter) -> Iterator[Commit]:
    """Yield commits as `git log` does: newest first, a path's history followed through the parents that kept it."""
    order = count()
    waiting = [(-start.commit_time, next(order), start)]
    seen = {start.id}
    while waiting:
        _, _, commit = heapq.heappop(waiting)
        changed, parents = _step(commit, chosen.path)
        for parent in parents:
            if parent.id not in seen:
                seen.add(parent.id)
                heapq.heappush(waiting, (-parent.commit_time, next(order), parent))
        if changed and chosen.accepts(record := commit_record(commit), commit.commit_time):
            yield record


def _step(commit: pygit2.Commit, path: str | None) -> tuple[bool, list[pygit2.Commit]]:
    """Tell whether a commit changed a path, and through which parents its history goes on."""
    parents = commit.parents
    if not path:
        return True, parents
    here = _entry_at(commit, path)
    for parent in parents:
        if _entry_at(parent, path) == here:
            return False, [parent]
    return bool(parents) or here is not None, parents


def _entry_at(commit: pygit2.Commit, path: str) -> tuple[str, int] | None:
    found = lookup(commit.tree, path)
    return None if found is None else (str(found.id), int(found.filemode or 0))
