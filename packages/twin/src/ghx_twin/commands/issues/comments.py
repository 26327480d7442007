"""The conversation of an issue or pull request."""

from ghx_twin.commands import cascade, kernel, texts, timeline
from ghx_twin.commands.texts import invalid
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import may, require
from ghx_twin.refusals import ForbiddenRefusal, NotFoundRefusal
from ghx_twin.state.records import Comment, Issue
from ghx_twin.world import Act

MINIMIZED_REASONS = ("abuse", "duplicate", "off-topic", "outdated", "resolved", "spam", "low-quality")
LOCKED = "Unable to create comment because issue is locked."


def create(act: Act, issue: Issue, body: str) -> Comment:
    """Add a comment; in a locked conversation only writers may."""
    current = kernel.reload(act, issue)
    repository = lookup.repository_of(act.world, current)
    require(act, repository, "read")
    if current.locked and not may(act.world, act.viewer, repository, "write"):
        raise ForbiddenRefusal(LOCKED)
    comment = act.database.insert(
        Comment,
        issue_id=current.id,
        author_id=kernel.actor_id(act, repository),
        body=texts.check_comment(body),
        created_at=act.now,
        updated_at=act.now,
    )
    kernel.touch(act, current)
    timeline.record_mentions(act, current, comment.body, comment=comment)
    return comment


def update(act: Act, comment: Comment, body: str) -> Comment:
    """Change the text of a comment; its author and writers may."""
    current = kernel.reload(act, comment)
    issue = _require_author_or_writer(act, current)
    written = texts.check_comment(body)
    if written == current.body:
        return current
    kernel.touch(act, issue)
    timeline.record_mentions(act, issue, written, before=current.body, comment=current)
    return kernel.touch(act, current, body=written)


def delete(act: Act, comment: Comment) -> None:
    """Delete a comment; the timeline records that there was one."""
    current = kernel.reload(act, comment)
    issue = _require_author_or_writer(act, current)
    cascade.delete_all(act.database, cascade.under_comment(act.database, current))
    act.database.delete(current)
    timeline.record_event(act, issue, "comment_deleted")
    kernel.touch(act, issue)


def minimize(act: Act, comment: Comment, reason: str) -> Comment:
    """Hide a comment behind a reason."""
    current = kernel.reload(act, comment)
    require(act, lookup.repository_of(act.world, _issue(act, current)), "triage")
    if reason not in MINIMIZED_REASONS:
        raise invalid("IssueComment", "classifier", value=reason)
    return act.database.update(current, minimized_reason=reason)


def unminimize(act: Act, comment: Comment) -> Comment:
    """Show a hidden comment again."""
    current = kernel.reload(act, comment)
    require(act, lookup.repository_of(act.world, _issue(act, current)), "triage")
    return act.database.update(current, minimized_reason=None)


def _require_author_or_writer(act: Act, comment: Comment) -> Issue:
    issue = _issue(act, comment)
    is_author = act.viewer is not None and act.viewer.id == comment.author_id
    require(act, lookup.repository_of(act.world, issue), "read" if is_author else "write")
    return issue


def _issue(act: Act, comment: Comment) -> Issue:
    issue = act.database.get(Issue, comment.issue_id)
    if issue is None:
        raise NotFoundRefusal(f"Could not resolve to an IssueComment with the id of {comment.id}.")
    return issue
