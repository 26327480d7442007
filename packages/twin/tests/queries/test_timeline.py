"""What happened is told in the order in which it happened, even within one second."""

from collections.abc import Iterator

import pytest
from pull_worlds import LINES, Shop, make_shop

from ghx_twin.commands import issues
from ghx_twin.commands.issues import comments
from ghx_twin.commands.pulls import pulls
from ghx_twin.commands.repositories import contents
from ghx_twin.git.objects import Commit
from ghx_twin.queries import lookup
from ghx_twin.queries.timeline import Happening, moments
from ghx_twin.state.records import Comment, Event
from ghx_twin.viewer import Viewer

AT = "2030-01-01T00:00:00Z"


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def test_what_happens_within_one_second_keeps_its_order(shop: Shop) -> None:
    ann, home = Viewer(user=shop.people["ann"]), shop.repository
    shop.write("feature", {"poem.txt": LINES + "more\n"}, "First")
    with shop.world.acting(ann, at=AT) as act:
        pull = pulls.create(act, home, title="T", head="feature", base="main")
    issue = lookup.issue_of(shop.world, pull)
    with shop.world.acting(ann, at=AT) as act:
        issues.update(act, issue, title="U")
    with shop.world.acting(ann, at=AT) as act:
        comments.create(act, issue, "Before")
    with shop.world.acting(ann, at=AT) as act:
        contents.put(act, home, path="b", content=b"b", message="Second", branch="feature")
    with shop.world.acting(ann, at=AT) as act:
        comments.create(act, issue, "After")

    told = moments(shop.world, ann, shop.issue(pull))

    assert [_said(one.item) for one in told] == ["First", "renamed", "Before", "Second", "After"]
    assert {one.at for one in told} == {AT}


def _said(item: Happening) -> str:
    match item:
        case Commit():
            return item.message
        case Comment():
            return item.body
        case Event():
            return item.event
        case _:
            return item.state
