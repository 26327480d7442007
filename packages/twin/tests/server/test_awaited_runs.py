"""A world's own clock stands still while a client waits for a run, so that asking again moves it."""

import json
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import pytest
from asgi_client import AsgiClient
from scripted_world import push, runs_of, scripted_world

from ghx_twin.commands.actions import progress
from ghx_twin.server.hosting import Hosting
from ghx_twin.server.loopback import Server
from ghx_twin.server.run_progress import finish_runs
from ghx_twin.state.clock import parse_time
from ghx_twin.state.database import Database
from ghx_twin.world import World

MENDED = {"turn.py": "RPM = 33\n"}
ROLLUP = """{repository(owner: "octocat", name: "widgets") {pullRequest(number: 1) {
  commits(last: 1) {nodes {commit {statusCheckRollup {state}}}}}}}"""


@pytest.fixture(scope="module")
def base() -> Generator[World]:
    with scripted_world() as made:
        yield made


@pytest.fixture
def world(base: World) -> Generator[World]:
    with base.fork() as made:
        yield made


@contextmanager
def client_of(world: World) -> Generator[AsgiClient]:
    hosting = Hosting()
    hosting.add(world)
    made = AsgiClient(hosting)
    yield made
    made.close()


@pytest.fixture
def client(world: World) -> Generator[AsgiClient]:
    with client_of(world) as made:
        yield made


def status(client: AsgiClient, run: int) -> str:
    reply = client.ask("GET", f"/repos/octocat/widgets/actions/runs/{run}".encode(), token="secret")
    assert reply.status == 200
    return reply.json()["status"]


def test_a_run_ends_for_a_client_that_asks_until_it_does(client: AsgiClient, world: World) -> None:
    (run,) = runs_of(world, push(world, MENDED))

    seen = [status(client, run.id) for _ in range(7)]

    # The first looks leave it alone: who looks once or twice may be about to cancel it.
    assert seen == ["queued", "queued", "in_progress", "in_progress", "in_progress", "completed", "completed"]


def test_a_query_of_the_rollup_waits_as_well(client: AsgiClient, world: World) -> None:
    push(world, MENDED)
    body = json.dumps({"query": ROLLUP}).encode()

    replies = [client.ask("POST", b"/graphql", token="secret", body=body).json() for _ in range(6)]

    commits = [reply["data"]["repository"]["pullRequest"]["commits"]["nodes"][0]["commit"] for reply in replies]
    assert [commit["statusCheckRollup"]["state"] for commit in commits] == ["PENDING"] * 5 + ["SUCCESS"]


REFS = b"/octocat/widgets.git/info/refs"
STATE = '{repository(owner: "octocat", name: "widgets") {pullRequest(number: 1) {mergeStateStatus}}}'


@pytest.mark.parametrize(
    ("method", "path", "rest"),
    [
        ("GET", b"/repos/octocat/widgets/pulls/1", {}),
        ("GET", REFS, {"query": b"service=git-upload-pack"}),
        ("POST", b"/graphql", {"body": json.dumps({"query": STATE}).encode()}),
        ("POST", b"/graphql", {"body": json.dumps({"query": STATE, "variables": {"mutation": "\u2192"}}).encode()}),
    ],
    ids=["REST", "git", "GraphQL", "GraphQL with an escape"],
)
def test_whatever_is_read_again_and_again_waits(
    client: AsgiClient, world: World, method: str, path: bytes, rest: dict[str, bytes]
) -> None:
    push(world, MENDED)

    for _ in range(6):  # two patient ones, then two jobs begin and end
        assert progress.is_pending(world)
        assert client.ask(method, path, token="secret", **rest).status == 200

    assert not progress.is_pending(world)


def test_different_reads_and_writes_leave_the_clock_alone(client: AsgiClient, world: World) -> None:
    (run,) = runs_of(world, push(world, MENDED))
    before = world.database.now()
    mutation = b'{"query": "mutation { closeIssue(input: {issueId: 1}) { clientMutationId } }"}'

    for number in range(5):
        replies = (
            client.ask("GET", b"/repos/octocat/widgets/pulls", query=b"page=%d" % number, token="secret"),
            client.ask("GET", REFS, query=b"service=git-receive-pack", token="secret"),
            client.ask("POST", b"/graphql", token="secret", body=mutation),
        )
        assert [reply.status for reply in replies] == [200, 200, 200]

    assert world.database.now() == before
    assert status(client, run.id) == "queued"


def test_looks_at_a_run_that_does_not_end_are_forgotten(world: World) -> None:
    push(world, MENDED)
    hosting = Hosting()
    hosting.add(world)
    made = AsgiClient(hosting)
    for number in range(1100):
        made.ask("GET", b"/users/octocat", query=b"n=%d" % number, token="secret")
    made.close()
    hosted = hosting.find(world)

    assert hosted is not None
    assert len(hosted.looks) == 1000


@pytest.mark.anyio
async def test_runs_are_played_to_their_end_once_nothing_else_writes(world: World) -> None:
    push(world, MENDED)
    hosting = Hosting()
    hosting.add(world)
    hosted = hosting.find(world)
    assert hosted is not None

    async with anyio.create_task_group() as tasks, hosted.write_lock:
        tasks.start_soon(finish_runs, hosted)
        await anyio.wait_all_tasks_blocked()
        assert progress.is_pending(world)

    assert not progress.is_pending(world)


def test_a_server_plays_runs_to_their_end(world: World) -> None:
    push(world, MENDED)
    with Server() as server:
        server.add(world)
        server.finish_runs(world)
        assert not progress.is_pending(world)

        push(world, {"turn.py": "RPM = 34\n"})
        server.remove(world)
        server.finish_runs(world)
        assert not progress.is_pending(world)


def test_with_the_real_time_a_run_takes_as_long_as_its_script_says(base: World) -> None:
    now = [2e9]
    database = Database.from_bytes(base.database.to_bytes(), wall=lambda: now[0])
    with World(database, base.storage.fork()) as world, client_of(world) as client:
        world.set_clock("wall")
        (run,) = runs_of(world, push(world, MENDED))
        assert [status(client, run.id) for _ in range(5)] == ["queued"] * 5

        now[0] += 3
        assert status(client, run.id) == "in_progress"
        now[0] += 60
        assert status(client, run.id) == "completed"
        shown = client.ask("GET", f"/repos/octocat/widgets/actions/runs/{run.id}".encode(), token="secret").json()
        assert parse_time(shown["updated_at"]) - parse_time(shown["run_started_at"]) == 28
