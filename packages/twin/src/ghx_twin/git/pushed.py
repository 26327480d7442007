"""What a push has brought: the texts of its new commits and tags, and the files that they add or change."""

from collections.abc import Collection, Iterator, Sequence
from typing import cast

import pygit2

from ghx_twin.git.objects import AnyObject, RefUpdate
from ghx_twin.git.refs import get_object, peel_to_commit

MOST_COMMITS = 2_000
MOST_BYTES = 64 << 20
"""What is read of one push; a larger one is read from its newest commit on."""


def pushed_texts(
    repository: pygit2.Repository, updates: Sequence[RefUpdate], known: Collection[str]
) -> Iterator[bytes]:
    """Yield names and contents that refs bring with them and that no commit of `known` has in its history."""
    left, seen = MOST_BYTES, set[pygit2.Oid]()
    for commit in _new_objects(repository, updates, known):
        yield commit.read_raw()  # authors, message and, of a tag, its name
        if isinstance(commit, pygit2.Commit):
            for path, blob in _changed_files(repository, commit):
                yield path.encode("utf-8", "replace")
                if blob is not None and blob.id not in seen and blob.size <= left:
                    seen.add(blob.id)
                    left -= blob.size
                    yield blob.data


def _new_objects(
    repository: pygit2.Repository, updates: Sequence[RefUpdate], known: Collection[str]
) -> Iterator[pygit2.Commit | pygit2.Tag]:
    walk = repository.walk(None)
    for sha in known:
        if (old := peel_to_commit(get_object(repository, sha))) is not None:
            walk.hide(old.id)
    for sha in [update.new for update in updates if update.new is not None]:
        found = get_object(repository, sha)
        while isinstance(found, pygit2.Tag):
            yield found
            found = cast("AnyObject", found.get_object())
        if isinstance(found, pygit2.Commit):
            walk.push(found.id)
    for number, commit in enumerate(walk):
        if number < MOST_COMMITS:
            yield commit


def _changed_files(repository: pygit2.Repository, commit: pygit2.Commit) -> Iterator[tuple[str, pygit2.Blob | None]]:
    parents = commit.parents
    diff = commit.tree.diff_to_tree(parents[0].tree, swap=True) if parents else commit.tree.diff_to_tree(swap=True)
    for delta in diff.deltas:
        found = repository.get(delta.new_file.id)
        yield delta.new_file.path, found if isinstance(found, pygit2.Blob) else None
