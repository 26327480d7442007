"""The reviews and threads of a seed's pull requests."""

from ghx_bench.twin.commands import restoring, reviews, threads
from ghx_bench.twin.commands.restoring import OldThread
from ghx_bench.twin.commands.reviews import ReviewEvent
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.plot import Plot
from ghx_bench.twin.seed.talk import SeedPlace, SeedPull, SeedReview, SeedThread, SeedThreadComment
from ghx_bench.twin.state.records import Pull, Review, ReviewComment, Thread

_EVENTS: dict[str, ReviewEvent | None] = {
    "PENDING": None,
    "COMMENTED": "COMMENT",
    "APPROVED": "APPROVE",
    "CHANGES_REQUESTED": "REQUEST_CHANGES",
    "DISMISSED": "APPROVE",
}


def plant_reviews(plot: Plot, seed: SeedPull, pull: Pull) -> None:
    """Review a pull request and discuss its lines; those who have begun a review and not submitted it come last."""
    if plot.seed.exported:
        _restore_reviews(plot, seed, pull)
        return
    opener = lookup.user_by_id(plot.world, lookup.issue_of(plot.world, pull).author_id).login
    for review in (each for each in seed.reviews if each.state != "PENDING"):
        with within(f"review of {review.author}"):
            _review(plot, pull, review)
    for thread in seed.threads:
        with within(_place(thread)):
            _answer(plot, thread, _start(plot, pull, thread, None, opener), opener)
    for review in (each for each in seed.reviews if each.state == "PENDING"):
        with within(f"review of {review.author}"):
            _review(plot, pull, review)


def _review(plot: Plot, pull: Pull, seed: SeedReview) -> None:
    with plot.speaking(seed.author, at=seed.at) as act:
        review = reviews.create(act, pull, event=None, body=seed.body if seed.state == "PENDING" else "")
    started: list[Thread] = []
    for thread in seed.threads:
        with within(_place(thread)):
            started.append(_start(plot, pull, thread, review, seed.author, at=seed.at))
    if (event := _EVENTS[seed.state]) is not None:
        with plot.speaking(seed.author, at=seed.at) as act:
            review = reviews.submit(act, review, event=event, body=seed.body)
    plot.react(review, seed.reactions)
    for thread, record in zip(seed.threads, started, strict=True):
        with within(_place(thread)):
            _answer(plot, thread, record, seed.author)
    if seed.state == "DISMISSED":
        with plot.world.acting(None) as act:
            reviews.dismiss(act, review, "Dismissed.")


def _start(
    plot: Plot, pull: Pull, seed: SeedThread, review: Review | None, default: str, *, at: str | None = None
) -> Thread:
    first = seed.comments[0]
    if review is not None and first.author not in {None, default}:
        raise InvalidRefusal(f"its first comment is part of the review of {default}, not by {first.author}")
    with plot.speaking(first.author or default, at=first.at or at) as act:
        made = threads.create(
            act, pull, path=seed.path, body=first.body, line=seed.line, side=seed.side, start_line=seed.start_line,
            start_side=None if seed.start_line is None else seed.side,
            subject_type="file" if seed.line is None else "line", review=review,
        )  # fmt: skip
    _dress(plot, first, made)
    return _thread_of(plot, made)


def _answer(plot: Plot, seed: SeedThread, thread: Thread, default: str) -> None:
    for reply in seed.comments[1:]:
        with plot.speaking(reply.author or default, at=reply.at) as act:
            made = threads.reply(act, thread, reply.body)
        _dress(plot, reply, made)
    _settle(plot, seed, thread)


def _settle(plot: Plot, seed: SeedThread, thread: Thread) -> None:
    if seed.resolved_by is not None:
        with plot.speaking(seed.resolved_by) as act:
            threads.resolve(act, thread)


def _dress(plot: Plot, seed: SeedThreadComment, comment: ReviewComment) -> None:
    plot.react(comment, seed.reactions)
    if seed.updated_at is not None or seed.minimized_reason is not None:
        with plot.world.acting(None, at=comment.created_at) as act:
            changed = seed.updated_at or comment.updated_at
            act.database.update(comment, updated_at=changed, minimized_reason=seed.minimized_reason)


def _restore_reviews(plot: Plot, seed: SeedPull, pull: Pull) -> None:
    """Put back reviews, threads and which comment was submitted with which review."""
    restored: list[Review] = []
    for each in seed.reviews:
        with within(f"review of {each.author}"), plot.speaking(each.author, at=each.at) as act:
            restored.append(
                restoring.restore_review(act, pull, state=each.state, body=each.body, commit_sha=each.commit_sha)
            )
        plot.react(restored[-1], each.reactions)
    for thread in seed.threads:
        with within(_place(thread)):
            _restore_thread(plot, thread, pull, restored)


def _restore_thread(plot: Plot, seed: SeedThread, pull: Pull, restored: list[Review]) -> None:
    if seed.place is None:
        raise InvalidRefusal("a thread of an export has a place")
    with plot.world.acting(None) as act:
        thread = restoring.restore_thread(act, pull, _old(seed, seed.place))
    for each in seed.comments:
        if each.author is None or each.review is None or each.review > len(restored):
            raise InvalidRefusal("a comment of an export has an author, and the number of a review")
        with plot.speaking(each.author, at=each.at) as act:
            made = restoring.restore_comment(act, thread, restored[each.review - 1], each.body)
        _dress(plot, each, made)
    _settle(plot, seed, thread)


def _old(seed: SeedThread, place: SeedPlace) -> OldThread:
    return OldThread(path=seed.path, side=seed.side, line=seed.line, start_line=seed.start_line, **place.model_dump())


def _thread_of(plot: Plot, comment: ReviewComment) -> Thread:
    thread = plot.world.database.get(Thread, comment.thread_id)
    assert thread is not None  # noqa: S101 - it was just made
    return thread


def _place(thread: SeedThread) -> str:
    return f"thread on {thread.path}" + (f":{thread.line}" if thread.line else "")
