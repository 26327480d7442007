"""Scripted trouble, and the journal of what was asked."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ghx_twin.faults import Fault, Faults, Injected, InjectedChange, primary_rate_limit, secondary_rate_limit
from ghx_twin.journal import Entry, Journal


def test_without_faults_everything_works() -> None:
    assert Faults().take("rest", "GET", "/user") is None


def test_a_fault_is_for_the_requests_it_names() -> None:
    faults = Faults()
    faults.add(Fault(surface="rest", method="post", path="/repos/*/issues", status=502))
    assert faults.take("rest", "GET", "/repos/a/b/issues") is None
    assert faults.take("graphql", "POST", "/repos/a/b/issues") is None
    assert faults.take("rest", "POST", "/repos/a/b/pulls") is None
    found = faults.take("rest", "POST", "/repos/a/b/issues")
    assert found is not None
    assert (found[0].status, found[1]) == (502, Injected("status", "1"))


def test_a_fault_is_over_after_its_times_and_the_next_one_is_used() -> None:
    faults = Faults()
    faults.add(Fault(times=2, status=500), Fault(status=503))
    found = [faults.take("rest", "GET", "/") for _ in range(4)]
    assert [each and each[0].status for each in found] == [500, 500, 503, 503]
    faults.clear()
    assert faults.take("rest", "GET", "/") is None


def test_a_fault_lets_the_first_requests_pass() -> None:
    faults = Faults()
    faults.add(Fault(skip=2, times=1, status=500))
    assert [faults.take("git", "GET", "/") is not None for _ in range(5)] == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"surface": "soap"}, "surface is rest, graphql, git or None, not 'soap'"),
        ({"method": "FETCH"}, "method is one of .*, not 'FETCH'"),
        ({"path": "repos/*"}, "path is a pattern that begins with / or [*], not 'repos/[*]'"),
        ({"path": ""}, "path is a pattern that begins"),
        ({"times": 0}, "times is at least 1, or left out for good, not 0"),
        ({"skip": -1}, "skip is at least 0, not -1"),
        ({"latency_ms": -1}, "latency_ms is at least 0, not -1"),
        ({"latency_ms": float("nan")}, "latency_ms is at least 0, not nan"),
        *(
            ({"status": status}, f"status is that of an error, from 400 to 599, not {status}")
            for status in (99, 100, 101, 200, 204, 304, 600)
        ),
        ({"status": None}, "status or latency_ms must be given, or another effect, else it does nothing"),
        ({"probability": 0}, "probability is above 0 and at most 1, not 0"),
        ({"probability": 1.5}, "probability is above 0 and at most 1, not 1.5"),
        ({"reset": "unanswered"}, "effect is one of status and reset; write a rule for each"),
        ({"status": None, "reset": "later"}, "reset is unanswered or halfway, not 'later'"),
        ({"status": None, "reset": "halfway", "after": True}, "after is for status, and for reset: unanswered"),
        ({"status": None, "latency_ms": 5, "after": True}, "after is for status, and for reset: unanswered"),
        ({"status": None, "rate_limit": "tertiary"}, "rate_limit is primary or secondary, not 'tertiary'"),
        ({"status": None, "rate_limit": "primary", "wait_s": -1}, "wait_s is at least 0, not -1"),
        ({"status": None, "stale_writes": 0}, "stale_writes is from 1 to 50, not 0"),
        ({"status": None, "stale_s": 0}, "stale_s is at least 1, not 0"),
        ({"status": None, "stale_s": 1, "stale_writes": 1}, "stale_writes or stale_s is given, not both"),
        ({"status": None, "stale_s": 1, "surface": "git"}, "surface is rest or graphql where it is stale, not git"),
        ({"surface": "graphql", "path": "/repos/*"}, "path is /graphql in GraphQL, which '/repos/[*]' does not fit"),
        (
            {"status": None, "stale_writes": 1, "surface": "rest", "method": "POST"},
            "method is one that reads where it is stale, not 'POST'",
        ),
        (
            {"status": None, "stale_s": 1, "path": "/repos/*", "method": "patch"},
            "method is one that reads where it is stale, not 'patch'",
        ),
        ({"operation": "GET /repo/{owner}"}, "operation is a route of GitHub, .* which 'GET /repo/{owner}' does not"),
        ({"wait_s": 1}, "wait_s is for rate_limit"),
    ],
)
def test_a_fault_that_cannot_happen_is_refused(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^a fault's {complaint}"):
        Fault(**{"status": 500, **given})


@pytest.mark.parametrize(
    "given",
    [
        {"surface": "graphql", "path": "*graphql"},
        {"status": None, "stale_writes": 1, "method": "POST"},  # GraphQL reads by POST
        {"operation": "GET /repos/{owner}/*"},
        {"operation": "GET /repos/{owner}/{repo}/git/refs"},  # not in GitHub's description, and served
        {"operation": "git-*"},
        {"status": None, "rate_limit": "primary"},
    ],
)
def test_a_fault_that_some_request_could_meet_is_taken(given: dict[str, Any]) -> None:
    assert Fault(**{"status": 500, **given})


def test_requests_side_by_side_use_a_fault_up_exactly() -> None:
    faults = Faults()
    faults.add(Fault(times=50, status=500))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: faults.take("rest", "GET", "/"), range(200)))
    assert sum(each is not None for each in found) == 50


def met(fault: Fault, requests: int) -> list[bool]:
    faults = Faults()
    faults.add(fault)
    return [faults.take("rest", "GET", "/") is not None for _ in range(requests)]


def test_the_same_seed_gives_the_same_faults_and_another_seed_others() -> None:
    one = met(Fault(status=502, probability=0.3, seed=7), 200)
    assert one == met(Fault(status=502, probability=0.3, seed=7), 200)
    assert one != met(Fault(status=502, probability=0.3, seed=8), 200)
    assert 40 <= sum(one) <= 80


def test_draws_are_for_the_requests_that_a_rule_is_for() -> None:
    faults = Faults()
    faults.add(Fault(status=502, probability=0.3, seed=7, method="POST"))
    found: list[bool] = []
    for _ in range(50):
        assert faults.take("rest", "GET", "/") is None
        found.append(faults.take("rest", "POST", "/") is not None)
    assert found == met(Fault(status=502, probability=0.3, seed=7), 50)


def test_a_fault_may_be_for_an_operation() -> None:
    faults = Faults()
    faults.add(Fault(status=502, operation="mutation*addComment*"))
    assert faults.take("graphql", "POST", "/graphql", operation="query viewer") is None
    assert faults.take("graphql", "POST", "/graphql", operation="mutation Add addComment") is not None


def test_stale_reads_and_changes_are_for_reads() -> None:
    change = InjectedChange(actor="bob", method="PATCH", path="/repos/a/b/issues/1", body={"body": "new"})
    faults = Faults()
    faults.add(Fault(stale_writes=2, times=1), Fault(change=change, times=1))
    assert faults.take("rest", "POST", "/", reads=False) is None
    assert faults.take("git", "GET", "/a/b/info/refs") is None
    found = [faults.take("rest", "GET", "/") for _ in range(3)]
    assert [each and each[1].kind for each in found] == ["stale", "change", None]


@pytest.mark.parametrize(("method", "path"), [("GET", "/repos/a/b"), ("PATCH", "repos/a/b")])
def test_a_change_that_changes_nothing_is_refused(method: str, path: str) -> None:
    with pytest.raises(ValueError, match=r"^a change's (method|path)"):
        InjectedChange(actor="bob", method=method, path=path)


def test_a_spared_user_meets_no_fault_and_uses_none_up() -> None:
    faults = Faults()
    faults.add(Fault(status=500, times=1))
    faults.spare("Maintainer")
    assert faults.take("rest", "GET", "/", login="maintainer") is None
    assert faults.take("rest", "GET", "/", login="agent") is not None


def test_what_was_scripted_is_known_after_it_was_used_up() -> None:
    fault = Fault(status=500, times=1)
    faults = Faults()
    faults.add(fault)
    assert faults.take("rest", "GET", "/") is not None
    assert (len(faults), faults.scripted) == (0, (fault,))


def test_asking_what_is_left_meets_no_rate_limit() -> None:
    faults = Faults()
    faults.add(primary_rate_limit(times=1), secondary_rate_limit(times=1))
    assert faults.take("rest", "GET", "/rate_limit") is None
    assert len(faults) == 2


def entry(number: int) -> Entry:
    return Entry(
        at="2026-01-01T00:00:00.000Z", surface="rest", actor="octo", method="GET", path=f"/{number}",
        operation="GET /user", status=200, failed=False, mutation=False, duration_ms=1.5, request_bytes=0,
        response_bytes=10,
    )  # fmt: skip


def test_a_journal_keeps_its_order_and_is_read_from_anywhere() -> None:
    journal = Journal()
    for number in range(3):
        journal.add(entry(number))
    assert [each.path for each in journal] == ["/0", "/1", "/2"]
    assert [each.path for each in journal.since(2)] == ["/2"]
    assert len(journal) == 3


def test_a_journal_is_written_by_many_threads() -> None:
    journal = Journal()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: journal.add(entry(number)), range(500)))
    assert sorted(int(each.path[1:]) for each in journal) == list(range(500))
