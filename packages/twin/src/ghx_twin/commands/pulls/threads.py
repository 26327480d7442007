"""Conversations on lines of a pull request's diff."""

from ghx_twin.commands import kernel, texts, timeline
from ghx_twin.commands.pulls import reviews
from ghx_twin.commands.pulls.placement import NewThread, create_thread
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.pulls.hunks import Side
from ghx_twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal, RoleRefusal
from ghx_twin.state.records import Pull, Repository, Review, ReviewComment, Thread
from ghx_twin.world import Act

__all__ = [
    "NewThread",
    "create",
    "delete_comment",
    "reply",
    "resolve",
    "unresolve",
    "update_comment",
]


def create(
    act: Act,
    pull: Pull,
    *,
    path: str,
    body: str,
    line: int | None = None,
    side: Side = "RIGHT",
    start_line: int | None = None,
    start_side: Side | None = None,
    subject_type: str = "line",
    position: int | None = None,
    commit: str | None = None,
    review: Review | None = None,
) -> ReviewComment:
    """Create a thread in the viewer's pending review, or else as a published review of its own."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    author = reviews.require_reviewer(act, current, issue)
    new = NewThread(
        path=path,
        body=body,
        line=line,
        side=side,
        start_line=start_line,
        start_side=start_side,
        subject_type="file" if subject_type == "file" else "line",
        position=position,
    )
    if review is not None:
        return create_thread(act, current, _require_own_review(act, review, author), new)
    _refuse_second_review(act, current, author)
    own = reviews.insert(act, current, author=author, commit=commit)
    comment = create_thread(act, current, own, new)
    reviews.publish(act, own, "COMMENT")
    return comment


def reply(act: Act, thread: Thread, body: str, *, review: Review | None = None) -> ReviewComment:
    """Reply in a thread, in the viewer's pending review or else as a published review of its own."""
    current = kernel.reload(act, thread)
    pull = _pull(act, current)
    author = reviews.require_reviewer(act, pull, lookup.issue_of(act.world, pull))
    first = act.database.one(ReviewComment, thread_id=current.id)
    if first is None:
        raise NotFoundRefusal(f"Could not resolve to a PullRequestReviewThread with the id of {thread.id}.")
    if review is None:
        _refuse_second_review(act, pull, author)
    within = _require_own_review(act, review, author) if review else reviews.insert(act, pull, author=author)
    comment = act.database.insert(
        ReviewComment,
        thread_id=current.id,
        review_id=within.id,
        author_id=author,
        body=texts.check_comment(body, resource="PullRequestReviewComment"),
        in_reply_to_id=first.id,  # GitHub's threads are flat: every reply is to the first comment
        commit_sha=current.original_commit_sha,
        created_at=act.now,
        updated_at=act.now,
    )
    if review is None:
        reviews.publish(act, within, "COMMENT")
    return comment


def resolve(act: Act, thread: Thread) -> Thread:
    """Resolve a thread; writers and the author of the pull request may."""
    current = _require_resolvable(act, thread)
    if current.resolved_by_id is not None:
        return current
    return act.database.update(current, resolved_by_id=kernel.actor_id(act, _home(act, current)))


def unresolve(act: Act, thread: Thread) -> Thread:
    """Mark a resolved thread as unresolved."""
    return act.database.update(_require_resolvable(act, thread), resolved_by_id=None)


def update_comment(act: Act, comment: ReviewComment, body: str) -> ReviewComment:
    """Change the text of a comment; its author and writers may."""
    current = _require_writable(act, comment)
    written = texts.check_comment(body, resource="PullRequestReviewComment")
    if written == current.body:
        return current
    return act.database.update(current, body=written, updated_at=act.now)


def delete_comment(act: Act, comment: ReviewComment) -> None:
    """Delete a comment, the thread with its last one, and the review where it consisted of nothing else."""
    current = _require_writable(act, comment)
    thread = act.database.get(Thread, current.thread_id)
    issue = lookup.issue_of(act.world, _pull(act, thread)) if thread else None
    reviews.remove_comment(act, current)
    review = act.database.get(Review, current.review_id)
    said_nothing_else = review and review.state == "COMMENTED" and not review.body
    if review and said_nothing_else and not act.database.count(ReviewComment, review_id=review.id):
        act.database.delete(review)
    if issue:
        timeline.record_event(act, issue, "comment_deleted")
        kernel.touch(act, issue)


def can_resolve(act: Act, thread: Thread) -> bool:
    """Return whether the viewer may resolve or unresolve a thread."""
    issue = lookup.issue_of(act.world, _pull(act, thread))
    if act.viewer is not None and act.viewer.id == issue.author_id:
        return permissions.may(act.world, act.viewer, _home(act, thread), "read")
    return permissions.may(act.world, act.viewer, _home(act, thread), "write")


def _require_resolvable(act: Act, thread: Thread) -> Thread:
    current = kernel.reload(act, thread)
    permissions.require(act, _home(act, current), "read")
    if not can_resolve(act, current):
        raise RoleRefusal(permissions.NEEDS_ADMIN)
    return current


def _require_writable(act: Act, comment: ReviewComment) -> ReviewComment:
    current = kernel.reload(act, comment)
    thread, review = act.database.get(Thread, current.thread_id), act.database.get(Review, current.review_id)
    mine = act.viewer is not None and act.viewer.id == current.author_id
    hidden = review is not None and review.state == "PENDING" and not mine and act.viewer is not None
    if thread is None or hidden:
        raise NotFoundRefusal(f"Could not resolve to a PullRequestReviewComment with the id of {comment.id}.")
    permissions.require(act, _home(act, thread), "read" if mine else "write")
    return current


def _require_own_review(act: Act, review: Review, author: int) -> Review:
    current = kernel.reload(act, review)
    if current.author_id != author:
        raise NotFoundRefusal(f"Could not resolve to a PullRequestReview with the id of {review.id}.")
    if current.state != "PENDING":
        raise InvalidRefusal("Unprocessable Entity", errors=("Review has already been submitted.",))
    return current


def _refuse_second_review(act: Act, pull: Pull, author: int) -> None:
    if act.database.one(Review, pull_id=pull.id, author_id=author, state="PENDING"):
        error = FieldError(
            resource="PullRequestReview",
            field="user_id",
            code="custom",
            message="user_id can only have one pending review per pull request",
        )
        raise InvalidRefusal(errors=(error,), graphql=reviews.ONE_PENDING)


def _pull(act: Act, thread: Thread) -> Pull:
    pull = act.database.get(Pull, thread.pull_id)
    if pull is None:
        raise NotFoundRefusal(f"Could not resolve to a PullRequestReviewThread with the id of {thread.id}.")
    return pull


def _home(act: Act, thread: Thread) -> Repository:
    return lookup.repository_of(act.world, _pull(act, thread))
