"""Mutations of reviews, threads and the comments in them."""

from collections.abc import Sequence
from typing import Any, cast

from ghx_twin.commands.pulls import reviews, threads
from ghx_twin.commands.pulls.placement import NewThread, UnresolvedPlaceRefusal
from ghx_twin.graphql.changes.change import AsEdge, Change, Mutation, Outcome
from ghx_twin.queries.pulls.hunks import Side
from ghx_twin.queries.pulls.reviews import pending_review
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Pull, Review, ReviewComment, Thread


def add_pull_request_review(
    change: Change,
    *,
    pull_request_id: str,
    event: str | None = None,
    body: str | None = None,
    commit_oid: str | None = None,
    comments: list[dict[str, Any] | None] | None = None,
    threads: list[dict[str, Any] | None] | None = None,
) -> Outcome:
    """Review a pull request; without an event the review waits to be submitted."""
    placed = [_thread(one) for one in [*(comments or ()), *(threads or ())] if one]
    review = reviews.create(
        change.act,
        change.find(pull_request_id, Pull),
        event=_event(event),
        body=body or "",
        commit=commit_oid,
        threads=placed,
    )
    return {"pull_request_review": review, "review_edge": AsEdge(review)}


def submit_pull_request_review(
    change: Change,
    *,
    event: str,
    body: str | None = None,
    pull_request_id: str | None = None,
    pull_request_review_id: str | None = None,
) -> Outcome:
    """Submit a review that was begun."""
    review = _find_pending(change, pull_request_id, pull_request_review_id)
    if review is None:
        raise NotFoundRefusal("Could not find a pending review for this user on this pull request.")
    submitted = reviews.submit(change.act, review, event=cast("reviews.ReviewEvent", _event(event)), body=body)
    return {"pull_request_review": submitted}


def update_pull_request_review(change: Change, *, pull_request_review_id: str, body: str) -> Outcome:
    """Rewrite what a review says at its top."""
    review = change.find(pull_request_review_id, Review)
    return {"pull_request_review": reviews.update(change.act, review, body=body)}


def delete_pull_request_review(change: Change, *, pull_request_review_id: str) -> Outcome:
    """Drop a review that was begun."""
    return {"pull_request_review": reviews.delete_pending(change.act, change.find(pull_request_review_id, Review))}


def dismiss_pull_request_review(change: Change, *, pull_request_review_id: str, message: str) -> Outcome:
    """Dismiss a review, so that it no longer counts."""
    return {"pull_request_review": reviews.dismiss(change.act, change.find(pull_request_review_id, Review), message)}


def add_pull_request_review_thread(
    change: Change,
    *,
    path: str,
    body: str,
    pull_request_id: str | None = None,
    pull_request_review_id: str | None = None,
    **place: Any,
) -> Outcome:
    """Begin a thread in a review that was begun, or begin one with it."""
    begun = _find_pending(change, pull_request_id, pull_request_review_id) is None
    pull, review = _pull_and_review(change, pull_request_id, pull_request_review_id)
    placed = _thread({"path": path, "body": body, **place})
    try:
        comment = threads.create(
            change.act,
            pull,
            path=placed.path,
            body=placed.body,
            line=placed.line,
            side=placed.side,
            start_line=placed.start_line,
            start_side=placed.start_side,
            subject_type=placed.subject_type,
            review=review,
        )
    except UnresolvedPlaceRefusal:
        if begun:
            reviews.delete_pending(change.act, review)
        return {"thread": None}  # GitHub reports no error here, which its own MCP server has to find out
    return {"thread": change.act.database.get(Thread, comment.thread_id)}


def add_pull_request_review_thread_reply(
    change: Change, *, pull_request_review_thread_id: str, body: str, pull_request_review_id: str | None = None
) -> Outcome:
    """Answer in a thread: at once, or in the review that the viewer has begun."""
    thread = change.find(pull_request_review_thread_id, Thread)
    return {"comment": _reply(change, thread, body, pull_request_review_id)}


def add_pull_request_review_comment(
    change: Change,
    *,
    body: str | None = None,
    commit_oid: str | None = None,
    in_reply_to: str | None = None,
    path: str | None = None,
    position: int | None = None,
    pull_request_id: str | None = None,
    pull_request_review_id: str | None = None,
) -> Outcome:
    """Comment on a diff the older way: by position, or under another comment."""
    if in_reply_to:
        answered = change.find(in_reply_to, ReviewComment)
        thread = change.act.database.get(Thread, answered.thread_id)
        if thread is None:
            raise NotFoundRefusal(f"Could not resolve to a node with the global id of '{in_reply_to}'")
        comment = _reply(change, thread, body or "", pull_request_review_id)
    else:
        pull, review = _pull_and_review(change, pull_request_id, pull_request_review_id)
        if path is None or position is None:
            raise InvalidRefusal("A path and a position are needed to comment on a diff.")
        comment = threads.create(
            change.act, pull, path=path, body=body or "", position=position, commit=commit_oid, review=review
        )
    return {"comment": comment, "comment_edge": AsEdge(comment)}


def update_pull_request_review_comment(change: Change, *, pull_request_review_comment_id: str, body: str) -> Outcome:
    """Rewrite a comment on a diff."""
    comment = change.find(pull_request_review_comment_id, ReviewComment)
    return {"pull_request_review_comment": threads.update_comment(change.act, comment, body)}


def delete_pull_request_review_comment(change: Change, *, id: str) -> Outcome:  # noqa: A002 - the input's own name
    """Delete a comment on a diff."""
    comment = change.find(id, ReviewComment)
    review = change.act.database.get(Review, comment.review_id)
    threads.delete_comment(change.act, comment)
    remaining = change.act.database.get(Review, review.id) if review else None
    return {"pull_request_review": remaining, "pull_request_review_comment": None}


def resolve_review_thread(change: Change, *, thread_id: str) -> Outcome:
    """Resolve a thread."""
    return {"thread": threads.resolve(change.act, change.find(thread_id, Thread))}


def unresolve_review_thread(change: Change, *, thread_id: str) -> Outcome:
    """Open a settled thread again."""
    return {"thread": threads.unresolve(change.act, change.find(thread_id, Thread))}


def _reply(change: Change, thread: Thread, body: str, review_id: str | None) -> ReviewComment:
    if review_id:
        review = change.find(review_id, Review)
    else:
        pull = change.act.database.get(Pull, thread.pull_id)
        review = pending_review(change.context.world, change.context.viewer, pull) if pull else None
    return threads.reply(change.act, thread, body, review=review)


def _pull_and_review(change: Change, pull_id: str | None, review_id: str | None) -> tuple[Pull, Review]:
    """Return where to comment: in the review that is named or was begun, else in one that is begun now."""
    review = _find_pending(change, pull_id, review_id)
    if review is None:
        if pull_id is None:
            raise InvalidRefusal("Either `pullRequestId` or `pullRequestReviewId` must be provided.")
        pull = change.find(pull_id, Pull)
        return pull, reviews.create(change.act, pull, event=None)
    pull = change.act.database.get(Pull, review.pull_id)
    if pull is None:
        raise NotFoundRefusal("Could not resolve to a PullRequest.")
    return pull, review


def _find_pending(change: Change, pull_id: str | None, review_id: str | None) -> Review | None:
    if review_id:
        return change.find(review_id, Review)
    if not pull_id:
        return None
    return pending_review(change.context.world, change.context.viewer, change.find(pull_id, Pull))


def _thread(thread: dict[str, Any]) -> NewThread:
    return NewThread(
        path=thread["path"],
        body=thread["body"],
        line=thread.get("line"),
        side=cast("Side", thread.get("side") or "RIGHT"),
        start_line=thread.get("start_line"),
        start_side=thread.get("start_side"),
        subject_type="file" if thread.get("subject_type") == "FILE" else "line",
        position=thread.get("position"),
    )


def _event(name: str | None) -> reviews.ReviewEvent | None:
    if name == "DISMISS":
        raise InvalidRefusal("Can not dismiss a review that is not submitted")
    return cast("reviews.ReviewEvent | None", name)


REVIEW_CHANGES: Sequence[Mutation] = (
    add_pull_request_review, submit_pull_request_review, update_pull_request_review, delete_pull_request_review,
    dismiss_pull_request_review, add_pull_request_review_thread, add_pull_request_review_thread_reply,
    add_pull_request_review_comment, update_pull_request_review_comment, delete_pull_request_review_comment,
    resolve_review_thread, unresolve_review_thread,
)  # fmt: skip
