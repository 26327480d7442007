"""Relations between issues: sub-issues, and issues that are blocked by others."""

from ghx_bench.twin.commands import kernel
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.permissions import require
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.state.records import Dependency, Issue
from ghx_bench.twin.world import Act

MOST_CHILDREN = 100
MOST_LEVELS = 8
MOST_DEPENDENCIES = 50


def add_child(act: Act, parent: Issue, child: Issue, *, replace_parent: bool = False) -> Issue:
    """Make an issue a sub-issue of another; move one that has a parent only with `replace_parent`."""
    above, below = _require_issue(act, parent), _require_issue(act, child)
    if below.parent_id == above.id:
        raise InvalidRefusal("Issue may not contain duplicate sub-issues")
    if below.parent_id is not None and not replace_parent:
        raise InvalidRefusal("Sub issue may only have one parent")
    if below.id in _ancestors(act, above):
        raise InvalidRefusal("Sub issue may not create a circular dependency")
    if act.database.count(Issue, parent_id=above.id) >= MOST_CHILDREN:
        raise InvalidRefusal(f"Parent cannot have more than {MOST_CHILDREN} sub-issues")
    if len(_ancestors(act, above)) + _depth(act, below) > MOST_LEVELS:
        raise InvalidRefusal(f"Sub-issues cannot be nested more than {MOST_LEVELS} levels deep")
    return kernel.touch(act, below, parent_id=above.id)


def remove_child(act: Act, parent: Issue, child: Issue) -> Issue:
    """Remove a sub-issue from its parent."""
    above, below = _require_issue(act, parent), _require_issue(act, child)
    if below.parent_id != above.id:
        raise InvalidRefusal("The provided sub-issue does not belong to the parent issue")
    return kernel.touch(act, below, parent_id=None)


def add_blocking(act: Act, issue: Issue, blocking: Issue) -> Dependency:
    """Mark an issue as blocked by another."""
    waiting, first = _require_issue(act, issue), _require_issue(act, blocking)
    if waiting.id == first.id:
        raise InvalidRefusal("An issue cannot be blocked by itself")
    if act.database.one(Dependency, issue_id=waiting.id, blocking_id=first.id):
        raise InvalidRefusal("This dependency already exists")
    if act.database.one(Dependency, issue_id=first.id, blocking_id=waiting.id):
        raise InvalidRefusal("This dependency would create a cycle")
    if act.database.count(Dependency, issue_id=waiting.id) >= MOST_DEPENDENCIES:
        raise InvalidRefusal(f"An issue cannot be blocked by more than {MOST_DEPENDENCIES} issues")
    return act.database.insert(Dependency, issue_id=waiting.id, blocking_id=first.id)


def remove_blocking(act: Act, issue: Issue, blocking: Issue) -> None:
    """Remove the mark that an issue is blocked by another."""
    waiting, first = _require_issue(act, issue), _require_issue(act, blocking)
    found = act.database.one(Dependency, issue_id=waiting.id, blocking_id=first.id)
    if found is None:
        raise InvalidRefusal("This dependency does not exist")
    act.database.delete(found)


def _require_issue(act: Act, issue: Issue) -> Issue:
    """Return an issue as it is now; refuse a pull request, and a viewer without the triage role."""
    current = kernel.reload(act, issue)
    require(act, lookup.repository_of(act.world, current), "triage")
    if current.is_pull:
        raise InvalidRefusal("Pull requests have no place among issues")
    return current


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
