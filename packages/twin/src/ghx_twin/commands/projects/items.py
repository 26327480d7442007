"""Items of projects: added, moved, archived, taken off; and draft issues, which are items alone."""

from collections.abc import Sequence

from ghx_twin.commands import kernel, timeline
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.projects.values import actor_id
from ghx_twin.commands.texts import check_body, check_title
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.projects import projects
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import DraftIssue, Issue, Project, ProjectItem, ProjectItemValue, User
from ghx_twin.world import Act

MOST_ITEMS = 50_000
_GAP = 1 << 16  # between two items: as often can one be put between them before all are numbered again


def add_item(act: Act, project: Project, issue: Issue) -> ProjectItem:
    """Put an issue or pull request on a project; one that is there already stays where it is."""
    current = kernel.reload(act, project)
    projects.require(act, current, "writer")
    repository = lookup.repository_of(act.world, issue)
    if not permissions.is_visible(act.world, act.viewer, repository):
        raise NotFoundRefusal(f"Could not resolve to an issue or pull request with the number of {issue.number}.")
    project_item = act.database.one(ProjectItem, project_id=current.id, issue_id=issue.id)
    if project_item:
        return project_item if project_item.archived_at is None else act.database.update(project_item, archived_at=None)
    item = _insert(act, current, issue_id=issue.id)
    timeline.record_event(act, issue, "added_to_project_v2", {"project_id": current.id}, actor=item.creator_id)
    return item


def add_draft(
    act: Act, project: Project, *, title: str, body: str | None = None, assignees: Sequence[User] = ()
) -> ProjectItem:
    """Put a draft issue on a project."""
    current = kernel.reload(act, project)
    projects.require(act, current, "writer")
    draft = act.database.insert(
        DraftIssue,
        title=check_title(title, resource="DraftIssue"),
        body=check_body(body, resource="DraftIssue"),
        assignee_ids=tuple(dict.fromkeys(user.id for user in assignees)),
        creator_id=_creator(act, current),
        created_at=act.now,
        updated_at=act.now,
    )
    return _insert(act, current, draft_issue_id=draft.id)


def update_draft(
    act: Act,
    draft: DraftIssue,
    *,
    title: str | Unset = UNSET,
    body: str | Unset | None = UNSET,
    assignees: Sequence[User] | Unset = UNSET,
) -> DraftIssue:
    """Change the title, text or assignees of a draft issue."""
    current = kernel.reload(act, draft)
    item = _require_item(act, act.database.one(ProjectItem, draft_issue_id=current.id))
    changes: dict[str, object] = {}
    if title is not UNSET:
        changes["title"] = check_title(title, resource="DraftIssue")
    if body is not UNSET:
        changes["body"] = check_body(body, resource="DraftIssue")
    if assignees is not UNSET:
        changes["assignee_ids"] = tuple(dict.fromkeys(user.id for user in assignees))
    if all(getattr(current, name) == value for name, value in changes.items()):
        return current
    act.database.update(item, updated_at=max(act.now, item.updated_at))
    return act.database.update(current, **changes, updated_at=max(act.now, current.updated_at))


def delete_item(act: Act, item: ProjectItem) -> None:
    """Take an item off its project; a draft issue is gone with it, an issue stays."""
    current = _require_item(act, item)
    for value in act.database.all(ProjectItemValue, item_id=current.id):
        act.database.delete(value)
    if draft := act.database.get(DraftIssue, current.draft_issue_id):
        act.database.delete(draft)
    if issue := act.database.get(Issue, current.issue_id):
        data = {"project_id": current.project_id}
        timeline.record_event(act, issue, "removed_from_project_v2", data, actor=actor_id(act, current))
    act.database.delete(current)


def archive_item(act: Act, item: ProjectItem) -> ProjectItem:
    """Archive an item: it stays on the project, and views no longer show it."""
    current = _require_item(act, item)
    if current.archived_at is not None:
        return current
    return act.database.update(current, archived_at=act.now, updated_at=max(act.now, current.updated_at))


def unarchive_item(act: Act, item: ProjectItem) -> ProjectItem:
    """Bring an archived item back."""
    current = _require_item(act, item)
    if current.archived_at is None:
        return current
    return act.database.update(current, archived_at=None, updated_at=max(act.now, current.updated_at))


def move_item(act: Act, item: ProjectItem, after: ProjectItem | None) -> ProjectItem:
    """Move an item behind another one of its project, or to the top."""
    current = _require_item(act, item)
    if after is not None and after.project_id != current.project_id:
        raise NotFoundRefusal("Could not resolve the item to move behind: it is not on this project.")
    if after is not None and after.id == current.id:
        raise InvalidRefusal("An item cannot be moved behind itself.")
    project = projects.project_of(act.world, current)
    others = [one for one in projects.items_of(act.database, project, archived=None) if one.id != current.id]
    place = 0 if after is None else next(n for n, one in enumerate(others, 1) if one.id == after.id)
    above = others[place - 1].position if place else None
    below = others[place].position if place < len(others) else None
    if above is None or below is None:
        position = _GAP if above is None and below is None else (above or 0) + _GAP
        position = position if below is None else below - _GAP
    else:
        position = (above + below) // 2
        if position == above:
            return _renumber(act, [*others[:place], current, *others[place:]], current)
    return act.database.update(current, position=position)


def replace_draft(act: Act, item: ProjectItem, issue: Issue) -> ProjectItem:
    """Put the issue that was made of a draft issue in its place; the item keeps its values."""
    current = _require_item(act, item)
    draft = act.database.get(DraftIssue, current.draft_issue_id)
    if draft is None:
        raise InvalidRefusal("Only a draft issue can be converted to an issue.")
    act.database.delete(draft)
    return act.database.update(current, draft_issue_id=None, issue_id=issue.id, updated_at=act.now)


def _insert(act: Act, project: Project, **content: int) -> ProjectItem:
    if act.database.count(ProjectItem, project_id=project.id) >= MOST_ITEMS:
        raise InvalidRefusal(f"A project can have at most {MOST_ITEMS} items.")
    last = act.database.select(ProjectItem, "WHERE project_id = ? ORDER BY position DESC LIMIT 1", (project.id,))
    act.database.update(project, updated_at=max(act.now, project.updated_at))
    return act.database.insert(
        ProjectItem,
        project_id=project.id,
        position=(last[0].position if last else 0) + _GAP,
        creator_id=_creator(act, project),
        created_at=act.now,
        updated_at=act.now,
        **content,
    )


def _creator(act: Act, project: Project) -> int:
    owner = projects.owner_of(act.world, project)
    return lookup.default_account_actor(act.world, owner).id if act.viewer is None else act.viewer.id


def _require_item(act: Act, item: ProjectItem | None) -> ProjectItem:
    if item is None:
        raise NotFoundRefusal("Could not resolve to a ProjectV2Item: it was deleted.")
    current = kernel.reload(act, item)
    projects.require(act, projects.project_of(act.world, current), "writer")
    return current


def _renumber(act: Act, ordered: Sequence[ProjectItem], moved: ProjectItem) -> ProjectItem:
    for place, one in enumerate(ordered, 1):
        act.database.update(one, position=place * _GAP)
    return kernel.reload(act, moved)
