"""What a viewer may do: the smaller of the user's role in a repository and the scopes of the token."""

import json
from typing import Literal, cast

from ghx_twin.refusals import ForbiddenRefusal, NotFoundRefusal, RoleRefusal
from ghx_twin.state.records import (
    Collaborator,
    Comment,
    Issue,
    Membership,
    Repository,
    TeamRepository,
    User,
)
from ghx_twin.viewer import AppAccess, Viewer
from ghx_twin.world import Act, World

Role = Literal["none", "read", "triage", "write", "maintain", "admin"]
Association = Literal["OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR", "NONE"]
ROLES: tuple[Role, ...] = ("none", "read", "triage", "write", "maintain", "admin")
NEEDS_ADMIN = "Must have admin rights to Repository."
NO_INTEGRATION = "Resource not accessible by integration"
VARIABLES = ("actions_variables", "variables")
"""The permission of an app for variables: the API's name, and the one in GitHub's documentation."""
ARCHIVED = "Repository was archived so is read-only."
_FOR_WRITERS = (
    "contents", "pull_requests", "checks", "statuses", "actions", "workflows", "deployments", "environments", "secrets",
    *VARIABLES,
)  # fmt: skip
_RANK = {name: rank for rank, name in enumerate(ROLES)}


def at_least(actual: str, needed: str) -> bool:
    """Return whether one role includes another."""
    return _RANK[cast("Role", actual)] >= _RANK[cast("Role", needed)]


def role(world: World, viewer: Viewer | None, repository: Repository) -> Role:
    """Return the role of a viewer in a repository; without a viewer, admin."""
    if viewer is None or viewer.unrestricted:
        return "admin"
    if viewer.app is not None:
        return _app_role(viewer.app, repository)
    user_rights = user_role(world, viewer.user, repository)
    if not at_least(user_rights, "read"):
        return user_rights
    if repository.visibility != "public":
        return user_rights if viewer.has_scope("repo") else "none"
    return "read" if _only_reads(viewer, repository) else user_rights


def _app_role(app: AppAccess, repository: Repository) -> Role:
    """Return the role that the permissions of an installation come to in a repository."""
    if not app.reaches(repository):
        return "read" if repository.visibility == "public" else "none"
    if app.may("administration"):
        return "admin"
    if app.may(*_FOR_WRITERS):
        return "write"
    return "triage" if app.may("issues") else "read"


def user_role(world: World, user: User, repository: Repository) -> Role:
    """Return a user's role in a repository, whatever token they hold."""
    if user.id == repository.owner_id:
        return "admin"
    user_roles: list[str] = ["read" if repository.visibility == "public" else "none"]
    collaborator = world.database.one(Collaborator, repository_id=repository.id, user_id=user.id)
    if collaborator:
        user_roles.append(collaborator.role)
    membership = world.database.one(Membership, organization_id=repository.owner_id, user_id=user.id)
    if membership:
        user_roles.append("admin" if membership.role == "admin" else "read")
        user_roles += [team.role for team in _team_roles(world, user, repository)]
    return cast("Role", max(user_roles, key=lambda name: _RANK[cast("Role", name)]))


def may(world: World, viewer: Viewer | None, repository: Repository, needed: Role) -> bool:
    """Return whether a viewer has at least a role in a repository."""
    return at_least(role(world, viewer, repository), needed)


def is_visible(world: World, viewer: Viewer | None, repository: Repository) -> bool:
    """Return whether a viewer may know that a repository exists."""
    return may(world, viewer, repository, "read")


def visible_repositories(world: World, viewer: Viewer | None) -> list[Repository]:
    """Return every repository that a viewer may see, oldest first."""
    return [one for one in world.database.all(Repository) if is_visible(world, viewer, one)]


def require(
    act: Act, repository: Repository, needed: Role, message: str = NEEDS_ADMIN, *, even_archived: bool = False
) -> None:
    """Refuse a change that the viewer may not make; a repository they cannot see is not found."""
    if act.viewer is None or act.viewer.unrestricted:
        return
    actual = role(act.world, act.viewer, repository)
    if not at_least(actual, "read"):
        owner = act.database.get(User, repository.owner_id)
        name = f"{owner.login if owner else '?'}/{repository.name}"
        # Not "forbidden": GitHub does not tell that a private repository exists.
        raise NotFoundRefusal(f"Could not resolve to a Repository with the name '{name}'.")
    if not at_least(actual, needed):
        if act.viewer.app is not None:
            raise ForbiddenRefusal(NO_INTEGRATION)
        if not at_least(user_role(act.world, act.viewer.user, repository), needed):
            raise RoleRefusal(message)
        # The user may, and the token may not: GitHub's answer names the scope that is missing.
        scope = "public_repo" if repository.visibility == "public" else "repo"
        raise ForbiddenRefusal(message, needed_scopes=(scope,))
    if repository.archived and not even_archived:
        raise ForbiddenRefusal(ARCHIVED)
    if act.viewer.app is None and _only_reads(act.viewer, repository):
        raise ForbiddenRefusal("Resource not accessible by personal access token", needed_scopes=("public_repo",))


def require_organization_admin(
    world: World,
    viewer: Viewer | None,
    organization: User,
    message: str = "You must be an admin of this organization.",
    *,
    hidden_from: Literal["nobody", "strangers", "members"] = "nobody",
) -> None:
    """Refuse a viewer who is no administrator of an organization, or whose token may not act as one.

    What is hidden from strangers, or also from members without that role, is not found.
    """
    if viewer is None or viewer.unrestricted:
        return
    member = world.database.one(Membership, organization_id=organization.id, user_id=viewer.id)
    if member is None or member.role != "admin":
        if hidden_from == "members" or (hidden_from == "strangers" and member is None):
            raise NotFoundRefusal(f"Could not resolve to an Organization with the login of '{organization.login}'.")
        raise ForbiddenRefusal(message)
    if not viewer.has_scope("write:org"):
        raise ForbiddenRefusal(message, needed_scopes=("admin:org",))


def assignable(world: World, repository: Repository, user: User, issue: Issue | None = None) -> bool:
    """Return whether a user can be assigned: the owner, members, collaborators, and participants of the issue."""
    if user.type == "Organization" or not at_least(user_role(world, user, repository), "read"):
        return False
    database = world.database
    if (
        user.id == repository.owner_id
        or database.one(Membership, organization_id=repository.owner_id, user_id=user.id)
        or database.one(Collaborator, repository_id=repository.id, user_id=user.id)
    ):
        return True
    if issue is None:
        return False
    return issue.author_id == user.id or bool(database.count(Comment, issue_id=issue.id, author_id=user.id))


def assignable_users(world: World, repository: Repository) -> list[User]:
    """Return the users who can be assigned to any issue of a repository, by login."""
    # Without a hand in the repository nobody is: those who have none are not looked at, since a world may have many.
    collaborators = world.database.all(Collaborator, repository_id=repository.id)
    members = world.database.all(Membership, organization_id=repository.owner_id)
    ids = {repository.owner_id, *(one.user_id for one in collaborators), *(one.user_id for one in members)}
    users = world.database.select(
        User, "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY login", (json.dumps(sorted(ids)),)
    )
    return [user for user in users if assignable(world, repository, user)]


def author_association(world: World, repository: Repository, user: User) -> Association:
    """Return the association of an author with a repository, which both APIs show next to what they wrote."""
    if user.id == repository.owner_id:
        return "OWNER"
    if world.database.one(Membership, organization_id=repository.owner_id, user_id=user.id):
        return "MEMBER"
    if world.database.one(Collaborator, repository_id=repository.id, user_id=user.id):
        return "COLLABORATOR"
    merged = world.database.count(
        Issue,
        "JOIN pulls ON pulls.issue_id = issues.id "
        "WHERE issues.repository_id = ? AND issues.author_id = ? AND pulls.merged_at IS NOT NULL",
        (repository.id, user.id),
    )
    return "CONTRIBUTOR" if merged else "NONE"


def _team_roles(world: World, user: User, repository: Repository) -> list[TeamRepository]:
    return world.database.select(
        TeamRepository,
        "JOIN team_members ON team_members.team_id = team_repositories.team_id "
        "WHERE team_repositories.repository_id = ? AND team_members.user_id = ?",
        (repository.id, user.id),
    )


def _only_reads(viewer: Viewer, repository: Repository) -> bool:
    return repository.visibility == "public" and not viewer.has_scope("public_repo")
