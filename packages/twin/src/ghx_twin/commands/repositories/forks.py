"""Forks of repositories."""

from itertools import chain, count

from ghx_twin.commands import kernel
from ghx_twin.commands.issues import labels
from ghx_twin.commands.repositories.creation import require_creation
from ghx_twin.commands.repositories.settings import check_free_name, remove_redirect
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import ForbiddenRefusal
from ghx_twin.state.records import Repository, User
from ghx_twin.world import Act

EMPTY = "The repository exists, but it contains no Git content. Empty repositories cannot be forked."


def fork(
    act: Act, repository: Repository, *, owner: User, name: str | None = None, default_branch_only: bool = False
) -> Repository:
    """Fork a repository into an account, or return the fork that a person has already, as GitHub does."""
    source = kernel.reload(act, repository)
    require(act, source, "read", even_archived=True)
    require_creation(act, owner, source.visibility)
    if owner.type != "Organization":  # which may have several
        if own := _own_ancestor(act, source, owner):
            return own  # GitHub hands out the repository itself, which gh takes for a refusal
        if existing := act.database.one(Repository, owner_id=owner.id, parent_id=source.id):
            return existing
    _refuse_impossible(act, source)
    stem, dash, last = source.name.rpartition("-")
    numbered = bool(dash) and last.isascii() and last.isdigit()  # `x-1` is followed by `x-2`, not by `x-1-1`
    stem, first = (stem, int(last[:9]) + 1) if numbered else (source.name, 1)
    candidates = chain([source.name], (f"{stem}-{number}" for number in count(first)))
    free = next(one for one in candidates if not act.database.one(Repository, owner_id=owner.id, name=one))
    copy = act.database.insert(
        Repository,
        owner_id=owner.id,
        name=check_free_name(act, owner, name) if name else free,
        description=source.description,
        homepage=source.homepage,
        visibility=source.visibility,
        default_branch=source.default_branch,
        has_issues=False,  # as on GitHub, where the issues of a fork must be switched on
        parent_id=source.id,
        created_at=act.now,
        updated_at=act.now,
        pushed_at=source.pushed_at,
    )
    remove_redirect(act, owner, copy.name)
    act.world.storage.create_fork(copy.id, source.id)
    if default_branch_only:
        _keep_default_branch(act, copy)
    labels.create_defaults(act, copy)
    return copy


def _own_ancestor(act: Act, repository: Repository, owner: User) -> Repository | None:
    """Return what an account has of a repository and those it was forked from."""
    current: Repository | None = repository
    while current is not None and current.owner_id != owner.id:
        current = act.database.get(Repository, current.parent_id)
    return current


def _refuse_impossible(act: Act, source: Repository) -> None:
    if source.visibility != "public" and not source.allow_forking:
        raise ForbiddenRefusal("Forking is disabled for this repository.")
    if not act.git(source).refs("refs/heads/"):
        raise ForbiddenRefusal(EMPTY)


def _keep_default_branch(act: Act, repository: Repository) -> None:
    git = act.git(repository)
    for ref in git.refs():
        if ref != f"refs/heads/{repository.default_branch}":
            git.set_ref(ref, None)
