"""Projects, their fields, items and views."""

from collections.abc import Sequence
from html import escape
from typing import Any, cast

from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.item_values import Content, value_in
from ghx_twin.queries.projects.projects import Iteration, iterations_of
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.issues import issues, labels
from ghx_twin.rest.render.pulls import pulls
from ghx_twin.rest.render.repositories import repositories
from ghx_twin.rest.render.users import avatar, optional_user, simple_user, user_page
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import (
    DraftIssue,
    Issue,
    Label,
    Milestone,
    Project,
    ProjectField,
    ProjectItem,
    ProjectStatusUpdate,
    ProjectView,
    Pull,
    Repository,
    Team,
    User,
)

_LISTS = frozenset({"assignees", "labels", "linked_pull_requests", "reviewers"})


def project(view: View, project: Project) -> JsonObject:
    """Render a project."""
    return {
        "id": project.id,
        "node_id": view.node(project),
        "owner": simple_user(view, view.user(project.owner_id)),
        "creator": simple_user(view, view.user(project.creator_id)),
        "title": project.title,
        "description": project.readme,
        "public": project.public,
        "closed_at": project.closed_at,
        "created_at": project.created_at,
        "updated_at": project.updated_at,
        "number": project.number,
        "short_description": project.short_description,
        "deleted_at": None,
        "deleted_by": None,
        "state": "open" if project.closed_at is None else "closed",
        "latest_status_update": _status_update(view, project),
        "is_template": project.template,
    }


def project_url(view: View, project: Project) -> str:
    """Return the address of a project in the API."""
    owner = view.user(project.owner_id)
    kind = "orgs" if owner.type == "Organization" else "users"
    return f"{view.base.api}/{kind}/{quote_part(owner.login)}/projectsV2/{project.number}"


def field(view: View, project: Project, field: ProjectField) -> JsonObject:
    """Render a field of a project."""
    body: JsonObject = {
        "id": field.id,
        "node_id": view.node(field),
        "project_url": project_url(view, project),
        "name": field.name,
        "data_type": field.data_type,
    }
    if field.data_type == "single_select":
        body["options"] = [_option(option) for option in field.options]
    if field.data_type == "iteration":
        settings = field.configuration or {}
        now = view.database.now()
        body["configuration"] = {
            "start_day": settings.get("start_day", 1),
            "duration": settings.get("duration", 14),
            "iterations": [_iteration(each, now) for each in iterations_of(field)],
        }
    return {**body, "created_at": field.created_at, "updated_at": field.updated_at}


def item(view: View, project: Project, item: ProjectItem) -> JsonObject:
    """Render an item that was just added."""
    return _item(view, project, item, projects.content_of(view.world, view.viewer, item))


def item_with_values(view: View, project: Project, item: ProjectItem, fields: Sequence[ProjectField]) -> JsonObject:
    """Render an item with what it holds in some fields."""
    content = projects.content_of(view.world, view.viewer, item)
    values = [
        {"id": one.id, "name": one.name, "data_type": one.data_type, "value": _value(view, item, content, one)}
        for one in fields
    ]
    return {**_item(view, project, item, content), "fields": values}


def project_view(view: View, project: Project, project_view: ProjectView) -> JsonObject:
    """Render a view of a project."""
    page = projects.path_of(view.user(project.owner_id), project)
    return {
        "id": project_view.id,
        "number": project_view.number,
        "name": project_view.name,
        "layout": project_view.layout,
        "node_id": view.node(project_view),
        "project_url": project_url(view, project),
        "html_url": f"{view.base.html}{page}/views/{project_view.number}",
        "creator": simple_user(view, view.user(project_view.creator_id)),
        "created_at": project_view.created_at,
        "updated_at": project_view.updated_at,
        "filter": project_view.filter,
        "visible_fields": list(project_view.visible_fields),
        "sort_by": [[int(identity), way] for identity, way in (each.split(" ") for each in project_view.sort_by)],
        "group_by": list(project_view.group_by),
        "vertical_group_by": list(project_view.vertical_group_by),
    }


def _status_update(view: View, project: Project) -> JsonObject | None:
    """Return what was reported last about a project."""
    updates = view.database.select(
        ProjectStatusUpdate, "WHERE project_id = ? ORDER BY created_at DESC, id DESC LIMIT 1", (project.id,)
    )
    if not updates:
        return None
    days = {name: getattr(updates[0], name) for name in ("start_date", "target_date")}
    return {
        "id": updates[0].id,
        "node_id": view.node(updates[0]),
        "project_node_id": view.node(project),
        "creator": simple_user(view, view.user(updates[0].creator_id)),
        "created_at": updates[0].created_at,
        "updated_at": updates[0].updated_at,
        "status": updates[0].status,
        **{name: day for name, day in days.items() if day is not None},
        "body": updates[0].body,
    }


def _item(view: View, project: Project, item: ProjectItem, content: Content) -> JsonObject:
    url = project_url(view, project)
    issue = view.database.get(Issue, item.issue_id)
    kind = "DraftIssue" if issue is None else "PullRequest" if issue.is_pull else "Issue"
    return {
        "id": item.id,
        "node_id": view.node(item),
        "project_url": url,
        "content_type": kind,
        "content": _content(view, content),
        "creator": simple_user(view, view.user(item.creator_id)),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "archived_at": item.archived_at,
        "item_url": f"{url}/items/{item.id}",
    }


def _content(view: View, content: Content) -> JsonObject | None:
    match content:
        case None:
            return None
        case DraftIssue():
            return {
                "id": content.id,
                "node_id": view.node(content),
                "title": content.title,
                "body": content.body,
                "user": optional_user(view, content.creator_id),
                "created_at": content.created_at,
                "updated_at": content.updated_at,
            }
        case Issue():
            pull = lookup.pull_of(view.world, content)
            return pulls.pull(view, pull) if pull else issues.issue(view, content)


def _value(view: View, item: ProjectItem, content: Content, field: ProjectField) -> Any:  # noqa: PLR0911 - of types
    """Return what an item holds in a field, in the shape that the type of the field has."""
    value = value_in(view.world, view.viewer, item, content, field)
    if value is None:
        return [] if field.data_type in _LISTS else None
    if isinstance(value, tuple):
        show = _review_request if field.data_type == "reviewers" else _one
        return [show(view, each) for each in value]
    match field.data_type:
        case "title":
            return _title(view, content, str(value))
        case "number":
            return float(str(value))
        case "single_select":
            return next(_option(option) for option in field.options if option["id"] == value)
        case "iteration":
            now = view.database.now()
            return next(_iteration(each, now) for each in iterations_of(field) if each.id == value)
        case "text":
            return _text(str(value))
        case _:
            return _one(view, value)


def _one(view: View, value: object) -> Any:
    match value:
        case Label():
            return labels.label(view, value)
        case Milestone():
            return labels.milestone(view, value)
        case Repository():
            return repositories.bare_repository(view, value)
        case Pull():
            return pulls.pull(view, value)
        case User():
            return simple_user(view, value)
        case _:
            return value


def _review_request(view: View, value: object) -> JsonObject:
    if isinstance(value, Team):
        reviewer: JsonObject = {"id": value.id, "name": value.name, "slug": value.slug, "type": "Team"}
    else:
        user = cast("User", value)
        reviewer = {
            "avatarUrl": avatar(user),
            "id": user.id,
            "login": user.login,
            "url": user_page(view, user),
            "name": user.name,
            "type": user.type,
        }
    return {"type": "ReviewRequest", "status": "pending", "reviewer": reviewer}


def _title(view: View, content: Content, title: str) -> JsonObject:
    if not isinstance(content, Issue):
        return _text(title)
    pull = lookup.pull_of(view.world, content)
    return {
        **_text(title),
        "number": content.number,
        "url": view.issue_page(content),
        "issue_id": content.id,
        "state": content.state,
        "state_reason": content.state_reason,
        "is_draft": pull.draft if pull else False,
    }


def _text(text: str) -> JsonObject:
    return {"raw": text, "html": escape(text)}


def _option(option: Any) -> JsonObject:
    return {
        "id": option["id"],
        "name": _text(option["name"]),
        "color": option["color"],
        "description": _text(option["description"]),
    }


def _iteration(iteration: Iteration, now: str) -> JsonObject:
    return {
        "id": iteration.id,
        "start_date": iteration.start_date,
        "duration": iteration.duration,
        "title": _text(iteration.title),
        "completed": iteration.is_over(now),
    }
