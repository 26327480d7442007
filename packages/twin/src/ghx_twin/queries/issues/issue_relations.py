"""The issues that others are made of, and what they wait for."""

from collections.abc import Iterable
from dataclasses import dataclass

from ghx_twin.queries.permissions import is_visible
from ghx_twin.state.records import Dependency, Issue, Repository
from ghx_twin.viewer import Viewer
from ghx_twin.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class DependenciesSummary:
    """How many issues block one and are blocked by it: those still open, and in all."""

    blocked_by: int
    total_blocked_by: int
    blocking: int
    total_blocking: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubIssuesSummary:
    """How many parts of an issue are done."""

    total: int
    completed: int
    percent_completed: int


def summarize_dependencies(world: World, viewer: Viewer | None, issue: Issue) -> DependenciesSummary:
    """Return how many issues that a viewer may see block an issue and are blocked by it."""
    before = visible_issues(world, viewer, blocking_issues(world, issue))
    behind = visible_issues(world, viewer, blocked_issues(world, issue))
    return DependenciesSummary(
        blocked_by=sum(one.state == "open" for one in before),
        total_blocked_by=len(before),
        blocking=sum(one.state == "open" for one in behind),
        total_blocking=len(behind),
    )


def summarize_sub_issues(world: World, viewer: Viewer | None, issue: Issue) -> SubIssuesSummary:
    """Return how many parts of an issue are done, of those that a viewer may see."""
    parts = visible_issues(world, viewer, sub_issues_of(world, issue))
    done = sum(one.state == "closed" for one in parts)
    percent = 100 * done // len(parts) if parts else 0
    return SubIssuesSummary(total=len(parts), completed=done, percent_completed=percent)


def parent_of(world: World, viewer: Viewer | None, issue: Issue) -> Issue | None:
    """Return the issue that one is part of, if it is part of one that a viewer may see."""
    parent = world.database.get(Issue, issue.parent_id)
    return next(iter(visible_issues(world, viewer, [parent] if parent else [])), None)


def sub_issues_of(world: World, issue: Issue) -> list[Issue]:
    """Return the sub-issues of an issue, those of the highest priority first."""
    return world.database.select(Issue, "WHERE parent_id = ? ORDER BY sub_issue_position, id", (issue.id,))


def blocking_issues(world: World, issue: Issue) -> list[Issue]:
    """Return the issues that an issue waits for."""
    return _issues(world, (one.blocking_id for one in world.database.all(Dependency, issue_id=issue.id)))


def blocked_issues(world: World, issue: Issue) -> list[Issue]:
    """Return the issues that wait for an issue."""
    return _issues(world, (one.issue_id for one in world.database.all(Dependency, blocking_id=issue.id)))


def visible_issues(world: World, viewer: Viewer | None, issues: Iterable[Issue]) -> list[Issue]:
    """Return those of some issues whose repositories a viewer may see."""
    homes = ((one, world.database.get(Repository, one.repository_id)) for one in issues)
    return [one for one, home in homes if home is not None and is_visible(world, viewer, home)]


def _issues(world: World, ids: Iterable[int]) -> list[Issue]:
    return [one for one in (world.database.get(Issue, identity) for identity in ids) if one is not None]
