"""Open and closed, locked and unlocked, pinned and unpinned."""

from ghx_twin.commands import kernel, projects, timeline
from ghx_twin.commands.issues.creation import require_author_or
from ghx_twin.commands.texts import invalid
from ghx_twin.queries import lookup
from ghx_twin.queries.lookup import pull_of
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.state.records import Issue
from ghx_twin.world import Act

CLOSE_REASONS = ("completed", "not_planned", "duplicate")
LOCK_REASONS = ("off-topic", "too heated", "resolved", "spam")
MOST_PINNED = 3


def close(act: Act, issue: Issue, *, reason: str | None = None, duplicate_of: Issue | None = None) -> Issue:
    """Close an issue, as completed unless another reason is given; a closed one only changes its reason."""
    current = kernel.reload(act, issue)
    require_author_or(act, current, "triage")
    if duplicate_of is None:
        return mark_closed(act, current, reason=reason)
    if current.is_pull or duplicate_of.is_pull or reason not in {None, "duplicate"}:
        raise InvalidRefusal("Only issues can be closed as a duplicate of another issue.")
    if duplicate_of.id == current.id:
        raise InvalidRefusal("An issue cannot be a duplicate of itself.")
    mark_duplicate(act, current, duplicate_of)
    return mark_closed(act, current, reason="duplicate")


def unmark_duplicate(act: Act, issue: Issue) -> Issue:
    """Forget which issue another is a duplicate of; its state stays."""
    current = kernel.reload(act, issue)
    require(act, lookup.repository_of(act.world, current), "triage")
    return _forget_canonical(act, current)


def mark_duplicate(act: Act, issue: Issue, canonical: Issue) -> Issue:
    """Record that an issue is a duplicate of another, without a permission check."""
    if issue.duplicate_of_id == canonical.id:
        return issue
    current = _forget_canonical(act, kernel.reload(act, issue))
    for side in (current, canonical):
        pair = {"canonical_id": canonical.id, "duplicate_id": current.id}
        timeline.record_event(act, side, "marked_as_duplicate", pair)
    return kernel.touch(act, current, duplicate_of_id=canonical.id)


def _forget_canonical(act: Act, issue: Issue) -> Issue:
    canonical = act.database.get(Issue, issue.duplicate_of_id)
    if canonical is None:
        return issue
    for side in (issue, canonical):
        pair = {"canonical_id": canonical.id, "duplicate_id": issue.id}
        timeline.record_event(act, side, "unmarked_as_duplicate", pair)
    return kernel.touch(act, issue, duplicate_of_id=None)


def mark_closed(
    act: Act, issue: Issue, *, reason: str | None = None, commit_sha: str | None = None, pull_id: int | None = None
) -> Issue:
    """Close an issue or pull request without a permission check, and record the commit or pull that closed it."""
    current = kernel.reload(act, issue)
    if reason is not None and reason not in CLOSE_REASONS:
        raise invalid("Issue", "state_reason", value=reason)
    state_reason = None if current.is_pull else reason or "completed"  # GitHub knows no reason for pull requests
    if current.state == "closed" and (reason is None or state_reason == current.state_reason):
        return current
    closer = {"commit_sha": commit_sha, "pull_id": pull_id}
    closer_fields = {key: value for key, value in closer.items() if value is not None}
    if current.duplicate_of_id is not None and state_reason == "duplicate":
        closer_fields["duplicate_of_id"] = current.duplicate_of_id
    timeline.record_event(act, current, "closed", {"state_reason": state_reason, **closer_fields})
    pull = pull_of(act.world, current)
    projects.finish_items(act, current, merged=pull is not None and pull.merged_at is not None)
    return kernel.touch(
        act,
        current,
        state="closed",
        state_reason=state_reason,
        closed_at=current.closed_at or act.now,
        closed_by_id=kernel.actor_id(act, lookup.repository_of(act.world, current)),
    )


def reopen(act: Act, issue: Issue) -> Issue:
    """Reopen a closed issue; its author may only where they closed it themselves."""
    current = kernel.reload(act, issue)
    require_author_or(act, current, "triage")
    closed_by_other = act.viewer is not None and current.closed_by_id != act.viewer.id
    if current.state == "closed" and closed_by_other:
        require(act, lookup.repository_of(act.world, current), "triage")
    pull = pull_of(act.world, current)
    if pull and pull.merged_at:
        raise InvalidRefusal("Could not open the pull request: it was merged.")
    if current.state == "open":
        return current
    timeline.record_event(act, current, "reopened")
    reason = None if current.is_pull else "reopened"
    current = _forget_canonical(act, current)
    return kernel.touch(act, current, state="open", state_reason=reason, closed_at=None, closed_by_id=None)


def lock(act: Act, issue: Issue, reason: str | None = None) -> Issue:
    """Lock the conversation: only writers can comment."""
    require(act, lookup.repository_of(act.world, issue), "write")
    current = kernel.reload(act, issue)
    if reason is not None and reason not in LOCK_REASONS:
        raise invalid("Issue", "lock_reason", value=reason)
    if current.locked and current.lock_reason == reason:
        return current
    timeline.record_event(act, current, "locked", {"lock_reason": reason})
    return kernel.touch(act, current, locked=True, lock_reason=reason)


def unlock(act: Act, issue: Issue) -> Issue:
    """Unlock the conversation."""
    require(act, lookup.repository_of(act.world, issue), "write")
    current = kernel.reload(act, issue)
    if not current.locked:
        return current
    timeline.record_event(act, current, "unlocked")
    return kernel.touch(act, current, locked=False, lock_reason=None)


def pin(act: Act, issue: Issue) -> Issue:
    """Pin an issue above the list of issues; a repository has room for three."""
    require(act, lookup.repository_of(act.world, issue), "write")
    current = kernel.reload(act, issue)
    if current.is_pull:
        raise InvalidRefusal("Pull requests cannot be pinned.")
    if current.pinned:
        return current
    if act.database.count(Issue, repository_id=current.repository_id, pinned=True) >= MOST_PINNED:
        raise InvalidRefusal(f"Maximum {MOST_PINNED} pinned issues per repository")
    timeline.record_event(act, current, "pinned")
    return kernel.touch(act, current, pinned=True)


def unpin(act: Act, issue: Issue) -> Issue:
    """Unpin an issue."""
    require(act, lookup.repository_of(act.world, issue), "write")
    current = kernel.reload(act, issue)
    if not current.pinned:
        return current
    timeline.record_event(act, current, "unpinned")
    return kernel.touch(act, current, pinned=False)
