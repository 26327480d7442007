"""Whatever a client sends to any REST operation gets an answer in GitHub's shape, and never a fault of ours."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import hostile_requests as hostile
import pytest
from asgi_client import AsgiClient, AsgiReply
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rest_world import Seeded

from ghx_twin.rest.operation import Operation
from ghx_twin.rest.operations import OPERATIONS
from ghx_twin.server.hosting import Hosting

pytestmark = pytest.mark.slow

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "")
TOKENS = ("ann", "bob", "eve")


@dataclass
class Bench:
    """The parent world and an application that hosts one fork after the other."""

    parent: Seeded
    hosting: Hosting
    client: AsgiClient

    def asked(self, login: str, method: str, target: bytes, **sent: Any) -> AsgiReply:
        """Ask a fork of the world; say whether it has changed by what was refused."""
        with self.parent.world.fork() as world:
            token = self.hosting.issue_token(world, self.parent.people[login])
            before = world.database.last_change()
            reply = self.client.ask(method, target, token=token, **sent)
            assert reply.status < 400 or world.database.last_change() == before
            self.hosting.remove(world)
        return reply


@pytest.fixture(scope="module")
def bench(parent: Seeded) -> Generator[Bench]:
    hosting = Hosting()
    client = AsgiClient(hosting)
    yield Bench(parent, hosting, client)
    client.close()


def check(reply: AsgiReply, *, head: bool = False) -> None:
    """Say whether an answer is one that GitHub could give."""
    assert reply.status == 501 or 200 <= reply.status < 500, reply
    if head or reply.status in {204, 304}:
        assert reply.content == b""
        return
    if not reply.headers["content-type"].startswith("application/json"):
        assert reply.status == 200
        return
    body = json.loads(reply.content)
    json.dumps(body, ensure_ascii=False).encode()
    if reply.status >= 400:
        assert isinstance(body["message"], str)
        assert body["documentation_url"].startswith("https://docs.github.com/")
        assert body["status"] == str(reply.status)


def known(parent: Seeded) -> list[object]:
    return [*parent.ids.values(), *parent.shas.values(), *parent.people, "main", "feature/x", "v1", "src/app.py", "bug"]


@given(data=st.data(), operation=st.sampled_from(OPERATIONS), login=st.sampled_from(TOKENS))
@settings(max_examples=4 * settings.default.max_examples)
def test_any_request_to_any_operation_is_answered(
    bench: Bench, data: st.DataObject, operation: Operation, login: str
) -> None:
    target = data.draw(hostile.paths(operation, known(bench.parent)))
    query = urlencode(data.draw(hostile.queries()), errors="surrogatepass").encode()
    body = b"" if operation.method == "GET" else json.dumps(data.draw(hostile.bodies())).encode()
    headers = {"accept": accept} if (accept := data.draw(hostile.MEDIA)) else {}

    reply = bench.asked(login, operation.method, target, query=query, body=body, headers=headers)

    check(reply)


@given(
    operation=st.sampled_from(OPERATIONS),
    method=st.sampled_from(METHODS),
    body=st.one_of(st.binary(max_size=60), st.sampled_from([b"[" * 100_000, b'{"a":' * 5000, b"\xff\xfe", b"{}" * 2])),
    data=st.data(),
)
@example(operation=OPERATIONS[0], method="GET", body=b"\0", data=None)
@settings(max_examples=2 * settings.default.max_examples)
def test_any_method_with_any_bytes_is_answered(
    bench: Bench, operation: Operation, method: str, body: bytes, data: st.DataObject | None
) -> None:
    target = b"/" if data is None else data.draw(hostile.paths(operation, known(bench.parent)))

    reply = bench.asked("ann", method, target, body=body, headers={"content-type": "text/plain"})

    check(reply, head=method == "HEAD")


@given(target=st.binary(max_size=60), query=st.binary(max_size=60), host=st.text(st.characters(codec="latin-1")))
@settings(max_examples=2 * settings.default.max_examples)
def test_any_target_query_and_host_are_answered(bench: Bench, target: bytes, query: bytes, host: str) -> None:
    reply = bench.asked("ann", "GET", b"/" + target, query=query, host=host)

    assert 200 <= reply.status < 500


def test_the_names_of_fields_are_found_in_the_handlers() -> None:
    assert {"title", "labels", "per_page", "merge_method", "content", "event"} <= set(hostile.known_names())
