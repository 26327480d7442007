"""The timeline of an issue or pull request in one order: events, comments, reviews and commits."""

from collections.abc import Sequence
from dataclasses import dataclass

from ghx_twin.git.objects import Commit
from ghx_twin.queries import lookup
from ghx_twin.queries.issues.issue_relations import visible_issues
from ghx_twin.queries.projects import projects
from ghx_twin.queries.pulls.reviews import visible_reviews
from ghx_twin.queries.repositories.comparison import commits, git_of
from ghx_twin.state.records import Comment, Event, Issue, Project, Pull, Review
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

Happening = Event | Comment | Review | Commit
# Where an event keeps the issue or pull request without which it says nothing; GraphQL has no null there.
_OTHER_SIDE = {"connected": "subject_id", "cross-referenced": "source_issue_id"}


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry and its time; many can happen in one second, so `seq` gives the order."""

    at: str
    seq: int
    item: Happening


def moments(world: World, viewer: Viewer | None, issue: Issue) -> list[Moment]:
    """Return the entries that a viewer may see, oldest first."""
    database = world.database
    events = database.all(Event, issue_id=issue.id)
    dated_events = _date_records(world, [one for one in events if is_visible_to(world, viewer, one)])
    dated_events += _date_records(world, database.all(Comment, issue_id=issue.id))
    if pull := lookup.pull_of(world, issue):
        dated_events += _date_records(world, visible_reviews(world, viewer, pull))
        dated_events += _date_commits(world, issue, pull)
    return sorted(dated_events, key=lambda moment: (moment.at, moment.seq))


def _date_records(world: World, items: Sequence[Event | Comment | Review]) -> list[Moment]:
    if not items:
        return []
    order = world.database.creations(type(items[0]), {one.id for one in items})
    return [
        Moment((isinstance(one, Review) and one.submitted_at) or one.created_at, order.get(one.id, 0), one)
        for one in items
    ]


def _date_commits(world: World, issue: Issue, pull: Pull) -> list[Moment]:
    """Return the commits of a pull request by when it got them: when it was opened, or with a later push."""
    # Not by the times of the commits themselves, which are whatever their author's clock said.
    git, included = git_of(world, pull), commits(world, pull)
    at, seq = issue.created_at, world.database.creations(Pull, {pull.id}).get(pull.id, 0)
    arrived: dict[str, Moment] = {}
    for push in world.database.field_changes(Pull.table, pull.id, "head_sha"):
        for one in included:
            if one.sha not in arrived and git.is_ancestor(one.sha, str(push.before)):
                arrived[one.sha] = Moment(at, seq, one)
        at, seq = push.at, push.seq
    return [arrived.get(one.sha) or Moment(at, seq, one) for one in included]


def is_visible_to(world: World, viewer: Viewer | None, event: Event) -> bool:
    """Return whether the viewer may know of an event: it shows a project, or the other side of a reference."""
    board = event.data.get("project_id")
    if isinstance(board, int):
        project = world.database.get(Project, board)
        return project is not None and projects.may(world, viewer, project, "reader")
    other = event.data.get(_OTHER_SIDE.get(event.event, ""))
    if not isinstance(other, int):
        return True
    issue = world.database.get(Issue, other)
    return issue is not None and bool(visible_issues(world, viewer, [issue]))
