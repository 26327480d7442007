"""Reviews and comments on lines of a diff."""

from typing import cast

from ghx_twin.commands.pulls import reviews, threads
from ghx_twin.commands.pulls.reviews import ReviewEvent
from ghx_twin.commands.pulls.threads import NewThread
from ghx_twin.queries.pulls.hunks import Side
from ghx_twin.queries.pulls.reviews import visible_reviews
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body, parse_time
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, order_clause
from ghx_twin.rest.render.pulls import reviews as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Pull, ReviewComment, Thread
from ghx_twin.state.rows import Rows

_EVENTS = ("APPROVE", "REQUEST_CHANGES", "COMMENT")
_SIDES = ("LEFT", "RIGHT")
# The forms of a new comment, in GitHub's order: what each needs, and the keys it permits where it is strict.
_LINES = ("line", "side", "start_line", "start_side", "subject_type")
_FORMS: tuple[tuple[tuple[str, ...], frozenset[str] | None], ...] = (
    (("body", "positioning"), None),
    (("body", "commit_id", "path", "position"), None),
    (("body", "in_reply_to"), frozenset({"body", "commit_id", "in_reply_to", "path"})),
    (("body", "commit_id", "line", "path"), frozenset({"body", "commit_id", "path", *_LINES})),
    (("body", "commit_id", "path", "subject_type"), None),
)
# Comments of a pending review are not listed, even to their author, until it is submitted.
_SUBMITTED = "review_comments.review_id NOT IN (SELECT id FROM reviews WHERE state = 'PENDING')"


def list_reviews(request: RestRequest) -> Reply:
    """List reviews for a pull request."""
    reviews = visible_reviews(request.world, request.viewer, from_path.pull(request))
    return list_reply(request, reviews, lambda one: render.review(request.view, one))


def create_review(request: RestRequest) -> Reply:
    """Create a review for a pull request."""
    pull, body = from_path.pull(request), request.body()
    event = _event(body, "PullRequestReviewEvent")
    notes = [_new_thread(one) for one in body.objects("comments")]
    with request.acting() as act:
        review = reviews.create(
            act, pull, event=event, body=body.text("body") or "", commit=body.text("commit_id"), threads=notes
        )
    return json_reply(render.review(request.view, review))


def get_review(request: RestRequest) -> Reply:
    """Get a review for a pull request."""
    return json_reply(render.review(request.view, from_path.review(request)))


def update_review(request: RestRequest) -> Reply:
    """Update a review for a pull request."""
    review, text = from_path.review(request), request.body().required_text("body")
    with request.acting() as act:
        changed = reviews.update(act, review, body=text)
    return json_reply(render.review(request.view, changed))


def delete_review(request: RestRequest) -> Reply:
    """Delete a pending review for a pull request."""
    review = from_path.review(request)
    content = render.review(request.view, review)
    with request.acting() as act:
        reviews.delete_pending(act, review)
    return json_reply(content)


def submit_review(request: RestRequest) -> Reply:
    """Submit a review for a pull request."""
    review, body = from_path.review(request), request.body()
    body.require("event")
    event = cast("ReviewEvent", _event(body, "PullRequestReviewEvent!") or body.required_text("event"))
    with request.acting() as act:
        sent = reviews.submit(act, review, event=event, body=body.text("body"))
    return json_reply(render.review(request.view, sent))


def dismiss_review(request: RestRequest) -> Reply:
    """Dismiss a review for a pull request."""
    review, text = from_path.review(request), request.body().required_text("message")
    with request.acting() as act:
        changed = reviews.dismiss(act, review, text)
    return json_reply(render.review(request.view, changed))


def list_comments_of_review(request: RestRequest) -> Reply:
    """List comments for a pull request review."""
    review_comments = request.world.database.all(ReviewComment, review_id=from_path.review(request).id)
    return list_reply(request, review_comments, lambda one: render.review_comment(request.view, one))


def list_pull_comments(request: RestRequest) -> Reply:
    """List review comments on a pull request."""
    return _list_comments(request, "threads.pull_id = ?", from_path.pull(request).id)


def list_repository_comments(request: RestRequest) -> Reply:
    """List review comments in a repository."""
    within = "threads.pull_id IN (SELECT id FROM pulls WHERE repository_id = ?)"
    return _list_comments(request, within, from_path.repository(request).id)


def create_comment(request: RestRequest) -> Reply:
    """Create a review comment for a pull request."""
    pull, body = from_path.pull(request), request.body()
    _require_place(body)
    if (parent := body.integer("in_reply_to", "a number")) is not None:
        return _reply(request, pull, parent, body.required_text("body"))
    note = _new_thread(body)
    with request.acting() as act:
        record = threads.create(
            act,
            pull,
            path=note.path,
            body=note.body,
            line=note.line,
            side=note.side,
            start_line=note.start_line,
            start_side=note.start_side,
            subject_type=note.subject_type,
            position=note.position,
            commit=body.required_text("commit_id"),
        )
    review_comment = render.review_comment(request.view, record)
    return created(review_comment, review_comment["url"])


def reply_to_comment(request: RestRequest) -> Reply:
    """Create a reply for a review comment."""
    pull, text = from_path.pull(request), request.body().required_text("body")
    return _reply(request, pull, request.number("comment_id"), text)


def get_comment(request: RestRequest) -> Reply:
    """Get a review comment for a pull request."""
    return json_reply(render.review_comment(request.view, from_path.review_comment(request)[0]))


def update_comment(request: RestRequest) -> Reply:
    """Update a review comment for a pull request."""
    (comment, _), text = from_path.review_comment(request), request.body().required_text("body")
    with request.acting() as act:
        changed = threads.update_comment(act, comment, text)
    return json_reply(render.review_comment(request.view, changed))


def delete_comment(request: RestRequest) -> Reply:
    """Delete a review comment for a pull request."""
    comment, _ = from_path.review_comment(request)
    with request.acting() as act:
        threads.delete_comment(act, comment)
    return no_content()


def _reply(request: RestRequest, pull: Pull, comment_id: int, text: str) -> Reply:
    database = request.world.database
    parent = database.get(ReviewComment, comment_id)
    thread = database.get(Thread, parent.thread_id) if parent else None
    if thread is None or thread.pull_id != pull.id:
        raise NotFoundRefusal(f"Could not resolve to a PullRequestReviewComment with the id of {comment_id}.")
    with request.acting() as act:
        reply = threads.reply(act, thread, text)
    review_comment = render.review_comment(request.view, reply)
    return created(review_comment, review_comment["url"])


def _list_comments(request: RestRequest, within: str, identity: int) -> Reply:
    since = parse_time(request.query.get("since"))
    recent, values = ("", (identity,)) if since is None else (" AND review_comments.updated_at >= ?", (identity, since))
    columns = {"created": "review_comments.created_at", "updated": "review_comments.updated_at"}
    order = order_clause(request, columns, "created", "asc", table="review_comments")
    rest = f"JOIN threads ON threads.id = review_comments.thread_id WHERE {within} AND {_SUBMITTED}{recent} {order}"
    rows = Rows(request.world.database, ReviewComment, rest, values)
    return list_reply(request, rows, lambda one: render.review_comment(request.view, one))


def _event(body: Body, kind: str) -> ReviewEvent | None:
    """Return what a review is to do; GitHub hands it to GraphQL, whose refusal it repeats."""
    event = body.text("event")
    if event is not None and event not in _EVENTS:
        problem = f"Variable $event of type {kind} was provided invalid value"
        raise InvalidRefusal("Unprocessable Entity", errors=(problem,))
    return event


def _require_place(body: Body) -> None:
    """Refuse a comment that no form of the request fits, and say of each what is amiss, as GitHub does."""
    problems: list[str] = []
    for needed, permitted in _FORMS:
        missing = [name for name in needed if name not in body]
        if not missing:
            return
        problems.append(_sentence(missing, "wasn't supplied", "weren't supplied"))
        others = [name for name in body.names() if permitted is not None and name not in permitted]
        if others:
            problems.append(_sentence(others, "is not a permitted key", "are not permitted keys"))
    lines = "\n".join(['No subschema in "oneOf" matched.', *problems])
    raise InvalidRefusal(f"Invalid request.\n\n{lines}")


def _sentence(names: list[str], one: str, several: str) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"{quoted} {one if len(names) == 1 else several}."


def _new_thread(body: Body) -> NewThread:
    return NewThread(
        path=body.required_text("path"),
        body=body.required_text("body"),
        line=body.integer("line"),
        side=cast("Side", body.choice("side", _SIDES) or "RIGHT"),
        start_line=body.integer("start_line"),
        start_side=cast("Side | None", body.choice("start_side", _SIDES)),
        subject_type="file" if body.choice("subject_type", ("line", "file")) == "file" else "line",
        position=body.integer("position"),
    )
