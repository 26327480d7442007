"""Issues keep GitHub's rules: who may do what, what the timeline says, what is refused."""

from collections.abc import Iterator

import pytest
from issue_worlds import Village, make_village

from ghx_twin.commands import issues, repositories
from ghx_twin.commands.issues import comments, labels, milestones
from ghx_twin.queries import lookup
from ghx_twin.refusals import ForbiddenRefusal, GoneRefusal, InvalidRefusal, MovedRefusal, NotFoundRefusal
from ghx_twin.state.records import Assignee, Comment, Event, Issue, IssueLabel


@pytest.fixture
def village() -> Iterator[Village]:
    made = make_village()
    yield made
    made.world.close()


def timeline(village: Village, issue: Issue) -> list[str]:
    return [event.event for event in village.world.database.all(Event, issue_id=issue.id)]


def test_numbers_go_up_by_one_and_are_never_given_out_again(village: Village) -> None:
    first, second = village.issue(), village.issue()
    village.act("owner", issues.delete, second)

    assert (first.number, second.number, village.issue().number) == (1, 2, 3)


def test_a_new_issue_has_its_author_labels_assignees_and_milestone(village: Village) -> None:
    milestone = village.act("writer", milestones.create, village.widgets, title="v1")

    issue = village.issue(
        "writer",
        title="  Crash ",
        labels=[village.label("bug")],
        assignees=[village.people["member"]],
        milestone=milestone,
    )

    assert (issue.title, issue.author_id, issue.milestone_id) == ("Crash", village.people["writer"].id, milestone.id)
    assert timeline(village, issue) == ["labeled", "assigned", "milestoned"]


def test_labels_and_assignees_of_someone_who_may_not_set_them_are_dropped(village: Village) -> None:
    issue = village.issue("stranger", labels=[village.label("bug")], assignees=[village.people["owner"]])

    assert timeline(village, issue) == []


@pytest.mark.parametrize(
    ("named", "field", "code"),
    [
        ({"title": " "}, "title", "missing_field"),
        ({"title": "x" * 257}, "title", "custom"),
        ({"title": "half \ud800"}, "title", "custom"),
        ({"body": "x" * 65537}, "body", "custom"),
    ],
)
def test_a_bad_title_or_body_is_refused_by_name(village: Village, named: dict[str, str], field: str, code: str) -> None:
    refusal = village.refusal("owner", issues.create, village.widgets, **{"title": "T", **named})

    assert isinstance(refusal, InvalidRefusal)
    assert [(error.field, error.code) for error in refusal.errors] == [(field, code)]


def test_the_longest_title_and_body_are_taken(village: Village) -> None:
    issue = village.issue(title="x" * 256, body="y" * 65536)

    assert (len(issue.title), len(issue.body or "")) == (256, 65536)


def test_issues_that_are_switched_off_are_gone(village: Village) -> None:
    widgets = village.act("owner", repositories.update, village.widgets, has_issues=False)

    assert isinstance(village.refusal("owner", issues.create, widgets, title="T"), GoneRefusal)


def test_an_archive_is_read_only(village: Village) -> None:
    issue = village.issue()
    village.act("owner", repositories.update, village.widgets, archived=True)

    refusal = village.refusal("owner", comments.create, issue, "hello")

    assert (type(refusal), refusal.message) == (ForbiddenRefusal, "Repository was archived so is read-only.")
    village.act("owner", repositories.update, village.widgets, archived=False)
    village.act("owner", comments.create, issue, "hello")


def test_a_repository_that_cannot_be_seen_is_not_there(village: Village) -> None:
    issue = village.issue()
    village.act("owner", repositories.update, village.widgets, visibility="private")

    assert isinstance(village.refusal("stranger", comments.create, issue, "hello"), NotFoundRefusal)
    village.act("reader", comments.create, issue, "hello")


def test_authors_and_writers_edit_the_text_and_nobody_else(village: Village) -> None:
    issue = village.issue("stranger")

    village.act("stranger", issues.update, issue, title="Mine")
    village.act("writer", issues.update, issue, body="Better")

    assert isinstance(village.refusal("triager", issues.update, issue, title="No"), ForbiddenRefusal)
    assert isinstance(village.refusal("reader", issues.update, issue, title="No"), ForbiddenRefusal)
    assert (village.now(issue).title, village.now(issue).body) == ("Mine", "Better")
    assert timeline(village, issue) == ["renamed"]


def test_a_change_to_the_same_text_is_no_change(village: Village) -> None:
    issue = village.issue(body="same")
    before = village.world.database.last_change()

    village.act("owner", issues.update, issue, title=issue.title, body="same")

    assert village.world.database.last_change() == before


def test_closing_and_reopening_leave_their_marks(village: Village) -> None:
    issue = village.issue()

    closed = village.act("triager", issues.close, issue, reason="not_planned")
    opened = village.act("triager", issues.reopen, issue)

    assert (closed.state, closed.state_reason, closed.closed_by_id) == (
        "closed",
        "not_planned",
        village.people["triager"].id,
    )
    assert closed.closed_at == closed.updated_at
    assert (opened.state, opened.state_reason, opened.closed_at, opened.closed_by_id) == (
        "open",
        "reopened",
        None,
        None,
    )
    assert timeline(village, issue) == ["closed", "reopened"]


def test_closing_a_closed_issue_changes_nothing_but_a_reason_that_is_given(village: Village) -> None:
    issue = village.issue()
    first = village.act("owner", issues.close, issue)

    assert village.act("owner", issues.close, issue) == first
    changed = village.act("owner", issues.close, issue, reason="duplicate")

    assert (changed.state_reason, changed.closed_at) == ("duplicate", first.closed_at)
    assert isinstance(village.refusal("owner", issues.close, issue, reason="bored"), InvalidRefusal)


def test_an_author_reopens_only_what_they_closed_themselves(village: Village) -> None:
    issue = village.issue("stranger")
    village.act("stranger", issues.close, issue)
    village.act("stranger", issues.reopen, issue)
    village.act("owner", issues.close, issue)

    assert isinstance(village.refusal("stranger", issues.reopen, issue), ForbiddenRefusal)
    assert isinstance(village.refusal("reader", issues.close, issue), ForbiddenRefusal)


def test_a_locked_conversation_is_for_writers(village: Village) -> None:
    issue = village.issue("stranger")
    village.act("writer", issues.lock, issue, "too heated")

    assert isinstance(village.refusal("stranger", comments.create, issue, "but"), ForbiddenRefusal)
    village.act("writer", comments.create, issue, "enough")
    village.act("writer", issues.unlock, issue)
    village.act("stranger", comments.create, issue, "thanks")
    assert timeline(village, issue) == ["locked", "unlocked"]
    assert isinstance(village.refusal("writer", issues.lock, issue, "boring"), InvalidRefusal)
    assert isinstance(village.refusal("triager", issues.lock, issue), ForbiddenRefusal)


def test_three_issues_can_be_pinned(village: Village) -> None:
    made = [village.issue() for _ in range(4)]
    for issue in made[:3]:
        village.act("owner", issues.pin, issue)

    assert isinstance(village.refusal("owner", issues.pin, made[3]), InvalidRefusal)
    village.act("owner", issues.unpin, made[0])
    assert village.act("owner", issues.pin, made[3]).pinned


def test_setting_labels_takes_away_what_is_not_named_and_keeps_the_rest(village: Village) -> None:
    bug, question, invalid = (village.label(name) for name in ("bug", "question", "invalid"))
    issue = village.issue(labels=[bug, question])

    village.act("triager", issues.set_labels, issue, [question, invalid])
    village.act("triager", issues.set_labels, issue, [question, invalid])

    with village.world.acting(None) as act:
        assert [label.name for label in issues.labels_of(act, issue)] == ["question", "invalid"]
    assert timeline(village, issue) == ["labeled", "labeled", "unlabeled", "labeled"]
    assert isinstance(village.refusal("reader", issues.add_labels, issue, [bug]), ForbiddenRefusal)


def test_a_label_of_another_repository_cannot_be_put_on(village: Village) -> None:
    other = village.act("owner", repositories.create, owner=village.acme, name="gadgets")
    alien = village.act("owner", labels.create, other, name="alien")

    assert isinstance(village.refusal("owner", issues.add_labels, village.issue(), [alien]), NotFoundRefusal)


def test_missing_labels_are_made_where_rest_wants_them(village: Village) -> None:
    found = village.act("writer", issues.find_labels, village.widgets, ["BUG", "brand new", "brand new"], True)

    assert [label.name for label in found] == ["bug", "brand new"]
    assert isinstance(village.refusal("writer", issues.find_labels, village.widgets, ["none"], False), NotFoundRefusal)


def test_people_without_access_are_not_assigned(village: Village) -> None:
    issue, people = village.issue(), village.people

    village.act("triager", issues.add_assignees, issue, [people["stranger"], people["member"], people["reader"]])

    held = village.world.database.all(Assignee, issue_id=issue.id)
    assert [one.user_id for one in held] == [people["member"].id, people["reader"].id]
    refusal = village.refusal("owner", issues.set_assignees, issue, [people["stranger"]])
    assert isinstance(refusal, InvalidRefusal)
    assert [(error.field, error.value) for error in refusal.errors] == [("assignees", "stranger")]


def test_whoever_takes_part_in_an_issue_can_be_assigned(village: Village) -> None:
    issue, stranger = village.issue(), village.people["stranger"]
    village.act("stranger", comments.create, issue, "I can fix this")

    village.act("owner", issues.set_assignees, issue, [stranger])
    village.act("owner", issues.remove_assignees, issue, [stranger, village.people["owner"]])

    assert timeline(village, issue) == ["assigned", "unassigned"]


def test_a_deleted_issue_takes_everything_with_it_and_is_gone(village: Village) -> None:
    issue = village.issue(labels=[village.label("bug")])
    village.act("reader", comments.create, issue, "see #1")

    assert isinstance(village.refusal("writer", issues.delete, issue), ForbiddenRefusal)
    village.act("owner", issues.delete, issue)

    database = village.world.database
    assert [database.count(model) for model in (Issue, Comment, IssueLabel, Event)] == [0, 0, 0, 0]
    with pytest.raises(GoneRefusal):
        lookup.issue_or_pull(village.world, village.widgets, issue.number)


def test_nothing_points_back_at_a_deleted_issue(village: Village) -> None:
    target, source = village.issue(), village.issue(body="like #1")
    assert timeline(village, target) == ["cross-referenced"]

    village.act("owner", issues.delete, source)

    assert timeline(village, target) == []


def test_a_transferred_issue_keeps_its_conversation_and_can_be_found_from_its_old_number(village: Village) -> None:
    gadgets = village.act("owner", repositories.create, owner=village.acme, name="gadgets")
    village.act("owner", labels.delete, lookup.label(village.world, gadgets, "question"))
    village.act("owner", issues.create, gadgets, title="there")
    issue = village.issue(labels=[village.label("bug"), village.label("question")])
    comment = village.act("reader", comments.create, issue, "hello")

    moved = village.act("owner", issues.transfer, issue, gadgets)

    assert (moved.id, moved.repository_id, moved.number) == (issue.id, gadgets.id, 2)
    assert village.now(comment).issue_id == moved.id
    with village.world.acting(None) as act:
        assert [label.repository_id for label in issues.labels_of(act, moved)] == [gadgets.id]
    with pytest.raises(MovedRefusal) as caught:
        lookup.issue(village.world, village.widgets, issue.number)
    assert caught.value.issue_id == moved.id
    village.act("owner", issues.delete, moved)
    with pytest.raises(GoneRefusal):
        lookup.issue(village.world, village.widgets, issue.number)


def test_issues_move_only_between_repositories_of_one_owner(village: Village) -> None:
    foreign = village.act("owner", repositories.create, owner=village.people["owner"], name="widgets")
    private = village.act("owner", repositories.create, owner=village.acme, name="p", visibility="private")
    hidden = village.act("owner", issues.create, private, title="T")

    assert isinstance(village.refusal("owner", issues.transfer, village.issue(), foreign), InvalidRefusal)
    assert isinstance(village.refusal("owner", issues.transfer, hidden, village.widgets), InvalidRefusal)
    assert isinstance(village.refusal("reader", issues.transfer, village.issue(), village.widgets), ForbiddenRefusal)


def test_a_token_without_scopes_only_reads(village: Village) -> None:
    viewer = village.viewer("owner", frozenset())
    with pytest.raises(ForbiddenRefusal) as caught, village.world.acting(viewer) as act:
        issues.create(act, village.widgets, title="T")

    assert caught.value.needed_scopes == ("public_repo",)
