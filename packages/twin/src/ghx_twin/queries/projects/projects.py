"""Projects: who may see and change them, what is on them, and what their items hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal, cast

from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import NO_INTEGRATION, is_visible
from ghx_twin.refusals import ForbiddenRefusal, NotFoundRefusal
from ghx_twin.state.database import Database
from ghx_twin.state.records import (
    DraftIssue,
    Issue,
    Membership,
    Project,
    ProjectCollaborator,
    ProjectField,
    ProjectItem,
    ProjectItemValue,
    ProjectRepository,
    ProjectStatusUpdate,
    Repository,
    User,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World

ProjectRole = Literal["none", "reader", "writer", "admin"]
_RANK: dict[str, int] = {"none": 0, "reader": 1, "writer": 2, "admin": 3}
_APP_ROLES = {"read": "reader", "write": "writer", "admin": "admin"}  # by the level of `organization_projects`
STATUS, DONE = "Status", "Done"
ITEM_CLOSED, PULL_MERGED = "Item closed", "Pull request merged"
"""The workflows that every new project has: they set the status of what is over to Done."""
READ_SCOPE, WRITE_SCOPE = "read:project", "project"


@dataclass(frozen=True, slots=True)
class Iteration:
    """One stretch of time of an iteration field."""

    id: str
    title: str
    start_date: str
    duration: int  # days

    def is_over(self, now: str) -> bool:
        """Return whether its last day has passed."""
        return (date.fromisoformat(self.start_date) + timedelta(days=self.duration)).isoformat() <= now[:10]


def role(world: World, viewer: Viewer | None, project: Project) -> ProjectRole:
    """Return the role of a viewer in a project: members of the organization may write unless said otherwise."""
    if viewer is None or viewer.unrestricted or viewer.id == project.owner_id:
        return "admin"
    roles = ["reader" if project.public else "none"]
    if viewer.app is not None and viewer.app.account_id == project.owner_id:
        roles.append(_APP_ROLES.get(viewer.app.permissions.get("organization_projects", ""), "none"))
    project_collaborator = world.database.one(ProjectCollaborator, project_id=project.id, user_id=viewer.id)
    if project_collaborator:
        roles.append(project_collaborator.role)
    member = world.database.one(Membership, organization_id=project.owner_id, user_id=viewer.id)
    if member:
        roles.append("admin" if member.role == "admin" or project.creator_id == viewer.id else "writer")
    return cast("ProjectRole", max(roles, key=_RANK.__getitem__))


def may(world: World, viewer: Viewer | None, project: Project, needed: ProjectRole) -> bool:
    """Return whether a viewer has at least a role in a project."""
    return _RANK[role(world, viewer, project)] >= _RANK[needed]


def require(act: Act, project: Project, needed: ProjectRole) -> None:
    """Refuse a change that the viewer may not make; a project they cannot see is not found."""
    if act.viewer is None or act.viewer.unrestricted:
        return
    if not may(act.world, act.viewer, project, "reader"):
        raise not_found(project.number)
    if not act.viewer.has_scope(WRITE_SCOPE):
        raise ForbiddenRefusal("Resource not accessible by personal access token", needed_scopes=(WRITE_SCOPE,))
    if not may(act.world, act.viewer, project, needed):
        if act.viewer.app is not None:
            raise ForbiddenRefusal(NO_INTEGRATION)
        raise ForbiddenRefusal(f"{act.viewer.user.login} does not have permission to update this project.")


def not_found(number: int) -> NotFoundRefusal:
    """Return the refusal of a project that is not there or not visible."""
    return NotFoundRefusal(f"Could not resolve to a ProjectV2 with the number {number}.")


def find(world: World, viewer: Viewer | None, owner: User, number: int) -> Project:
    """Return a project of an account by its number."""
    project = world.database.one(Project, owner_id=owner.id, number=number)
    if project is None or not may(world, viewer, project, "reader"):
        raise not_found(number)
    return project


def visible_projects(world: World, viewer: Viewer | None, owner: User) -> list[Project]:
    """Return the projects of an account that a viewer may see, newest first."""
    projects = world.database.all(Project, order="number DESC", owner_id=owner.id)
    return [one for one in projects if may(world, viewer, one, "reader")]


def linked_projects(world: World, viewer: Viewer | None, repository: Repository) -> list[Project]:
    """Return the projects linked to a repository that a viewer may see, newest link first."""
    links = world.database.all(ProjectRepository, order="id DESC", repository_id=repository.id)
    candidates = (world.database.get(Project, link.project_id) for link in links)
    return [one for one in candidates if one and may(world, viewer, one, "reader")]


def matches(project: Project, query: str | None) -> bool:
    """Return whether a project fits the words of a search: `is:open`, `is:closed`, `is:public`, parts of the title."""
    for word in (query or "").lower().split():
        match word:
            case "is:open":
                fits = project.closed_at is None
            case "is:closed":
                fits = project.closed_at is not None
            case "is:public" | "is:private":
                fits = project.public == (word == "is:public")
            case "is:template":
                fits = project.template
            case _:
                fits = word in project.title.lower()
        if not fits:
            return False
    return True


def fields_of(database: Database, project: Project) -> list[ProjectField]:
    """Return the fields of a project in the order in which it shows them."""
    return database.all(ProjectField, project_id=project.id)


def field_by_name(database: Database, project: Project, name: str) -> ProjectField | None:
    """Return a field of a project by its name, in any case."""
    return database.one(ProjectField, project_id=project.id, name=name)


def project_of(world: World, part: ProjectItem | ProjectField | ProjectStatusUpdate) -> Project:
    """Return the project that a part of it belongs to."""
    project = world.database.get(Project, part.project_id)
    if project is None:
        raise NotFoundRefusal(f"Could not resolve to a ProjectV2 with the id of {part.project_id}.")
    return project


def items_of(database: Database, project: Project, *, archived: bool | None = False) -> list[ProjectItem]:
    """Return the items of a project from top to bottom; those that are archived too where `archived` is None."""
    project_items = database.all(ProjectItem, order="position", project_id=project.id)
    return [one for one in project_items if archived is None or (one.archived_at is not None) == archived]


def content_of(world: World, viewer: Viewer | None, item: ProjectItem) -> Issue | DraftIssue | None:
    """Return what an item stands for; None where the viewer may not see the repository it is in."""
    if item.draft_issue_id is not None:
        return world.database.get(DraftIssue, item.draft_issue_id)
    issue = world.database.get(Issue, item.issue_id)
    home = world.database.get(Repository, issue.repository_id) if issue else None
    return issue if home and is_visible(world, viewer, home) else None


def value_of(database: Database, item: ProjectItem, field: ProjectField) -> ProjectItemValue | None:
    """Return what an item holds in a field that the project itself keeps."""
    return database.one(ProjectItemValue, item_id=item.id, field_id=field.id)


def iterations_of(field: ProjectField) -> list[Iteration]:
    """Return the iterations of a field, in the order in which they were written."""
    listed = cast("Sequence[Mapping[str, Any]]", (field.configuration or {}).get("iterations", ()))
    return [Iteration(each["id"], each["title"], each["start_date"], each["duration"]) for each in listed]


def owner_of(world: World, project: Project) -> User:
    """Return whose project it is."""
    return lookup.user_by_id(world, project.owner_id)


def path_of(owner: User, project: Project) -> str:
    """Return the path of a project's page."""
    return f"/{'orgs' if owner.type == 'Organization' else 'users'}/{owner.login}/projects/{project.number}"
