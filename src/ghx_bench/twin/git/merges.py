"""Merges and rebases, without a working copy."""

import pygit2

from ghx_bench.twin.git.history import walk_between
from ghx_bench.twin.git.objects import Signature, author_line, commit_content, signature_line


def merge_commits(repository: pygit2.Repository, ours: pygit2.Commit, theirs: pygit2.Commit) -> str | None:
    """Merge two commits and write the tree; None where they contradict each other."""
    return _write_index(repository, repository.merge_commits(ours, theirs))


def rebase_commits(
    repository: pygit2.Repository, onto: pygit2.Commit, base: pygit2.Commit, head: pygit2.Commit, committer: Signature
) -> str | None:
    """Copy the commits that `head` has and `base` has not onto a commit, and return the last copy.

    Merges are left out, and so is a commit whose change is there already. None where a commit does not apply.
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
