"""Issues: opened, changed, deleted."""

from collections.abc import Sequence

from ghx_twin.commands import cascade, kernel, texts, timeline
from ghx_twin.commands.issues.assignment import assign
from ghx_twin.commands.issues.labelling import attach_labels
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.texts import invalid
from ghx_twin.queries import lookup
from ghx_twin.queries.issues.issue_types import find_issue_type
from ghx_twin.queries.permissions import Role, may, require
from ghx_twin.refusals import GoneRefusal, InvalidRefusal
from ghx_twin.state.records import (
    Dependency,
    Issue,
    IssueType,
    Label,
    LinkedBranch,
    Milestone,
    Repository,
    Tombstone,
    User,
)
from ghx_twin.world import Act

ISSUES_DISABLED = "Issues are disabled for this repo"


def create(
    act: Act,
    repository: Repository,
    *,
    title: str,
    body: str | None = None,
    labels: Sequence[Label] = (),
    assignees: Sequence[User] = (),
    milestone: Milestone | None = None,
    issue_type: str | None = None,
) -> Issue:
    """Open an issue; labels, assignees, milestone and type are dropped silently where the viewer may not set them."""
    require(act, repository, "read")
    if not repository.has_issues:
        raise GoneRefusal(ISSUES_DISABLED)
    issue = insert(act, repository, title=title, body=body)
    if may(act.world, act.viewer, repository, "triage"):
        attach_labels(act, issue, labels)
        assign(act, issue, assignees, strict=True)
        if milestone is not None:
            set_milestone(act, issue, milestone)
        if issue_type is not None:
            _set_type(act, issue, issue_type)
    return kernel.reload(act, issue)


def insert(act: Act, repository: Repository, *, title: str, body: str | None, is_pull: bool = False) -> Issue:
    """Add what issues and pull requests have in common under the next number, without a permission check."""
    resource = "PullRequest" if is_pull else "Issue"
    issue = act.database.insert(
        Issue,
        repository_id=repository.id,
        number=kernel.take_number(act, repository),
        is_pull=is_pull,
        author_id=kernel.actor_id(act, repository),
        title=texts.check_title(title, resource=resource),
        body=texts.check_body(body, resource=resource),
        created_at=act.now,
        updated_at=act.now,
    )
    timeline.record_mentions(act, issue, issue.body)
    return issue


def update(
    act: Act,
    issue: Issue,
    *,
    title: str | Unset = UNSET,
    body: str | Unset | None = UNSET,
    milestone: Milestone | Unset | None = UNSET,
    issue_type: str | Unset | None = UNSET,
) -> Issue:
    """Change the text, which the author and writers may, or milestone and type, which need the triage role."""
    current = kernel.reload(act, issue)
    if title is not UNSET or body is not UNSET:
        require_author_or(act, current, "write")
        current = _rewrite(act, current, title, body)
    if milestone is not UNSET:
        require(act, lookup.repository_of(act.world, current), "triage")
        current = set_milestone(act, current, milestone)
    if issue_type is not UNSET:
        require(act, lookup.repository_of(act.world, current), "triage")
        current = _set_type(act, current, issue_type)
    return current


def delete(act: Act, issue: Issue) -> None:
    """Delete an issue and everything that belongs to it; its number stays taken."""
    current = kernel.reload(act, issue)
    repository = lookup.repository_of(act.world, current)
    require(act, repository, "admin")
    if current.is_pull:
        raise InvalidRefusal("Pull requests cannot be deleted.")
    cascade.delete_all(act.database, cascade.under_issue(act.database, current))
    cascade.clear_links_to_issues(act.database, [current.id])
    for trace in act.database.all(Tombstone, moved_to_id=current.id):
        act.database.update(trace, moved_to_id=None)
    act.database.insert(Tombstone, repository_id=repository.id, number=current.number)
    act.database.delete(current)


def convert_to_pull(act: Act, issue: Issue) -> Issue:
    """Make an open issue the shared record of a pull request; what only issues have is taken off it."""
    current = kernel.reload(act, issue)
    require_author_or(act, current, "triage")
    if current.is_pull or current.state != "open":
        raise invalid("Issue", "issue", value=current.number)
    for relation in (
        *act.database.all(Dependency, issue_id=current.id),
        *act.database.all(Dependency, blocking_id=current.id),
        *act.database.all(LinkedBranch, issue_id=current.id),
    ):
        act.database.delete(relation)
    for child in act.database.all(Issue, parent_id=current.id):
        act.database.update(child, parent_id=None, sub_issue_position=None)
    return kernel.touch(
        act, current, is_pull=True, pinned=False, state_reason=None, issue_type_id=None, parent_id=None,
        sub_issue_position=None,
    )  # fmt: skip


def set_milestone(act: Act, issue: Issue, milestone: Milestone | None) -> Issue:
    """Set or clear the milestone of an issue without a permission check."""
    current = kernel.reload(act, issue)
    if milestone is not None and milestone.repository_id != current.repository_id:
        raise invalid("Issue", "milestone", value=milestone.number)
    if current.milestone_id == (milestone.id if milestone else None):
        return current
    previous = act.database.get(Milestone, current.milestone_id)
    if previous:
        timeline.record_event(act, current, "demilestoned", {"milestone": {"id": previous.id, "title": previous.title}})
    if milestone:
        timeline.record_event(act, current, "milestoned", {"milestone": {"id": milestone.id, "title": milestone.title}})
    return kernel.touch(act, current, milestone_id=milestone.id if milestone else None)


def _set_type(act: Act, issue: Issue, name: str | None) -> Issue:
    current = kernel.reload(act, issue)
    issue_type = find_issue_type(act.world, lookup.repository_of(act.world, current), name)
    is_new = issue_type is not None and issue_type.id != current.issue_type_id
    if (
        current.is_pull
        or (name is not None and issue_type is None)
        or (issue_type and is_new and not issue_type.is_enabled)
    ):
        raise invalid("Issue", "type", value=name)
    if (issue_type.id if issue_type else None) == current.issue_type_id:
        return current
    before = act.database.get(IssueType, current.issue_type_id)
    data = {
        "issue_type": _describe_type(issue_type or before),
        **({"prev_issue_type": _describe_type(before)} if issue_type and before else {}),
    }
    event = "issue_type_removed" if issue_type is None else "issue_type_changed" if before else "issue_type_added"
    timeline.record_event(act, current, event, data)
    return kernel.touch(act, current, issue_type_id=issue_type.id if issue_type else None)


def _describe_type(issue_type: IssueType | None) -> dict[str, object] | None:
    return {name: getattr(issue_type, name) for name in ("id", "name", "color")} if issue_type else None


def require_author_or(act: Act, issue: Issue, needed: Role) -> None:
    """Refuse a viewer who is not the author and lacks a role."""
    is_author = act.viewer is not None and act.viewer.id == issue.author_id
    require(act, lookup.repository_of(act.world, issue), "read" if is_author else needed)


def _rewrite(act: Act, issue: Issue, title: str | Unset, body: str | Unset | None) -> Issue:
    resource = "PullRequest" if issue.is_pull else "Issue"
    changes: dict[str, object] = {}
    if title is not UNSET and (new_title := texts.check_title(title, resource=resource)) != issue.title:
        changes["title"] = new_title
        timeline.record_event(act, issue, "renamed", {"from": issue.title, "to": new_title})
    if body is not UNSET and (written := texts.check_body(body, resource=resource)) != issue.body:
        changes["body"] = written
        timeline.record_mentions(act, issue, written, before=issue.body)
    return kernel.touch(act, issue, **changes) if changes else issue
