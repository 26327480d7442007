"""Merging pull requests: three methods, each as real commits."""

from typing import Literal

from ghx_bench.twin.commands import kernel
from ghx_bench.twin.commands.conclusion import mark_pull_merged
from ghx_bench.twin.commands.merge_messages import merge_message, squash_message
from ghx_bench.twin.commands.synchronization import BRANCHES, open_pulls_of_head, synchronize
from ghx_bench.twin.git.repository import RefUpdate
from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.queries.comparison import base_tip
from ghx_bench.twin.queries.mergeability import mergeable, obstacles
from ghx_bench.twin.queries.protections import binds, protection_of
from ghx_bench.twin.refusals import ConflictRefusal, NotAllowedRefusal, Refusal
from ghx_bench.twin.state.records import Pull, Repository
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import Act

Method = Literal["merge", "squash", "rebase"]

_UNMERGEABLE, _UNREBASEABLE = "Pull Request is not mergeable", "This branch can't be rebased"
_DISALLOWED: dict[Method, str] = {
    "merge": "Merge commits are not allowed on this repository.",
    "squash": "Squash merges are not allowed on this repository.",
    "rebase": "Rebase merges are not allowed on this repository.",
}


def merge(
    act: Act,
    pull: Pull,
    *,
    method: Method = "merge",
    title: str | None = None,
    message: str | None = None,
    expected_head: str | None = None,
) -> str:
    """Merge a pull request and return the commit that did it; deletes the head branch where that is the habit."""
    current = kernel.reload(act, pull)
    repository = lookup.repository_of(act.world, current)
    permissions.require(act, repository, "write")
    if refusal := find_obstacle(act, act.viewer, current, method, expected_head=expected_head):
        raise refusal
    base = base_tip(act.world, current)
    commit = _COMMITS[method](act, current, title, message)
    act.git(repository).set_ref(BRANCHES + current.base_ref, commit)
    mark_pull_merged(act, current, commit=commit, base=base)
    synchronize(act, repository, [RefUpdate(BRANCHES + current.base_ref, base, commit)])
    _delete_head(act, repository, current)
    return commit


def find_obstacle(
    act: Act, viewer: Viewer | None, pull: Pull, method: Method, *, expected_head: str | None = None
) -> Refusal | None:
    """Return what would be answered to a merge that cannot be done; None if it can."""
    if lookup.issue_of(act.world, pull).state != "open":
        return NotAllowedRefusal(_UNMERGEABLE)
    if pull.draft:
        return NotAllowedRefusal("Pull Request is still a draft")
    if expected_head is not None and expected_head.lower() != pull.head_sha:
        return ConflictRefusal("Head branch was modified. Review and try the merge again.")
    reason = _find_rule_obstacle(act, viewer, pull, method)
    return NotAllowedRefusal(reason) if reason else None


def _find_rule_obstacle(act: Act, viewer: Viewer | None, pull: Pull, method: Method) -> str | None:
    repository = lookup.repository_of(act.world, pull)
    if not _allows(repository, method):
        return _DISALLOWED[method]
    if mergeable(act.world, pull) != "MERGEABLE":
        return _UNMERGEABLE
    if method == "rebase" and _rebase(act, pull) is None:
        return _UNREBASEABLE
    rules = protection_of(act.world, repository, pull.base_ref)
    held = rules is not None and binds(act.world, rules, viewer, repository)
    return " ".join(obstacles(act.world, pull)) or None if held else None


def require_method(repository: Repository, method: Method) -> None:
    """Refuse a way to merge that a repository does not allow."""
    if not _allows(repository, method):
        raise NotAllowedRefusal(_DISALLOWED[method])


def _allows(repository: Repository, method: Method) -> bool:
    match method:
        case "merge":
            return repository.allow_merge_commit
        case "squash":
            return repository.allow_squash_merge
        case "rebase":
            return repository.allow_rebase_merge


def _merge_commit(act: Act, pull: Pull, title: str | None, message: str | None) -> str:
    repository = lookup.repository_of(act.world, pull)
    git, base = act.git(repository), base_tip(act.world, pull)
    merger = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    return git.write_commit(
        tree=_merge_trees(act, pull),
        parents=(base, pull.head_sha),
        message=merge_message(act.world, pull, title, message),
        author=kernel.user_signature(merger, act.now),
        committer=kernel.github_signature(act.now),
    )


def _squash_commit(act: Act, pull: Pull, title: str | None, message: str | None) -> str:
    repository, issue = lookup.repository_of(act.world, pull), lookup.issue_of(act.world, pull)
    author = lookup.user_by_id(act.world, issue.author_id)
    return act.git(repository).write_commit(
        tree=_merge_trees(act, pull),
        parents=(base_tip(act.world, pull),),
        message=squash_message(act.world, pull, title, message),
        author=kernel.user_signature(author, act.now),
        committer=kernel.github_signature(act.now),
    )


def _rebase_commits(act: Act, pull: Pull, _title: str | None, _message: str | None) -> str:
    tip = _rebase(act, pull)
    if tip is None:
        raise NotAllowedRefusal(_UNREBASEABLE)
    return tip


def _rebase(act: Act, pull: Pull) -> str | None:
    repository = lookup.repository_of(act.world, pull)
    git, base = act.git(repository), base_tip(act.world, pull)
    merger = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    start = git.merge_base(base, pull.head_sha)
    return start and git.rebase(base, start, pull.head_sha, kernel.user_signature(merger, act.now))


_COMMITS = {"merge": _merge_commit, "squash": _squash_commit, "rebase": _rebase_commits}


def _merge_trees(act: Act, pull: Pull) -> str:
    tree = act.git(lookup.repository_of(act.world, pull)).merge(base_tip(act.world, pull), pull.head_sha)
    if tree is None:
        raise NotAllowedRefusal(_UNMERGEABLE)
    return tree


def _delete_head(act: Act, repository: Repository, pull: Pull) -> None:
    branch = pull.head_ref
    if not repository.delete_branch_on_merge or pull.head_repository_id != repository.id:
        return
    if branch == repository.default_branch or protection_of(act.world, repository, branch):
        return
    if open_pulls_of_head(act, repository, branch):
        return  # another pull request still wants it merged elsewhere
    git, name = act.git(repository), BRANCHES + branch
    tip = git.ref(name)
    if tip is None:
        return
    git.set_ref(name, None)
    synchronize(act, repository, [RefUpdate(name, tip, None)])
