from collections.abc import Iterator

import pytest
from pull_worlds import LINES, Shop, make_shop

from ghx_twin.commands import issues, repositories
from ghx_twin.commands.pulls import pulls, reviews, threads
from ghx_twin.commands.pulls.threads import NewThread
from ghx_twin.commands.repositories import refs
from ghx_twin.queries.pulls.reviews import submitted_reviews
from ghx_twin.queries.repositories import comparison
from ghx_twin.refusals import FieldError, ForbiddenRefusal, InvalidRefusal, NotFoundRefusal, RoleRefusal
from ghx_twin.state.records import Pull, Review, ReviewComment, Thread

# The diff of what Shop.open opens: right 12..14 are unchanged, 15 and 16 added, 17..19 unchanged; left 15 is removed.


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def begin(shop: Shop, pull: Pull, by: str = "bob", **where) -> tuple[Thread, ReviewComment]:
    with shop.acting(by) as act:
        comment = threads.create(act, pull, **{"path": "poem.txt", "body": "Hm", **where})
    return look(shop, comment), comment


def look(shop: Shop, comment: ReviewComment) -> Thread:
    found = shop.world.database.get(Thread, comment.thread_id)
    assert found is not None
    return found


def refusal(shop: Shop, pull: Pull, **where) -> InvalidRefusal:
    with pytest.raises(InvalidRefusal) as caught:
        begin(shop, pull, **where)
    assert shop.world.database.count(Thread) == shop.world.database.count(Review) == 0
    return caught.value


def codes(refused: InvalidRefusal) -> list[tuple[str | None, str]]:
    return [(error.field, error.code) for error in refused.errors if isinstance(error, FieldError)]


def test_a_comment_on_a_line_is_a_review_of_its_own(shop: Shop) -> None:
    pull = shop.open()
    thread, comment = begin(shop, pull, line=15)

    assert (thread.side, thread.line, thread.original_line, thread.original_position) == ("RIGHT", 15, 15, 5)
    assert thread.diff_hunk.split("\n") == [
        "@@ -12,7 +12,8 @@ line 11", " line 12", " line 13", " line 14", "-line 15", "+line 15 of feature",
    ]  # fmt: skip
    assert comparison.position(shop.world, pull, thread) == 5
    review = shop.world.database.get(Review, comment.review_id)
    assert review is not None
    assert (review.state, review.body) == ("COMMENTED", "")
    assert comment.in_reply_to_id is None
    assert comment.commit_sha == pull.head_sha


def test_the_left_side_has_the_removed_lines(shop: Shop) -> None:
    pull = shop.open()
    thread, _ = begin(shop, pull, line=15, side="LEFT")
    assert (thread.side, thread.original_position) == ("LEFT", 4)
    assert thread.diff_hunk.endswith("-line 15")


def test_a_range_of_lines_lies_in_one_hunk(shop: Shop) -> None:
    pull = shop.open()
    thread, _ = begin(shop, pull, line=16, start_line=13)
    assert (thread.start_line, thread.start_side, thread.line) == (13, "RIGHT", 16)
    assert thread.diff_hunk.endswith("+and another")
    across, _ = begin(shop, pull, line=16, start_line=15, start_side="LEFT")
    assert (across.start_side, across.side) == ("LEFT", "RIGHT")


def test_a_file_is_commented_on_as_a_whole(shop: Shop) -> None:
    pull = shop.open()
    thread, _ = begin(shop, pull, subject_type="file")
    assert (thread.subject_type, thread.line, thread.original_line) == ("file", None, None)
    assert comparison.position(shop.world, pull, thread) == 1


def test_a_position_names_a_line_too(shop: Shop) -> None:
    pull = shop.open()
    removed, _ = begin(shop, pull, position=4)
    assert (removed.side, removed.line) == ("LEFT", 15)
    added, _ = begin(shop, pull, position=6)
    assert (added.side, added.line) == ("RIGHT", 16)
    with pytest.raises(InvalidRefusal):
        begin(shop, pull, position=99)


def test_a_line_outside_the_diff_is_refused_in_the_words_of_both_apis(shop: Shop) -> None:
    told = refusal(shop, shop.open(), line=3)

    assert told.message == "Validation Failed"
    assert codes(told) == [("pull_request_review_thread.line", "invalid")]
    error = told.errors[0]
    assert isinstance(error, FieldError)
    assert error.message == "could not be resolved"
    assert told.graphql_message == "Line could not be resolved"


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ({"path": "none.txt", "line": 1}, "path"),
        ({"line": 16, "side": "LEFT", "start_line": 3}, "start_line"),
        ({"line": 15, "start_line": 3}, "start_line"),
        ({"line": 15, "start_line": 15}, "start_line"),
        ({"line": 15, "start_line": 16}, "start_line"),
        ({"line": 0}, "line"),
        ({"line": -4}, "line"),
        ({}, "line"),
        ({"path": "none.txt", "subject_type": "file"}, "path"),
    ],
)
def test_a_place_that_is_not_in_the_diff_is_refused(shop: Shop, where: dict, field: str) -> None:
    told = refusal(shop, shop.open(), **where)
    assert f"pull_request_review_thread.{field}" in [name for name, _ in codes(told)]


def test_a_blank_comment_is_refused(shop: Shop) -> None:
    refusal(shop, shop.open(), line=15, body=" \n")


def test_replies_stand_under_the_first_comment_each_in_a_review_of_its_own(shop: Shop) -> None:
    pull = shop.open()
    thread, first = begin(shop, pull, line=15)
    with shop.acting("ann") as act:
        one = threads.reply(act, thread, "One")
    with shop.acting("rea") as act:
        two = threads.reply(act, thread, "Two")

    assert one.in_reply_to_id == two.in_reply_to_id == first.id
    assert len({first.review_id, one.review_id, two.review_id}) == 3
    assert [found.state for found in submitted_reviews(shop.world, pull)] == ["COMMENTED"] * 3


def test_threads_and_replies_join_a_begun_review(shop: Shop) -> None:
    pull = shop.open()
    thread, _ = begin(shop, pull, "ann", line=15)
    with shop.acting("bob") as act:
        begun = reviews.create(act, pull, event=None)
        reply = threads.reply(act, thread, "Later", review=begun)
        new = threads.create(act, pull, path="poem.txt", line=16, body="Too", review=begun)
        assert reply.review_id == new.review_id == begun.id
    with pytest.raises(NotFoundRefusal), shop.acting("ann") as act:
        threads.reply(act, thread, "Not mine", review=begun)
    with shop.acting("bob") as act:
        done = reviews.submit(act, begun, event="COMMENT")
    with pytest.raises(InvalidRefusal, match="Unprocessable"), shop.acting("bob") as act:
        threads.reply(act, thread, "Too late", review=done)


def test_writers_and_the_author_settle_a_conversation(shop: Shop) -> None:
    with shop.acting(None) as act:
        repositories.remove_collaborator(act, shop.repository, shop.people["tri"])
    pull = shop.open()
    thread, _ = begin(shop, pull, line=15)
    for login in ("rea", "tri"):
        with pytest.raises(RoleRefusal), shop.acting(login) as act:
            threads.resolve(act, thread)
    with shop.acting("ann") as act:
        assert threads.resolve(act, thread).resolved_by_id == shop.people["ann"].id
    with shop.acting("bob") as act:
        assert threads.resolve(act, thread).resolved_by_id == shop.people["ann"].id
        assert threads.unresolve(act, thread).resolved_by_id is None


def test_the_last_comment_takes_its_thread_and_its_empty_review_along(shop: Shop) -> None:
    pull = shop.open()
    thread, first = begin(shop, pull, line=15)
    with shop.acting("ann") as act:
        reply = threads.reply(act, thread, "One")
        other = threads.reply(act, thread, "Two")
    with shop.acting("bob") as act:
        threads.delete_comment(act, first)
    left = shop.world.database.all(ReviewComment, thread_id=thread.id)
    assert [(one.id, one.in_reply_to_id) for one in left] == [(reply.id, None), (other.id, reply.id)]
    with shop.acting("ann") as act:
        threads.delete_comment(act, reply)
        threads.delete_comment(act, other)
    assert shop.world.database.count(Thread) == shop.world.database.count(Review) == 0
    assert shop.events(pull) == ["comment_deleted"] * 3


def test_comments_are_changed_by_their_author_or_a_writer(shop: Shop) -> None:
    pull = shop.open()
    _, comment = begin(shop, pull, "rea", line=15)
    with shop.acting("rea") as act:
        assert threads.update_comment(act, comment, "Mine").body == "Mine"
    with pytest.raises(ForbiddenRefusal), shop.acting("tri") as act:
        threads.update_comment(act, comment, "No")
    with pytest.raises(ForbiddenRefusal), shop.acting("tri") as act:
        threads.delete_comment(act, comment)
    with shop.acting("bob") as act:
        threads.delete_comment(act, comment)


def test_a_comment_that_is_not_submitted_is_not_there_for_others(shop: Shop) -> None:
    pull = shop.open()
    with shop.acting("bob") as act:
        begun = reviews.create(act, pull, event=None, threads=[NewThread(path="poem.txt", line=15, body="Secret")])
    comment = shop.world.database.one(ReviewComment, review_id=begun.id)
    assert comment is not None
    with pytest.raises(NotFoundRefusal), shop.acting("ann") as act:
        threads.update_comment(act, comment, "x")


def test_a_push_above_moves_a_thread_and_one_on_its_line_outdates_it(shop: Shop) -> None:
    pull = shop.open()
    _, comment = begin(shop, pull, line=16)
    edited = shop.text("poem.txt", "feature") or ""
    shop.write("feature", {"poem.txt": "new first\n" + edited})
    moved = look(shop, comment)
    assert (moved.line, moved.original_line, moved.outdated) == (17, 16, False)
    assert moved.commit_sha == shop.tip("feature")

    shop.write("feature", {"poem.txt": edited.replace("and another", "and yet another")})
    gone = look(shop, comment)
    assert (gone.line, gone.original_line, gone.outdated) == (None, 16, True)
    assert comparison.position(shop.world, shop.fresh(pull), gone) is None

    shop.write("feature", {"poem.txt": edited})
    assert (look(shop, comment).line, look(shop, comment).outdated) == (16, False)


def test_a_thread_whose_line_is_no_longer_shown_is_outdated(shop: Shop) -> None:
    pull = shop.open()
    _, comment = begin(shop, pull, line=12)  # unchanged, shown around the change
    _, whole = begin(shop, pull, subject_type="file")
    shop.write("feature", {"poem.txt": LINES, "other.txt": "x\n"})

    assert look(shop, comment).outdated
    assert look(shop, whole).outdated


def test_a_removed_or_renamed_file_outdates_its_threads(shop: Shop) -> None:
    pull = shop.open()
    _, comment = begin(shop, pull, line=15)
    text = shop.text("poem.txt", "feature")
    shop.write("feature", {"poem.txt": None, "song.txt": text})
    assert look(shop, comment).outdated


def test_threads_follow_a_range_a_left_side_and_a_force_push(shop: Shop) -> None:
    pull = shop.open()
    _, ranged = begin(shop, pull, line=16, start_line=15)
    _, left = begin(shop, pull, line=15, side="LEFT")
    edited = shop.text("poem.txt", "feature") or ""
    main = shop.write("main", {"poem.txt": "zero\n" + LINES})
    with shop.acting("ann") as act:
        sha = shop.commit(act, shop.repository, main, {"poem.txt": "zero\n" + edited})
        refs.update(act, shop.repository, ref="refs/heads/feature", sha=sha, force=True)

    assert (look(shop, ranged).start_line, look(shop, ranged).line) == (16, 17)
    assert (look(shop, left).line, look(shop, left).outdated) == (16, False)


def test_another_base_outdates_what_it_does_not_show(shop: Shop) -> None:
    pull = shop.open()
    shop.branch("same", pull.head_sha)
    _, comment = begin(shop, pull, line=15)
    shop.write("feature", {"b.txt": "b\n"})
    with shop.acting() as act:
        pulls.update(act, pull, base="same")
    assert look(shop, comment).outdated


def test_a_comment_on_an_earlier_commit_is_placed_there_and_followed(shop: Shop) -> None:
    pull = shop.open()
    first = pull.head_sha
    shop.write("feature", {"poem.txt": "top\n" + (shop.text("poem.txt", "feature") or "")})
    thread, comment = begin(shop, pull, line=15, commit=first)

    assert (thread.original_commit_sha, thread.original_line, thread.line) == (first, 15, 16)
    assert comment.commit_sha == first


def test_a_locked_conversation_takes_no_replies_of_readers(shop: Shop) -> None:
    pull = shop.open()
    thread, _ = begin(shop, pull, line=15)
    with shop.acting() as act:
        issues.lock(act, shop.issue(pull))
    with pytest.raises(ForbiddenRefusal, match="locked"), shop.acting("rea") as act:
        threads.reply(act, thread, "x")
