"""Status updates: what people report about a project as a whole."""

from ghx_twin.commands import kernel
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.projects.values import read_date
from ghx_twin.commands.texts import check_body, invalid
from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.state.records import Project, ProjectStatusUpdate
from ghx_twin.world import Act

STATUSES = ("INACTIVE", "ON_TRACK", "AT_RISK", "OFF_TRACK", "COMPLETE")


def create_status_update(
    act: Act,
    project: Project,
    *,
    status: str | None = None,
    body: str | None = None,
    start_date: str | None = None,
    target_date: str | None = None,
) -> ProjectStatusUpdate:
    """Report where a project stands."""
    current = kernel.reload(act, project)
    projects.require(act, current, "writer")
    owner = projects.owner_of(act.world, current)
    return act.database.insert(
        ProjectStatusUpdate,
        project_id=current.id,
        status=_check_status(status),
        body=check_body(body, resource="ProjectV2StatusUpdate"),
        start_date=None if start_date is None else read_date(start_date),
        target_date=None if target_date is None else read_date(target_date),
        creator_id=lookup.default_account_actor(act.world, owner).id if act.viewer is None else act.viewer.id,
        created_at=act.now,
        updated_at=act.now,
    )


def update_status_update(
    act: Act,
    update: ProjectStatusUpdate,
    *,
    status: str | Unset | None = UNSET,
    body: str | Unset | None = UNSET,
    start_date: str | Unset | None = UNSET,
    target_date: str | Unset | None = UNSET,
) -> ProjectStatusUpdate:
    """Change a report; None takes a part of it away."""
    current = _require_update(act, update)
    changes: dict[str, object] = {}
    if status is not UNSET:
        changes["status"] = _check_status(status)
    if body is not UNSET:
        changes["body"] = check_body(body, resource="ProjectV2StatusUpdate")
    for name, day in (("start_date", start_date), ("target_date", target_date)):
        if day is not UNSET:
            changes[name] = None if day is None else read_date(day)
    if all(getattr(current, name) == value for name, value in changes.items()):
        return current
    return act.database.update(current, **changes, updated_at=max(act.now, current.updated_at))


def delete_status_update(act: Act, update: ProjectStatusUpdate) -> None:
    """Delete a report."""
    act.database.delete(_require_update(act, update))


def _require_update(act: Act, update: ProjectStatusUpdate) -> ProjectStatusUpdate:
    current = kernel.reload(act, update)
    projects.require(act, projects.project_of(act.world, current), "writer")
    return current


def _check_status(status: str | None) -> str | None:
    if status is not None and status not in STATUSES:
        raise invalid("ProjectV2StatusUpdate", "status", value=status)
    return status
