"""Harvests projects with their fields, items, values and views."""

from collections.abc import Iterator
from typing import Any

from ghx_bench.twin.queries import lookup, projects
from ghx_bench.twin.queries.projects import STATUS, iterations_of
from ghx_bench.twin.seed.projects import SeedField, SeedItem, SeedIteration, SeedIterations, SeedProject, SeedView
from ghx_bench.twin.state.names import object_name
from ghx_bench.twin.state.records import (
    DraftIssue,
    Issue,
    Project,
    ProjectCollaborator,
    ProjectField,
    ProjectItem,
    ProjectItemValue,
    ProjectRepository,
    ProjectStatusUpdate,
    ProjectView,
    ProjectWorkflow,
    Repository,
)
from ghx_bench.twin.world import World


def harvest_projects(world: World) -> Iterator[SeedProject]:
    """Yield the projects of a world, those of each owner in the order of their numbers."""
    for project in world.database.all(Project, order="owner_id, number"):
        yield _project(world, project)


def _project(world: World, project: Project) -> SeedProject:
    database = world.database
    same = ("number", "title", "short_description", "readme", "public", "template", "updated_at", "closed_at")
    links = database.all(ProjectRepository, project_id=project.id)
    homes = (database.get(Repository, each.repository_id) for each in links)
    roles = database.all(ProjectCollaborator, project_id=project.id)
    columns = {field.id: field for field in projects.fields_of(database, project)}
    return SeedProject.model_validate(
        {
            **{name: getattr(project, name) for name in same},
            "owner": _login(world, project.owner_id),
            "closed": project.closed_at is not None,
            "creator": _login(world, project.creator_id),
            "collaborators": {_login(world, each.user_id): each.role for each in roles},
            "repositories": tuple(lookup.full_name(world, home) for home in homes if home),
            "fields": tuple(_field(each) for each in columns.values() if not each.built_in or each.name == STATUS),
            "views": tuple(_view(each, columns) for each in database.all(ProjectView, project_id=project.id)),
            "workflows": {each.name: each.enabled for each in database.all(ProjectWorkflow, project_id=project.id)},
            "items": tuple(_item(world, each, columns) for each in projects.items_of(database, project, archived=None)),
            "status_updates": tuple(
                {
                    **{name: getattr(each, name) for name in ("status", "body", "start_date", "target_date")},
                    "creator": _login(world, each.creator_id),
                    "at": each.created_at,
                }
                for each in database.all(ProjectStatusUpdate, project_id=project.id)
            ),
            "at": project.created_at,
        }
    )


def _field(field: ProjectField) -> SeedField:
    configuration = None
    if field.configuration is not None:
        listed = tuple(
            SeedIteration(id=each.id, title=each.title, start_date=each.start_date, duration=each.duration)
            for each in iterations_of(field)
        )
        settings: Any = {name: field.configuration[name] for name in ("duration", "start_day")}
        configuration = SeedIterations(iterations=listed, **settings)
    return SeedField.model_validate(
        {
            "name": field.name,
            "data_type": field.data_type,
            "options": field.options,
            "configuration": configuration,
        }
    )


def _view(view: ProjectView, columns: dict[int, ProjectField]) -> SeedView:
    sorts = (each.split(" ") for each in view.sort_by)
    lists = ("visible_fields", "group_by", "vertical_group_by")
    return SeedView.model_validate(
        {
            **{name: getattr(view, name) for name in ("name", "layout", "filter")},
            **{name: tuple(columns[identity].name for identity in getattr(view, name)) for name in lists},
            "sort_by": {columns[int(identity)].name: way for identity, way in sorts},
        }
    )


def _item(world: World, item: ProjectItem, columns: dict[int, ProjectField]) -> SeedItem:
    database = world.database
    issue, draft = database.get(Issue, item.issue_id), database.get(DraftIssue, item.draft_issue_id)
    held = database.all(ProjectItemValue, order="field_id", item_id=item.id)
    return SeedItem.model_validate(
        {
            "content": object_name(database, issue) if issue else None,
            "title": draft.title if draft else None,
            "body": draft.body if draft else None,
            "assignees": tuple(_login(world, each) for each in draft.assignee_ids) if draft else (),
            "values": {columns[each.field_id].name: _value(columns[each.field_id], each.value) for each in held},
            "creator": _login(world, item.creator_id),
            "archived": item.archived_at is not None,
            "at": item.created_at,
            "updated_at": item.updated_at,
            "archived_at": item.archived_at,
        }
    )


def _value(field: ProjectField, written: str) -> str | int | float:
    """Return a value as people write it: an option by its name, an iteration by its title if no other has that."""
    match field.data_type:
        case "number":
            return float(written) if any(mark in written for mark in ".en") else int(written)
        case "single_select":
            return next(option["name"] for option in field.options if option["id"] == written)
        case "iteration":
            titles = [each.title for each in iterations_of(field)]
            title = next(each.title for each in iterations_of(field) if each.id == written)
            return title if titles.count(title) == 1 else written
        case _:
            return written


def _login(world: World, identity: int) -> str:
    return lookup.user_by_id(world, identity).login
