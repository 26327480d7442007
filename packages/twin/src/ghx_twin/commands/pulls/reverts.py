"""Reverting a merged pull request: a branch with the opposite commit, and a pull request for it."""

from ghx_twin.commands import kernel
from ghx_twin.commands.pulls import pulls
from ghx_twin.commands.repositories import refs
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.state.records import Pull, Repository
from ghx_twin.world import Act

_CONFLICT = (
    "Sorry, this pull request couldn't be reverted automatically. It may have already been reverted, or the content "
    "may have changed since it was merged."
)


def revert(act: Act, pull: Pull, *, title: str | None = None, body: str | None = None, draft: bool = False) -> Pull:
    """Open a pull request that undoes a merged one; who can write may."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    repository = lookup.repository_of(act.world, current)
    require(act, repository, "write")
    if current.merged_at is None or current.merge_commit_sha is None:
        raise InvalidRefusal("Pull request must be merged to be reverted.")
    tip = act.git(repository).ref(f"refs/heads/{current.base_ref}")
    if tip is None:
        raise InvalidRefusal(f"The base branch {current.base_ref} was deleted.")
    branch = f"revert-{issue.number}-{current.head_ref}"
    sha = _write_revert(act, repository, current, current.merge_commit_sha, tip)
    refs.create(act, repository, ref=f"refs/heads/{branch}", sha=sha)
    return pulls.create(
        act,
        repository,
        title=title or f'Revert "{issue.title}"',
        body=body if body is not None else f"Reverts {lookup.full_name(act.world, repository)}#{issue.number}",
        head=branch,
        base=current.base_ref,
        draft=draft,
    )


def _write_revert(act: Act, repository: Repository, pull: Pull, merged: str, tip: str) -> str:
    git = act.git(repository)
    commit, last = git.commit(merged), git.commit(tip)
    # A squash or a rebase leaves no second parent; the pull request remembers where its base was.
    before = commit.parents[0] if commit and len(commit.parents) > 1 else pull.base_sha
    tree = git.revert(tip, merged, before)
    if tree is None or commit is None or last is None or tree == last.tree:
        raise InvalidRefusal(_CONFLICT)
    headline = commit.message.partition("\n")[0]
    reversing = f", reversing\nchanges made to {before}" if len(commit.parents) > 1 else ""
    user = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    return git.write_commit(
        tree=tree,
        parents=(tip,),
        message=f'Revert "{headline}"\n\nThis reverts commit {merged}{reversing}.',
        author=kernel.user_signature(user, act.now),
        committer=kernel.github_signature(act.now),
    )
