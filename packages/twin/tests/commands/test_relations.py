"""Sub-issues and dependencies keep GitHub's rules."""

import itertools
from collections.abc import Iterator

import pytest
from issue_worlds import Village, make_village

from ghx_twin.commands import issues
from ghx_twin.queries.issues.issue_relations import sub_issues_of
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Dependency, Event, Issue


@pytest.fixture
def village() -> Iterator[Village]:
    made = make_village()
    yield made
    made.world.close()


def parent_of(village: Village, issue: Issue) -> int | None:
    found = village.world.database.get(Issue, issue.id)
    assert found is not None
    return found.parent_id


def test_an_issue_becomes_a_part_of_another_and_its_own_again(village: Village) -> None:
    parent, child = village.issue(), village.issue()

    village.act("writer", issues.add_child, parent, child)
    assert parent_of(village, child) == parent.id

    village.act("writer", issues.remove_child, parent, child)
    assert parent_of(village, child) is None


def test_a_part_has_one_parent_and_moves_only_when_told_to(village: Village) -> None:
    parent, other, child = village.issue(), village.issue(), village.issue()
    village.act("writer", issues.add_child, parent, child)

    with pytest.raises(InvalidRefusal):
        village.act("writer", issues.add_child, other, child)
    with pytest.raises(InvalidRefusal):
        village.act("writer", issues.add_child, parent, child)
    assert parent_of(village, child) == parent.id

    village.act("writer", issues.add_child, other, child, replace_parent=True)
    assert parent_of(village, child) == other.id


def test_nothing_is_a_part_of_itself(village: Village) -> None:
    first, second, third = village.issue(), village.issue(), village.issue()
    village.act("writer", issues.add_child, first, second)
    village.act("writer", issues.add_child, second, third)

    for parent in (first, second, third):
        with pytest.raises(InvalidRefusal):
            village.act("writer", issues.add_child, parent, first)
    assert parent_of(village, first) is None


def test_parts_of_parts_end_at_the_eighth_level(village: Village) -> None:
    line = [village.issue() for _ in range(9)]
    for parent, child in itertools.pairwise(line[:8]):
        village.act("writer", issues.add_child, parent, child)

    with pytest.raises(InvalidRefusal):
        village.act("writer", issues.add_child, line[7], line[8])
    with pytest.raises(InvalidRefusal):
        village.act("writer", issues.add_child, line[8], line[0])


def test_only_a_part_is_taken_away(village: Village) -> None:
    parent, child = village.issue(), village.issue()

    with pytest.raises(NotFoundRefusal):
        village.act("writer", issues.remove_child, parent, child)


def test_an_issue_waits_for_another_until_it_does_not(village: Village) -> None:
    waiting, first = village.issue(), village.issue()

    village.act("writer", issues.add_blocking, waiting, first)
    assert village.world.database.count(Dependency, issue_id=waiting.id, blocking_id=first.id) == 1

    village.act("writer", issues.remove_blocking, waiting, first)
    assert village.world.database.count(Dependency) == 0


def test_two_issues_do_not_wait_for_each_other_nor_one_for_itself(village: Village) -> None:
    waiting, first = village.issue(), village.issue()
    village.act("writer", issues.add_blocking, waiting, first)

    for pair in ((first, waiting), (waiting, first), (first, first)):
        with pytest.raises(InvalidRefusal):
            village.act("writer", issues.add_blocking, *pair)
    village.act("writer", issues.remove_blocking, first, waiting)  # which GitHub takes for done
    assert village.world.database.count(Dependency) == 1


def test_issues_do_not_wait_for_each_other_in_a_circle(village: Village) -> None:
    first, second, third = village.issue(), village.issue(), village.issue()
    village.act("writer", issues.add_blocking, first, second)
    village.act("writer", issues.add_blocking, second, third)

    with pytest.raises(InvalidRefusal, match="cycle"):
        village.act("writer", issues.add_blocking, third, first)


def test_a_sub_issue_moves_without_its_siblings_until_there_is_no_room(village: Village) -> None:
    parent, *children = (village.issue() for _ in range(4))
    for child in children:
        village.act("writer", issues.add_child, parent, child)
    first, second, third = children

    def order() -> list[int]:
        return [one.id for one in sub_issues_of(village.world, parent)]

    village.act("writer", issues.reprioritize_child, parent, third, before=first)
    assert order() == [third.id, first.id, second.id]
    for _ in range(30):  # each time into the middle between the same two, which halves the room there
        village.act("writer", issues.reprioritize_child, parent, first, after=third)
        village.act("writer", issues.reprioritize_child, parent, second, after=third)
    assert order() == [third.id, second.id, first.id]
    with pytest.raises(InvalidRefusal):
        village.act("writer", issues.reprioritize_child, parent, first)
    with pytest.raises(NotFoundRefusal):
        village.act("writer", issues.reprioritize_child, parent, first, after=parent)


def test_both_sides_remember_what_they_are_to_each_other(village: Village) -> None:
    parent, other, child = village.issue(), village.issue(), village.issue()
    village.act("writer", issues.add_child, parent, child)
    village.act("writer", issues.add_child, other, child, replace_parent=True)
    village.act("writer", issues.add_blocking, child, other)
    village.act("writer", issues.close, child, duplicate_of=parent)
    village.act("writer", issues.reopen, child)

    def events(issue: Issue) -> list[str]:
        return [event.event for event in village.world.database.all(Event, issue_id=issue.id)]

    assert events(parent) == ["sub_issue_added", "sub_issue_removed", "marked_as_duplicate", "unmarked_as_duplicate"]
    assert events(other) == ["sub_issue_added", "blocking_added"]
    assert events(child) == [
        "parent_issue_added", "parent_issue_removed", "parent_issue_added", "blocked_by_added", "marked_as_duplicate",
        "closed", "reopened", "unmarked_as_duplicate",
    ]  # fmt: skip


def test_a_deleted_issue_blocks_nothing_and_is_no_parent(village: Village) -> None:
    gone, left = village.issue(), village.issue()
    village.act("writer", issues.add_blocking, left, gone)
    village.act("writer", issues.add_child, gone, left)

    village.act("owner", issues.delete, gone)

    assert village.world.database.count(Dependency) == 0
    assert parent_of(village, left) is None


def test_strangers_arrange_nothing(village: Village) -> None:
    first, second = village.issue(), village.issue()

    for command in (issues.add_child, issues.add_blocking):
        with pytest.raises(ForbiddenRefusal):
            village.act("stranger", command, first, second)
