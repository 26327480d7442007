"""Who an issue or pull request is assigned to."""

from collections.abc import Sequence

from ghx_twin.commands import kernel, timeline
from ghx_twin.commands.texts import invalid
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import assignable, require
from ghx_twin.state.records import Assignee, Issue, User
from ghx_twin.world import Act

MOST_ASSIGNEES = 10


def add_assignees(act: Act, issue: Issue, users: Sequence[User]) -> Issue:
    """Assign users; those who cannot be assigned, and those after the tenth, are left out silently, as on GitHub."""
    require(act, lookup.repository_of(act.world, issue), "triage")
    return assign(act, issue, users, strict=False)


def remove_assignees(act: Act, issue: Issue, users: Sequence[User]) -> Issue:
    """Unassign users; those whom it was not assigned to are no error."""
    require(act, lookup.repository_of(act.world, issue), "triage")
    current = kernel.reload(act, issue)
    for user in users:
        assignee = act.database.one(Assignee, issue_id=current.id, user_id=user.id)
        if assignee:
            act.database.delete(assignee)
            timeline.record_event(act, current, "unassigned", {"assignee_id": user.id})
            current = kernel.touch(act, current)
    return current


def set_assignees(act: Act, issue: Issue, users: Sequence[User]) -> Issue:
    """Replace the assignees of an issue; refuse a user who cannot be assigned."""
    require(act, lookup.repository_of(act.world, issue), "triage")
    ids = {user.id for user in users}
    surplus = [user for user in assignees_of(act, issue) if user.id not in ids]
    return assign(act, remove_assignees(act, issue, surplus), users, strict=True)


def assign(act: Act, issue: Issue, users: Sequence[User], *, strict: bool) -> Issue:
    """Assign users without a permission check; `strict` refuses those who cannot be assigned."""
    current = kernel.reload(act, issue)
    repository = lookup.repository_of(act.world, current)
    for user in users:
        if act.database.one(Assignee, issue_id=current.id, user_id=user.id):
            continue
        if not assignable(act.world, repository, user, current):
            if strict:
                raise invalid("Issue", "assignees", value=user.login)
            continue
        if act.database.count(Assignee, issue_id=current.id) >= MOST_ASSIGNEES:
            break
        act.database.insert(Assignee, issue_id=current.id, user_id=user.id)
        timeline.record_event(act, current, "assigned", {"assignee_id": user.id})
        current = kernel.touch(act, current)
    return current


def assignees_of(act: Act, issue: Issue) -> list[User]:
    """Return the assignees of an issue in the order they were assigned."""
    return act.database.select(
        User,
        "JOIN assignees ON assignees.user_id = users.id WHERE assignees.issue_id = ? ORDER BY assignees.id",
        (issue.id,),
    )
