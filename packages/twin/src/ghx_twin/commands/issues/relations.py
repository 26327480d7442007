"""Relations between issues: sub-issues in their order, and issues that are blocked by others."""

from ghx_twin.commands import kernel, timeline
from ghx_twin.queries import lookup
from ghx_twin.queries.issues.issue_relations import sub_issues_of
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Dependency, Issue
from ghx_twin.world import Act

MOST_CHILDREN = 100
MOST_LEVELS = 8
MOST_DEPENDENCIES = 50
_GAP = 1 << 20  # between positions, so that moving one sub-issue leaves the others as they are


def add_child(act: Act, parent: Issue, child: Issue, *, replace_parent: bool = False) -> Issue:
    """Make an issue the last sub-issue of another; move one that has a parent only with `replace_parent`."""
    above, below = _require_issue(act, parent), _require_issue(act, child)
    siblings = sub_issues_of(act.world, above)
    if below.parent_id == above.id:
        raise _child_refusal("Issue may not contain duplicate sub-issues and Sub issue may only have one parent")
    if below.parent_id is not None and not replace_parent:
        raise _child_refusal("Sub issue may only have one parent")
    if below.id == above.id:
        raise _child_refusal("Sub issue cannot be the same as the parent issue")
    if below.id in _ancestors(act, above):
        raise _child_refusal("Sub issue may not create a circular dependency")
    if len(siblings) >= MOST_CHILDREN:
        raise _child_refusal(f"Parent cannot have more than {MOST_CHILDREN} sub-issues")
    if len(_ancestors(act, above)) + _depth(act, below) > MOST_LEVELS:
        raise _child_refusal(f"Sub-issues cannot be nested more than {MOST_LEVELS} levels deep")
    former = act.database.get(Issue, below.parent_id)
    if former is not None:
        _record_parting(act, former, below)
    timeline.record_event(act, above, "sub_issue_added", {"sub_issue_id": below.id})
    timeline.record_event(act, below, "parent_issue_added", {"parent_issue_id": above.id})
    last = siblings[-1].sub_issue_position or 0 if siblings else 0
    return kernel.touch(act, below, parent_id=above.id, sub_issue_position=last + _GAP)


def remove_child(act: Act, parent: Issue, child: Issue) -> Issue:
    """Remove a sub-issue from its parent."""
    above, below = _require_child(act, parent, child)
    _record_parting(act, above, below)
    return kernel.touch(act, below, parent_id=None, sub_issue_position=None)


def reprioritize_child(
    act: Act, parent: Issue, child: Issue, *, after: Issue | None = None, before: Issue | None = None
) -> Issue:
    """Move a sub-issue behind or in front of another one of the same parent."""
    above, below = _require_child(act, parent, child)
    neighbour = after or before
    if neighbour is None or (after is not None and before is not None):
        raise InvalidRefusal("Either after_id or before_id must be specified, and not both")
    others = [one for one in sub_issues_of(act.world, above) if one.id != below.id]
    place = next((index for index, one in enumerate(others) if one.id == neighbour.id), None)
    if place is None:
        raise NotFoundRefusal("The issue to be prioritized next to is not a sub-issue of the parent.")
    return _put_at(act, others, place + (after is not None), below)


def add_blocking(act: Act, issue: Issue, blocking: Issue) -> Dependency:
    """Mark an issue as blocked by another."""
    waiting, first = _require_issue(act, issue), _require_issue(act, blocking)
    if waiting.id == first.id:
        raise _blocking_refusal("An issue cannot be blocked by itself")
    if act.database.one(Dependency, issue_id=waiting.id, blocking_id=first.id):
        raise _blocking_refusal("Target issue has already been taken")
    if _waits_for(act, first, waiting):
        raise _blocking_refusal("This dependency would create a cycle")
    if act.database.count(Dependency, issue_id=waiting.id) >= MOST_DEPENDENCIES:
        raise _blocking_refusal(f"An issue cannot be blocked by more than {MOST_DEPENDENCIES} issues")
    if act.database.count(Dependency, blocking_id=first.id) >= MOST_DEPENDENCIES:
        raise _blocking_refusal(f"An issue cannot block more than {MOST_DEPENDENCIES} issues")
    timeline.record_event(act, waiting, "blocked_by_added", {"blocking_issue_id": first.id})
    timeline.record_event(act, first, "blocking_added", {"blocked_issue_id": waiting.id})
    return act.database.insert(Dependency, issue_id=waiting.id, blocking_id=first.id)


def remove_blocking(act: Act, issue: Issue, blocking: Issue) -> None:
    """Remove the mark that an issue is blocked by another."""
    waiting, first = _require_issue(act, issue), _require_issue(act, blocking)
    dependency = act.database.one(Dependency, issue_id=waiting.id, blocking_id=first.id)
    if dependency is None:
        return  # unlike adding one twice, GitHub takes this for done
    timeline.record_event(act, waiting, "blocked_by_removed", {"blocking_issue_id": first.id})
    timeline.record_event(act, first, "blocking_removed", {"blocked_issue_id": waiting.id})
    act.database.delete(dependency)


def _child_refusal(reason: str) -> InvalidRefusal:
    # GraphQL misspells it.
    return InvalidRefusal(
        f"An error occurred while adding the sub-issue to the parent issue. {reason}",
        graphql=f"An error occured while adding the sub-issue to the parent issue. {reason}",
    )


def _blocking_refusal(reason: str) -> InvalidRefusal:
    return InvalidRefusal(
        f"An error occurred while adding the blocking issue to the issue. Validation failed: {reason}"
    )


def _require_issue(act: Act, issue: Issue) -> Issue:
    """Return an issue as it is now; refuse a pull request, and a viewer without the triage role."""
    current = kernel.reload(act, issue)
    require(act, lookup.repository_of(act.world, current), "triage")
    if current.is_pull:
        raise InvalidRefusal("Pull requests have no place among issues")
    return current


def _require_child(act: Act, parent: Issue, child: Issue) -> tuple[Issue, Issue]:
    above, below = _require_issue(act, parent), _require_issue(act, child)
    if below.parent_id != above.id:
        raise NotFoundRefusal("The provided sub-issue does not belong to the parent issue")
    return above, below


def _record_parting(act: Act, parent: Issue, child: Issue) -> None:
    timeline.record_event(act, parent, "sub_issue_removed", {"sub_issue_id": child.id})
    timeline.record_event(act, child, "parent_issue_removed", {"parent_issue_id": parent.id})


def _put_at(act: Act, others: list[Issue], place: int, moved: Issue) -> Issue:
    """Put an issue at a place among its siblings, which move only where there is no room between two of them."""
    before = others[place - 1].sub_issue_position or 0 if place else 0
    behind = others[place].sub_issue_position or 0 if place < len(others) else before + 2 * _GAP
    middle = (before + behind) // 2
    if before < middle < behind:
        return kernel.touch(act, moved, sub_issue_position=middle)
    for number, one in enumerate([*others[:place], moved, *others[place:]], 1):
        act.database.update(one, sub_issue_position=number * _GAP)
    return kernel.touch(act, kernel.reload(act, moved))


def _waits_for(act: Act, issue: Issue, other: Issue) -> bool:
    """Return whether an issue waits for another, directly or through others."""
    seen, ahead = set[int](), [issue.id]
    while ahead:
        current = ahead.pop()
        if current == other.id:
            return True
        if current not in seen:
            seen.add(current)
            ahead += [one.blocking_id for one in act.database.all(Dependency, issue_id=current)]
    return False


def _ancestors(act: Act, issue: Issue) -> list[int]:
    """Return the ids of an issue and of those above it."""
    line: list[int] = []
    above: Issue | None = issue
    while above is not None and above.id not in line:
        line.append(above.id)
        above = act.database.get(Issue, above.parent_id)
    return line


def _depth(act: Act, issue: Issue) -> int:
    """Return how many levels of sub-issues there are, the issue itself included."""
    children = act.database.all(Issue, parent_id=issue.id)
    return 1 + max((_depth(act, child) for child in children), default=0)
