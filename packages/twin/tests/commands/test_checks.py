from collections.abc import Iterator

import pytest
from pull_worlds import Shop, make_shop

from ghx_twin.commands.actions import checks
from ghx_twin.queries.actions import checks as queries
from ghx_twin.queries.pulls import mergeability
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import CheckRun, Status


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = make_shop()
    yield shop
    shop.world.close()


def status(shop: Shop, state: str, context: str = "default", by: str = "bob", **more) -> Status:
    with shop.acting(by) as act:
        return checks.create_status(
            act, shop.repository, **{"sha": shop.tip("main"), "state": state, "context": context, **more}
        )


def run(shop: Shop, name: str, by: str = "bob", **more) -> CheckRun:
    with shop.acting(by) as act:
        return checks.create_check_run(act, shop.repository, **{"sha": shop.tip("main"), "name": name, **more})


def state(shop: Shop) -> str | None:
    found = queries.rollup(shop.world, shop.repository, shop.tip("main"))
    return found.state if found else None


def test_nothing_reported_is_nothing(shop: Shop) -> None:
    assert state(shop) is None
    assert queries.combined_state([]) == "pending"


def test_the_newest_of_each_context_counts_and_the_worst_decides(shop: Shop) -> None:
    status(shop, "failure", "a")
    assert state(shop) == "FAILURE"
    status(shop, "success", "a")
    assert state(shop) == "SUCCESS"
    status(shop, "pending", "b")
    assert state(shop) == "PENDING"
    status(shop, "error", "c")
    assert state(shop) == "ERROR"
    latest = queries.latest_statuses(shop.world, shop.repository, shop.tip("main"))
    assert [(one.context, one.state) for one in latest] == [("a", "success"), ("b", "pending"), ("c", "error")]
    assert queries.combined_state(latest) == "failure"


@pytest.mark.parametrize(
    ("given", "status_", "rolled_up"),
    [
        ({}, "queued", "PENDING"),
        ({"status": "in_progress"}, "in_progress", "PENDING"),
        ({"conclusion": "success"}, "completed", "SUCCESS"),
        ({"conclusion": "neutral"}, "completed", "SUCCESS"),
        ({"conclusion": "skipped"}, "completed", "SUCCESS"),
        ({"conclusion": "timed_out"}, "completed", "FAILURE"),
        ({"conclusion": "cancelled"}, "completed", "FAILURE"),
        ({"status": "completed", "conclusion": "failure"}, "completed", "FAILURE"),
    ],
)
def test_a_check_run_counts_by_its_conclusion(shop: Shop, given: dict, status_: str, rolled_up: str) -> None:
    made = run(shop, "ci", **given)
    assert made.status == status_
    assert (made.completed_at is not None) == (status_ == "completed")
    assert state(shop) == rolled_up


def test_a_check_run_ends_and_starts_again(shop: Shop) -> None:
    made = run(shop, "ci")
    with shop.acting("bob") as act:
        done = checks.update_check_run(act, made, conclusion="success", summary="Fine")
    assert (done.status, done.summary, state(shop)) == ("completed", "Fine", "SUCCESS")
    with shop.acting("bob") as act:
        again = checks.update_check_run(act, done, status="in_progress")
    assert (again.status, again.conclusion, again.completed_at) == ("in_progress", None, None)
    run(shop, "ci", conclusion="failure")
    assert state(shop) == "FAILURE"


@pytest.mark.parametrize(
    "given",
    [{"state": "great"}, {"sha": "1" * 40}, {"sha": "main"}, {"description": "x" * 141}, {"context": "\ud800"}],
)
def test_a_bad_status_is_refused(shop: Shop, given: dict) -> None:
    with pytest.raises(InvalidRefusal):
        status(shop, **{"state": "success", **given})
    assert shop.world.database.count(Status) == 0


@pytest.mark.parametrize(
    "given",
    [
        {"conclusion": "fine"},
        {"status": "done"},
        {"status": "completed"},
        {"name": " "},
        {"sha": "1" * 40},
        {"started_at": "2024-01-01T12:99:00Z"},
        {"conclusion": "success", "completed_at": "soon"},
    ],
)
def test_a_bad_check_run_is_refused(shop: Shop, given: dict) -> None:
    with pytest.raises(InvalidRefusal):
        run(shop, **{"name": "ci", **given})


def test_only_writers_report(shop: Shop) -> None:
    with pytest.raises(ForbiddenRefusal):
        status(shop, "success", by="rea")
    with pytest.raises(ForbiddenRefusal):
        run(shop, "ci", by="tri")


def test_required_checks_are_known_by_name(shop: Shop) -> None:
    pull = shop.open()
    shop.protect(required_checks=("ci",))
    assert mergeability.is_required(shop.world, pull, "ci")
    assert not mergeability.is_required(shop.world, pull, "other")
