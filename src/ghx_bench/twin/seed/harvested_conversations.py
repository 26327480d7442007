"""Issues and pull requests of a world, written down."""

from collections.abc import Iterator
from typing import Any

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.seed.harvested_reviews import harvest_reviews, harvest_threads
from ghx_bench.twin.seed.harvested_words import comment, login, reactions
from ghx_bench.twin.seed.talk import SeedIssue, SeedPull
from ghx_bench.twin.state.names import object_name
from ghx_bench.twin.state.records import (
    Assignee,
    Comment,
    Dependency,
    Issue,
    IssueLabel,
    Label,
    Milestone,
    Pull,
    Repository,
    ReviewRequest,
    Team,
)
from ghx_bench.twin.world import World


def harvest_issues(world: World, repository: Repository) -> Iterator[SeedIssue]:
    """Yield the issues of a repository in the order of their numbers."""
    for issue in world.database.all(Issue, order="number", repository_id=repository.id, is_pull=False):
        own = {name: getattr(issue, name) for name in ("state", "state_reason", "pinned")}
        own["parent"] = None if issue.parent_id is None else _name(world, issue.parent_id)
        blocking = world.database.all(Dependency, issue_id=issue.id)
        own["blocked_by"] = tuple(_name(world, each.blocking_id) for each in blocking)
        yield SeedIssue.model_validate({**_conversation(world, issue), **own})


def harvest_pulls(world: World, repository: Repository) -> Iterator[SeedPull]:
    """Yield the pull requests of a repository in the order of their numbers."""
    for issue in world.database.all(Issue, order="number", repository_id=repository.id, is_pull=True):
        yield _pull(world, issue, lookup.pull(world, repository, issue.number))


def _name(world: World, identity: int) -> str | None:
    issue = world.database.get(Issue, identity)
    return None if issue is None else object_name(world.database, issue)


def _conversation(world: World, issue: Issue) -> dict[str, Any]:
    database = world.database
    labels = (database.get(Label, each.label_id) for each in database.all(IssueLabel, issue_id=issue.id))
    milestone = database.get(Milestone, issue.milestone_id)
    same = ("number", "title", "body", "locked", "lock_reason", "updated_at", "closed_at")
    return {
        **{name: getattr(issue, name) for name in same},
        "author": login(world, issue.author_id),
        "labels": tuple(label.name for label in labels if label),
        "assignees": tuple(login(world, each.user_id) for each in database.all(Assignee, issue_id=issue.id)),
        "milestone": milestone.title if milestone else None,
        "comments": tuple(comment(world, each) for each in database.all(Comment, issue_id=issue.id)),
        "reactions": reactions(world, issue),
        "at": issue.created_at,
        "closed_by": login(world, issue.closed_by_id),
    }


def _pull(world: World, issue: Issue, pull: Pull) -> SeedPull:
    return SeedPull.model_validate(
        {
            **_conversation(world, issue),
            "head": _head(world, pull),
            "base": pull.base_ref,
            "draft": pull.draft,
            "maintainer_can_modify": pull.maintainer_can_modify,
            "state": "merged" if pull.merged_at else issue.state,
            "merged_by": login(world, pull.merged_by_id),
            "reviewers": tuple(_reviewers(world, pull)),
            "reviews": tuple(harvest_reviews(world, pull)),
            "threads": tuple(harvest_threads(world, pull)),
            "outcome": _outcome(world, pull),
        }
    )


def _outcome(world: World, pull: Pull) -> dict[str, object]:
    home = world.database.get(Repository, pull.head_repository_id)
    return {
        "head_sha": pull.head_sha,
        "base_sha": pull.base_sha,
        "head_repository": None if home is None else lookup.full_name(world, home),
        "merge_commit_sha": pull.merge_commit_sha if pull.merged_at else None,
        "auto_merge": None if pull.auto_merge is None else _promise(world, pull.auto_merge),
    }


def _promise(world: World, promise: dict[str, Any]) -> dict[str, object]:
    return {
        "by": login(world, promise["enabled_by_id"]),
        "at": promise["enabled_at"],
        "method": promise["merge_method"],
        "title": promise["commit_title"],
        "message": promise["commit_message"],
    }


def _head(world: World, pull: Pull) -> str:
    home = world.database.get(Repository, pull.head_repository_id)
    if home is None or home.id == pull.repository_id:
        return pull.head_ref
    return f"{lookup.owner(world, home).login}:{pull.head_ref}"


def _reviewers(world: World, pull: Pull) -> Iterator[str]:
    """Yield the people who are asked for a review, then the teams."""
    for request in world.database.all(ReviewRequest, pull_id=pull.id):
        if (name := login(world, request.user_id)) is not None:
            yield name
    for request in world.database.all(ReviewRequest, pull_id=pull.id):
        if (team := world.database.get(Team, request.team_id)) is not None:
            yield f"{login(world, team.organization_id)}/{team.slug}"
