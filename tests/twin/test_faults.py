"""Scripted trouble, and the journal of what was asked."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ghx_bench.twin.faults import Fault, Faults, primary_rate_limit, secondary_rate_limit
from ghx_bench.twin.journal import Entry, Journal


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
    assert found.status == 502


def test_a_fault_is_over_after_its_times_and_the_next_one_is_used() -> None:
    faults = Faults()
    faults.add(Fault(times=2, status=500), Fault(status=503))
    assert [getattr(faults.take("rest", "GET", "/"), "status", None) for _ in range(4)] == [500, 500, 503, 503]
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
        ({"times": 0}, "times is at least 1, or None for good, not 0"),
        ({"skip": -1}, "skip is at least 0, not -1"),
        ({"latency_ms": -1}, "latency_ms is at least 0, not -1"),
        ({"latency_ms": float("nan")}, "latency_ms is at least 0, not nan"),
        ({"status": 99}, "status is from 100 to 599, not 99"),
        ({"status": 600}, "status is from 100 to 599, not 600"),
        ({"status": None}, "status or latency_ms must be given, else it does nothing"),
    ],
)
def test_a_fault_that_cannot_happen_is_refused(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^a fault's {complaint}"):
        Fault(**{"status": 500, **given})


def test_requests_side_by_side_use_a_fault_up_exactly() -> None:
    faults = Faults()
    faults.add(Fault(times=50, status=500))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: faults.take("rest", "GET", "/"), range(200)))
    assert sum(each is not None for each in found) == 50


def test_rate_limits_say_when_to_come_back() -> None:
    primary, secondary = primary_rate_limit(now_s=1000, reset_in_s=5), secondary_rate_limit(retry_after_s=3)
    assert (primary.status, primary.headers["x-ratelimit-reset"]) == (403, "1005")
    assert primary.headers["x-ratelimit-remaining"] == "0"
    assert (secondary.status, secondary.headers["retry-after"]) == (403, "3")


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
