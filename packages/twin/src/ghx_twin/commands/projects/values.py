"""Values of items in the fields of a project."""

from collections.abc import Mapping
from datetime import date
from math import isfinite

from ghx_twin.commands import kernel, timeline
from ghx_twin.commands.texts import check_unicode
from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.projects import DONE, ITEM_CLOSED, PULL_MERGED, STATUS, iterations_of
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import DraftIssue, Issue, ProjectField, ProjectItem, ProjectItemValue, ProjectWorkflow
from ghx_twin.world import Act

_WORDS = {
    "text": "text value",
    "number": "number value",
    "date": "date value",
    "single_select": "single select option Id",
    "iteration": "iteration Id",
}
"""What a field of each type takes, in the words of GitHub's refusal."""


def set_value(act: Act, item: ProjectItem, field: ProjectField, value: object) -> ProjectItem:
    """Set what an item holds in a field: a text, a number, a date, or the id of an option or iteration.

    The title of a draft issue is a field too. Labels, assignees and milestones are changed on the issue itself.
    """
    current, column = _require_pair(act, item, field)
    if column.data_type == "title" and current.draft_issue_id is not None:
        return _retitle(act, current, value)
    if column.data_type not in _WORDS:
        name = column.data_type.replace("_", " ")
        raise InvalidRefusal(f"The field of type {name} is currently not supported.")
    return _write(act, current, column, _read(column, value))


def clear_value(act: Act, item: ProjectItem, field: ProjectField) -> ProjectItem:
    """Take away what an item holds in a field."""
    current, column = _require_pair(act, item, field)
    if column.data_type not in _WORDS:
        raise InvalidRefusal("Only custom fields and Status can be cleared.")
    stored = projects.value_of(act.database, current, column)
    if stored is None:
        return current
    act.database.delete(stored)
    _record_status(act, current, column, stored.value, None)
    return _touch(act, current)


def finish_items(act: Act, issue: Issue, *, merged: bool = False) -> None:
    """Set the status of a closed issue or pull request to Done on the projects whose workflows say so.

    Without a permission check: GitHub does it, no matter who closed the issue.
    """
    for item in act.database.all(ProjectItem, issue_id=issue.id):
        project = projects.project_of(act.world, item)
        name = PULL_MERGED if merged else ITEM_CLOSED
        workflow = act.database.one(ProjectWorkflow, project_id=project.id, name=name)
        status = projects.field_by_name(act.database, project, STATUS)
        done = next((each["id"] for each in status.options if each["name"] == DONE), None) if status else None
        if workflow and workflow.enabled and status and done and item.archived_at is None:
            _write(act, item, status, done)


def copy_values(act: Act, source: ProjectItem, target: ProjectItem, twins: Mapping[int, ProjectField]) -> None:
    """Give an item of a copied project what its original holds; `twins` are the new fields by the old ids."""
    for value in act.database.all(ProjectItemValue, item_id=source.id):
        act.database.insert(
            ProjectItemValue,
            item_id=target.id,
            field_id=twins[value.field_id].id,
            value=value.value,
            creator_id=target.creator_id,
            created_at=act.now,
            updated_at=act.now,
        )


def actor_id(act: Act, item: ProjectItem) -> int:
    """Return the id of the user who acts on an item; the world's maker acts for the owner of its project."""
    if act.viewer is not None:
        return act.viewer.id
    owner = projects.owner_of(act.world, projects.project_of(act.world, item))
    return lookup.default_account_actor(act.world, owner).id


def read_date(text: object) -> str:
    """Return a day as `2026-01-31`; refuse what is none."""
    try:
        return date.fromisoformat(str(text)[:10]).isoformat()
    except ValueError:
        raise InvalidRefusal(f"{str(text)[:40]!r} is not a valid date.") from None


def _require_pair(act: Act, item: ProjectItem, field: ProjectField) -> tuple[ProjectItem, ProjectField]:
    current, column = kernel.reload(act, item), kernel.reload(act, field)
    projects.require(act, projects.project_of(act.world, current), "writer")
    if column.project_id != current.project_id:
        raise NotFoundRefusal("The field does not belong to the project of the item.")
    if current.archived_at is not None:
        raise InvalidRefusal("The item is archived and cannot be updated.")
    return current, column


def _write(act: Act, item: ProjectItem, field: ProjectField, value: str) -> ProjectItem:
    stored = projects.value_of(act.database, item, field)
    if stored and stored.value == value:
        return item
    if stored:
        act.database.update(stored, value=value, updated_at=act.now)
    else:
        act.database.insert(
            ProjectItemValue,
            item_id=item.id,
            field_id=field.id,
            value=value,
            creator_id=actor_id(act, item),
            created_at=act.now,
            updated_at=act.now,
        )
    _record_status(act, item, field, stored.value if stored else None, value)
    return _touch(act, item)


def _read(field: ProjectField, value: object) -> str:
    word = _WORDS[field.data_type]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if (field.data_type == "number") != is_number or not (is_number or isinstance(value, str)):
        raise InvalidRefusal(f"Did not receive a {word} to update a field of type {field.data_type}")
    match field.data_type:
        case "number":
            number = float(str(value))
            if not isfinite(number):
                raise InvalidRefusal("A number must be finite.")
            return str(int(number)) if number.is_integer() else repr(number)
        case "date":
            return read_date(value)
        case "single_select":
            ids = {option["id"] for option in field.options}
        case "iteration":
            ids = {each.id for each in iterations_of(field)}
        case _:
            return check_unicode(str(value), resource="ProjectV2Item", field="text")
    if value not in ids:
        raise InvalidRefusal(f"The {word} does not belong to the field")
    return str(value)


def _retitle(act: Act, item: ProjectItem, value: object) -> ProjectItem:
    if not isinstance(value, str) or not value.strip():
        raise InvalidRefusal("Did not receive a text value to update a field of type title")
    draft = act.database.get(DraftIssue, item.draft_issue_id)
    if draft is not None:
        title = check_unicode(value, resource="DraftIssue", field="title").strip()
        act.database.update(draft, title=title, updated_at=act.now)
    return _touch(act, item)


def _touch(act: Act, item: ProjectItem) -> ProjectItem:
    project = projects.project_of(act.world, item)
    act.database.update(project, updated_at=max(act.now, project.updated_at))
    return act.database.update(item, updated_at=max(act.now, item.updated_at))


def _record_status(act: Act, item: ProjectItem, field: ProjectField, before: str | None, after: str | None) -> None:
    """Record in the timeline of an issue that its status on a project changed."""
    issue = act.database.get(Issue, item.issue_id)
    if issue is None or not (field.built_in and field.name == STATUS):
        return
    names = {option["id"]: option["name"] for option in field.options}
    data = {"project_id": item.project_id, "status": names.get(after or ""), "previous_status": names.get(before or "")}
    timeline.record_event(act, issue, "project_v2_item_status_changed", data, actor=actor_id(act, item))
