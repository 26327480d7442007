"""Milestones of a repository: numbered from 1, titles unique."""

from ghx_twin.commands import kernel, timeline
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.texts import already_exists, check_length, check_time, check_unicode, invalid, missing
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import Issue, Milestone, Repository
from ghx_twin.world import Act

LONGEST_TITLE = 255


def create(
    act: Act,
    repository: Repository,
    *,
    title: str,
    description: str | None = None,
    due_on: str | None = None,
    state: str = "open",
) -> Milestone:
    """Add a milestone to a repository."""
    require(act, repository, "write")
    free_title = _free_title(act, repository, title)
    return act.database.insert(
        Milestone,
        repository_id=repository.id,
        number=kernel.take_milestone_number(act, repository),
        title=free_title,
        description=_description(description),
        state=_state(state),
        due_on=_due_on(due_on),
        creator_id=kernel.actor_id(act, repository),
        created_at=act.now,
        updated_at=act.now,
        closed_at=act.now if state == "closed" else None,
    )


def update(
    act: Act,
    milestone: Milestone,
    *,
    title: str | Unset = UNSET,
    description: str | Unset | None = UNSET,
    due_on: str | Unset | None = UNSET,
    state: str | Unset = UNSET,
) -> Milestone:
    """Change, close or reopen a milestone."""
    current = kernel.reload(act, milestone)
    repository = _require_write(act, current)
    changes: dict[str, object] = {}
    if title is not UNSET:
        changes["title"] = _free_title(act, repository, title, except_for=current)
    if description is not UNSET:
        changes["description"] = _description(description)
    if due_on is not UNSET:
        changes["due_on"] = _due_on(due_on)
    if state is not UNSET and _state(state) != current.state:
        changes |= {"state": state, "closed_at": act.now if state == "closed" else None}
    if all(getattr(current, field) == value for field, value in changes.items()):
        return current
    return kernel.touch(act, current, **changes)


def delete(act: Act, milestone: Milestone) -> None:
    """Delete a milestone, and take it off its issues."""
    current = kernel.reload(act, milestone)
    _require_write(act, current)
    for issue in act.database.all(Issue, milestone_id=current.id):
        timeline.record_event(act, issue, "demilestoned", {"milestone": {"id": current.id, "title": current.title}})
        kernel.touch(act, issue, milestone_id=None)
    act.database.delete(current)


def _require_write(act: Act, milestone: Milestone) -> Repository:
    repository = act.database.get(Repository, milestone.repository_id)
    if repository is None:
        raise NotFoundRefusal(f"Could not resolve to a Milestone with the number of {milestone.number}.")
    require(act, repository, "write")
    return repository


def _free_title(act: Act, repository: Repository, title: str, *, except_for: Milestone | None = None) -> str:
    new_title = check_unicode(title, resource="Milestone", field="title").strip()
    if not new_title:
        raise missing("Milestone", "title")
    check_length(new_title, LONGEST_TITLE, resource="Milestone", field="title")
    namesake = act.database.one(Milestone, repository_id=repository.id, title=new_title)
    if namesake and (except_for is None or namesake.id != except_for.id):
        raise already_exists("Milestone", "title")
    return new_title


def _description(description: str | None) -> str | None:
    return None if description is None else check_unicode(description, resource="Milestone", field="description")


def _state(state: str) -> str:
    if state not in {"open", "closed"}:
        raise invalid("Milestone", "state", value=state)
    return state


def _due_on(due_on: str | None) -> str | None:
    return None if due_on is None else check_time(due_on, resource="Milestone", field="due_on")
