"""What takes long is done in a thread: other worlds are answered meanwhile, and its own world waits."""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest
from rest_world import Seeded
from served_world import Served

from ghx_twin.reply import Reply
from ghx_twin.rest import body, dispatch
from ghx_twin.server import app, exchange
from ghx_twin.world import World


class Held:
    """Answers of a world that have begun and must wait; inside an act if they write."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.has_begun, self.may_end = threading.Event(), threading.Event()

    def wait(self) -> None:
        with self.world.database.locked():  # as a write does from its first to its last statement
            self.has_begun.set()
            assert self.may_end.wait(60)


@pytest.fixture
def held(served: Served, monkeypatch: pytest.MonkeyPatch) -> Generator[Held]:
    found = Held(served.world)
    answer: Callable[..., Reply] = dispatch.answer

    def wait_and_answer(world: World, *rest: object, raw_path: str, **named: object) -> Reply:
        if world is served.world and "/git/trees" in raw_path:
            found.wait()
        return answer(world, *rest, raw_path=raw_path, **named)

    monkeypatch.setattr(app.dispatch, "answer", wait_and_answer)
    yield found
    found.may_end.set()


@pytest.fixture
def other(parent: Seeded, served: Served) -> Generator[httpx2.Client]:
    """A client of another world of the same server."""
    with parent.world.fork() as world:
        token = served.server.hosting.issue_token(world, parent.people["bob"])
        headers = {"Authorization": f"token {token}"}
        with httpx2.Client(base_url=served.server.url, headers=headers, timeout=60) as client:
            yield client
        served.server.remove(world)


@pytest.mark.parametrize("asked", [("GET", "/git/trees/main", 200), ("POST", "/git/trees", 422)])
def test_other_worlds_are_answered_while_one_takes_long(
    asked: tuple[str, str, int], client: httpx2.Client, other: httpx2.Client, held: Held, served: Served
) -> None:
    method, path, status = asked
    with ThreadPoolExecutor(4) as threads:
        long = threads.submit(client.request, method, f"/repos/acme/widgets{path}", json={"tree": []})
        assert held.has_begun.wait(60)
        own: list[Future[httpx2.Response]] = [
            threads.submit(httpx2.request, verb, f"{served.server.url}{place}", json=sent, headers=client.headers)
            for verb, place, sent in (
                ("GET", "/user", None),
                ("POST", "/repos/acme/widgets/issues", {"title": "x"}),
                ("POST", "/graphql", {"query": "{ viewer { login } }"}),
            )
        ]

        statuses = [other.get("/user").status_code for _ in range(5)]
        written = other.post("/repos/acme/widgets/issues", json={"title": "x"}).status_code

        assert (statuses, written) == ([200] * 5, 201)
        assert not any(each.done() for each in (long, *own))
        held.may_end.set()
        assert [each.result().status_code for each in own] == [200, 201, 200]
        assert long.result().status_code == status


@pytest.mark.parametrize(
    ("path", "accept", "content", "is_long"),
    [
        ("/user", "", b"", False),
        ("/repos/acme/widgets", "", b"", False),
        ("/repos/acme/widgets/issues", "", b"{}", False),
        ("/repos/acme/widgets/issues", "", b"x" * 100_000, True),
        ("/repos/acme/widgets/git/trees/main", "", b"", True),
        ("/repositories/7/git/blobs/1", "", b"", True),
        ("/repos/acme/widgets/compare/a...b", "", b"", True),
        ("/repos/acme/widgets/contributors", "", b"", True),
        ("/repos/acme/widgets/pulls/7", "application/vnd.github.diff", b"", True),
        ("/search/code", "", b"", True),
        ("/repos/acme/widgets/contents/src/app.py", "", b"", False),
        ("/repos/acme/widgets/contents/src/app.py", "application/vnd.github.raw", b"", True),
    ],
)
def test_what_reads_much_of_git_or_of_a_body_may_take_long(
    path: str, accept: str, content: bytes, is_long: bool
) -> None:
    assert dispatch.may_take_long(path, {"accept": accept}, content) is is_long


def test_a_long_value_is_not_quoted_whole(client: httpx2.Client) -> None:
    reply = client.post("/repos/acme/widgets/issues", json={"title": "x", "body": ["a"] * 1_000_000})

    assert reply.status_code == 422
    assert reply.json()["message"].startswith('Invalid request.\n\nFor \'properties/body\', ["a", "a", ')
    assert reply.json()["message"].endswith("... is not a string.")
    assert len(reply.content) < 3 * body.LONGEST_QUOTE


@pytest.mark.parametrize("size", [0, 1, exchange.PIECE - 1, exchange.PIECE, exchange.PIECE + 1, 3 * exchange.PIECE])
def test_an_answer_of_any_length_arrives_whole(client: httpx2.Client, size: int) -> None:
    sha = client.post("/repos/acme/widgets/git/blobs", json={"content": "x" * size}).json()["sha"]

    reply = client.get(f"/repos/acme/widgets/git/blobs/{sha}", headers={"Accept": "application/vnd.github.raw"})

    assert reply.content == b"x" * size
