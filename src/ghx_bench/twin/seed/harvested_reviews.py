"""Reviews and threads of a world, written down."""

from collections.abc import Iterator

from ghx_bench.twin.seed.harvested_words import comment, login, reactions
from ghx_bench.twin.seed.talk import SeedPlace, SeedReview, SeedThread
from ghx_bench.twin.state.records import Pull, Review, ReviewComment, Thread
from ghx_bench.twin.world import World


def harvest_reviews(world: World, pull: Pull) -> Iterator[SeedReview]:
    """Yield the reviews of a pull request, the wrappings of single comments among them, oldest first."""
    for review in world.database.all(Review, pull_id=pull.id):
        yield SeedReview.model_validate(
            {
                "author": login(world, review.author_id),
                "state": review.state,
                "body": review.body,
                "at": review.submitted_at or review.created_at,
                "reactions": reactions(world, review),
                "commit_sha": review.commit_sha,
            }
        )


def harvest_threads(world: World, pull: Pull) -> Iterator[SeedThread]:
    """Yield the threads of a pull request; each comment says which review it belongs to."""
    reviews = world.database.all(Review, pull_id=pull.id)
    numbers = {review.id: number for number, review in enumerate(reviews, 1)}
    for thread in world.database.all(Thread, pull_id=pull.id):
        written = world.database.all(ReviewComment, thread_id=thread.id)
        yield SeedThread.model_validate(
            {
                **{name: getattr(thread, name) for name in ("path", "line", "start_line", "side")},
                "comments": tuple({**comment(world, each), "review": numbers[each.review_id]} for each in written),
                "resolved_by": login(world, thread.resolved_by_id),
                "place": {name: getattr(thread, name) for name in SeedPlace.model_fields},
            }
        )
