"""Every request is in the journal of its world: who, what, how it ended, and whether it changed something."""

import contextlib
import subprocess
from pathlib import Path

import httpx2
import pytest
from raw_http import RawClient
from served_world import Served

from ghx_twin.faults import Fault
from ghx_twin.journal import Entry, Journal
from ghx_twin.state.records import Repository


def last(served: Served) -> Entry:
    return served.world.journal.since(0)[-1]


def test_a_journal_can_be_indexed(served: Served, client: httpx2.Client) -> None:
    for path in ("/user", "/repos/acme/widgets"):
        client.get(path)

    journal = served.world.journal
    assert journal[-1].path == "/repos/acme/widgets"
    assert [entry.path for entry in journal[-2:]] == ["/user", "/repos/acme/widgets"]


def test_a_read(served: Served, client: httpx2.Client) -> None:
    reply = client.get("/repos/acme/widgets/issues?state=all&access_token=secret", headers={"User-Agent": "me"})

    entry = last(served)
    assert (entry.surface, entry.actor, entry.method, entry.status) == ("rest", "ann", "GET", 200)
    assert entry.operation == "GET /repos/{owner}/{repo}/issues"
    assert entry.path == "/repos/acme/widgets/issues?state=all&access_token=..."
    assert (entry.failed, entry.mutation) == (False, False)
    assert (entry.request_bytes, entry.response_bytes) == (0, len(reply.content))
    assert entry.user_agent == "me"
    assert entry.duration_ms > 0


def test_a_write(served: Served, client: httpx2.Client) -> None:
    content = b'{"title": "x"}'

    client.post("/api/v3/repos/acme/widgets/issues", content=content)

    entry = last(served)
    assert (entry.operation, entry.status) == ("POST /repos/{owner}/{repo}/issues", 201)
    assert entry.path == "/repos/acme/widgets/issues"
    assert (entry.mutation, entry.failed, entry.request_bytes) == (True, False, len(content))


def test_a_write_that_changes_nothing(served: Served, client: httpx2.Client) -> None:
    title = client.get("/repos/acme/widgets/issues/1").json()["title"]

    client.patch("/repos/acme/widgets/issues/1", json={"title": title})

    assert (last(served).status, last(served).mutation) == (200, False)


@pytest.mark.parametrize(
    ("asked", "status", "operation"),
    [
        ("GET /repos/acme/none", 404, "GET /repos/{owner}/{repo}"),
        ("POST /repos/acme/widgets/issues", 422, "POST /repos/{owner}/{repo}/issues"),
        ("GET /no/such/path", 404, "unknown"),
        ("GET /gists", 501, "GET /gists"),
        ("HEAD /repos/acme/widgets", 200, "GET /repos/{owner}/{repo}"),
    ],
)
def test_what_is_refused_and_what_has_no_body(
    served: Served, client: httpx2.Client, asked: str, status: int, operation: str
) -> None:
    method, path = asked.split(" ")
    client.request(method, path, **({"json": {}} if method == "POST" else {}))

    entry = last(served)
    assert (entry.status, entry.operation, entry.mutation) == (status, operation, False)
    assert entry.failed == (status >= 400)


def test_what_the_client_has_already(served: Served, client: httpx2.Client) -> None:
    tag = client.get("/user").headers["etag"]

    client.get("/user", headers={"If-None-Match": tag})

    assert (last(served).status, last(served).response_bytes, last(served).failed) == (304, 0, False)


def test_a_query_of_graphql(served: Served, client: httpx2.Client) -> None:
    reply = client.post("/graphql", json={"query": "query Who { viewer { login } }"})

    entry = last(served)
    assert (entry.surface, entry.operation, entry.path) == ("graphql", "query Who viewer", "/graphql")
    assert (entry.mutation, entry.failed, entry.response_bytes) == (False, False, len(reply.content))


def test_a_query_of_graphql_that_fails(served: Served, client: httpx2.Client) -> None:
    client.post("/graphql", json={"query": '{ user(login: "nobody") { id } }'})

    assert (last(served).status, last(served).failed) == (200, True)


@pytest.mark.parametrize(
    ("query", "status", "operation"),
    [
        ("query Mine { viewer { gists(first: 1) { totalCount } } }", 501, "query Mine viewer"),
        ("mutation Star { addStar(input: {starrableId: 1}) { nope } }", 501, "mutation Star addStar"),
        ("query Odd { viewer { nope } }", 200, "query Odd viewer"),
        ("query Broken {", 200, "query"),
    ],
)
def test_a_document_that_does_not_fit(
    served: Served, client: httpx2.Client, query: str, status: int, operation: str
) -> None:
    client.post("/graphql", json={"query": query})

    assert (last(served).status, last(served).operation, last(served).failed) == (status, operation, True)


def test_what_meets_scripted_trouble_is_called_as_ever(served: Served, client: httpx2.Client, tmp_path: Path) -> None:
    served.world.faults.add(Fault(status=502))
    home = served.world.database.all(Repository)[0].id

    client.get("/repos/acme/widgets/issues/1")
    client.head(f"/repositories/{home}")
    client.get("/gists")
    client.get("/no/such/path")
    client.post("/graphql", json={"query": "query Who { viewer { login } }"})
    client.post("/graphql", content=b"{")
    environment = served.server.client_environment(served.world, "ann").over({})
    command = ["git", "ls-remote", "https://github.com/acme/widgets.git"]
    subprocess.run(command, env=environment, cwd=tmp_path, check=False, capture_output=True)

    assert {entry.status for entry in served.world.journal} == {502}
    assert [entry.operation for entry in served.world.journal] == [
        "GET /repos/{owner}/{repo}/issues/{issue_number}",
        "GET /repos/{owner}/{repo}",
        "GET /gists",
        "unknown",
        "query Who viewer",
        "query",
        "git-upload-pack (refs)",
    ]


def test_a_mutation_of_graphql(served: Served, client: httpx2.Client) -> None:
    home = client.get("/repos/acme/widgets").json()["node_id"]
    query = 'mutation Open($id: ID!) { createIssue(input: {repositoryId: $id, title: "x"}) { issue { id } } }'

    client.post("/api/graphql", json={"query": query, "variables": {"id": home}})

    assert (last(served).operation, last(served).mutation) == ("mutation Open createIssue", True)


def test_git(served: Served, tmp_path: Path) -> None:
    environment = served.server.client_environment(served.world, "ann").over({"PATH": "/usr/bin:/bin:/usr/local/bin"})

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], env=environment, cwd=tmp_path, check=True, capture_output=True)

    git("clone", "https://github.com/ann/secret.git", "clone")
    git("-C", "clone", "checkout", "-b", "new")
    git("-C", "clone", "commit", "--allow-empty", "-m", "Nothing")
    git("-C", "clone", "push", "origin", "new")

    entries = [entry for entry in served.world.journal if entry.status == 200]
    operations = [entry.operation for entry in entries]
    assert operations[0] == "git-upload-pack (refs)"
    assert operations[-2:] == ["git-receive-pack (refs)", "git-receive-pack"]
    assert {entry.surface for entry in entries} == {"git"}
    assert {entry.actor for entry in entries} == {"ann"}
    assert [entry.operation for entry in entries if entry.mutation] == ["git-receive-pack"]
    assert all(entry.response_bytes > 0 for entry in entries)
    assert entries[-1].request_bytes > 100


def test_a_client_that_went_away(served: Served, client: httpx2.Client, raw: RawClient) -> None:
    with contextlib.closing(raw.connect()) as connection:
        connection.sendall(raw.head(b"POST /user/repos HTTP/1.1", b"Content-Length: 100") + b'\r\n{"name": ')
        while not client.get("/user").is_success:
            pass
    for _ in range(1000):  # the server sees the end of a connection when it comes to it
        client.get("/user")
        if gone := [entry for entry in served.world.journal if entry.status == 499]:
            break

    assert [(entry.method, entry.path, entry.failed, entry.mutation) for entry in gone] == [
        ("POST", "/user/repos", True, False)
    ]


def test_a_stranger_is_in_no_journal(served: Served) -> None:
    httpx2.get(f"{served.server.url}/user", headers={"Authorization": "token unknown"})

    assert len(served.world.journal) == 0


def test_whoever_has_an_answer_finds_it_in_the_journal(served: Served, client: httpx2.Client) -> None:
    for number in range(1, 200):
        client.get("/user")
        assert len(served.world.journal) == number


def test_entries_are_read_from_where_one_was(served: Served, client: httpx2.Client) -> None:
    client.get("/user")
    position = len(served.world.journal)
    client.get("/users")

    assert [entry.path for entry in served.world.journal.since(position)] == ["/users"]
    assert list(Journal()) == []


def _entry(path: str) -> Entry:
    return Entry(
        at="", surface="rest", actor=None, method="GET", path=path, operation="", status=200, failed=False,
        mutation=False, duration_ms=0, request_bytes=0, response_bytes=0,
    )  # fmt: skip


def test_a_journal_keeps_its_latest_entries_and_counts_all() -> None:
    journal = Journal(most_entries=3)
    for number in range(5):
        journal.add(_entry(str(number)))

    assert (len(journal), journal.dropped) == (5, 2)
    assert [entry.path for entry in journal] == ["2", "3", "4"]
    assert [entry.path for entry in journal.since(4)] == ["4"]
    assert [entry.path for entry in journal.since(1)] == ["2", "3", "4"]
    assert journal.since(5) == ()


def test_what_a_client_writes_takes_no_more_room_than_a_line(served: Served, client: httpx2.Client) -> None:
    client.get(f"/repos/acme/{'x' * 9_000}?q={'y' * 9_000}", headers={"User-Agent": "z" * 9_000})

    entry = last(served)
    assert max(len(entry.path), len(entry.operation), len(entry.user_agent or "")) == 2_000
