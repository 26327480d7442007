"""The reviews of a pull request, the opinion of each reviewer, and the decision they add up to."""

from typing import Literal

from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.repositories.protections import protection_of
from ghx_twin.queries.rulesets import rules_of
from ghx_twin.queries.rulesets.rule_types import PullRequestParameters, PullRequestRule
from ghx_twin.state.records import Pull, Review, ReviewComment, Thread, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

Decision = Literal["APPROVED", "CHANGES_REQUESTED", "REVIEW_REQUIRED"]

_OPINIONS = frozenset({"APPROVED", "CHANGES_REQUESTED", "DISMISSED"})


def submitted_reviews(world: World, pull: Pull) -> list[Review]:
    """Return the submitted reviews, in the order they were submitted."""
    reviews = [review for review in world.database.all(Review, pull_id=pull.id) if review.submitted_at]
    return sorted(reviews, key=lambda review: (review.submitted_at or "", review.id))


def visible_reviews(world: World, viewer: Viewer | None, pull: Pull) -> list[Review]:
    """Return the reviews that a viewer may see: the submitted ones, then their own pending one."""
    pending = world.database.all(Review, pull_id=pull.id, state="PENDING")
    own = [review for review in pending if viewer is None or review.author_id == viewer.id]
    return submitted_reviews(world, pull) + own


def pending_review(world: World, viewer: Viewer | None, pull: Pull) -> Review | None:
    """Return the pending review of a viewer."""
    if viewer is None:
        return None
    return world.database.one(Review, pull_id=pull.id, author_id=viewer.id, state="PENDING")


def latest_reviews(world: World, pull: Pull) -> list[Review]:
    """Return the last review of each reviewer: their last opinion, or a comment where they gave none."""
    # A comment does not take back an approval: it replaces only another comment.
    latest: dict[int, Review] = {}
    for review in submitted_reviews(world, pull):
        before = latest.get(review.author_id)
        if before is None or review.state in _OPINIONS or before.state not in _OPINIONS:
            latest[review.author_id] = review
    return sorted(latest.values(), key=lambda review: (review.submitted_at or "", review.id))


def latest_opinions(world: World, pull: Pull, *, writers_only: bool = False) -> list[Review]:
    """Return the last approval or request for changes of each reviewer that was not dismissed."""
    opinions = [review for review in latest_reviews(world, pull) if review.state in {"APPROVED", "CHANGES_REQUESTED"}]
    if not writers_only:
        return opinions
    repository = lookup.repository_of(world, pull)
    authors = {review.id: world.database.get(User, review.author_id) for review in opinions}
    return [
        review
        for review in opinions
        if (user := authors[review.id])
        and permissions.at_least(permissions.user_role(world, user, repository), "write")
    ]


def review_decision(world: World, pull: Pull) -> Decision | None:
    """Return the decision of the reviewers with write access; None where no review is required."""
    states = [review.state for review in latest_opinions(world, pull, writers_only=True)]
    rules = protection_of(world, lookup.repository_of(world, pull), pull.base_ref)
    counts = [rule.required_approving_review_count for rule in pull_request_rules(world, pull)]
    needed = max([*counts, (rules.required_approvals if rules else None) or 0])
    if "CHANGES_REQUESTED" in states:
        return "CHANGES_REQUESTED"
    if states.count("APPROVED") >= max(needed, 1):
        return "APPROVED"
    return "REVIEW_REQUIRED" if needed else None


def pull_request_rules(world: World, pull: Pull) -> list[PullRequestParameters]:
    """Return what the rulesets of the base branch ask of pull requests."""
    rules = rules_of(world, lookup.repository_of(world, pull), f"refs/heads/{pull.base_ref}")
    return [one.rule.parameters for one in rules if isinstance(one.rule, PullRequestRule)]


def unresolved_threads(world: World, pull: Pull) -> list[Thread]:
    """Return the threads with submitted comments that nobody has resolved."""
    pending = {review.id for review in world.database.all(Review, pull_id=pull.id, state="PENDING")}
    return [
        thread
        for thread in world.database.all(Thread, pull_id=pull.id, resolved_by_id=None)
        if any(one.review_id not in pending for one in world.database.all(ReviewComment, thread_id=thread.id))
    ]


def visible_threads(world: World, viewer: Viewer | None, pull: Pull) -> list[Thread]:
    """Return the threads of a pull request in which a viewer may read at least one comment, oldest first."""
    threads = world.database.all(Thread, pull_id=pull.id)
    return [thread for thread in threads if visible_comments(world, viewer, thread)]


def visible_comments(world: World, viewer: Viewer | None, thread: Thread) -> list[ReviewComment]:
    """Return the comments of a thread without those that others have not submitted yet, oldest first."""
    pending = world.database.all(Review, pull_id=thread.pull_id, state="PENDING")
    hidden = {review.id for review in pending if viewer is not None and review.author_id != viewer.id}
    comments = world.database.all(ReviewComment, thread_id=thread.id)
    return [comment for comment in comments if comment.review_id not in hidden]
