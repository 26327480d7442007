"""Histories: the ancestors of a commit in the orders of git and GitHub, merges and rebases, the texts of a push."""

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import cast, overload

import pygit2
from pygit2.enums import SortMode

from ghx_twin.git.objects import (
    AnyObject,
    Commit,
    RefUpdate,
    Signature,
    author_line,
    commit_content,
    commit_record,
    epoch_seconds,
    signature_line,
)
from ghx_twin.git.refs import get_object, peel_to_commit
from ghx_twin.git.trees import lookup

MOST_PUSHED_COMMITS = 2_000
MOST_PUSHED_BYTES = 64 << 20
"""Limits of what is read of one push; a larger one is read from its newest commit on."""

# Commit, line there, line here, how many; lines of the file itself begin with a tab.
_BLAME = re.compile(r"([0-9a-f]{40}) \d+ (\d+) (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which commits of a history to list."""

    path: str | None = None
    since: str | None = None
    until: str | None = None
    author: frozenset[str] | None = None  # names or addresses, without regard to case

    def accepts(self, commit: pygit2.Commit) -> bool:
        """Return whether a commit has the right time and author."""
        if self.since is not None and commit.commit_time < epoch_seconds(self.since):
            return False
        if self.until is not None and commit.commit_time > epoch_seconds(self.until):
            return False
        if self.author is None:
            return True
        author = commit_record(commit).author
        return bool({author.name.casefold(), author.email.casefold()} & {name.casefold() for name in self.author})


@dataclass(frozen=True, slots=True)
class BlamedRange:
    """Neighbouring lines of a file, counted from 1, that one commit wrote last."""

    sha: str
    start: int
    end: int


def parse_blame(lines: Sequence[str]) -> list[BlamedRange]:
    """Return the ranges of `git blame --porcelain`; neighbours of one commit are one range."""
    blames: list[BlamedRange] = []
    for line in lines:
        header = _BLAME.fullmatch(line)
        if header is None:
            continue
        start, count_ = int(header[2]), int(header[3])
        if blames and blames[-1].sha == header[1]:
            blames[-1] = BlamedRange(header[1], blames[-1].start, start + count_ - 1)
        else:
            blames.append(BlamedRange(header[1], start, start + count_ - 1))
    return blames


class Log(Sequence[Commit]):
    """The commits of a history; only those that are looked at are read."""

    def __init__(self, shas: Sequence[str], read: Callable[[str], Commit]) -> None:
        self.shas, self._read = shas, read

    def __len__(self) -> int:
        return len(self.shas)

    @overload
    def __getitem__(self, index: int) -> Commit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Commit]: ...
    def __getitem__(self, index: int | slice) -> Commit | list[Commit]:
        if isinstance(index, slice):
            return [self._read(sha) for sha in self.shas[index]]
        return self._read(self.shas[index])


def walk_between(repository: pygit2.Repository, base: pygit2.Oid | None, head: pygit2.Oid) -> Iterator[pygit2.Commit]:
    """Yield the commits that `head` has and `base` has not, parents before children."""
    walker = repository.walk(head, SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE)
    if base is not None:
        walker.hide(base)
    return iter(walker)


def list_commits(start: pygit2.Commit, chosen: Filter) -> Iterator[str]:
    """Yield the shas that `git log` lists: newest first, those of a path without the commits that left it as it was."""
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
        if changed and chosen.accepts(commit):
            yield str(commit.id)


def _step(commit: pygit2.Commit, path: str | None) -> tuple[bool, list[pygit2.Commit]]:
    """Return whether a commit changed a path, and through which parents its history goes on."""
    # As git simplifies history: a parent with the same content explains it alone, the others are not followed.
    parents = commit.parents
    if not path:
        return True, parents
    here = _entry_at(commit, path)
    for parent in parents:
        if _entry_at(parent, path) == here:
            return False, [parent]
    return bool(parents) or here is not None, parents


def _entry_at(commit: pygit2.Commit, path: str) -> tuple[str, int] | None:
    entry = lookup(commit.tree, path)
    return None if entry is None else (str(entry.id), int(entry.filemode or 0))


def merge_commits(repository: pygit2.Repository, ours: pygit2.Commit, theirs: pygit2.Commit) -> str | None:
    """Merge two commits and write the tree; return its sha, None on a conflict."""
    return _write_index(repository, repository.merge_commits(ours, theirs))


def revert_commits(
    repository: pygit2.Repository, tip: pygit2.Commit, after: pygit2.Commit, before: pygit2.Commit
) -> str | None:
    """Undo on a commit what changed between two others and write the tree; return its sha, None on a conflict."""
    return _write_index(repository, repository.merge_trees(after.tree, tip.tree, before.tree))


def rebase_commits(
    repository: pygit2.Repository, onto: pygit2.Commit, base: pygit2.Commit, head: pygit2.Commit, committer: Signature
) -> str | None:
    """Copy the commits that `head` has and `base` has not onto a commit; return the last, None on a conflict.

    Merges are left out, and so is a commit whose change is there already.
    """
    tip = onto
    for commit in walk_between(repository, base.id, head.id):
        if len(commit.parents) > 1:
            continue
        before = commit.parents[0].tree_id if commit.parents else repository.TreeBuilder().write()
        tree = _write_index(repository, repository.merge_trees(before, tip.tree, commit.tree))
        if tree is None:
            return None
        if tree != str(tip.tree_id) or before == commit.tree_id:
            tip = _copy_commit(repository, commit, tip, tree, committer)
    return str(tip.id)


def _copy_commit(
    repository: pygit2.Repository, commit: pygit2.Commit, parent: pygit2.Commit, tree: str, committer: Signature
) -> pygit2.Commit:
    content = commit_content(
        tree=tree,
        parents=(str(parent.id),),
        message=commit.raw_message,
        author=author_line(commit),
        committer=signature_line(committer),
        encoding=commit.message_encoding,
    )
    copy = repository[repository.write(pygit2.enums.ObjectType.COMMIT, content)]
    return copy.peel(pygit2.Commit)


def _write_index(repository: pygit2.Repository, index: pygit2.Index) -> str | None:
    return None if index.conflicts is not None else str(index.write_tree(repository))


def pushed_texts(
    repository: pygit2.Repository, updates: Sequence[RefUpdate], known_shas: Collection[str]
) -> Iterator[bytes]:
    """Yield names and contents that refs bring with them and that no commit of `known` has in its history."""
    budget, seen = MOST_PUSHED_BYTES, set[pygit2.Oid]()
    for commit in _new_objects(repository, updates, known_shas):
        yield commit.read_raw()  # authors, message and, of a tag, its name
        if isinstance(commit, pygit2.Commit):
            for path, blob in _changed_files(repository, commit):
                yield path.encode("utf-8", "replace")
                if blob is not None and blob.id not in seen and blob.size <= budget:
                    seen.add(blob.id)
                    budget -= blob.size
                    yield blob.data


def _new_objects(
    repository: pygit2.Repository, updates: Sequence[RefUpdate], known_shas: Collection[str]
) -> Iterator[pygit2.Commit | pygit2.Tag]:
    walk = repository.walk(None)
    for sha in known_shas:
        if (old := peel_to_commit(get_object(repository, sha))) is not None:
            walk.hide(old.id)
    for sha in [update.new for update in updates if update.new is not None]:
        git_object = get_object(repository, sha)
        while isinstance(git_object, pygit2.Tag):
            yield git_object
            git_object = cast("AnyObject", git_object.get_object())
        if isinstance(git_object, pygit2.Commit):
            walk.push(git_object.id)
    for number, commit in enumerate(walk):
        if number < MOST_PUSHED_COMMITS:
            yield commit


def _changed_files(repository: pygit2.Repository, commit: pygit2.Commit) -> Iterator[tuple[str, pygit2.Blob | None]]:
    parents = commit.parents
    diff = commit.tree.diff_to_tree(parents[0].tree, swap=True) if parents else commit.tree.diff_to_tree(swap=True)
    for delta in diff.deltas:
        blob = repository.get(delta.new_file.id)
        yield delta.new_file.path, blob if isinstance(blob, pygit2.Blob) else None
