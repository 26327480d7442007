"""One server, many worlds: the token selects, nothing is shared, and what is removed is unknown."""

import json
import stat
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import TaskStatus
from rest_world import Seeded
from served_world import Served

from ghx_twin.commands import users
from ghx_twin.faults import Fault
from ghx_twin.queries import lookup
from ghx_twin.server import loopback
from ghx_twin.server.app import TwinApp
from ghx_twin.server.hosting import Hosting
from ghx_twin.server.loopback import Server
from ghx_twin.server.loopback import served as serving
from ghx_twin.state.records import Comment, Issue

pytestmark = pytest.mark.slow

FORKS = 200


def authorized(token: str) -> dict[str, str]:
    return {"Authorization": f"token {token}"}


def test_two_worlds_never_mix(served: Served) -> None:
    with served.world.fork() as other:
        tokens = [served.token(), served.server.hosting.issue_token(other, served.seeded.people["ann"])]
        for token, title in zip(tokens, ("One", "Two"), strict=True):
            body = {"title": title}
            httpx2.post(f"{served.server.url}/repos/acme/widgets/issues", json=body, headers=authorized(token))
        found = [
            [issue["title"] for issue in httpx2.get(address, headers=authorized(token)).json()]
            for token in tokens
            for address in [f"{served.server.url}/repos/acme/widgets/issues?sort=created"]
        ]
        served.server.remove(other)

    assert "One" in found[0]
    assert "Two" not in found[0]
    assert "Two" in found[1]
    assert "One" not in found[1]


def test_the_tokens_of_a_removed_world_are_unknown(served: Served) -> None:
    token = served.token()
    before = httpx2.get(f"{served.server.url}/user", headers=authorized(token)).status_code

    served.server.remove(served.world)

    after = httpx2.get(f"{served.server.url}/user", headers=authorized(token))
    assert (before, after.status_code, after.json()["message"]) == (200, 401, "Bad credentials")


def test_the_tokens_of_a_closed_world_are_unknown(parent: Seeded, github_server: Server) -> None:
    world = parent.world.fork()
    token = github_server.hosting.issue_token(world, parent.people["ann"])
    world.close()

    assert httpx2.get(f"{github_server.url}/user", headers=authorized(token)).status_code == 401
    github_server.remove(world)


def asked_and_removed(parent: Seeded, server: Server, latency_ms: float) -> tuple[int, int]:
    """Remove and close a world while a request waits in it; return the request's status, and how many were noted."""
    with parent.world.fork() as world, ThreadPoolExecutor(1) as pool:
        token = server.hosting.issue_token(world, parent.people["ann"])
        world.faults.add(Fault(latency_ms=latency_ms, times=1))
        address = f"{server.url}/repos/acme/widgets/issues"
        asked = pool.submit(httpx2.get, address, headers=authorized(token), timeout=300)
        while len(world.faults):
            time.sleep(0.001)  # looks again; the request is there once it has taken its trouble
        server.remove(world)
        noted = len(world.journal)
        world.close()
        return asked.result().status_code, noted


def test_a_world_is_removed_when_those_who_are_with_it_have_gone(parent: Seeded, github_server: Server) -> None:
    assert asked_and_removed(parent, github_server, latency_ms=100) == (200, 1)


def test_a_request_that_outstays_its_world_is_told_so(
    parent: Seeded, github_server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loopback, "_LONGEST_WAIT_S", 0.01)

    assert asked_and_removed(parent, github_server, latency_ms=200) == (503, 0)
    assert caplog.records == []


def test_a_world_is_served_to_the_tokens_it_holds(fork: Seeded, github_server: Server) -> None:
    with fork.world.acting(None) as act:
        users.create_token(act, fork.people["bob"], token="kept-token", scopes=("repo",))
    github_server.add(fork.world)

    reply = httpx2.get(f"{github_server.url}/user", headers=authorized("kept-token"))

    github_server.remove(fork.world)
    assert reply.json()["login"] == "bob"
    assert reply.headers["x-oauth-scopes"] == "repo"


def test_a_token_that_two_worlds_hold_opens_neither_until_one_has_gone(fork: Seeded, github_server: Server) -> None:
    with fork.world.acting(None) as act:
        users.create_token(act, fork.people["bob"], token="held-token", scopes=("repo",))
    with fork.world.fork() as other:
        worlds = (fork.world, other)
        issued = [github_server.hosting.issue_token(world, fork.people["bob"]) for world in worlds]
        counts = [world.database.count(Issue) for world in worlds]
        for world in worlds:
            github_server.add(world)
        ambiguous = open_issue(github_server, "held-token")
        after = [world.database.count(Issue) for world in worlds]
        own = [open_issue(github_server, token) for token in issued]
        github_server.remove(fork.world)
        alone = open_issue(github_server, "held-token")
        total = other.database.count(Issue)
        github_server.remove(other)
        gone = open_issue(github_server, "held-token")

    assert (ambiguous, own, alone, gone) == (401, [201, 201], 201, 401)
    assert after == counts
    assert total == counts[1] + 2


def open_issue(server: Server, token: str) -> int:
    address = f"{server.url}/repos/acme/widgets/issues"
    return httpx2.post(address, json={"title": "x"}, headers=authorized(token)).status_code


def test_a_world_that_is_added_twice_is_still_one_world(fork: Seeded, github_server: Server) -> None:
    with fork.world.acting(None) as act:
        users.create_token(act, fork.people["bob"], token="twice-added", scopes=("repo",))
    github_server.add(fork.world)
    github_server.add(fork.world)

    status = open_issue(github_server, "twice-added")

    github_server.remove(fork.world)
    assert status == 201


@pytest.mark.timeout(110)
def test_two_hundred_forks_written_at_once_see_only_their_own(served: Served) -> None:
    forks = [served.world.fork() for _ in range(FORKS)]
    before = served.world.snapshot()
    address = f"{served.server.url}/repos/acme/widgets/issues"

    def write(number: int) -> list[str]:
        headers = authorized(served.server.hosting.issue_token(forks[number], served.seeded.people["ann"]))
        with httpx2.Client(headers=headers, trust_env=False, timeout=300, verify=False) as client:
            issue = client.post(address, json={"title": f"World {number}", "body": "b"}).json()
            client.post(f"{address}/{issue['number']}/comments", json={"body": f"Comment {number}"})
            query = (
                f'{{ repository(owner: "acme", name: "widgets") {{ issue(number: {issue["number"]}) {{ title }} }} }}'
            )
            asked = client.post(f"{served.server.url}/graphql", json={"query": query}).json()
            assert asked["data"]["repository"]["issue"]["title"] == f"World {number}"
            return [one["title"] for one in client.get(address, params={"state": "all", "per_page": 100}).json()]

    with ThreadPoolExecutor(32) as pool:
        titles = list(pool.map(write, range(FORKS)))

    for number, (world, seen) in enumerate(zip(forks, titles, strict=True)):
        assert [title for title in seen if title.startswith("World")] == [f"World {number}"]
        bodies = {comment.body for comment in world.database.all(Comment)}
        assert {body for body in bodies if body.startswith("Comment")} == {f"Comment {number}"}
        assert len(world.journal) == 4
        served.server.remove(world)
        world.close()
    assert served.world.snapshot() == before


def test_writes_and_a_push_at_once_are_all_done(served: Served, tmp_path: Path) -> None:
    environment = served.server.client_environment(served.world, "ann").over({"PATH": "/usr/bin:/bin:/usr/local/bin"})

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], env=environment, cwd=tmp_path, check=True, capture_output=True)

    git("clone", "https://github.com/acme/widgets.git", "clone")
    git("-C", "clone", "checkout", "-b", "pushed")
    (tmp_path / "clone" / "large.bin").write_bytes(bytes(range(256)) * 8192)
    git("-C", "clone", "add", "large.bin")
    git("-C", "clone", "commit", "-m", "Add a large file")
    before = served.world.database.count(Issue)
    with served.client() as client:
        repository = client.get("/repos/acme/widgets").json()["node_id"]
    start = threading.Barrier(9)

    def open_issues(surface: str) -> None:
        with served.client("ann") as client:
            start.wait()
            for number in range(25):
                if surface == "rest":
                    reply = client.post("/repos/acme/widgets/issues", json={"title": f"{number}", "labels": ["bug"]})
                    assert reply.status_code == 201
                    continue
                query = 'mutation($id: ID!) { createIssue(input: {repositoryId: $id, title: "x"}) { issue { id } } }'
                reply = client.post("/graphql", json={"query": query, "variables": {"id": repository}})
                assert "errors" not in reply.json()

    def push() -> None:
        start.wait()
        git("-C", "clone", "push", "origin", "pushed")

    with ThreadPoolExecutor(9) as pool:
        done = [pool.submit(open_issues, surface) for surface in ("rest", "graphql") * 4] + [pool.submit(push)]
        for each in done:
            each.result()

    numbers = [issue.number for issue in served.world.database.all(Issue, repository_id=_home(served).id)]
    assert served.world.database.count(Issue) == before + 200
    assert len(numbers) == len(set(numbers))
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert served.world.git(_home(served)).ref("refs/heads/pushed") is not None
    assert [change.after for change in served.world.database.changes() if change.field == "refs/heads/pushed"] != []


@pytest.mark.anyio
async def test_a_world_is_used_without_any_socket(fork: Seeded) -> None:
    hosting = Hosting()
    token = hosting.issue_token(fork.world, fork.people["ann"])
    transport = httpx2.ASGITransport(app=TwinApp(hosting))
    async with httpx2.AsyncClient(
        transport=transport, base_url="https://api.github.com", headers=authorized(token)
    ) as client:
        made = await client.post("/repos/acme/widgets/issues", json={"title": "In process"})
        asked = await client.post("/graphql", json={"query": "{ viewer { login } }"})
        refs = await client.get("https://github.com/acme/widgets.git/info/refs", params={"service": "git-upload-pack"})

    assert made.json()["url"].startswith("https://api.github.com/repos/acme/widgets/issues/")
    assert asked.json() == {"data": {"viewer": {"login": "ann"}}}
    assert refs.content.startswith(b"001e# service=git-upload-pack\n")
    assert [entry.surface for entry in fork.world.journal] == ["rest", "graphql", "git"]


MUTATION = 'mutation { closeIssue(input: {issueId: "x"}) { clientMutationId } }'


@pytest.mark.anyio
@pytest.mark.parametrize(
    "written",
    [
        json.dumps({"query": MUTATION}).encode(),
        json.dumps({"query": MUTATION}).replace("mutation", "\\u006dutation").encode(),
        json.dumps({"query": MUTATION}).encode("utf-16"),
    ],
    ids=["plain", "escaped", "UTF-16"],
)
async def test_queries_do_not_wait_for_writers_and_mutations_do(fork: Seeded, written: bytes) -> None:
    hosting = Hosting()
    token = hosting.issue_token(fork.world, fork.people["ann"])
    access = hosting.open(token)
    assert access is not None
    transport = httpx2.ASGITransport(app=TwinApp(hosting))

    async def push(*, task_status: TaskStatus[None]) -> None:
        async with access.hosted.write_lock:
            task_status.started()
            await anyio.sleep_forever()

    async with httpx2.AsyncClient(
        transport=transport, base_url="http://localhost", headers=authorized(token)
    ) as client:
        async with anyio.create_task_group() as tasks:
            await tasks.start(push)
            asked = await client.post("/graphql", json={"query": "{ viewer { login } }"})
            with anyio.move_on_after(0.2) as waited:
                await client.post("/graphql", content=written)
            tasks.cancel_scope.cancel()
        changed = await client.post("/graphql", content=written)

    assert asked.json() == {"data": {"viewer": {"login": "ann"}}}
    assert waited.cancelled_caught
    assert changed.status_code in {200, 400}


@pytest.mark.anyio
@pytest.mark.both_backends
async def test_many_tasks_in_process_are_served_side_by_side(fork: Seeded) -> None:
    hosting = Hosting()
    token = hosting.issue_token(fork.world, fork.people["ann"])
    transport = httpx2.ASGITransport(app=TwinApp(hosting))
    async with (
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=authorized(token)) as client,
        anyio.create_task_group() as tasks,
    ):
        for number in range(40):
            tasks.start_soon(_comment, client, number)

    bodies = [comment.body for comment in fork.world.database.all(Comment) if comment.body.startswith("Task")]
    assert sorted(bodies) == sorted(f"Task {number}" for number in range(40))


async def _comment(client: httpx2.AsyncClient, number: int) -> None:
    reply = await client.post("/repos/acme/widgets/issues/1/comments", json={"body": f"Task {number}"})
    assert reply.status_code == 201


def test_the_unix_socket_is_for_its_owner_only(fork: Seeded) -> None:
    with Server() as server:
        token = server.hosting.issue_token(fork.world, fork.people["ann"])
        path, directory = server.socket_path, server.directory
        modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, directory)]
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(path)), headers=authorized(token)) as client:
            user = client.get("http://api.github.com/user").json()

    assert (modes, is_socket) == ([0o600, 0o700], True)
    assert user["url"] == "https://api.github.com/users/ann"
    assert not directory.exists()


def test_a_server_listens_on_loopback_only(github_server: Server) -> None:
    assert github_server.url.startswith("http://127.0.0.1:")


@pytest.mark.anyio
async def test_worlds_are_served_for_the_length_of_a_block(fork: Seeded) -> None:
    async with serving(fork.world) as server:
        token = server.hosting.issue_token(fork.world, fork.people["ann"])
        async with httpx2.AsyncClient(trust_env=False) as client:
            status = (await client.get(f"{server.url}/user", headers=authorized(token))).status_code
        url = server.url

    assert status == 200
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/user")


def test_a_world_can_be_restored_while_it_is_served(served: Served, client: httpx2.Client) -> None:
    before = served.world.snapshot()
    client.post("/repos/acme/widgets/issues", json={"title": "Gone again"})

    served.world.restore(before)

    titles = [issue["title"] for issue in client.get("/repos/acme/widgets/issues").json()]
    assert "Gone again" not in titles
    assert client.post("/repos/acme/widgets/issues", json={"title": "New"}).status_code == 201


def _home(served: Served) -> object:
    return lookup.repository(served.world, None, "acme", "widgets")


def test_two_servers_can_serve_one_world(fork: Seeded, github_server: Server) -> None:
    with Server() as second:
        tokens = [one.hosting.issue_token(fork.world, fork.people["ann"]) for one in (github_server, second)]
        address = "/repos/acme/widgets/issues"
        httpx2.post(f"{github_server.url}{address}", json={"title": "Seen by both"}, headers=authorized(tokens[0]))
        seen = httpx2.get(f"{second.url}{address}", headers=authorized(tokens[1])).json()
        github_server.remove(fork.world)

    assert "Seen by both" in [issue["title"] for issue in seen]


def test_worlds_come_and_go_while_others_are_asked(served: Served) -> None:
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            with served.world.fork() as world:
                served.server.hosting.issue_token(world, served.seeded.people["ann"])
                served.server.remove(world)

    with ThreadPoolExecutor(1) as pool, served.client() as client:
        going = pool.submit(come_and_go)
        try:
            statuses = {client.get("/repos/acme/widgets/issues").status_code for _ in range(100)}
        finally:
            stop.set()
        going.result()

    assert statuses == {200}
