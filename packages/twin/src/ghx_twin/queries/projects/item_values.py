"""What the items of a project hold in its fields: values of its own, and facts about the issue or pull request."""

from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.queries.pulls.pulls import closing_pulls
from ghx_twin.state.records import (
    DraftIssue,
    Issue,
    Label,
    Milestone,
    ProjectField,
    ProjectItem,
    Pull,
    Repository,
    ReviewRequest,
    Team,
    User,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

Content = Issue | DraftIssue | None
ItemValue = str | Milestone | Repository | tuple[Label | User | Team | Pull, ...]
STORED = frozenset({"text", "number", "date", "single_select", "iteration"})
"""The types of fields whose values the project itself keeps; the others are facts about the content."""


def value_in(
    world: World, viewer: Viewer | None, item: ProjectItem, content: Content, field: ProjectField
) -> ItemValue | None:
    """Return what a viewer sees of an item in a field; None for nothing, and for content that they may not see."""
    if field.data_type in STORED:
        stored = projects.value_of(world.database, item, field)
        return None if stored is None else stored.value
    match content:
        case None:
            return None
        case DraftIssue():
            return _draft_value(world, content, field.data_type)
        case Issue():
            return _issue_value(world, viewer, content, field.data_type) or None


def _draft_value(world: World, draft: DraftIssue, data_type: str) -> ItemValue | None:
    if data_type == "title":
        return draft.title
    if data_type != "assignees":
        return None
    people = (world.database.get(User, identity) for identity in draft.assignee_ids)
    return tuple(one for one in people if one) or None


def _issue_value(  # noqa: PLR0911 - one for each type
    world: World, viewer: Viewer | None, issue: Issue, data_type: str
) -> ItemValue | None:
    database = world.database
    match data_type:
        case "title":
            return issue.title
        case "repository":
            return lookup.repository_of(world, issue)
        case "milestone":
            return database.get(Milestone, issue.milestone_id)
        case "labels":
            rest = "JOIN issue_labels ON issue_labels.label_id = labels.id WHERE issue_labels.issue_id = ?"
            return tuple(database.select(Label, f"{rest} ORDER BY issue_labels.id", (issue.id,)))
        case "assignees":
            rest = "JOIN assignees ON assignees.user_id = users.id WHERE assignees.issue_id = ?"
            return tuple(database.select(User, f"{rest} ORDER BY assignees.id", (issue.id,)))
        case "linked_pull_requests":
            return () if issue.is_pull else tuple(closing_pulls(world, viewer, issue))
        case "reviewers":
            return _reviewers(world, issue)
        case _:
            return None  # GitHub's API has no value for these: the parent, and the progress of sub-issues


def _reviewers(world: World, issue: Issue) -> tuple[User | Team, ...]:
    pull = lookup.pull_of(world, issue)
    review_requests = world.database.all(ReviewRequest, pull_id=pull.id) if pull else ()
    reviewers = (
        world.database.get(Team, one.team_id) or world.database.get(User, one.user_id) for one in review_requests
    )
    return tuple(one for one in reviewers if one)
