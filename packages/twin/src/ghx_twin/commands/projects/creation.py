"""Projects as a whole: made, changed, copied, deleted, linked to repositories."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from ghx_twin.commands import cascade, kernel
from ghx_twin.commands.projects.items import add_draft
from ghx_twin.commands.projects.values import copy_values
from ghx_twin.commands.texts import check_length, check_unicode, check_unicode_all, invalid, missing
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.projects import ITEM_CLOSED, PULL_MERGED, STATUS, WRITE_SCOPE
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import (
    DraftIssue,
    Membership,
    Project,
    ProjectCollaborator,
    ProjectField,
    ProjectRepository,
    ProjectView,
    ProjectWorkflow,
    Repository,
    User,
)
from ghx_twin.world import Act

LONGEST_TITLE, LONGEST_DESCRIPTION, LONGEST_README = 256, 300, 10_000
BUILT_IN = (
    ("Title", "title"), ("Assignees", "assignees"), (STATUS, "single_select"), ("Labels", "labels"),
    ("Linked pull requests", "linked_pull_requests"), ("Milestone", "milestone"), ("Repository", "repository"),
    ("Reviewers", "reviewers"), ("Parent issue", "parent_issue"), ("Sub-issues progress", "sub_issues_progress"),
)  # fmt: skip
"""The fields that every project has, in the order in which GitHub lists them, with their types."""
# GitHub gives these three the same ids in every new project, which scripts rely on.
_STATUSES = (
    {"id": "f75ad846", "name": "Todo", "color": "GREEN", "description": "This item hasn't been started"},
    {"id": "47fc9ee4", "name": "In Progress", "color": "YELLOW", "description": "This is actively being worked on"},
    {"id": "98236657", "name": "Done", "color": "PURPLE", "description": "This has been completed"},
)
_LAYOUTS = ("table", "board", "roadmap")


class ProjectChanges(TypedDict, total=False):
    """What can be changed of a project."""

    title: str
    short_description: str | None
    readme: str | None
    public: bool
    closed: bool
    template: bool


class ViewSettings(TypedDict, total=False):
    """What a view of a project shows, and in which order."""

    filter: str | None
    visible_fields: tuple[int, ...]
    sort_by: tuple[str, ...]
    group_by: tuple[int, ...]
    vertical_group_by: tuple[int, ...]


def create(act: Act, owner: User, *, title: str, repository: Repository | None = None) -> Project:
    """Add an empty project to an account, with GitHub's fields and one view, linked to a repository if one is given."""
    _require_owner(act, owner)
    current = kernel.reload(act, owner)
    act.database.update(current, next_project_number=current.next_project_number + 1)
    project = act.database.insert(
        Project,
        owner_id=owner.id,
        number=current.next_project_number,
        title=_title(title),
        creator_id=_actor_id(act, owner),
        created_at=act.now,
        updated_at=act.now,
    )
    for name, data_type in BUILT_IN:
        act.database.insert(
            ProjectField,
            project_id=project.id,
            name=name,
            data_type=data_type,
            built_in=True,
            options=_STATUSES if name == STATUS else (),
            created_at=act.now,
            updated_at=act.now,
        )
    _insert_view(act, project, name="View 1", layout="table")
    for number, name in enumerate((ITEM_CLOSED, PULL_MERGED), 1):
        act.database.insert(
            ProjectWorkflow,
            project_id=project.id,
            number=number,
            name=name,
            created_at=act.now,
            updated_at=act.now,
        )
    if repository is not None:
        link(act, project, repository)
    return project


def update(act: Act, project: Project, **changes: Unpack[ProjectChanges]) -> Project:
    """Change, close or reopen a project, or make it a template."""
    current = kernel.reload(act, project)
    projects.require(act, current, "admin" if changes.keys() & {"public", "closed", "template"} else "writer")
    new_values: dict[str, Any] = dict(changes)
    if "title" in new_values:
        new_values["title"] = _title(new_values["title"])
    for name, longest in (("short_description", LONGEST_DESCRIPTION), ("readme", LONGEST_README)):
        if new_values.get(name):
            check_length(new_values[name], longest, resource="ProjectV2", field=name)
    check_unicode_all(new_values, resource="ProjectV2")
    if "closed" in new_values:
        closed = new_values.pop("closed")
        new_values["closed_at"] = (current.closed_at or act.now) if closed else None
    if new_values.get("template") and projects.owner_of(act.world, current).type != "Organization":
        raise InvalidRefusal("Only organization projects can be marked as templates.")
    if all(getattr(current, name) == value for name, value in new_values.items()):
        return current
    return act.database.update(current, **new_values, updated_at=max(act.now, current.updated_at))


def delete(act: Act, project: Project) -> None:
    """Delete a project with all that is on it; issues and pull requests stay."""
    current = kernel.reload(act, project)
    projects.require(act, current, "admin")
    cascade.delete_all(act.database, cascade.under_project(act.database, current))
    act.database.delete(current)


def copy(act: Act, project: Project, owner: User, *, title: str, include_draft_issues: bool = False) -> Project:
    """Copy the fields, views and texts of a project into a new one, and its draft issues if asked."""
    source = kernel.reload(act, project)
    if not projects.may(act.world, act.viewer, source, "reader"):
        raise projects.not_found(source.number)
    project_copy = create(act, owner, title=title)
    act.database.update(project_copy, short_description=source.short_description, readme=source.readme)
    fields_by_name = {field.name: field for field in projects.fields_of(act.database, project_copy)}
    twins: dict[int, ProjectField] = {}
    for field in projects.fields_of(act.database, source):
        same = {"options": field.options, "configuration": field.configuration}
        if field.name in fields_by_name:
            twins[field.id] = act.database.update(fields_by_name[field.name], **same)
            continue
        twins[field.id] = act.database.insert(
            ProjectField,
            project_id=project_copy.id,
            name=field.name,
            data_type=field.data_type,
            created_at=act.now,
            updated_at=act.now,
            **same,
        )
    _copy_views(act, source, project_copy, twins)
    if include_draft_issues:
        for item in projects.items_of(act.database, source):
            draft = act.database.get(DraftIssue, item.draft_issue_id)
            if draft is not None:
                copy_values(act, item, add_draft(act, project_copy, title=draft.title, body=draft.body), twins)
    return kernel.reload(act, project_copy)


def link(act: Act, project: Project, repository: Repository) -> None:
    """List a project in a repository of the same owner."""
    projects.require(act, kernel.reload(act, project), "writer")
    permissions.require(act, repository, "write")
    if repository.owner_id != project.owner_id:
        raise InvalidRefusal("Only repositories that belong to the project owner can be linked to the project.")
    if act.database.one(ProjectRepository, project_id=project.id, repository_id=repository.id) is None:
        act.database.insert(ProjectRepository, project_id=project.id, repository_id=repository.id)


def unlink(act: Act, project: Project, repository: Repository) -> None:
    """Take a project off the list of a repository."""
    projects.require(act, kernel.reload(act, project), "writer")
    permissions.require(act, repository, "write")
    if project_repository := act.database.one(ProjectRepository, project_id=project.id, repository_id=repository.id):
        act.database.delete(project_repository)


def create_view(
    act: Act, project: Project, *, name: str, layout: str = "table", **settings: Unpack[ViewSettings]
) -> ProjectView:
    """Add a view to a project."""
    current = kernel.reload(act, project)
    projects.require(act, current, "writer")
    new_name = check_unicode(name, resource="ProjectV2View", field="name").strip()
    if not new_name:
        raise missing("ProjectV2View", "name")
    if layout not in _LAYOUTS:
        raise invalid("ProjectV2View", "layout", value=layout)
    field_ids = {field.id for field in projects.fields_of(act.database, current)}
    sorted_by = tuple(int(each.split(" ")[0]) for each in settings.get("sort_by", ()))
    lists: tuple[tuple[str, Sequence[int]], ...] = (
        ("visible_fields", settings.get("visible_fields", ())),
        ("sort_by", sorted_by),
        ("group_by", settings.get("group_by", ())),
        ("vertical_group_by", settings.get("vertical_group_by", ())),
    )
    for field, ids in lists:
        if unknown := set(ids) - field_ids:
            raise invalid("ProjectV2View", field, value=min(unknown))
    return _insert_view(act, current, name=new_name, layout=layout, **settings)


def set_collaborator(act: Act, project: Project, user: User, role: str) -> None:
    """Give a user a role in a project, or take it away with `none`."""
    projects.require(act, kernel.reload(act, project), "admin")
    if role not in {"none", "reader", "writer", "admin"}:
        raise invalid("ProjectV2Collaborator", "role", value=role)
    project_collaborator = act.database.one(ProjectCollaborator, project_id=project.id, user_id=user.id)
    if role == "none":
        if project_collaborator:
            act.database.delete(project_collaborator)
    elif project_collaborator:
        act.database.update(project_collaborator, role=role)
    else:
        act.database.insert(ProjectCollaborator, project_id=project.id, user_id=user.id, role=role)


def _require_owner(act: Act, owner: User) -> None:
    """Refuse a viewer who may not add projects to an account: its own user, or a member of the organization."""
    if owner.type == "Bot":
        raise NotFoundRefusal(f"Could not resolve to a ProjectV2Owner with the login of '{owner.login}'.")
    if act.viewer is None or act.viewer.unrestricted:
        return
    if act.viewer.app is not None:
        if act.viewer.app.account_id != owner.id or not act.viewer.app.may("organization_projects"):
            raise ForbiddenRefusal(permissions.NO_INTEGRATION)
        return
    if not act.viewer.has_scope(WRITE_SCOPE):
        raise ForbiddenRefusal("Resource not accessible by personal access token", needed_scopes=(WRITE_SCOPE,))
    member = act.database.one(Membership, organization_id=owner.id, user_id=act.viewer.id)
    if act.viewer.id != owner.id and member is None:
        raise ForbiddenRefusal(f"{act.viewer.user.login} does not have permission to create projects on this owner.")


def _actor_id(act: Act, owner: User) -> int:
    return lookup.default_account_actor(act.world, owner).id if act.viewer is None else act.viewer.id


def _title(title: str) -> str:
    new_title = check_unicode(title, resource="ProjectV2", field="title").strip()
    if not new_title:
        raise missing("ProjectV2", "title")
    return check_length(new_title, LONGEST_TITLE, resource="ProjectV2", field="title")


def _insert_view(act: Act, project: Project, **values: Any) -> ProjectView:
    number = act.database.count(ProjectView, project_id=project.id) + 1  # views are never deleted here
    owner = projects.owner_of(act.world, project)
    return act.database.insert(
        ProjectView,
        project_id=project.id,
        number=number,
        creator_id=_actor_id(act, owner),
        created_at=act.now,
        updated_at=act.now,
        **values,
    )


def _copy_views(act: Act, source: Project, project_copy: Project, twins: dict[int, ProjectField]) -> None:
    for view in act.database.all(ProjectView, order="number", project_id=source.id):
        same: dict[str, Any] = {name: getattr(view, name) for name in ("name", "layout", "filter")}
        for name in ("visible_fields", "group_by", "vertical_group_by"):
            same[name] = tuple(twins[identity].id for identity in getattr(view, name) if identity in twins)
        sorts = (each.split(" ") for each in view.sort_by)
        same["sort_by"] = tuple(f"{twins[int(field)].id} {way}" for field, way in sorts if int(field) in twins)
        project_view = act.database.one(ProjectView, project_id=project_copy.id, number=view.number)
        if project_view:
            act.database.update(project_view, **same)
        else:
            _insert_view(act, project_copy, **same)
