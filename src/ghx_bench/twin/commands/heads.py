"""The branch that a new pull request would merge: found by the name it was given, and checked."""

from dataclasses import dataclass

from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal
from ghx_bench.twin.state.records import Pull, Repository
from ghx_bench.twin.world import Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A branch to merge, where it is, and the tip of the branch it would go into."""

    repository: Repository
    branch: str
    sha: str
    base_sha: str


def find_head(act: Act, repository: Repository, head: str, base: str, given: Repository | None) -> Head:
    """Find the head of a new pull request, which the viewer must be able to push to, and its base."""
    owner, _, name = head.rpartition(":")
    home = given or (_fork_of(act, repository, owner) if owner else repository)
    sha = act.git(home).ref(f"refs/heads/{name}") if home and name else None
    base_sha = act.git(repository).ref(f"refs/heads/{base}") if base else None
    if home is None or sha is None or base_sha is None:
        raise _unknown_branches(head, base, head_found=sha is not None, base_found=base_sha is not None)
    if not permissions.may(act.world, act.viewer, home, "write"):
        raise _refuse_creation("must be a collaborator")
    _refuse_second(act, repository, home, name, base)
    return Head(repository=home, branch=name, sha=sha, base_sha=base_sha)


def check_new_commits(act: Act, repository: Repository, head: Head, base: str) -> None:
    """Refuse a head that brings nothing, or that has no history in common with its base."""
    git, label = act.git(repository), head.branch
    if head.repository.id != repository.id:
        mine, theirs = lookup.owner(act.world, repository).login, lookup.owner(act.world, head.repository).login
        base, label = f"{mine}:{base}", f"{theirs}:{label}"
    if git.is_ancestor(head.sha, head.base_sha):
        raise _refuse_creation(f"No commits between {base} and {label}")
    if git.merge_base(head.base_sha, head.sha) is None:
        raise _refuse_creation(f"The {label} branch has no history in common with {base}")


def _fork_of(act: Act, repository: Repository, login: str) -> Repository | None:
    """Return the repository of the same network that an owner has."""
    try:
        owner = lookup.account(act.world, login)
    except NotFoundRefusal:
        return None
    if owner.id == repository.owner_id:
        return repository
    root = _root(act, repository)
    owned = act.database.all(Repository, owner_id=owner.id)
    related = (one for one in owned if _root(act, one).id == root.id)
    return next((one for one in related if permissions.is_visible(act.world, act.viewer, one)), None)


def _root(act: Act, repository: Repository) -> Repository:
    current = repository
    while (parent := act.database.get(Repository, current.parent_id)) is not None:
        current = parent
    return current


def _refuse_second(act: Act, repository: Repository, home: Repository, branch: str, base: str) -> None:
    same = act.database.all(
        Pull, repository_id=repository.id, head_repository_id=home.id, head_ref=branch, base_ref=base
    )
    if any(lookup.issue_of(act.world, pull).state == "open" for pull in same):
        raise _refuse_creation(f"A pull request already exists for {lookup.owner(act.world, home).login}:{branch}.")


def _unknown_branches(head: str, base: str, *, head_found: bool, base_found: bool) -> InvalidRefusal:
    missing = [field for field, found in (("head", head_found), ("base", base_found)) if not found]
    told = ["Head sha can't be blank", "Base sha can't be blank", f"No commits between {base} and {head}"]
    told += [f"{field.capitalize()} ref must be a branch" for field in missing]
    errors = tuple(FieldError(resource="PullRequest", field=field, code="invalid") for field in missing)
    return InvalidRefusal(errors=errors, graphql=", ".join(told))


def _refuse_creation(message: str) -> InvalidRefusal:
    return InvalidRefusal(errors=(FieldError(resource="PullRequest", code="custom", message=message),))
