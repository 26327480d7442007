"""Reviews of pull requests: requested, begun, submitted, changed, dismissed."""

from collections.abc import Sequence
from typing import Literal

from ghx_twin.commands import cascade, kernel, texts, timeline
from ghx_twin.commands.issues.comments import LOCKED
from ghx_twin.commands.pulls import merges
from ghx_twin.commands.pulls.placement import NewThread, create_thread
from ghx_twin.commands.pulls.synchronization import mark_dismissed
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.repositories.comparison import base_tip, git_of
from ghx_twin.refusals import FieldError, ForbiddenRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import (
    Issue,
    Pull,
    Repository,
    Review,
    ReviewComment,
    ReviewRequest,
    Team,
    TeamRepository,
    Thread,
    User,
)
from ghx_twin.world import Act

ReviewEvent = Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"]

ONE_PENDING = "User can only have one pending review per pull request"
_UNPROCESSABLE = "Unprocessable Entity"
_STATES: dict[ReviewEvent, str] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}
_OF_OWN: dict[str, str] = {
    "APPROVE": "Review Can not approve your own pull request",
    "REQUEST_CHANGES": "Review Can not request changes on your own pull request",
}


def create(
    act: Act,
    pull: Pull,
    *,
    event: ReviewEvent | None,
    body: str = "",
    commit: str | None = None,
    threads: Sequence[NewThread] = (),
) -> Review:
    """Review a pull request, with threads on its lines; without an event the review stays pending."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    author = require_reviewer(act, current, issue)
    if act.database.one(Review, pull_id=current.id, author_id=author, state="PENDING"):
        raise InvalidRefusal(_UNPROCESSABLE, errors=(ONE_PENDING,))
    try:
        reviewed = _reviewed_commit(act, current, commit)
    except InvalidRefusal as refusal:  # before the verdict, as on GitHub
        raise InvalidRefusal(_UNPROCESSABLE, errors=("The commitOID is not part of the pull request",)) from refusal
    if event:
        _check_verdict(issue, author, event, body, commented=bool(threads))
    review = insert(act, current, author=author, body=_check_body(body), commit=reviewed)
    _create_threads(act, current, review, threads)
    return publish(act, review, event) if event else review


def insert(act: Act, pull: Pull, *, author: int, body: str = "", commit: str | None = None) -> Review:
    """Add a pending review of the head, or of another commit of the pull request, without a permission check."""
    return act.database.insert(
        Review,
        pull_id=pull.id,
        author_id=author,
        state="PENDING",
        body=body,
        commit_sha=_reviewed_commit(act, pull, commit),
        created_at=act.now,
        updated_at=act.now,
    )


def submit(act: Act, review: Review, *, event: ReviewEvent, body: str | None = None) -> Review:
    """Submit the viewer's pending review."""
    current = _require_own_pending(act, review, "submit")
    pull = _pull(act, current)
    written = current.body if body is None else _check_body(body)
    commented = act.database.count(ReviewComment, review_id=current.id) > 0
    _check_verdict(lookup.issue_of(act.world, pull), current.author_id, event, written, commented=commented)
    return publish(act, act.database.update(current, body=written), event)


def publish(act: Act, review: Review, event: ReviewEvent) -> Review:
    """Make a review visible to everyone, drop the request for it, and attempt an auto-merge."""
    pull = _pull(act, review)
    published = act.database.update(review, state=_STATES[event], submitted_at=act.now, updated_at=act.now)
    issue = kernel.touch(act, lookup.issue_of(act.world, pull))
    timeline.record_mentions(act, issue, published.body)
    for comment in act.database.all(ReviewComment, review_id=review.id):
        timeline.record_mentions(act, issue, comment.body)
    for requests in act.database.all(ReviewRequest, pull_id=pull.id, user_id=review.author_id):
        act.database.delete(requests)
    merges.attempt_auto_merge(act, pull)
    return published


def update(act: Act, review: Review, *, body: str) -> Review:
    """Change the body of a review; its author and writers may."""
    current = kernel.reload(act, review)
    pull = _pull(act, current)
    mine = act.viewer is not None and act.viewer.id == current.author_id
    if current.state == "PENDING" and not mine and act.viewer is not None:
        raise _unknown(current)
    permissions.require(act, lookup.repository_of(act.world, pull), "read" if mine else "write")
    kernel.touch(act, lookup.issue_of(act.world, pull))
    return act.database.update(current, body=_check_body(body), updated_at=act.now)


def dismiss(act: Act, review: Review, message: str) -> Review:
    """Dismiss an approval or a request for changes; writers may, with a reason."""
    current = kernel.reload(act, review)
    pull = _pull(act, current)
    permissions.require(act, lookup.repository_of(act.world, pull), "write")
    if current.state not in {"APPROVED", "CHANGES_REQUESTED"}:
        kind = current.state.lower().replace("_", " ")
        raise InvalidRefusal(_UNPROCESSABLE, errors=(f"Can not dismiss a {kind} pull request review",))
    if not message.strip():
        raise InvalidRefusal(_UNPROCESSABLE, errors=("Message can't be blank",))
    dismissed = mark_dismissed(act, pull, current, _check_body(message))
    merges.attempt_auto_merge(act, pull)
    return dismissed


def delete_pending(act: Act, review: Review) -> Review:
    """Delete the viewer's pending review with its comments, and return what it was."""
    current = _require_own_pending(act, review, "delete")
    for comment in act.database.all(ReviewComment, review_id=current.id):
        remove_comment(act, comment)
    act.database.delete(current)
    return current


def remove_comment(act: Act, comment: ReviewComment) -> None:
    """Delete a comment, and the thread where it was the last in it, without a permission check."""
    cascade.delete_all(act.database, cascade.under_comment(act.database, comment))
    act.database.delete(comment)
    review_comments = act.database.all(ReviewComment, thread_id=comment.thread_id)
    thread = act.database.get(Thread, comment.thread_id)
    if not review_comments and thread:
        act.database.delete(thread)
    if review_comments and comment.in_reply_to_id is None:  # the next one is the first now
        act.database.update(review_comments[0], in_reply_to_id=None)
        for other in review_comments[1:]:
            act.database.update(other, in_reply_to_id=review_comments[0].id)


def request_reviews(
    act: Act, pull: Pull, *, users: Sequence[User] = (), teams: Sequence[Team] = (), replace: bool = False
) -> Pull:
    """Request reviews of users and teams; with `replace`, drop the requests for everyone who is not named."""
    current = _require_triager(act, pull)
    repository, issue = lookup.repository_of(act.world, current), lookup.issue_of(act.world, current)
    if any(user.id == issue.author_id for user in users):
        raise InvalidRefusal("Review cannot be requested from pull request author.")
    outsiders = [user for user in users if not permissions.assignable(act.world, repository, user)]
    if outsiders or any(not _has_access(act, repository, team) for team in teams):
        name = lookup.full_name(act.world, repository)
        raise InvalidRefusal(
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is "
            f"not a collaborator of the {name} repository."
        )
    if replace:
        _drop(act, current, [one for one in _requests(act, current) if not _is_listed(one, users, teams)])
    requests = _requests(act, current)
    for user in users:
        if all(one.user_id != user.id for one in requests):
            _ask(act, current, user=user)
    for team in teams:
        if all(one.team_id != team.id for one in requests):
            _ask(act, current, team=team)
    return current


def remove_review_requests(act: Act, pull: Pull, *, users: Sequence[User] = (), teams: Sequence[Team] = ()) -> Pull:
    """Drop requests for reviews; users and teams without one are no error."""
    current = _require_triager(act, pull)
    _drop(act, current, [one for one in _requests(act, current) if _is_listed(one, users, teams)])
    return current


def require_reviewer(act: Act, pull: Pull, issue: Issue) -> int:
    """Return the id of the user who reviews; refuse those without access, or where the conversation is locked."""
    repository = lookup.repository_of(act.world, pull)
    permissions.require(act, repository, "read")
    if issue.locked and not permissions.may(act.world, act.viewer, repository, "write"):
        raise ForbiddenRefusal(LOCKED)
    return kernel.actor_id(act, repository)


def repository_of(act: Act, review: Review) -> Repository:
    """Return the repository that a review belongs to."""
    return lookup.repository_of(act.world, _pull(act, review))


def _check_verdict(issue: Issue, author: int, event: ReviewEvent, body: str, *, commented: bool) -> None:
    if event not in _STATES:
        error = FieldError(resource="PullRequestReview", field="event", code="invalid", value=event)
        raise InvalidRefusal(errors=(error,))
    if issue.author_id == author and event in _OF_OWN:
        raise InvalidRefusal(_UNPROCESSABLE, errors=(_OF_OWN[event],))
    needs_body = event == "REQUEST_CHANGES" or (event == "COMMENT" and not commented)
    if needs_body and not body.strip():
        raise InvalidRefusal(_UNPROCESSABLE, errors=("Body can't be blank",))


def _create_threads(act: Act, pull: Pull, review: Review, threads: Sequence[NewThread]) -> None:
    problems: list[str] = []
    for thread in threads:
        try:
            create_thread(act, pull, review, thread)
        except InvalidRefusal as refusal:
            problems.append(refusal.graphql_message)
    if problems:  # GitHub answers a review with one sentence about all its threads, a lone thread with fields
        *others, last = problems
        sentence = f"{', '.join(others)}, and {last}" if len(others) > 1 else " and ".join(problems)
        raise InvalidRefusal(_UNPROCESSABLE, errors=(sentence,))


def _reviewed_commit(act: Act, pull: Pull, commit: str | None) -> str:
    if commit is None or commit.lower() == pull.head_sha:
        return pull.head_sha
    git, sha = git_of(act.world, pull), commit.lower()
    base = base_tip(act.world, pull)
    if git.kind(sha) != "commit" or not git.is_ancestor(sha, pull.head_sha) or git.is_ancestor(sha, base):
        error = FieldError(
            resource="PullRequestReview",
            field="commit_id",
            code="custom",
            message="commit_id is not part of the pull request",
        )
        raise InvalidRefusal(errors=(error,))
    return sha


def _require_own_pending(act: Act, review: Review, verb: str) -> Review:
    current = kernel.reload(act, review)
    repository = repository_of(act, current)
    permissions.require(act, repository, "read")
    if current.state != "PENDING":
        raise InvalidRefusal(_UNPROCESSABLE, errors=(f"Can not {verb} a non-pending pull request review",))
    if act.viewer is not None and act.viewer.id != current.author_id:
        raise _unknown(current)
    return current


def _pull(act: Act, review: Review) -> Pull:
    pull = act.database.get(Pull, review.pull_id)
    if pull is None:
        raise _unknown(review)
    return pull


def _unknown(review: Review) -> NotFoundRefusal:
    return NotFoundRefusal(f"Could not resolve to a PullRequestReview with the id of {review.id}.")


def _check_body(body: str) -> str:
    return texts.check_body(body, resource="PullRequestReview") or ""


def _require_triager(act: Act, pull: Pull) -> Pull:
    current = kernel.reload(act, pull)
    permissions.require(act, lookup.repository_of(act.world, current), "triage")
    return current


def _requests(act: Act, pull: Pull) -> list[ReviewRequest]:
    return act.database.all(ReviewRequest, pull_id=pull.id)


def _is_listed(request: ReviewRequest, users: Sequence[User], teams: Sequence[Team]) -> bool:
    return any(request.user_id == user.id for user in users) or any(request.team_id == team.id for team in teams)


def _ask(act: Act, pull: Pull, *, user: User | None = None, team: Team | None = None) -> None:
    issue = lookup.issue_of(act.world, pull)
    review_request = act.database.insert(
        ReviewRequest, pull_id=pull.id, user_id=user.id if user else None, team_id=team.id if team else None
    )
    timeline.record_event(act, issue, "review_requested", _requested_login(review_request))
    kernel.touch(act, issue)


def _drop(act: Act, pull: Pull, requests: Sequence[ReviewRequest]) -> None:
    issue = lookup.issue_of(act.world, pull)
    for one in requests:
        act.database.delete(one)
        timeline.record_event(act, issue, "review_request_removed", _requested_login(one))
        issue = kernel.touch(act, issue)


def _requested_login(request: ReviewRequest) -> dict[str, int | None]:
    return {"reviewer_id": request.user_id} if request.user_id else {"team_id": request.team_id}


def _has_access(act: Act, repository: Repository, team: Team) -> bool:
    access = act.database.one(TeamRepository, repository_id=repository.id, team_id=team.id)
    return access is not None or team.organization_id == repository.owner_id
