"""Branches and tags, changed by name or by a push, and the end of every change of refs."""

from collections.abc import Sequence

from ghx_twin.commands import kernel
from ghx_twin.commands.pulls import merges
from ghx_twin.commands.pulls.synchronization import BRANCHES, open_pulls_of_base, open_pulls_of_head, synchronize
from ghx_twin.git.errors import GitError
from ghx_twin.git.objects import RefUpdate
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import permissions
from ghx_twin.queries.repositories.protections import push_obstacle
from ghx_twin.queries.rulesets import describe_violations, push_violations
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.state.records import Pull, Release, Repository
from ghx_twin.world import Act

_TAGS = "refs/tags/"
_SLASHES = 2  # at least, in a full name
_NEEDS_WRITE = "Must have push access to repository"


def create(act: Act, repository: Repository, *, ref: str, sha: str) -> str:
    """Create a ref by its full name and return its target."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    git = act.git(repository)
    _check_name(git, ref)
    if git.ref(ref) is not None:
        raise InvalidRefusal("Reference already exists")
    _check_object(git, ref, sha)
    push(act, repository, [RefUpdate(ref, None, sha)])
    return sha


def update(act: Act, repository: Repository, *, ref: str, sha: str, force: bool = False) -> str:
    """Move a ref and return its target; only with `force` where that is no fast-forward."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    git = act.git(repository)
    current = _current(git, ref)
    _check_object(git, ref, sha)
    kinds = {git.kind(current), git.kind(sha)}  # a tag may point at anything, which has no ancestors
    if not force and current != sha and not (kinds == {"commit"} and git.is_ancestor(current, sha)):
        raise InvalidRefusal("Update is not a fast forward")
    push(act, repository, [RefUpdate(ref, current, sha)])
    return sha


def delete(act: Act, repository: Repository, *, ref: str) -> None:
    """Delete a ref; the default branch cannot be deleted."""
    permissions.require(act, repository, "write", _NEEDS_WRITE)
    current = _current(act.git(repository), ref)
    if ref == f"refs/heads/{repository.default_branch}":
        raise InvalidRefusal("Cannot delete the default branch")
    push(act, repository, [RefUpdate(ref, current, None)])


def push(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Change refs as the viewer, who may write to the repository, and bring what depends on them up to date."""
    git = act.git(repository)
    for update in updates:
        if reason := push_obstacle(act.world, act.viewer, repository, update):
            raise InvalidRefusal(reason)
        if violations := push_violations(act.world, act.viewer, repository, update):
            raise InvalidRefusal(describe_violations(violations))
        try:
            git.set_ref(update.ref, update.new)
        except GitError as error:
            raise InvalidRefusal("Reference update failed") from error
    record_push(act, repository, updates)


def record_push(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Bring pull requests, issues and workflows up to date with refs that have moved, and attempt auto-merges.

    For a push by git, whose refs have moved already when git answers.
    """
    current = kernel.reload(act, repository)
    synchronize(act, current, updates)
    for update in updates:
        if update.new is None and update.ref.startswith(_TAGS):
            _unpublish(act, current, update.ref.removeprefix(_TAGS))
    for pull in _auto_merging_pulls(act, current, updates):
        merges.attempt_auto_merge(act, pull)


def _unpublish(act: Act, repository: Repository, tag_name: str) -> None:
    """Make the release of a deleted tag a draft, as GitHub does."""
    for release in act.database.all(Release, repository_id=repository.id, tag_name=tag_name, draft=False):
        kernel.touch(act, release, draft=True, is_latest=False, published_at=None)


def _auto_merging_pulls(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> list[Pull]:
    auto_merging_pulls: dict[int, Pull] = {}
    for update in updates:
        branch = update.ref.removeprefix(BRANCHES)
        if branch != update.ref:
            pulls = open_pulls_of_head(act, repository, branch) + open_pulls_of_base(act, repository, branch)
            auto_merging_pulls |= {pull.id: pull for pull in pulls if pull.auto_merge}
    return list(auto_merging_pulls.values())


def _current(git: GitRepository, ref: str) -> str:
    current = git.ref(ref)
    if current is None or ref.startswith("refs/pull/"):
        raise InvalidRefusal("Reference does not exist")
    return current


def _check_name(git: GitRepository, ref: str) -> None:
    """Refuse names that no branch or tag can have; those of pull requests are GitHub's own."""
    if not ref.startswith("refs/"):
        raise InvalidRefusal("Reference name must start with 'refs/'.")
    if ref.count("/") < _SLASHES:
        raise InvalidRefusal("Reference name must contain at least three slash-separated components.")
    branch = ref.removeprefix("refs/heads/")
    if not git.is_ref_name(ref) or ref.startswith("refs/pull/") or branch.startswith("-") or branch == "HEAD":
        raise InvalidRefusal(f"{ref} is not a valid ref name.")


def _check_object(git: GitRepository, ref: str, sha: str) -> None:
    kind = git.kind(sha)
    if kind is None:
        raise InvalidRefusal("Object does not exist")
    if ref.startswith("refs/heads/") and kind != "commit":
        raise InvalidRefusal("Reference update failed")
