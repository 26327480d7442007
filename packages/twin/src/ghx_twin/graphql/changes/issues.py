"""Mutations of issues, and of what pull requests share with them."""

from collections.abc import Sequence

from ghx_twin.commands import issues
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.graphql.changes.change import Change, Mutation, Outcome, refuse_arguments
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Issue, IssueType, Label, Milestone, Repository, User


def create_issue(
    change: Change,
    *,
    repository_id: str,
    title: str,
    body: str | None = None,
    label_ids: list[str] | None = None,
    assignee_ids: list[str] | None = None,
    milestone_id: str | None = None,
    issue_type_id: str | None = None,
    parent_issue_id: str | None = None,
    project_ids: list[str] | None = None,
) -> Outcome:
    """Open an issue."""
    refuse_arguments("CreateIssueInput", projectIds=project_ids)
    issue = issues.create(
        change.act,
        change.find(repository_id, Repository),
        title=title,
        body=body,
        labels=change.find_all(label_ids, Label),
        assignees=change.find_all(assignee_ids, User),
        milestone=change.find(milestone_id, Milestone) if milestone_id else None,
        issue_type=change.find(issue_type_id, IssueType).name if issue_type_id else None,
    )
    if parent_issue_id:
        issues.add_child(change.act, _issue(change, parent_issue_id), issue)
    return {"issue": issue}


def update_issue(
    change: Change,
    *,
    id: str,  # noqa: A002 - the input's own name
    title: str | None = None,
    body: str | None = None,
    state: str | None = None,
    label_ids: list[str] | None = None,
    assignee_ids: list[str] | None = None,
    milestone_id: str | Unset | None = UNSET,
    issue_type_id: str | Unset | None = UNSET,
    project_ids: list[str] | None = None,
) -> Outcome:
    """Change an issue; what is not given stays."""
    refuse_arguments("UpdateIssueInput", projectIds=project_ids)
    issue = _issue(change, id)
    rewrite(change, issue, title=title, body=body)
    put_metadata(change, issue, label_ids=label_ids, assignee_ids=assignee_ids, milestone_id=milestone_id)
    if issue_type_id is not UNSET:
        update_issue_issue_type(change, issue_id=id, issue_type_id=issue_type_id)
    if state == "CLOSED":
        issues.close(change.act, issue)
    elif state == "OPEN":
        issues.reopen(change.act, issue)
    return {"issue": issue, "actor": change.actor}


def update_issue_issue_type(change: Change, *, issue_id: str, issue_type_id: str | None = None) -> Outcome:
    """Set the type of an issue, or take it away."""
    name = change.find(issue_type_id, IssueType).name if issue_type_id else None
    return {"issue": issues.update(change.act, _issue(change, issue_id), issue_type=name)}


def close_issue(
    change: Change, *, issue_id: str, state_reason: str | None = None, duplicate_issue_id: str | None = None
) -> Outcome:
    """Close an issue."""
    issue = _issue(change, issue_id)
    issues.close(
        change.act,
        issue,
        reason=state_reason.lower() if state_reason else None,
        duplicate_of=_issue(change, duplicate_issue_id) if duplicate_issue_id else None,
    )
    return {"issue": issue}


def reopen_issue(change: Change, *, issue_id: str) -> Outcome:
    """Open an issue again."""
    issue = _issue(change, issue_id)
    issues.reopen(change.act, issue)
    return {"issue": issue}


def delete_issue(change: Change, *, issue_id: str) -> Outcome:
    """Delete an issue."""
    issue = _issue(change, issue_id)
    issues.delete(change.act, issue)
    return {"repository": change.context.home(issue.repository_id)}


def transfer_issue(
    change: Change, *, issue_id: str, repository_id: str, create_labels_if_missing: bool | None = None
) -> Outcome:
    """Move an issue to another repository."""
    refuse_arguments("TransferIssueInput", createLabelsIfMissing=create_labels_if_missing)
    issue = _issue(change, issue_id)
    return {"issue": issues.transfer(change.act, issue, change.find(repository_id, Repository))}


def pin_issue(change: Change, *, issue_id: str) -> Outcome:
    """Pin an issue to the top of the list."""
    issue = _issue(change, issue_id)
    issues.pin(change.act, issue)
    return {"issue": issue}


def unpin_issue(change: Change, *, issue_id: str) -> Outcome:
    """Take an issue from the top of the list."""
    issue = _issue(change, issue_id)
    issues.unpin(change.act, issue)
    return {"issue": issue, "id": issue_id}


def lock_lockable(change: Change, *, lockable_id: str, lock_reason: str | None = None) -> Outcome:
    """Lock a conversation."""
    issue = change.conversation(lockable_id)
    reasons = {"OFF_TOPIC": "off-topic", "TOO_HEATED": "too heated"}
    reason = reasons.get(lock_reason, lock_reason.lower()) if lock_reason else None
    issues.lock(change.act, issue, reason)
    return {"locked_record": issue, "actor": change.actor}


def unlock_lockable(change: Change, *, lockable_id: str) -> Outcome:
    """Unlock a conversation."""
    issue = change.conversation(lockable_id)
    issues.unlock(change.act, issue)
    return {"unlocked_record": issue, "actor": change.actor}


def add_labels_to_labelable(change: Change, *, labelable_id: str, label_ids: list[str]) -> Outcome:
    """Put labels on an issue or pull request."""
    issue = change.conversation(labelable_id)
    issues.add_labels(change.act, issue, change.find_all(label_ids, Label))
    return {"labelable": issue}


def remove_labels_from_labelable(change: Change, *, labelable_id: str, label_ids: list[str]) -> Outcome:
    """Take labels off an issue or pull request; those that are not on it are no matter."""
    issue = change.conversation(labelable_id)
    ids = {label.id for label in issues.labels_of(change.act, issue)}
    issues.remove_labels(change.act, issue, [one for one in change.find_all(label_ids, Label) if one.id in ids])
    return {"labelable": issue}


def clear_labels_from_labelable(change: Change, *, labelable_id: str) -> Outcome:
    """Take every label off an issue or pull request."""
    issue = change.conversation(labelable_id)
    issues.set_labels(change.act, issue, ())
    return {"labelable": issue}


def add_assignees_to_assignable(change: Change, *, assignable_id: str, assignee_ids: list[str]) -> Outcome:
    """Assign people to an issue or pull request."""
    issue = change.conversation(assignable_id)
    issues.add_assignees(change.act, issue, change.find_all(assignee_ids, User))
    return {"assignable": issue}


def remove_assignees_from_assignable(change: Change, *, assignable_id: str, assignee_ids: list[str]) -> Outcome:
    """Take people off an issue or pull request."""
    issue = change.conversation(assignable_id)
    issues.remove_assignees(change.act, issue, change.find_all(assignee_ids, User))
    return {"assignable": issue}


def replace_actors_for_assignable(
    change: Change, *, assignable_id: str, actor_logins: list[str] | None = None, actor_ids: list[str] | None = None
) -> Outcome:
    """Assign exactly these to an issue or pull request."""
    issue = change.conversation(assignable_id)
    if actor_ids is None and actor_logins is None:
        raise InvalidRefusal("Either actorIds or actorLogins must be provided.")
    actors = [*change.find_all(actor_ids, User), *(_actor(change, login) for login in actor_logins or ())]
    issues.set_assignees(change.act, issue, actors)
    return {"assignable": issue}


def _actor(change: Change, login: str) -> User:
    try:
        return account(change, login)
    except NotFoundRefusal:
        raise NotFoundRefusal(f"Could not resolve to a user or bot with the login '{login}'.") from None


def account(change: Change, login: str) -> User:
    """Return a person or bot by a login, which GraphQL writes without `[bot]`."""
    world = change.context.world
    bot = world.database.one(User, login=f"{login}[bot]") if not login.endswith("[bot]") else None
    return bot or lookup.user(world, login)


def rewrite(change: Change, issue: Issue, *, title: str | None, body: str | None) -> None:
    """Change title and body, as far as they are given."""
    if title is not None or body is not None:
        issues.update(change.act, issue, title=UNSET if title is None else title, body=UNSET if body is None else body)


def put_metadata(
    change: Change,
    issue: Issue,
    *,
    label_ids: list[str] | None,
    assignee_ids: list[str] | None,
    milestone_id: str | Unset | None,
) -> None:
    """Set labels, assignees and milestone, as far as they are given; a milestone of null is taken off."""
    if label_ids is not None:
        issues.set_labels(change.act, issue, change.find_all(label_ids, Label))
    if assignee_ids is not None:
        issues.set_assignees(change.act, issue, change.find_all(assignee_ids, User))
    if milestone_id is not UNSET:
        issues.update(change.act, issue, milestone=change.find(milestone_id, Milestone) if milestone_id else None)


def _issue(change: Change, identity: str) -> Issue:
    return change.find(identity, Issue)


ISSUE_CHANGES: Sequence[Mutation] = (
    create_issue, update_issue, update_issue_issue_type, close_issue, reopen_issue, delete_issue, transfer_issue,
    pin_issue, unpin_issue, lock_lockable, unlock_lockable, add_labels_to_labelable, remove_labels_from_labelable,
    clear_labels_from_labelable,
    add_assignees_to_assignable, remove_assignees_from_assignable, replace_actors_for_assignable,
)  # fmt: skip
