"""Access to a repository: collaborators, and the protection of branches."""

from typing import TypedDict, Unpack

from ghx_twin.commands import kernel
from ghx_twin.commands.texts import check_unicode_all, invalid, missing
from ghx_twin.queries.permissions import ROLES, require
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import Collaborator, Protection, Repository, User
from ghx_twin.world import Act

MOST_APPROVALS = 6


class Rules(TypedDict, total=False):
    """The rules of a protected branch."""

    required_approvals: int | None
    dismiss_stale_reviews: bool
    required_checks: tuple[str, ...]
    strict_checks: bool
    enforce_admins: bool
    allow_force_pushes: bool
    allow_deletions: bool


def add_collaborator(act: Act, repository: Repository, user: User, role: str = "write") -> Collaborator:
    """Give a user a role in a repository, or change the one they have; there are no invitations to accept."""
    require(act, repository, "admin")
    if role not in ROLES[1:]:
        raise invalid("Repository", "permission", value=role)
    if user.id == repository.owner_id or user.type == "Organization":
        raise invalid("Repository", "collaborator", message="Repository owner cannot be a collaborator")
    collaborator = act.database.one(Collaborator, repository_id=repository.id, user_id=user.id)
    if collaborator:
        return act.database.update(collaborator, role=role)
    return act.database.insert(Collaborator, repository_id=repository.id, user_id=user.id, role=role)


def remove_collaborator(act: Act, repository: Repository, user: User) -> None:
    """Remove a collaborator; users may remove themselves."""
    is_self = act.viewer is not None and act.viewer.id == user.id
    require(act, repository, "read" if is_self else "admin")
    collaborator = act.database.one(Collaborator, repository_id=repository.id, user_id=user.id)
    if collaborator:
        act.database.delete(collaborator)


def protect(act: Act, repository: Repository, *, pattern: str, **rules: Unpack[Rules]) -> Protection:
    """Protect the branches whose names match a pattern; rules that are not given keep their value."""
    require(act, repository, "admin")
    if not pattern:
        raise missing("ProtectedBranch", "pattern")
    check_unicode_all({**rules, "pattern": pattern}, resource="ProtectedBranch")
    approvals = rules.get("required_approvals")
    if approvals is not None and not 0 <= approvals <= MOST_APPROVALS:
        raise invalid("ProtectedBranch", "required_approving_review_count", value=approvals)
    protection = act.database.one(Protection, repository_id=repository.id, pattern=pattern)
    if protection:
        return act.database.update(protection, **rules)
    return act.database.insert(Protection, repository_id=repository.id, pattern=pattern, **rules)


def unprotect(act: Act, protection: Protection) -> None:
    """Remove a protection."""
    repository = act.database.get(Repository, protection.repository_id)
    if repository is None:
        raise NotFoundRefusal("Branch not protected")
    require(act, repository, "admin")
    act.database.delete(kernel.reload(act, protection))
