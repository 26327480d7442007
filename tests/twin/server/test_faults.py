"""Trouble on purpose: latency, server errors and rate limits, for one world and as often as scripted."""

import subprocess
import time

import httpx2
import pytest
from served_world import Served

from ghx_bench.twin.faults import Fault, primary_rate_limit, secondary_rate_limit
from ghx_bench.twin.state.records import Issue

QUERY = {"query": "{ viewer { login } }"}


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_comes_as_often_as_scripted(served: Served, client: httpx2.Client, status: int) -> None:
    served.world.faults.add(Fault(status=status, times=2))

    statuses = [client.get("/user").status_code for _ in range(4)]

    assert statuses == [status, status, 200, 200]


def test_a_write_that_meets_trouble_has_not_happened(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(status=502, times=1, message="Bad Gateway"))
    before = served.world.database.count(Issue)

    refused = client.post("/repos/acme/widgets/issues", json={"title": "Once"})
    repeated = client.post("/repos/acme/widgets/issues", json={"title": "Once"})

    assert (refused.status_code, refused.json()["message"], repeated.status_code) == (502, "Bad Gateway", 201)
    assert served.world.database.count(Issue) == before + 1


def test_trouble_can_be_for_one_surface_method_and_path(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(status=500, surface="rest", method="post", path="/repos/*/issues"))

    assert client.post("/repos/acme/widgets/issues", json={"title": "x"}).status_code == 500
    assert client.get("/repos/acme/widgets/issues").status_code == 200
    assert client.post("/repos/acme/widgets/labels", json={"name": "x"}).status_code == 201
    assert client.post("/graphql", json=QUERY).status_code == 200


def test_trouble_can_wait_for_its_turn(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(status=500, skip=2, times=1))

    assert [client.get("/user").status_code for _ in range(4)] == [200, 200, 500, 200]


def test_trouble_is_over_when_it_is_cleared(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(status=500))
    during = client.get("/user").status_code
    served.world.faults.clear()

    assert (during, client.get("/user").status_code) == (500, 200)


def test_a_slow_answer_is_an_answer(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(latency_ms=120, times=1))

    began = time.perf_counter()
    reply = client.get("/user")

    assert reply.status_code == 200
    assert time.perf_counter() - began >= 0.12
    assert served.world.journal.since(0)[-1].duration_ms >= 120


def test_the_primary_rate_limit_is_told_as_github_tells_it(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(primary_rate_limit(times=2, now_s=1000, reset_in_s=60))

    rest, graphql = client.get("/user"), client.post("/graphql", json=QUERY)

    message = f"API rate limit exceeded for user ID {served.seeded.people['ann'].id}."
    assert (rest.status_code, rest.json()["message"]) == (403, message)
    assert rest.headers["x-ratelimit-remaining"] == "0"
    assert rest.headers["x-ratelimit-reset"] == "1060"
    assert graphql.status_code == 200
    assert graphql.json() == {"errors": [{"type": "RATE_LIMITED", "message": message}]}
    assert graphql.headers["x-ratelimit-remaining"] == "0"
    assert [entry.failed for entry in served.world.journal] == [True, True]
    assert client.get("/user").status_code == 200


def test_the_secondary_rate_limit_says_when_to_come_back(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(secondary_rate_limit(times=1, retry_after_s=7))

    reply = client.post("/graphql", json=QUERY)

    assert reply.status_code == 403
    assert reply.headers["retry-after"] == "7"
    assert "secondary rate limit" in reply.json()["message"]


def test_git_meets_trouble_too(served: Served) -> None:
    served.world.faults.add(Fault(status=503, surface="git", times=1))
    environment = served.server.client_environment(served.world, "ann").over({})
    command = ["git", "ls-remote", "https://github.com/acme/widgets.git", "HEAD"]

    failed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    repeated = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert failed.returncode != 0
    assert "503" in failed.stderr
    assert repeated.returncode == 0


def test_the_trouble_of_one_world_is_not_that_of_its_fork(served: Served) -> None:
    served.world.faults.add(Fault(status=500))
    with served.world.fork() as other:
        token = served.server.hosting.issue_token(other, served.seeded.people["ann"])
        reply = httpx2.get(f"{served.server.url}/user", headers={"Authorization": f"token {token}"})
        served.server.remove(other)

    assert reply.status_code == 200
