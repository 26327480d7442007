from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands import issues, users
from ghx_twin.commands.pulls import merges, reviews, threads
from ghx_twin.commands.pulls.threads import NewThread
from ghx_twin.queries.pulls.reviews import latest_reviews, review_decision, visible_reviews, visible_threads
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Event, Pull, Review, ReviewComment, ReviewRequest, Thread
from ghx_twin.viewer import Viewer

HERE = NewThread(path="poem.txt", line=15, body="Here")


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def review(shop: Shop, pull: Pull, by: str = "bob", **arguments) -> Review:
    with shop.acting(by) as act:
        return reviews.create(act, pull, **arguments)


def refusal(shop: Shop, command, *arguments, by: str = "bob", **named) -> InvalidRefusal:
    with pytest.raises(InvalidRefusal) as caught, shop.acting(by) as act:
        command(act, *arguments, **named)
    return caught.value


def seen(shop: Shop, pull: Pull, by: str) -> list[str]:
    viewer = Viewer(user=shop.people[by])
    return [found.state for found in visible_reviews(shop.world, viewer, pull)]


@pytest.mark.parametrize(
    ("event", "state"),
    [("APPROVE", "APPROVED"), ("REQUEST_CHANGES", "CHANGES_REQUESTED"), ("COMMENT", "COMMENTED")],
)
def test_a_review_has_the_state_of_its_event(shop: Shop, event: reviews.ReviewEvent, state: str) -> None:
    pull = shop.open()
    made = review(shop, pull, event=event, body="Text")

    assert (made.state, made.body, made.commit_sha) == (state, "Text", pull.head_sha)
    assert made.submitted_at == shop.issue(pull).updated_at


def test_nobody_judges_their_own_pull_request_but_everyone_may_comment(shop: Shop) -> None:
    pull = shop.open()
    approved = refusal(shop, reviews.create, pull, by="ann", event="APPROVE")
    assert (approved.message, approved.errors) == (
        "Unprocessable Entity",
        ("Review Can not approve your own pull request",),
    )
    assert approved.graphql_message == "Review Can not approve your own pull request"
    changed = refusal(shop, reviews.create, pull, by="ann", event="REQUEST_CHANGES", body="x")
    assert changed.graphql_message == "Review Can not request changes on your own pull request"
    assert review(shop, pull, "ann", event="COMMENT", body="Note").state == "COMMENTED"


def test_a_review_says_something(shop: Shop) -> None:
    pull = shop.open()
    assert "blank" in refusal(shop, reviews.create, pull, event="COMMENT").graphql_message
    assert "blank" in refusal(shop, reviews.create, pull, event="REQUEST_CHANGES").graphql_message
    assert review(shop, pull, event="COMMENT", threads=[HERE]).body == ""
    assert review(shop, pull, event="APPROVE").state == "APPROVED"


def test_a_begun_review_is_seen_by_its_author_only_until_it_is_submitted(shop: Shop) -> None:
    pull = shop.open()
    before = shop.issue(pull).updated_at
    begun = review(shop, pull, event=None, body="So far", threads=[HERE])

    assert seen(shop, pull, "bob") == ["PENDING"]
    assert seen(shop, pull, "ann") == []
    assert visible_threads(shop.world, Viewer(user=shop.people["ann"]), pull) == []
    assert len(visible_threads(shop.world, Viewer(user=shop.people["bob"]), pull)) == 1
    assert shop.issue(pull).updated_at == before
    with pytest.raises(NotFoundRefusal), shop.acting("ann") as act:
        reviews.submit(act, begun, event="COMMENT")
    with shop.acting("bob") as act:
        reviews.submit(act, begun, event="APPROVE")
    assert seen(shop, pull, "ann") == ["APPROVED"]
    assert len(visible_threads(shop.world, Viewer(user=shop.people["ann"]), pull)) == 1


def test_one_review_at_a_time_is_begun(shop: Shop) -> None:
    pull = shop.open()
    begun = review(shop, pull, event=None)
    for event in (None, "COMMENT"):
        told = refusal(shop, reviews.create, pull, event=event, body="x")
        assert told.errors == ("User can only have one pending review per pull request",)
    assert "one pending review" in str(refusal(shop, threads.create, pull, path="poem.txt", line=15, body="x").errors)
    assert review(shop, pull, "ann", event=None).state == "PENDING"
    with shop.acting("bob") as act:
        reviews.delete_pending(act, begun)
    assert review(shop, pull, event=None).state == "PENDING"


def test_submitting_needs_a_begun_review_and_the_same_words(shop: Shop) -> None:
    pull = shop.open()
    begun = review(shop, pull, event=None)
    assert "blank" in refusal(shop, reviews.submit, begun, event="COMMENT").graphql_message
    with shop.acting("bob") as act:
        done = reviews.submit(act, begun, event="COMMENT", body="Now")
    assert "non-pending" in refusal(shop, reviews.submit, done, event="COMMENT", body="x").graphql_message
    assert "non-pending" in refusal(shop, reviews.delete_pending, done).graphql_message


def test_dropping_a_begun_review_drops_its_threads(shop: Shop) -> None:
    pull = shop.open()
    begun = review(shop, pull, event=None, threads=[HERE])
    with shop.acting("bob") as act:
        reviews.delete_pending(act, begun)

    assert [shop.world.database.count(model) for model in (Review, Thread, ReviewComment)] == [0, 0, 0]


def test_the_last_opinion_of_each_writer_decides(shop: Shop) -> None:
    pull = shop.open()
    assert review_decision(shop.world, pull) is None
    review(shop, pull, "rea", event="APPROVE")
    assert review_decision(shop.world, pull) is None
    review(shop, pull, "bob", event="REQUEST_CHANGES", body="x")
    review(shop, pull, "adm", event="APPROVE")
    assert review_decision(shop.world, pull) == "CHANGES_REQUESTED"
    review(shop, pull, "bob", event="COMMENT", body="a comment changes no opinion")
    assert review_decision(shop.world, pull) == "CHANGES_REQUESTED"
    review(shop, pull, "bob", event="APPROVE")
    assert review_decision(shop.world, pull) == "APPROVED"
    latest = {found.author_id: found.state for found in latest_reviews(shop.world, pull)}
    assert latest == {shop.people[login].id: "APPROVED" for login in ("rea", "bob", "adm")}


def test_a_dismissed_review_has_no_effect(shop: Shop) -> None:
    pull = shop.open()
    made = review(shop, pull, event="REQUEST_CHANGES", body="x")
    with pytest.raises(ForbiddenRefusal), shop.acting("rea") as act:
        reviews.dismiss(act, made, "No")
    assert "Message" in refusal(shop, reviews.dismiss, made, " ").graphql_message
    with shop.acting("ann") as act:
        assert reviews.dismiss(act, made, "Done since").state == "DISMISSED"

    assert review_decision(shop.world, pull) is None
    event = shop.world.database.one(Event, event="review_dismissed")
    assert event is not None
    assert event.data == {"review_id": made.id, "state": "changes_requested", "message": "Done since"}
    assert refusal(shop, reviews.dismiss, made, "x").errors == ("Can not dismiss a dismissed pull request review",)
    noted = review(shop, pull, event="COMMENT", body="x")
    assert refusal(shop, reviews.dismiss, noted, "x").errors == ("Can not dismiss a commented pull request review",)


def test_stale_approvals_go_with_a_push_where_the_branch_says_so(shop: Shop) -> None:
    pull = shop.open()
    review(shop, pull, event="APPROVE")
    shop.write("feature", {"a": "a"})
    assert review_decision(shop.world, pull) == "APPROVED"
    shop.protect(required_approvals=1, dismiss_stale_reviews=True)
    shop.write("feature", {"b": "b"})
    assert review_decision(shop.world, shop.fresh(pull)) == "REVIEW_REQUIRED"
    assert shop.events(pull) == ["review_dismissed"]


def test_a_review_of_an_earlier_commit_names_it_and_a_foreign_commit_is_refused(shop: Shop) -> None:
    pull = shop.open()
    first = pull.head_sha
    shop.write("feature", {"a": "a"})
    assert review(shop, shop.fresh(pull), event="APPROVE", commit=first).commit_sha == first
    for foreign in (shop.tip("main"), "1" * 40, "zzz"):
        told = refusal(shop, reviews.create, pull, event="APPROVE", commit=foreign)
        assert "not part of the pull request" in told.graphql_message


def test_a_bad_thread_refuses_the_whole_review_in_one_sentence(shop: Shop) -> None:
    pull = shop.open()
    bad = NewThread(path="poem.txt", line=2, body="x")
    told = refusal(shop, reviews.create, pull, event="COMMENT", threads=[HERE, bad])

    assert told.message == "Unprocessable Entity"
    assert told.errors == ("Line could not be resolved",)
    assert shop.world.database.count(Review) == shop.world.database.count(Thread) == 0


def test_a_body_is_changed_by_its_author_or_a_writer(shop: Shop) -> None:
    made = review(shop, shop.open(), "rea", event="COMMENT", body="x")
    with shop.acting("rea") as act:
        assert reviews.update(act, made, body="y").body == "y"
    with shop.acting("ann") as act:
        assert reviews.update(act, made, body="z").body == "z"
    with pytest.raises(ForbiddenRefusal), shop.acting("tri") as act:
        reviews.update(act, made, body="no")


def test_a_locked_conversation_is_reviewed_by_writers_only(shop: Shop) -> None:
    pull = shop.open()
    with shop.acting() as act:
        issues.lock(act, shop.issue(pull))
    with pytest.raises(ForbiddenRefusal):
        review(shop, pull, "rea", event="COMMENT", body="x")
    review(shop, pull, "bob", event="COMMENT", body="x")


def asked(shop: Shop, pull: Pull) -> list[int | None]:
    return [one.user_id or one.team_id for one in shop.world.database.all(ReviewRequest, pull_id=pull.id)]


def request(shop: Shop, pull: Pull, *logins: str, by: str = "ann", **more) -> None:
    with shop.acting(by) as act:
        reviews.request_reviews(act, pull, users=[shop.people[login] for login in logins], **more)


def test_reviewers_are_asked_once_and_no_longer_when_they_have_reviewed(shop: Shop) -> None:
    pull = shop.open()
    request(shop, pull, "bob", "tri")
    request(shop, pull, "bob")
    assert asked(shop, pull) == [shop.people["bob"].id, shop.people["tri"].id]
    assert shop.events(pull) == ["review_requested"] * 2
    review(shop, pull, "bob", event="COMMENT", body="x")
    assert asked(shop, pull) == [shop.people["tri"].id]


def test_reviewers_are_replaced_and_removed(shop: Shop) -> None:
    pull = shop.open()
    request(shop, pull, "bob")
    request(shop, pull, "tri", replace=True)
    assert asked(shop, pull) == [shop.people["tri"].id]
    with shop.acting() as act:
        reviews.remove_review_requests(act, pull, users=[shop.people["tri"], shop.people["bob"]])
    assert asked(shop, pull) == []
    removals = shop.events(pull).count("review_request_removed")
    assert removals == 2


def test_authors_strangers_and_foreign_teams_are_not_asked_and_readers_ask_nobody(shop: Shop) -> None:
    pull = shop.open()
    author = refusal(shop, reviews.request_reviews, pull, users=[shop.people["ann"]])
    assert author.message == "Review cannot be requested from pull request author."
    stranger = refusal(shop, reviews.request_reviews, pull, users=[shop.people["bob"], shop.people["rea"]])
    assert "not a collaborator of the acme/widgets repository" in stranger.message
    with shop.acting(None) as act:
        other = users.create_organization(act, login="other")
        team = users.create_team(act, other, name="Core")
    refusal(shop, reviews.request_reviews, pull, teams=[team])
    assert asked(shop, pull) == []
    with pytest.raises(ForbiddenRefusal):
        request(shop, pull, "bob", by="rea")


def test_a_team_is_asked(shop: Shop) -> None:
    pull = shop.open()
    with shop.acting(None) as act:
        acme = shop.world.database.get(type(shop.people["ann"]), shop.repository.owner_id)
        assert acme is not None
        team = users.create_team(act, acme, name="Core")
    request(shop, pull, teams=[team])
    event = shop.world.database.one(Event, event="review_requested")
    assert event is not None
    assert event.data == {"team_id": team.id}


def test_a_merged_pull_request_may_still_be_reviewed(shop: Shop) -> None:
    pull = shop.open()
    with shop.acting("bob") as act:
        merges.merge(act, pull)
    assert review(shop, pull, event="APPROVE").state == "APPROVED"
