"""The issues that others are made of, and what they wait for."""

from collections.abc import Iterable

from ghx_bench.twin.queries.permissions import is_visible
from ghx_bench.twin.state.records import Dependency, Issue, Repository
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import World


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
