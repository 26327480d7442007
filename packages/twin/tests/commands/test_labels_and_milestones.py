"""Labels and milestones of a repository."""

from collections.abc import Iterator

import pytest
from issue_worlds import Village, make_village

from ghx_twin.commands import issues
from ghx_twin.commands.issues import labels, milestones
from ghx_twin.queries import lookup
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal, Refusal
from ghx_twin.state.records import Event, IssueLabel, Label


@pytest.fixture
def village() -> Iterator[Village]:
    made = make_village()
    yield made
    made.world.close()


def first_error(refusal: Refusal) -> tuple[str | None, str]:
    assert isinstance(refusal, InvalidRefusal)
    (error,) = refusal.errors
    assert not isinstance(error, str)
    return error.field, error.code


def test_a_new_repository_has_githubs_nine_labels(village: Village) -> None:
    found = village.world.database.all(Label, repository_id=village.widgets.id)

    assert len(found) == 9
    assert all(label.default and label.description for label in found)
    assert lookup.label(village.world, village.widgets, "Good First Issue").color == "7057ff"


@pytest.mark.parametrize("color", ["#ff0000", "fff", "ff00gg", "", "ff00000", "ff0000\n"])
def test_a_color_is_six_hexadecimal_digits(village: Village, color: str) -> None:
    refusal = village.refusal("writer", labels.create, village.widgets, name="new", color=color)

    assert first_error(refusal) == ("color", "invalid")


def test_the_same_name_in_another_case_exists_already(village: Village) -> None:
    refusal = village.refusal("writer", labels.create, village.widgets, name="BUG", color="ff0000")

    assert first_error(refusal) == ("name", "already_exists")
    assert first_error(village.refusal("writer", labels.update, village.label("bug"), name="Question")) == (
        "name",
        "already_exists",
    )


@pytest.mark.parametrize(("name", "code"), [(" ", "missing_field"), ("x" * 51, "custom"), ("\ud800", "custom")])
def test_a_bad_name_is_refused(village: Village, name: str, code: str) -> None:
    assert first_error(village.refusal("writer", labels.create, village.widgets, name=name)) == ("name", code)


def test_a_label_can_change_its_case_color_and_description(village: Village) -> None:
    changed = village.act("writer", labels.update, village.label("bug"), name="Bug", color="00FF00", description=None)

    assert (changed.name, changed.color, changed.description) == ("Bug", "00FF00", None)
    assert isinstance(village.refusal("triager", labels.update, changed, color="ffffff"), ForbiddenRefusal)


def test_a_deleted_label_is_on_no_issue(village: Village) -> None:
    issue = village.issue(labels=[village.label("bug")])

    village.act("writer", labels.delete, village.label("bug"))

    assert village.world.database.count(IssueLabel, issue_id=issue.id) == 0
    with pytest.raises(NotFoundRefusal):
        lookup.label(village.world, village.widgets, "bug")


def test_milestones_have_numbers_of_their_own_that_are_not_given_out_again(village: Village) -> None:
    first = village.act("writer", milestones.create, village.widgets, title="v1", due_on="2026-03-01T08:00:00+01:00")
    village.act("writer", milestones.delete, first)
    second = village.act("writer", milestones.create, village.widgets, title="v1")

    assert (first.number, first.due_on, second.number) == (1, "2026-03-01T07:00:00Z", 2)


def test_titles_of_milestones_are_unique_and_dates_are_dates(village: Village) -> None:
    made = village.act("writer", milestones.create, village.widgets, title="v1")
    other = village.act("writer", milestones.create, village.widgets, title="v2")

    again = village.refusal("writer", milestones.create, village.widgets, title=" v1 ")
    assert first_error(again) == ("title", "already_exists")
    assert first_error(village.refusal("writer", milestones.update, other, title="v1")) == ("title", "already_exists")
    assert first_error(village.refusal("writer", milestones.update, made, due_on="soon")) == ("due_on", "invalid")
    assert first_error(village.refusal("writer", milestones.update, made, state="done")) == ("state", "invalid")
    assert isinstance(village.refusal("reader", milestones.update, made, state="closed"), ForbiddenRefusal)


def test_closing_a_milestone_says_when(village: Village) -> None:
    made = village.act("writer", milestones.create, village.widgets, title="v1")

    closed = village.act("writer", milestones.update, made, state="closed")
    opened = village.act("writer", milestones.update, made, state="open")

    assert (closed.closed_at, opened.closed_at) == (closed.updated_at, None)


def test_a_deleted_milestone_leaves_its_issues(village: Village) -> None:
    made = village.act("writer", milestones.create, village.widgets, title="v1")
    issue = village.issue(milestone=made)

    village.act("writer", milestones.delete, made)

    assert village.now(issue).milestone_id is None
    assert [event.event for event in village.world.database.all(Event)] == ["milestoned", "demilestoned"]


def test_changing_the_milestone_tells_both(village: Village) -> None:
    one, two = (village.act("writer", milestones.create, village.widgets, title=title) for title in ("v1", "v2"))
    issue = village.issue(milestone=one)

    village.act("triager", issues.update, issue, milestone=two)
    village.act("triager", issues.update, issue, milestone=None)

    assert [(event.event, event.data["milestone"]["title"]) for event in village.world.database.all(Event)] == [
        ("milestoned", "v1"),
        ("demilestoned", "v1"),
        ("milestoned", "v2"),
        ("demilestoned", "v2"),
    ]
