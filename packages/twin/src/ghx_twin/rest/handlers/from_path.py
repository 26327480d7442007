"""Finds what a path names, or refuses it as not there."""

from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import NEEDS_ADMIN, Role, may
from ghx_twin.queries.pulls.reviews import visible_reviews
from ghx_twin.refusals import (
    ConflictRefusal,
    ForbiddenRefusal,
    InvalidRefusal,
    NotFoundRefusal,
    PlainNotFoundRefusal,
)
from ghx_twin.rest.errors import RenamedRefusal
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import (
    Comment,
    Environment,
    Issue,
    Label,
    Milestone,
    Pull,
    Repository,
    Review,
    ReviewComment,
    Thread,
    User,
)


def repository(request: RestRequest) -> Repository:
    """Return the repository of `/repos/{owner}/{repo}`; under a former name, redirect."""
    owner, name = request.text("owner"), request.text("repo")
    record = lookup.repository(request.world, request.viewer, owner, name)
    if (request.view.user(record.owner_id).login.lower(), record.name.lower()) != (owner.lower(), name.lower()):
        raise RenamedRefusal(record.id)
    return record


def repository_with_commits(request: RestRequest) -> Repository:
    """Return the repository; refuse one without a commit, where GitHub answers 409."""
    record = repository(request)
    if not request.world.git(record).refs():
        raise ConflictRefusal("Git Repository is empty.")
    return record


def repository_for(request: RestRequest, needed: Role, message: str = NEEDS_ADMIN) -> Repository:
    """Return the repository; refuse a viewer whose role is too small."""
    record = repository(request)
    if not may(request.world, request.viewer, record, needed):
        raise ForbiddenRefusal(message)
    return record


def issue(request: RestRequest) -> Issue:
    """Return the issue, or pull request, of `.../issues/{issue_number}`."""
    return lookup.issue_or_pull(request.world, repository(request), request.number("issue_number"))


def pull(request: RestRequest) -> Pull:
    """Return the pull request of `.../pulls/{pull_number}`."""
    return lookup.pull(request.world, repository(request), request.number("pull_number"))


def comment(request: RestRequest) -> Comment:
    """Return the comment of `.../issues/comments/{comment_id}`."""
    return lookup.comment(request.world, repository(request), request.number("comment_id"))


def label(request: RestRequest) -> Label:
    """Return the label of `.../labels/{name}`."""
    return lookup.label(request.world, repository(request), request.text("name"))


def milestone(request: RestRequest) -> Milestone:
    """Return the milestone of `.../milestones/{milestone_number}`."""
    return lookup.milestone(request.world, repository(request), request.number("milestone_number"))


def review(request: RestRequest) -> Review:
    """Return the review of `.../pulls/{pull_number}/reviews/{review_id}`; pending ones of others are hidden."""
    identity = request.number("review_id")
    for one in visible_reviews(request.world, request.viewer, pull(request)):
        if one.id == identity:
            return one
    raise NotFoundRefusal(f"Could not resolve to a PullRequestReview with the id of {identity}.")


def review_comment(request: RestRequest) -> tuple[ReviewComment, Thread]:
    """Return the comment of `.../pulls/comments/{comment_id}` and its thread."""
    database, home, identity = request.world.database, repository(request), request.number("comment_id")
    record = database.get(ReviewComment, identity)
    thread = database.get(Thread, record.thread_id) if record else None
    owner = database.get(Pull, thread.pull_id) if thread else None
    review = database.get(Review, record.review_id) if record else None
    hidden = review is not None and review.state == "PENDING" and review.author_id != request.viewer.id
    if record is None or thread is None or owner is None or owner.repository_id != home.id or hidden:
        raise NotFoundRefusal(f"Could not resolve to a PullRequestReviewComment with the id of {identity}.")
    return record, thread


def environment(request: RestRequest, home: Repository) -> Environment:
    """Return the environment of `.../environments/{environment_name}`."""
    name = request.text("environment_name")
    record = request.world.database.one(Environment, repository_id=home.id, name=name)
    if record is None:
        raise NotFoundRefusal(f"Could not resolve to an Environment with the name '{name}'.")
    return record


def account(request: RestRequest, login: str) -> User:
    """Return the account with a login; an app's bot is found with and without `[bot]`."""
    try:
        return lookup.account(request.world, login)
    except NotFoundRefusal:
        if not login.endswith("[bot]"):
            raise
        return lookup.account(request.world, login.removesuffix("[bot]"))


def accounts(request: RestRequest, logins: list[str]) -> list[User]:
    """Return the accounts with these logins; unknown logins are left out."""
    users: list[User] = []
    for login in logins:
        try:
            users.append(account(request, login))
        except NotFoundRefusal:
            continue
    return users


def commit(request: RestRequest, home: Repository, expression: str) -> str:
    """Return the commit that a sha, branch or tag in the path names."""
    commit_sha = request.world.git(home).resolve(expression, home.default_branch)
    if commit_sha is None:
        raise InvalidRefusal(f"No commit found for SHA: {expression}")
    return commit_sha


def branch(request: RestRequest, home: Repository, name: str) -> str:
    """Return the tip of a branch."""
    ref = request.world.git(home).ref(f"refs/heads/{name}")
    if ref is None:
        raise PlainNotFoundRefusal("Branch not found")
    return ref
