"""Reviews and the comments on lines of a diff."""

from ghx_twin.queries.repositories import comparison
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.issues import reactions
from ghx_twin.rest.render.pulls.pulls import issue_of
from ghx_twin.rest.render.users import optional_user
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import Pull, Review, ReviewComment, Thread


def review(view: View, review: Review) -> JsonObject:
    """Render a review."""
    pull = view.database.get(Pull, review.pull_id)
    assert pull is not None  # noqa: S101 - a review goes with its pull request
    issue, repository = issue_of(view, pull), view.repository(pull.repository_id)
    page = f"{view.issue_page(issue)}#pullrequestreview-{review.id}"
    address = view.api(repository, f"/pulls/{issue.number}")
    body: JsonObject = {
        "id": review.id,
        "node_id": view.node(review),
        "user": optional_user(view, review.author_id),
        "body": review.body,
        "state": review.state,
        "html_url": page,
        "pull_request_url": address,
        "author_association": view.association(repository, view.user(review.author_id)),
        "_links": {"html": {"href": page}, "pull_request": {"href": address}},
        "submitted_at": review.submitted_at,
        "commit_id": review.commit_sha,
    }
    if review.submitted_at is None:  # a pending one has no such key
        del body["submitted_at"]
    return body


def review_comment(view: View, comment: ReviewComment) -> JsonObject:
    """Render a comment on a line or a file."""
    thread = view.database.get(Thread, comment.thread_id)
    pull = view.database.get(Pull, thread.pull_id) if thread else None
    assert thread is not None  # noqa: S101 - they go together
    assert pull is not None  # noqa: S101 - the same
    issue, repository = issue_of(view, pull), view.repository(pull.repository_id)
    url = view.api(repository, f"/pulls/comments/{comment.id}")
    page = f"{view.issue_page(issue)}#discussion_r{comment.id}"
    address = view.api(repository, f"/pulls/{issue.number}")
    return {
        "url": url,
        "pull_request_review_id": comment.review_id,
        "id": comment.id,
        "node_id": view.node(comment),
        "diff_hunk": thread.diff_hunk,
        "path": thread.path,
        "commit_id": thread.commit_sha,
        "original_commit_id": thread.original_commit_sha,
        "user": optional_user(view, comment.author_id),
        "body": comment.body,
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "html_url": page,
        "pull_request_url": address,
        "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": address}},
        "reactions": reactions.rollup(view, comment, url),
        **_place(thread),
        **({} if comment.in_reply_to_id is None else {"in_reply_to_id": comment.in_reply_to_id}),
        "author_association": view.association(repository, view.user(comment.author_id)),
        "original_position": 1 if thread.subject_type == "file" else thread.original_position,
        "position": _position(view, pull, thread),
        "subject_type": thread.subject_type,
    }


def _place(thread: Thread) -> JsonObject:
    whole = thread.subject_type == "file"  # GitHub shows it as if it were on the first line
    return {
        "start_line": thread.start_line,
        "original_start_line": thread.original_start_line,
        "start_side": thread.start_side if thread.original_start_line is not None else None,
        "line": 1 if whole else thread.line,
        "original_line": 1 if whole else thread.original_line,
        "side": thread.side,
    }


def _position(view: View, pull: Pull, thread: Thread) -> int | None:
    """Return the position now; one that is outdated keeps the one it had, where GraphQL has null."""
    if thread.subject_type == "file":
        return 1
    return thread.original_position if thread.outdated else comparison.position(view.world, pull, thread)
