"""Fields of projects: made, changed, deleted, with their options and iterations."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from ghx_twin.commands import kernel
from ghx_twin.commands.projects.values import read_date
from ghx_twin.commands.texts import check_unicode, invalid, missing
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.projects import Iteration, iterations_of
from ghx_twin.refusals import FieldError, InvalidRefusal
from ghx_twin.state.records import Project, ProjectField, ProjectItemValue, ProjectView
from ghx_twin.world import Act

CUSTOM_TYPES = ("text", "number", "date", "single_select", "iteration")
COLORS = ("BLUE", "GRAY", "GREEN", "ORANGE", "PINK", "PURPLE", "RED", "YELLOW")
MOST_FIELDS, MOST_OPTIONS, LONGEST_ITERATION = 50, 50, 365
_LAST_YEAR = "2999"
_FIRST_ITERATIONS = 3  # that GitHub makes where none are named
Option = Mapping[str, Any]  # name, color, description; with an id, the option that is there already


def create_field(
    act: Act,
    project: Project,
    *,
    name: str,
    data_type: str,
    options: Sequence[Option] = (),
    configuration: Mapping[str, Any] | None = None,
) -> ProjectField:
    """Add a field to a project; a single_select needs options, an iteration has a configuration."""
    current = kernel.reload(act, project)
    projects.require(act, current, "writer")
    if data_type not in CUSTOM_TYPES:
        raise invalid("ProjectV2Field", "data_type", value=data_type)
    if data_type == "single_select" and not options:
        raise InvalidRefusal("At least one option must be provided for a single select field.")
    if act.database.count(ProjectField, project_id=current.id) >= MOST_FIELDS:
        raise InvalidRefusal(f"A project can have at most {MOST_FIELDS} fields.")
    field = act.database.insert(
        ProjectField,
        project_id=current.id,
        name=_free_name(act, current, name),
        data_type=data_type,
        created_at=act.now,
        updated_at=act.now,
    )
    if data_type == "single_select":
        return act.database.update(field, options=_options(act, field, options))
    if data_type == "iteration":
        return act.database.update(field, configuration=_configuration(act, field, configuration or {}))
    return field


def update_field(
    act: Act,
    field: ProjectField,
    *,
    name: str | None = None,
    options: Sequence[Option] | None = None,
    configuration: Mapping[str, Any] | None = None,
) -> ProjectField:
    """Rename a field, or replace its options or iterations.

    Options that are not named by their id are new ones, as on GitHub: items lose the values of those that they replace.
    """
    current = kernel.reload(act, field)
    project = projects.project_of(act.world, current)
    projects.require(act, project, "writer")
    changes: dict[str, object] = {}
    if name is not None and name.strip() != current.name:
        if current.built_in:
            raise InvalidRefusal("The name of a built-in field cannot be changed.")
        changes["name"] = _free_name(act, project, name, except_for=current)
    if options is not None:
        if current.data_type != "single_select":
            raise InvalidRefusal("Single select options can only be given for a single select field.")
        changes["options"] = new_options = _options(act, current, options)
        _forget_values(act, current, kept={option["id"] for option in new_options})
    if configuration is not None:
        if current.data_type != "iteration":
            raise InvalidRefusal("An iteration configuration can only be given for an iteration field.")
        changes["configuration"] = _configuration(act, current, configuration)
        ids = {each.id for each in iterations_of(act.database.update(current, **changes))}
        _forget_values(act, current, kept=ids)
    if not changes:
        return current
    return act.database.update(kernel.reload(act, current), **changes, updated_at=max(act.now, current.updated_at))


def delete_field(act: Act, field: ProjectField) -> None:
    """Delete a field of the project's own with all its values."""
    current = kernel.reload(act, field)
    project = projects.project_of(act.world, current)
    projects.require(act, project, "writer")
    if current.built_in:
        raise InvalidRefusal("Only custom fields can be deleted.")
    for value in act.database.all(ProjectItemValue, field_id=current.id):
        act.database.delete(value)
    for view in act.database.all(ProjectView, project_id=project.id):
        _leave_out(act, view, current)
    act.database.delete(current)


def _leave_out(act: Act, view: ProjectView, field: ProjectField) -> None:
    remaining: dict[str, object] = {
        name: tuple(identity for identity in getattr(view, name) if identity != field.id)
        for name in ("visible_fields", "group_by", "vertical_group_by")
    }
    remaining["sort_by"] = tuple(each for each in view.sort_by if not each.startswith(f"{field.id} "))
    act.database.update(view, **remaining)


def _free_name(act: Act, project: Project, name: str, *, except_for: ProjectField | None = None) -> str:
    new_name = check_unicode(name, resource="ProjectV2Field", field="name").strip()
    if not new_name:
        raise missing("ProjectV2Field", "name")
    namesake = projects.field_by_name(act.database, project, new_name)
    if namesake and (except_for is None or namesake.id != except_for.id):
        error = FieldError(
            resource="ProjectV2Field", field="name", code="custom", message="Name has already been taken"
        )
        raise InvalidRefusal(errors=(error,))
    return new_name


def _options(act: Act, field: ProjectField, new_options: Sequence[Option]) -> tuple[dict[str, str], ...]:
    if len(new_options) > MOST_OPTIONS:
        raise InvalidRefusal(f"A single select field can have at most {MOST_OPTIONS} options.")
    options: list[dict[str, str]] = []
    for option in new_options:
        name = check_unicode(option.get("name") or "", resource="ProjectV2Field", field="options").strip()
        if not name:
            raise InvalidRefusal("Option name can't be blank")
        if any(name.casefold() == each["name"].casefold() for each in options):
            raise InvalidRefusal(f"Option names must be unique: {name} is given twice.")
        color = option.get("color") or "GRAY"
        if color not in COLORS:
            raise invalid("ProjectV2Field", "options", value=color)
        description = check_unicode(option.get("description") or "", resource="ProjectV2Field", field="options")
        identity = option.get("id") or _new_id(act, field, len(options))
        # A seed says which ids options have; clients can only name those that are there.
        is_client = act.viewer is not None and not act.viewer.unrestricted
        if is_client and option.get("id") and identity not in {each["id"] for each in field.options}:
            raise InvalidRefusal("The single select option Id does not belong to the field")
        options.append({"id": identity, "name": name, "color": color, "description": description})
    return tuple(options)


def _configuration(act: Act, field: ProjectField, configuration: Mapping[str, Any]) -> dict[str, object]:
    start, duration = _check_stretch(configuration.get("start_date") or act.now[:10], configuration.get("duration", 14))
    listed: Sequence[Mapping[str, Any]] = configuration.get("iterations") or tuple(
        {
            "title": f"{field.name} {number + 1}",
            "start_date": (date.fromisoformat(start) + timedelta(days=number * duration)).isoformat(),
            "duration": duration,
        }
        for number in range(_FIRST_ITERATIONS)
    )
    # The iterations that stay as they were keep their ids, and items their values.
    existing_ids = {(each.title, each.start_date, each.duration): each.id for each in iterations_of(field)}
    configurations: list[Iteration] = []
    for each in listed:
        title = check_unicode(each["title"], resource="ProjectV2Field", field="iterations")
        begin, days = _check_stretch(each["start_date"], each["duration"])
        identity = each.get("id") or existing_ids.get((title, begin, days)) or _new_id(act, field, len(configurations))
        configurations.append(Iteration(identity, title, begin, days))
    start_day = date.fromisoformat(start).isoweekday()
    return {
        "duration": duration,
        "start_day": configuration.get("start_day", start_day),
        "iterations": [
            {"id": one.id, "title": one.title, "start_date": one.start_date, "duration": one.duration}
            for one in configurations
        ],
    }


def _check_stretch(start: str, days: int) -> tuple[str, int]:
    """Return the first day and the length of an iteration; refuse one whose end no calendar has."""
    if not 1 <= days <= LONGEST_ITERATION:
        raise InvalidRefusal(f"The duration of an iteration must be between 1 and {LONGEST_ITERATION} days.")
    begin = read_date(start)
    if begin[:4] > _LAST_YEAR:
        raise InvalidRefusal(f"{begin} is too far in the future for an iteration.")
    return begin, days


def _forget_values(act: Act, field: ProjectField, *, kept: set[str]) -> None:
    for value in act.database.all(ProjectItemValue, field_id=field.id):
        if value.value not in kept:
            act.database.delete(value)


def _new_id(act: Act, field: ProjectField, place: int) -> str:
    """Return an id that no option or iteration of the field had before: eight hexadecimal digits, as on GitHub."""
    source = f"{field.id} {act.database.last_change()} {place}"
    return hashlib.sha256(source.encode()).hexdigest()[:8]
