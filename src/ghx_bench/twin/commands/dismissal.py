"""Taking the effect from reviews: by hand, or because the code has moved on."""

from ghx_bench.twin.commands import kernel, timeline
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.protections import protection_of
from ghx_bench.twin.queries.reviews import latest_opinions
from ghx_bench.twin.state.records import Pull, Review
from ghx_bench.twin.world import Act


def dismiss_stale_reviews(act: Act, pull: Pull) -> None:
    """Dismiss approvals of what is no longer the head, where the base branch is protected so."""
    rules = protection_of(act.world, lookup.repository_of(act.world, pull), pull.base_ref)
    if rules is None or not rules.dismiss_stale_reviews:
        return
    for review in latest_opinions(act.world, pull):
        if review.state == "APPROVED" and review.commit_sha != pull.head_sha:
            mark_dismissed(act, pull, review, None)


def mark_dismissed(act: Act, pull: Pull, review: Review, message: str | None) -> Review:
    """Take the effect from a review and say so in the timeline."""
    issue = lookup.issue_of(act.world, pull)
    timeline.record_event(
        act, issue, "review_dismissed", {"review_id": review.id, "state": review.state.lower(), "message": message}
    )
    kernel.touch(act, issue)
    return act.database.update(review, state="DISMISSED", updated_at=act.now)
