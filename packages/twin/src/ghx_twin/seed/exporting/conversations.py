"""Harvests issues and pull requests with their comments, reviews and threads."""

from collections.abc import Iterator, Mapping
from typing import Any

from ghx_twin.queries import lookup
from ghx_twin.seed.conversations import SeedIssue, SeedPlace, SeedPull, SeedReview, SeedThread
from ghx_twin.state.names import object_name
from ghx_twin.state.records import (
    Assignee,
    Comment,
    Dependency,
    Issue,
    IssueLabel,
    IssueType,
    Label,
    LinkedBranch,
    Milestone,
    Pull,
    Reaction,
    Record,
    Repository,
    Review,
    ReviewComment,
    ReviewRequest,
    Team,
    Thread,
)
from ghx_twin.world import World


def export_issues(world: World, repository: Repository) -> Iterator[SeedIssue]:
    """Yield the issues of a repository in the order of their numbers."""
    for issue in world.database.all(Issue, order="number", repository_id=repository.id, is_pull=False):
        own: dict[str, Any] = {name: getattr(issue, name) for name in ("state", "state_reason", "pinned")}
        kind = world.database.get(IssueType, issue.issue_type_id)
        own["issue_type"] = kind.name if kind else None
        own["duplicate_of"] = None if issue.duplicate_of_id is None else _issue_name(world, issue.duplicate_of_id)
        own["parent"] = None if issue.parent_id is None else _issue_name(world, issue.parent_id)
        own["sub_issue_position"] = issue.sub_issue_position if own["parent"] else None
        own["linked_branches"] = tuple(_linked_branches(world, issue))
        blocking = world.database.all(Dependency, issue_id=issue.id)
        own["blocked_by"] = tuple(_issue_name(world, each.blocking_id) for each in blocking)
        yield SeedIssue.model_validate({**_conversation(world, issue), **own})


def export_pulls(world: World, repository: Repository) -> Iterator[SeedPull]:
    """Yield the pull requests of a repository in the order of their numbers."""
    for issue in world.database.all(Issue, order="number", repository_id=repository.id, is_pull=True):
        yield _pull(world, issue, lookup.pull(world, repository, issue.number))


def _linked_branches(world: World, issue: Issue) -> Iterator[str]:
    for linked in world.database.all(LinkedBranch, issue_id=issue.id):
        home = world.database.get(Repository, linked.repository_id)
        if home is not None:
            elsewhere = home.id != issue.repository_id
            yield f"{lookup.full_name(world, home)}:{linked.name}" if elsewhere else linked.name


def _issue_name(world: World, identity: int) -> str | None:
    issue = world.database.get(Issue, identity)
    return None if issue is None else object_name(world.database, issue)


def _conversation(world: World, issue: Issue) -> dict[str, Any]:
    database = world.database
    labels = (database.get(Label, each.label_id) for each in database.all(IssueLabel, issue_id=issue.id))
    milestone = database.get(Milestone, issue.milestone_id)
    same = ("number", "title", "body", "locked", "lock_reason", "updated_at", "closed_at")
    return {
        **{name: getattr(issue, name) for name in same},
        "author": _login(world, issue.author_id),
        "labels": tuple(label.name for label in labels if label),
        "assignees": tuple(_login(world, each.user_id) for each in database.all(Assignee, issue_id=issue.id)),
        "milestone": milestone.title if milestone else None,
        "comments": tuple(_comment(world, each) for each in database.all(Comment, issue_id=issue.id)),
        "reactions": _reactions(world, issue),
        "at": issue.created_at,
        "closed_by": _login(world, issue.closed_by_id),
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
            "merged_by": _login(world, pull.merged_by_id),
            "reviewers": tuple(_reviewers(world, pull)),
            "reviews": tuple(_reviews(world, pull)),
            "threads": tuple(_threads(world, pull)),
            "outcome": _outcome(world, pull),
        }
    )


def _outcome(world: World, pull: Pull) -> dict[str, object]:
    home = world.database.get(Repository, pull.head_repository_id)
    return {
        "head_sha": pull.head_sha,
        "base_sha": pull.base_sha,
        "head_repository": None if home is None else lookup.full_name(world, home),
        "merge_commit_sha": pull.merge_commit_sha if pull.merged_at else None,  # else a trial merge, made again at need
        "auto_merge": None if pull.auto_merge is None else _auto_merge(world, pull.auto_merge),
    }


def _auto_merge(world: World, promise: Mapping[str, Any]) -> dict[str, object]:
    return {
        "by": _login(world, promise["enabled_by_id"]),
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
    """Yield the users whose review is requested, then the teams."""
    for request in world.database.all(ReviewRequest, pull_id=pull.id):
        if (name := _login(world, request.user_id)) is not None:
            yield name
    for request in world.database.all(ReviewRequest, pull_id=pull.id):
        if (team := world.database.get(Team, request.team_id)) is not None:
            yield f"{_login(world, team.organization_id)}/{team.slug}"


def _reviews(world: World, pull: Pull) -> Iterator[SeedReview]:
    """Yield the reviews of a pull request, oldest first, also those that GitHub makes for a single comment."""
    for review in world.database.all(Review, pull_id=pull.id):
        yield SeedReview.model_validate(
            {
                "author": _login(world, review.author_id),
                "state": review.state,
                "body": review.body,
                "at": review.submitted_at or review.created_at,
                "reactions": _reactions(world, review),
                "commit_sha": review.commit_sha,
            }
        )


def _threads(world: World, pull: Pull) -> Iterator[SeedThread]:
    """Yield the threads of a pull request; each comment says which review it belongs to."""
    reviews = world.database.all(Review, pull_id=pull.id)
    # By position: building gives reviews new ids, and a thread may hold comments of several reviews.
    numbers = {review.id: number for number, review in enumerate(reviews, 1)}
    for thread in world.database.all(Thread, pull_id=pull.id):
        written = world.database.all(ReviewComment, thread_id=thread.id)
        yield SeedThread.model_validate(
            {
                **{name: getattr(thread, name) for name in ("path", "line", "start_line", "side")},
                "comments": tuple({**_comment(world, each), "review": numbers[each.review_id]} for each in written),
                "resolved_by": _login(world, thread.resolved_by_id),
                "place": {name: getattr(thread, name) for name in SeedPlace.model_fields},
            }
        )


def _comment(world: World, written: Comment | ReviewComment) -> dict[str, Any]:
    """Return the fields of a comment, of a conversation or of a thread."""
    return {
        "author": _login(world, written.author_id),
        "body": written.body,
        "at": written.created_at,
        "updated_at": None if written.updated_at == written.created_at else written.updated_at,  # never edited
        "minimized_reason": written.minimized_reason,
        "reactions": _reactions(world, written),
    }


def _reactions(world: World, subject: Record) -> dict[str, tuple[str, ...]]:
    """Return who reacted to something, by emoji."""
    reactions: dict[str, tuple[str, ...]] = {}
    for reaction in world.database.all(Reaction, subject_kind=subject.table, subject_id=subject.id):
        name = lookup.user_by_id(world, reaction.user_id).login
        reactions[reaction.content] = (*reactions.get(reaction.content, ()), name)
    return reactions


def _login(world: World, identity: int | None) -> str | None:
    """Return the login of an account; None if it does not exist."""
    return None if identity is None else lookup.user_by_id(world, identity).login
