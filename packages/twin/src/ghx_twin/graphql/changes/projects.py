"""Mutations of projects, their fields and items."""

from collections.abc import Mapping, Sequence
from typing import Any

from ghx_twin.commands import issues, projects
from ghx_twin.commands.kernel import UNSET
from ghx_twin.graphql.changes.change import Change, Mutation, Outcome, refuse_arguments
from ghx_twin.graphql.scopes import require_scope
from ghx_twin.nodes import node_id
from ghx_twin.queries.projects.projects import WRITE_SCOPE, items_of
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import (
    DraftIssue,
    Project,
    ProjectField,
    ProjectItem,
    ProjectStatusUpdate,
    Repository,
    User,
)

_INPUTS = {"title": "text", "single_select": "single_select_option_id", "iteration": "iteration_id"}
"""Where the value for a field stands in the input, if not under the name of its type."""


def create_project_v2(
    change: Change, *, owner_id: str, title: str, repository_id: str | None = None, team_id: str | None = None
) -> Outcome:
    """Make a project."""
    _require_scope(change, "createProjectV2")
    refuse_arguments("CreateProjectV2Input", teamId=team_id)
    home = change.find(repository_id, Repository) if repository_id else None
    return {"project_v2": projects.create(change.act, change.find(owner_id, User), title=title, repository=home)}


def update_project_v2(change: Change, *, project_id: str, **changes: Any) -> Outcome:
    """Change a project; what is not given stays."""
    project = _project(change, "updateProjectV2", project_id)
    new_values: dict[str, Any] = {
        name: value for name, value in changes.items() if value is not None or name in _CLEARABLE
    }
    return {"project_v2": projects.update(change.act, project, **new_values)}


def delete_project_v2(change: Change, *, project_id: str) -> Outcome:
    """Delete a project."""
    project = _project(change, "deleteProjectV2", project_id)
    projects.delete(change.act, project)
    return {"project_v2": project}


def copy_project_v2(
    change: Change, *, project_id: str, owner_id: str, title: str, include_draft_issues: bool | None = None
) -> Outcome:
    """Make a project like another one."""
    project = _project(change, "copyProjectV2", project_id)
    owner, drafts = change.find(owner_id, User), bool(include_draft_issues)
    return {"project_v2": projects.copy(change.act, project, owner, title=title, include_draft_issues=drafts)}


def mark_project_v2_as_template(change: Change, *, project_id: str) -> Outcome:
    """Make a project a template."""
    project = _project(change, "markProjectV2AsTemplate", project_id)
    return {"project_v2": projects.update(change.act, project, template=True)}


def unmark_project_v2_as_template(change: Change, *, project_id: str) -> Outcome:
    """Make a template a project again."""
    project = _project(change, "unmarkProjectV2AsTemplate", project_id)
    return {"project_v2": projects.update(change.act, project, template=False)}


def link_project_v2_to_repository(change: Change, *, project_id: str, repository_id: str) -> Outcome:
    """List a project in a repository."""
    project = _project(change, "linkProjectV2ToRepository", project_id)
    home = change.find(repository_id, Repository)
    projects.link(change.act, project, home)
    return {"repository": home}


def unlink_project_v2_from_repository(change: Change, *, project_id: str, repository_id: str) -> Outcome:
    """Take a project off the list of a repository."""
    project = _project(change, "unlinkProjectV2FromRepository", project_id)
    home = change.find(repository_id, Repository)
    projects.unlink(change.act, project, home)
    return {"repository": home}


def create_project_v2_field(
    change: Change,
    *,
    project_id: str,
    name: str,
    data_type: str,
    single_select_options: Sequence[Mapping[str, Any]] | None = None,
    iteration_configuration: Mapping[str, Any] | None = None,
) -> Outcome:
    """Add a field to a project."""
    project = _project(change, "createProjectV2Field", project_id)
    field = projects.create_field(
        change.act,
        project,
        name=name,
        data_type=data_type.lower(),
        options=single_select_options or (),
        configuration=iteration_configuration,
    )
    return {"project_v2_field": field}


def update_project_v2_field(
    change: Change,
    *,
    field_id: str,
    name: str | None = None,
    single_select_options: Sequence[Mapping[str, Any]] | None = None,
    iteration_configuration: Mapping[str, Any] | None = None,
) -> Outcome:
    """Change a field of a project."""
    _require_scope(change, "updateProjectV2Field")
    field = change.find(field_id, ProjectField)
    changed = projects.update_field(
        change.act, field, name=name, options=single_select_options, configuration=iteration_configuration
    )
    return {"project_v2_field": changed}


def delete_project_v2_field(change: Change, *, field_id: str) -> Outcome:
    """Delete a field of a project."""
    _require_scope(change, "deleteProjectV2Field")
    field = change.find(field_id, ProjectField)
    projects.delete_field(change.act, field)
    return {"project_v2_field": field}


def add_project_v2_item_by_id(change: Change, *, project_id: str, content_id: str) -> Outcome:
    """Put an issue or pull request on a project."""
    project = _project(change, "addProjectV2ItemById", project_id)
    return {"item": projects.add_item(change.act, project, change.conversation(content_id))}


def add_project_v2_draft_issue(
    change: Change, *, project_id: str, title: str, body: str | None = None, assignee_ids: list[str] | None = None
) -> Outcome:
    """Put a draft issue on a project."""
    project = _project(change, "addProjectV2DraftIssue", project_id)
    people = change.find_all(assignee_ids, User)
    return {"project_item": projects.add_draft(change.act, project, title=title, body=body, assignees=people)}


def update_project_v2_draft_issue(
    change: Change,
    *,
    draft_issue_id: str,
    title: str | None = None,
    body: str | None = None,
    assignee_ids: list[str] | None = None,
) -> Outcome:
    """Change a draft issue."""
    _require_scope(change, "updateProjectV2DraftIssue")
    changed = projects.update_draft(
        change.act,
        change.find(draft_issue_id, DraftIssue),
        title=UNSET if title is None else title,
        body=UNSET if body is None else body,
        assignees=UNSET if assignee_ids is None else change.find_all(assignee_ids, User),
    )
    return {"draft_issue": changed}


def convert_project_v2_draft_issue_item_to_issue(change: Change, *, item_id: str, repository_id: str) -> Outcome:
    """Make an issue of a draft issue."""
    _require_scope(change, "convertProjectV2DraftIssueItemToIssue")
    item = change.find(item_id, ProjectItem)
    draft = change.act.database.get(DraftIssue, item.draft_issue_id)
    if draft is None:
        raise InvalidRefusal("Only a draft issue can be converted to an issue.")
    people = [user for identity in draft.assignee_ids if (user := change.act.database.get(User, identity))]
    home = change.find(repository_id, Repository)
    issue = issues.create(change.act, home, title=draft.title, body=draft.body, assignees=people)
    return {"item": projects.replace_draft(change.act, item, issue)}


def delete_project_v2_item(change: Change, *, project_id: str, item_id: str) -> Outcome:
    """Take an item off a project."""
    item = _item(change, "deleteProjectV2Item", project_id, item_id)
    identity = node_id(change.act.database, item)
    projects.delete_item(change.act, item)
    return {"deleted_item_id": identity}


def archive_project_v2_item(change: Change, *, project_id: str, item_id: str) -> Outcome:
    """Archive an item."""
    item = _item(change, "archiveProjectV2Item", project_id, item_id)
    return {"item": projects.archive_item(change.act, item)}


def unarchive_project_v2_item(change: Change, *, project_id: str, item_id: str) -> Outcome:
    """Bring an archived item back."""
    item = _item(change, "unarchiveProjectV2Item", project_id, item_id)
    return {"item": projects.unarchive_item(change.act, item)}


def update_project_v2_item_field_value(
    change: Change, *, project_id: str, item_id: str, field_id: str, value: Mapping[str, Any]
) -> Outcome:
    """Set what an item holds in a field."""
    item = _item(change, "updateProjectV2ItemFieldValue", project_id, item_id)
    field = change.find(field_id, ProjectField)
    new_value = value.get(_INPUTS.get(field.data_type, field.data_type))
    return {"project_v2_item": projects.set_value(change.act, item, field, new_value)}


def clear_project_v2_item_field_value(change: Change, *, project_id: str, item_id: str, field_id: str) -> Outcome:
    """Take away what an item holds in a field."""
    item = _item(change, "clearProjectV2ItemFieldValue", project_id, item_id)
    return {"project_v2_item": projects.clear_value(change.act, item, change.find(field_id, ProjectField))}


def update_project_v2_item_position(
    change: Change, *, project_id: str, item_id: str, after_id: str | None = None
) -> Outcome:
    """Move an item behind another one, or to the top."""
    item = _item(change, "updateProjectV2ItemPosition", project_id, item_id)
    projects.move_item(change.act, item, change.find(after_id, ProjectItem) if after_id else None)
    return {"items": items_of(change.act.database, change.find(project_id, Project))}


def create_project_v2_status_update(change: Change, *, project_id: str, **report: Any) -> Outcome:
    """Report where a project stands."""
    project = _project(change, "createProjectV2StatusUpdate", project_id)
    return {"status_update": projects.create_status_update(change.act, project, **report)}


def update_project_v2_status_update(change: Change, *, status_update_id: str, **report: Any) -> Outcome:
    """Change a report; what is not given stays."""
    _require_scope(change, "updateProjectV2StatusUpdate")
    update = change.find(status_update_id, ProjectStatusUpdate)
    return {"status_update": projects.update_status_update(change.act, update, **report)}


def delete_project_v2_status_update(change: Change, *, status_update_id: str) -> Outcome:
    """Delete a report."""
    _require_scope(change, "deleteProjectV2StatusUpdate")
    update = change.find(status_update_id, ProjectStatusUpdate)
    projects.delete_status_update(change.act, update)
    project = change.act.database.get(Project, update.project_id)
    return {"deleted_status_update_id": status_update_id, "project_v2": project}


_CLEARABLE = frozenset({"short_description", "readme"})


def _require_scope(change: Change, mutation: str) -> None:
    require_scope(change.context.viewer, mutation, WRITE_SCOPE)


def _project(change: Change, mutation: str, identity: str) -> Project:
    _require_scope(change, mutation)
    return change.find(identity, Project)


def _item(change: Change, mutation: str, project_id: str, identity: str) -> ProjectItem:
    project, item = _project(change, mutation, project_id), change.find(identity, ProjectItem)
    if item.project_id != project.id:
        raise NotFoundRefusal(f"Could not resolve to a ProjectV2Item with the global id of '{identity}' on the project")
    return item


PROJECT_CHANGES: tuple[Mutation, ...] = (
    create_project_v2,
    update_project_v2,
    delete_project_v2,
    copy_project_v2,
    mark_project_v2_as_template,
    unmark_project_v2_as_template,
    link_project_v2_to_repository,
    unlink_project_v2_from_repository,
    create_project_v2_field,
    update_project_v2_field,
    delete_project_v2_field,
    add_project_v2_item_by_id,
    add_project_v2_draft_issue,
    update_project_v2_draft_issue,
    convert_project_v2_draft_issue_item_to_issue,
    delete_project_v2_item,
    archive_project_v2_item,
    unarchive_project_v2_item,
    update_project_v2_item_field_value,
    clear_project_v2_item_field_value,
    update_project_v2_item_position,
    create_project_v2_status_update,
    update_project_v2_status_update,
    delete_project_v2_status_update,
)
