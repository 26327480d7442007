"""Moving an issue to another repository of the same owner."""

from ghx_twin.commands import kernel, timeline
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import assignable, require
from ghx_twin.refusals import GoneRefusal, InvalidRefusal
from ghx_twin.state.records import Assignee, Issue, IssueLabel, Label, Milestone, Repository, Tombstone, User
from ghx_twin.world import Act


def transfer(act: Act, issue: Issue, target: Repository) -> Issue:
    """Move an issue with its conversation; it gets a new number, and the old one redirects to it."""
    current = kernel.reload(act, issue)
    source = lookup.repository_of(act.world, current)
    require(act, source, "write")
    require(act, target, "write")
    _refuse_impossible(current, source, target)
    number = current.number
    # Milestones and labels belong to a repository: the issue gets those of the same name there, and loses the others.
    milestone = act.database.get(Milestone, current.milestone_id)
    like = act.database.one(Milestone, repository_id=target.id, title=milestone.title) if milestone else None
    moved = kernel.touch(
        act,
        current,
        repository_id=target.id,
        number=kernel.take_number(act, target),
        pinned=False,
        milestone_id=like.id if like else None,
    )
    act.database.insert(Tombstone, repository_id=source.id, number=number, moved_to_id=moved.id)
    _move_labels(act, moved, target)
    _drop_strangers(act, moved, target)
    name = lookup.full_name(act.world, source)
    timeline.record_event(
        act, moved, "transferred", {"from_repository_id": source.id, "from_repository": name, "from_number": number}
    )
    return kernel.reload(act, moved)


def _refuse_impossible(issue: Issue, source: Repository, target: Repository) -> None:
    if issue.is_pull:
        raise InvalidRefusal("Pull requests cannot be transferred.")
    if target.id == source.id:
        raise InvalidRefusal("The new repository must be another one.")
    if target.owner_id != source.owner_id:
        raise InvalidRefusal("Issues can only be transferred between repositories of the same owner.")
    if source.visibility != "public" and target.visibility == "public":
        raise InvalidRefusal("Issues cannot be transferred from a private to a public repository.")
    if not target.has_issues:
        raise GoneRefusal("Issues are disabled for this repo")


def _move_labels(act: Act, issue: Issue, target: Repository) -> None:
    for placed in act.database.all(IssueLabel, issue_id=issue.id):
        label = act.database.get(Label, placed.label_id)
        like = act.database.one(Label, repository_id=target.id, name=label.name) if label else None
        act.database.delete(placed)
        if like:
            act.database.insert(IssueLabel, issue_id=issue.id, label_id=like.id)


def _drop_strangers(act: Act, issue: Issue, target: Repository) -> None:
    for assignees in act.database.all(Assignee, issue_id=issue.id):
        user = act.database.get(User, assignees.user_id)
        if user is None or not assignable(act.world, target, user, issue):
            act.database.delete(assignees)
