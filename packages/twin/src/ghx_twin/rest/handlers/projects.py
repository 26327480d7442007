"""Projects of organizations and users."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ghx_twin.commands import projects
from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects as queries
from ghx_twin.queries.projects.item_filter import ItemFilter
from ghx_twin.queries.projects.projects import READ_SCOPE
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.reply import JsonObject, Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import cursor_page
from ghx_twin.rest.render import projects as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Issue, Project, ProjectField, ProjectItem, ProjectView, Pull, Record, User

_RecordT = TypeVar("_RecordT", bound=Record)


def list_projects(request: RestRequest) -> Reply:
    """List projects."""
    _require_read(request)
    visible_projects = queries.visible_projects(request.world, request.viewer, _owner(request))
    matching = [one for one in visible_projects if queries.matches(one, request.query.get("q"))]
    return _list_reply(request, matching, lambda one: render.project(request.view, one))


def get_project(request: RestRequest) -> Reply:
    """Get a project."""
    return json_reply(render.project(request.view, _project(request)))


def create_draft(request: RestRequest) -> Reply:
    """Create a draft item for a project."""
    project, body = _project(request), request.body()
    title = body.required_text("title")
    with request.acting() as act:
        draft = projects.add_draft(act, project, title=title, body=body.text("body"))
    item = render.item(request.view, project, draft)
    return created(item, item["item_url"])


def list_fields(request: RestRequest) -> Reply:
    """List project fields."""
    project = _project(request)
    fields = queries.fields_of(request.world.database, project)
    return _list_reply(request, fields, lambda one: render.field(request.view, project, one))


def create_field(request: RestRequest) -> Reply:
    """Add a field to a project."""
    project, body = _project(request), request.body()
    if "issue_field_id" in body:
        raise InvalidRefusal("Issue fields are not enabled for this organization.")
    name, data_type = body.required_text("name"), body.required_text("data_type")
    settings = body.nested("iteration_configuration")
    with request.acting() as act:
        field = projects.create_field(
            act,
            project,
            name=name,
            data_type=data_type,
            options=[_option(one) for one in body.objects("single_select_options")],
            configuration=None if settings is None else _configuration(settings),
        )
    return created(render.field(request.view, project, field))


def get_field(request: RestRequest) -> Reply:
    """Get a project field."""
    project = _project(request)
    return json_reply(render.field(request.view, project, _field(request, project, request.number("field_id"))))


def list_items(request: RestRequest) -> Reply:
    """List items of a project."""
    return _items_reply(request, _project(request), request.query.get("q", ""))


def list_view_items(request: RestRequest) -> Reply:
    """List items of a project view."""
    project, number = _project(request), request.number("view_number")
    project_view = request.world.database.one(ProjectView, project_id=project.id, number=number)
    if project_view is None:
        raise NotFoundRefusal(f"Could not resolve to a ProjectV2View with the number {number}.")
    return _items_reply(request, project, project_view.filter or "")


def add_item(request: RestRequest) -> Reply:
    """Add an item to a project."""
    project, body = _project(request), request.body()
    issue = _content(request, body)
    with request.acting() as act:
        item = projects.add_item(act, project, issue)
    content = render.item(request.view, project, item)
    return created(content, content["item_url"])


def get_item(request: RestRequest) -> Reply:
    """Get an item of a project."""
    project = _project(request)
    return _item_reply(request, project, _item(request, project))


def update_item(request: RestRequest) -> Reply:
    """Update a project item."""
    project, body = _project(request), request.body()
    item = _item(request, project)
    body.require("fields")
    with request.acting() as act:
        for change in body.objects("fields"):
            change.require("id", "value")
            field, value = _field(request, project, change.integer("id") or 0), change.get("value")
            if value is None:
                item = projects.clear_value(act, item, field)
            else:
                item = projects.set_value(act, item, field, value)
    return _item_reply(request, project, item)


def delete_item(request: RestRequest) -> Reply:
    """Delete a project item."""
    item = _item(request, _project(request))
    with request.acting() as act:
        projects.delete_item(act, item)
    return no_content()


def create_view(request: RestRequest) -> Reply:
    """Create a view for a project."""
    project, body = _project(request), request.body()
    name, layout = body.required_text("name"), body.choice("layout", ("table", "board", "roadmap")) or "table"
    sorts: list[Any] = body.items("sort_by") or []
    for each in sorts:
        if not isinstance(each, list) or len(each) != 2 or each[1] not in {"asc", "desc"}:  # noqa: PLR2004 # pyright: ignore[reportUnknownArgumentType] - a field and a direction
            raise InvalidRefusal("Each element of sort_by is a field and a direction, asc or desc.")
    with request.acting() as act:
        view = projects.create_view(
            act,
            project,
            name=name,
            layout=layout,
            filter=body.text("filter"),
            visible_fields=_ids(body, "visible_fields"),
            sort_by=tuple(f"{_integer(field)} {way}" for field, way in sorts),
            group_by=_ids(body, "group_by"),
            vertical_group_by=_ids(body, "vertical_group_by"),
        )
    return created(render.project_view(request.view, project, view))


def _require_read(request: RestRequest) -> None:
    if not request.viewer.unrestricted and not request.viewer.has_scope(READ_SCOPE):
        raise ForbiddenRefusal("Resource not accessible by personal access token", needed_scopes=(READ_SCOPE,))


def _owner(request: RestRequest) -> User:
    if "org" in request.parameters:
        return lookup.organization(request.world, request.text("org"))
    if "user_id" in request.parameters and request.text("user_id").isdigit():
        return lookup.user_by_id(request.world, request.number("user_id"))
    return from_path.account(request, request.parameters.get("username") or request.text("user_id"))


def _project(request: RestRequest) -> Project:
    _require_read(request)
    return queries.find(request.world, request.viewer, _owner(request), request.number("project_number"))


def _field(request: RestRequest, project: Project, identity: int) -> ProjectField:
    project_field = request.world.database.get(ProjectField, identity)
    if project_field is None or project_field.project_id != project.id:
        raise NotFoundRefusal(f"Could not resolve to a ProjectV2Field with the id of {identity}.")
    return project_field


def _item(request: RestRequest, project: Project) -> ProjectItem:
    identity = request.number("item_id")
    project_item = request.world.database.get(ProjectItem, identity)
    if project_item is None or project_item.project_id != project.id:
        raise NotFoundRefusal(f"Could not resolve to a ProjectV2Item with the id of {identity}.")
    return project_item


def _content(request: RestRequest, body: Body) -> Issue:
    """Return the issue or pull request that a body names, by its id or by repository and number."""
    kind = body.choice("type", ("Issue", "PullRequest"))
    body.require("type")
    world, identity = request.world, body.integer("id")
    if identity is None:
        body.require("owner", "repo", "number")
        owner, name = body.required_text("owner"), body.required_text("repo")
        home = lookup.repository(world, request.viewer, owner, name)
        issue = lookup.issue_or_pull(world, home, body.integer("number") or 0)
    else:
        pull = world.database.get(Pull, identity) if kind == "PullRequest" else None
        issue = lookup.issue_of(world, pull) if pull else world.database.get(Issue, identity)
    if issue is None or issue.is_pull != (kind == "PullRequest"):
        raise NotFoundRefusal(f"Could not resolve to {'a' if kind == 'PullRequest' else 'an'} {kind}.")
    return issue


def _items_reply(request: RestRequest, project: Project, text: str) -> Reply:
    fields = queries.fields_of(request.world.database, project)
    item_filter = ItemFilter(request.world, request.viewer, tuple(fields), text)
    items = [one for one in queries.items_of(request.world.database, project) if item_filter.fits(one)]
    columns = _selected_fields(request, fields)
    return _list_reply(request, items, lambda one: render.item_with_values(request.view, project, one, columns))


def _item_reply(request: RestRequest, project: Project, item: ProjectItem) -> Reply:
    fields = queries.fields_of(request.world.database, project)
    return json_reply(render.item_with_values(request.view, project, item, _selected_fields(request, fields)))


def _selected_fields(request: RestRequest, fields: Sequence[ProjectField]) -> list[ProjectField]:
    """Return the fields that `fields` names by their ids; the title where it names none."""
    field_list = request.query.get("fields") or request.query.get("fields[]") or ""
    names = {word.strip() for word in field_list.split(",") if word.strip()}
    return [one for one in fields if (str(one.id) in names if names else one.data_type == "title")]


def _list_reply(
    request: RestRequest, records: Sequence[_RecordT], render_one: Callable[[_RecordT], JsonObject]
) -> Reply:
    reply, headers = cursor_page(request, records)
    return json_reply([render_one(one) for one in reply], headers=headers)


def _option(body: Body) -> dict[str, Any]:
    """Return an option; its texts come plain, or as GitHub shows them, in `raw`."""
    texts = {name: body.get(name) for name in ("name", "description")}
    plain = {name: text.get("raw") if isinstance(text, dict) else text for name, text in texts.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - JSON
    return {**plain, "color": body.text("color")}


def _configuration(body: Body) -> dict[str, Any]:
    body.require("start_date", "duration")
    listed = [
        {
            "title": one.required_text("title"),
            "start_date": one.required_text("start_date"),
            "duration": one.integer("duration") or 1,
        }
        for one in body.objects("iterations")
    ]
    return {
        "start_date": body.required_text("start_date"),
        "duration": body.integer("duration") or 1,
        "iterations": listed,
    }


def _ids(body: Body, name: str) -> tuple[int, ...]:
    return tuple(_integer(each) for each in body.items(name) or ())


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidRefusal("Fields are named by their ids, which are integers.")
    return value
