"""Bringing the branch of a pull request up to date with its base."""

from typing import Literal

from ghx_bench.twin.commands import kernel, pushes
from ghx_bench.twin.git.repository import RefUpdate
from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.queries.comparison import base_tip, git_of
from ghx_bench.twin.refusals import InvalidRefusal, RoleRefusal
from ghx_bench.twin.state.records import Pull, Repository
from ghx_bench.twin.world import Act


def update_branch(
    act: Act, pull: Pull, *, expected_head: str | None = None, method: Literal["merge", "rebase"] = "merge"
) -> Pull:
    """Take the base into the branch of a pull request, by a merge commit or by rebasing it."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    home = _writable_head(act, current)
    if issue.state != "open":
        raise InvalidRefusal("Pull request is closed")
    if expected_head is not None and expected_head.lower() != current.head_sha:
        raise InvalidRefusal("expected head sha didn\u2019t match current head ref.")
    base = base_tip(act.world, current)
    if git_of(act.world, current).is_ancestor(base, current.head_sha):
        raise InvalidRefusal("There are no new commits on the base branch.")
    tip = _merge_base_into_head(act, current, base) if method == "merge" else _rebase_head_onto_base(act, current, base)
    if tip is None:
        raise InvalidRefusal("merge conflict between base and head")
    name = f"refs/heads/{current.head_ref}"
    act.git(home).fetch(git_of(act.world, current), tip, name)
    pushes.record_push(act, home, [RefUpdate(name, current.head_sha, tip)])
    return kernel.reload(act, current)


def _writable_head(act: Act, pull: Pull) -> Repository:
    repository = lookup.repository_of(act.world, pull)
    permissions.require(act, repository, "read")
    home = act.database.get(Repository, pull.head_repository_id)
    if home is None:
        raise InvalidRefusal("The repository of the head branch has been deleted.")
    maintains = pull.maintainer_can_modify and permissions.may(act.world, act.viewer, repository, "write")
    if not maintains and not permissions.may(act.world, act.viewer, home, "write"):
        raise RoleRefusal(permissions.NEEDS_ADMIN)
    return home


def _merge_base_into_head(act: Act, pull: Pull, base: str) -> str | None:
    repository, git = lookup.repository_of(act.world, pull), git_of(act.world, pull)
    tree = git.merge(pull.head_sha, base)
    user = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    return tree and git.write_commit(
        tree=tree,
        parents=(pull.head_sha, base),
        message=f"Merge branch '{pull.base_ref}' into {pull.head_ref}",
        author=kernel.user_signature(user, act.now),
        committer=kernel.github_signature(act.now),
    )


def _rebase_head_onto_base(act: Act, pull: Pull, base: str) -> str | None:
    repository, git = lookup.repository_of(act.world, pull), git_of(act.world, pull)
    user = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    start = git.merge_base(base, pull.head_sha)
    return start and git.rebase(base, start, pull.head_sha, kernel.user_signature(user, act.now))
