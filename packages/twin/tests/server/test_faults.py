"""Trouble on purpose: latency, server errors and rate limits, for one world and as often as scripted."""

import http.client
import subprocess
import time
from urllib.parse import urlsplit

import httpx2
import pytest
from asgi_client import AsgiClient
from rest_world import Seeded
from served_world import Served

from ghx_twin.difference import diff
from ghx_twin.faults import Fault, Injected, InjectedChange, primary_rate_limit, secondary_rate_limit
from ghx_twin.server.hosting import Hosting
from ghx_twin.state.records import Comment, Issue
from ghx_twin.world import World

QUERY = {"query": "{ viewer { login } }"}
ISSUE = "/repos/acme/widgets/issues"


@pytest.fixture
def issue(client: httpx2.Client) -> int:
    return client.post(ISSUE, json={"title": "Old", "body": "As it was"}).json()["number"]


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


def bodies(world: World) -> list[str]:
    return [each.body for each in world.database.all(Comment)]


def test_a_lost_answer_does_not_undo_the_write(served: Served, client: httpx2.Client, issue: int) -> None:
    served.world.faults.add(Fault(status=502, times=1, after=True, name="lost"))

    refused = client.post(f"{ISSUE}/{issue}/comments", json={"body": "Once"})

    assert refused.status_code == 502
    assert bodies(served.world)[-1] == "Once"
    assert served.world.journal[-1].mutation
    assert served.world.journal[-1].fault == Injected("status", "lost")


@pytest.mark.parametrize(("after", "written"), [(False, 0), (True, 1)])
def test_a_reset_connection_gives_no_answer(
    served: Served, client: httpx2.Client, issue: int, after: bool, written: int
) -> None:
    served.world.faults.add(Fault(reset="unanswered", times=1, after=after, method="POST"))
    before = len(bodies(served.world))

    with pytest.raises((httpx2.ReadError, httpx2.RemoteProtocolError)):
        client.post(f"{ISSUE}/{issue}/comments", json={"body": "Gone"})

    assert len(bodies(served.world)) == before + written
    entry = served.world.journal[-1]
    assert (entry.status, entry.failed, entry.mutation) == (0, True, bool(written))
    assert client.get("/user").status_code == 200


def test_a_connection_may_be_reset_halfway_through_an_answer(served: Served) -> None:
    served.world.faults.add(Fault(reset="halfway", times=1))
    opened = http.client.HTTPConnection(urlsplit(served.server.url).netloc)
    opened.request("GET", "/repos/acme/widgets", headers={"Authorization": f"token {served.token()}"})

    reply = opened.getresponse()
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        reply.read()
    opened.close()

    assert reply.status == 200
    assert 0 < served.world.journal[-1].response_bytes < int(reply.headers["content-length"])


def test_a_reset_reaches_clients_behind_the_proxy(served: Served) -> None:
    served.world.faults.add(Fault(reset="unanswered", times=1, surface="git"))
    environment = served.server.client_environment(served.world, "ann").over({})
    command = ["git", "ls-remote", "https://github.com/acme/widgets.git", "HEAD"]

    failed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    repeated = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert (failed.returncode, repeated.returncode) == (128, 0)


def test_a_reset_in_process_is_raised(hosting: Hosting, asgi: AsgiClient, fork: Seeded) -> None:
    token = hosting.issue_token(fork.world, fork.people["ann"])
    fork.world.faults.add(Fault(reset="unanswered", times=1))

    with pytest.raises(ConnectionResetError):
        asgi.ask("GET", b"/user", token=token)

    assert fork.world.journal[-1].fault == Injected("reset", "1")


def test_the_rate_limits_agree_about_a_used_up_budget(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(primary_rate_limit(times=2, reset_in_s=900))

    refused, again = client.get("/user"), client.get("/user")
    told = client.get("/rate_limit").json()["resources"]

    reset = int(refused.headers["x-ratelimit-reset"])
    assert (told["core"]["remaining"], told["core"]["reset"]) == (0, reset)
    assert again.headers["x-ratelimit-reset"] == str(reset)
    assert told["graphql"]["remaining"] > 0
    assert client.get("/user").status_code == 200
    assert client.get("/rate_limit").json()["resources"]["core"]["remaining"] > 0


def test_a_stale_list_lacks_the_latest_writes(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(stale_writes=2, skip=1, times=1, method="GET", path="/repos/*/issues"))
    titles = lambda: [each["title"] for each in client.get(ISSUE).json()]  # noqa: E731 - asked four times
    before = titles()
    for number in range(3):
        client.post(ISSUE, json={"title": f"New {number}"})

    stale, fresh = titles(), titles()

    assert stale == ["New 0", *before]
    assert fresh == ["New 2", "New 1", "New 0", *before]
    assert [each.fault for each in served.world.journal[-2:]] == [Injected("stale", "1"), None]


def test_a_stale_query_answers_from_the_past_and_a_mutation_does_not(
    served: Served, client: httpx2.Client, issue: int
) -> None:
    served.world.faults.add(Fault(stale_s=1, surface="graphql"))
    client.patch(f"{ISSUE}/{issue}", json={"title": "Renamed"})
    query = f'{{ repository(owner: "acme", name: "widgets") {{ issue(number: {issue}) {{ title id }} }} }}'

    found = client.post("/graphql", json={"query": query}).json()["data"]["repository"]["issue"]
    mutation = f'mutation {{ updateIssue(input: {{id: "{found["id"]}", body: "Now"}}) {{ issue {{ title body }} }} }}'
    changed = client.post("/graphql", json={"query": mutation}).json()["data"]["updateIssue"]["issue"]

    assert found["title"] != "Renamed"
    assert changed == {"title": "Renamed", "body": "Now"}


def test_what_was_pushed_is_not_in_a_stale_answer(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(stale_writes=1, times=1, path="/repos/*/branches"))
    sha = client.get("/repos/acme/widgets/git/ref/heads/main").json()["object"]["sha"]
    client.post("/repos/acme/widgets/git/refs", json={"ref": "refs/heads/fresh", "sha": sha})

    stale, fresh = (client.get("/repos/acme/widgets/branches").json() for _ in range(2))

    assert {each["name"] for each in fresh} - {each["name"] for each in stale} == {"fresh"}


def test_content_changes_on_a_read_by_somebody_else(served: Served, client: httpx2.Client, issue: int) -> None:
    path = f"{ISSUE}/{issue}"
    change = InjectedChange(actor="bob", method="PATCH", path=path, body={"body": "Changed meanwhile"})
    served.world.faults.add(Fault(name="edit", path=path, method="GET", skip=2, times=1, change=change))
    before = served.world.snapshot()

    read = [client.get(path).json()["body"] for _ in range(4)]

    assert read[0] == read[1] != "Changed meanwhile"
    assert read[2:] == ["Changed meanwhile"] * 2
    edits = [each for each in diff(before, served.world) if not each.is_bookkeeping and each.kind == "issues"]
    assert [(each.field, each.by) for each in edits] == [("body", "bob")]
    noted = [each for each in served.world.journal if each.fault is not None]
    assert [(each.actor, each.method, each.mutation) for each in noted] == [
        ("bob", "PATCH", True),
        ("ann", "GET", False),
    ]


def test_a_change_that_is_refused_shows_in_the_journal(
    served: Served, client: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = InjectedChange(actor="bob", method="PATCH", path=f"{ISSUE}/4040", body={"body": "x"})
    stranger = InjectedChange(actor="nobody-here", method="PATCH", path=f"{ISSUE}/1", body={"body": "x"})
    served.world.faults.add(Fault(change=nowhere, times=1), Fault(change=stranger, times=1))

    assert [client.get("/user").status_code for _ in range(2)] == [200, 200]

    assert [each.status for each in served.world.journal] == [404, 200, 200]
    assert [each.levelname for each in caplog.records] == ["WARNING", "WARNING"]


def test_the_journal_marks_faults_and_nothing_else(served: Served, client: httpx2.Client) -> None:
    served.world.faults.add(Fault(latency_ms=1, times=1), secondary_rate_limit(times=1))
    for _ in range(3):
        client.get("/user")

    assert [each.fault and each.fault.kind for each in served.world.journal] == ["latency", "rate_limit", None]
