"""Comments, reactions, and what a text does elsewhere."""

from collections.abc import Iterator

import pytest
from issue_worlds import Village, make_village

from ghx_twin.commands import issues, repositories
from ghx_twin.commands.issues import comments, reactions
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Event, Issue, Reaction


@pytest.fixture
def village() -> Iterator[Village]:
    made = make_village()
    yield made
    made.world.close()


def events(village: Village, issue: Issue) -> list[tuple[str, int]]:
    return [(event.event, event.actor_id) for event in village.world.database.all(Event, issue_id=issue.id)]


def test_a_comment_moves_the_issue_forward(village: Village) -> None:
    issue = village.issue()

    comment = village.act("stranger", comments.create, issue, "same here")

    assert village.now(issue).updated_at == comment.created_at > issue.updated_at


@pytest.mark.parametrize("body", ["", " \n", "x" * (4 * 65536 + 1), "\udfff"])
def test_blank_endless_and_broken_comments_are_refused(village: Village, body: str) -> None:
    assert isinstance(village.refusal("owner", comments.create, village.issue(), body), InvalidRefusal)


def test_authors_and_writers_edit_and_delete(village: Village) -> None:
    issue = village.issue()
    comment = village.act("stranger", comments.create, issue, "one")

    assert isinstance(village.refusal("triager", comments.update, comment, "x"), ForbiddenRefusal)
    assert isinstance(village.refusal("reader", comments.delete, comment), ForbiddenRefusal)
    assert village.act("stranger", comments.update, comment, "two").body == "two"
    assert village.act("writer", comments.update, comment, "three").body == "three"
    village.act("stranger", comments.delete, comment)

    assert [name for name, _ in events(village, issue)] == ["comment_deleted"]
    assert isinstance(village.refusal("owner", comments.update, comment, "x"), NotFoundRefusal)


def test_a_hidden_comment_says_why(village: Village) -> None:
    comment = village.act("stranger", comments.create, village.issue(), "buy now")

    assert village.act("triager", comments.minimize, comment, "spam").minimized_reason == "spam"
    assert village.act("triager", comments.unminimize, comment).minimized_reason is None
    assert isinstance(village.refusal("reader", comments.minimize, comment, "spam"), ForbiddenRefusal)
    assert isinstance(village.refusal("owner", comments.minimize, comment, "dull"), InvalidRefusal)


def test_called_people_are_told_once_subscribed_and_only_where_they_may_look(village: Village) -> None:
    issue, reader = village.issue(), village.people["reader"].id
    village.act("owner", comments.create, issue, "@reader @reader @nobody @acme mail@stranger.org `@member`")
    village.act("owner", comments.create, issue, "again, @READER")

    assert events(village, issue) == [("mentioned", reader), ("subscribed", reader), ("mentioned", reader)]


def test_a_named_issue_points_back_once(village: Village) -> None:
    target, source = village.issue(), village.issue(body="like #1")
    village.act("owner", comments.create, source, "really like acme/widgets#1 and #2 and #99")
    village.act("owner", issues.update, source, body="like #1, and GH-1")

    assert events(village, target) == [("cross-referenced", village.people["owner"].id)]
    assert events(village, source) == []


def test_a_comment_by_its_address_points_back_until_it_is_deleted(village: Village) -> None:
    target, source = village.issue(), village.issue()
    comment = village.act("stranger", comments.create, source, "http://127.0.0.1:8080/acme/widgets/issues/1")
    assert events(village, target) == [("cross-referenced", village.people["stranger"].id)]

    village.act("stranger", comments.delete, comment)

    assert events(village, target) == []


def test_nobody_points_into_a_repository_they_cannot_see(village: Village) -> None:
    secret = village.act("owner", repositories.create, owner=village.acme, name="secret", visibility="private")
    hidden = village.act("owner", issues.create, secret, title="T")

    village.issue("stranger", body="acme/secret#1")

    assert events(village, hidden) == []


def test_a_reaction_counts_once_for_each_person(village: Village) -> None:
    issue = village.issue()
    first = village.act("reader", reactions.add, issue, "+1")

    assert village.act("reader", reactions.add, issue, "+1") == first
    village.act("owner", reactions.add, issue, "+1")
    assert village.world.database.count(Reaction) == 2
    assert isinstance(village.refusal("reader", reactions.add, issue, "thumbs"), InvalidRefusal)


def test_everyone_takes_back_only_their_own_reaction(village: Village) -> None:
    comment = village.act("owner", comments.create, village.issue(), "done")
    reaction = village.act("reader", reactions.add, comment, "heart")

    assert isinstance(village.refusal("owner", reactions.delete, comment, reaction), ForbiddenRefusal)
    assert village.act("owner", reactions.remove, comment, "heart") is None
    assert village.act("reader", reactions.remove, comment, "heart") == reaction
    assert village.act("reader", reactions.remove, comment, "heart") is None


def test_nobody_but_writers_reacts_in_a_locked_conversation(village: Village) -> None:
    issue = village.issue()
    village.act("owner", issues.lock, issue)

    assert isinstance(village.refusal("stranger", reactions.add, issue, "eyes"), ForbiddenRefusal)
    village.act("writer", reactions.add, issue, "eyes")
