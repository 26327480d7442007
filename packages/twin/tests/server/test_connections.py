"""Connections that nothing happens on give way, and a head without end is not read."""

import contextlib
import resource
import socket
import ssl
import threading
from http.client import HTTPSConnection
from urllib.parse import urlsplit

import pytest
from raw_http import RawClient, parse, read_all
from served_world import Served

from ghx_twin.server.clients import proxy
from ghx_twin.server.loopback import MOST_HEAD_BYTES, BoundedProtocol, most_connections


@pytest.fixture
def few_connections(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(BoundedProtocol, "most_connections", 8)
    return 8


def is_closed_by_server(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


PART = b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nAuthorization: token TOKEN\r\nContent-Length: 100\r\n\r\n{"


@pytest.mark.parametrize("begin", [b"", b"GET /user HT", PART], ids=["nothing", "half a line", "half a body"])
def test_connections_on_which_nothing_happens_do_not_keep_others_out(
    begin: bytes, few_connections: int, raw: RawClient
) -> None:
    idle = []
    for _ in range(4 * few_connections):
        idle.append(raw.connect())
        idle[-1].sendall(begin.replace(b"TOKEN", raw.token.encode()))
        # One after the other is certain to be accepted before the request that follows.
        assert raw.ask(b"GET /user HTTP/1.1").status == 200

    open_still = [connection for connection in idle if not is_closed_by_server(connection)]

    assert len(open_still) <= 2 * few_connections
    assert idle[-1] in open_still


def test_who_has_most_connections_gives_way_before_who_keeps_one_for_later(
    few_connections: int, raw: RawClient, served: Served
) -> None:
    def keep_open(token: str) -> socket.socket:
        connection = raw.connect()
        connection.sendall(
            f"HEAD /rate_limit HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {token}\r\n\r\n".encode()
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        return connection

    kept = keep_open(served.token("bob"))  # the oldest of all
    greedy = [keep_open(raw.token) for _ in range(4 * few_connections)]

    assert not is_closed_by_server(kept)
    assert sum(map(is_closed_by_server, greedy)) >= 2 * few_connections - 1


def test_connections_through_a_proxy_count_and_give_way_too(
    few_connections: int, raw: RawClient, served: Served
) -> None:
    client = served.server.client_environment(served.world, "ann")
    place = urlsplit(client.variables["HTTPS_PROXY"])
    trust = ssl.create_default_context(cafile=client.variables["SSL_CERT_FILE"])
    with contextlib.ExitStack() as stack:
        for _ in range(4 * few_connections):
            tunnel = HTTPSConnection(str(place.hostname), place.port, context=trust, timeout=300)
            stack.callback(tunnel.close)
            tunnel.set_tunnel("api.github.com", 443)
            tunnel.connect()

        assert raw.ask(b"GET /user HTTP/1.1").status == 200


def test_a_proxy_keeps_few_connections_that_lead_nowhere(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_UNANSWERED", 8)
    place = urlsplit(served.server.client_environment(served.world, "ann").variables["HTTPS_PROXY"])
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection((str(place.hostname), place.port))) for _ in range(32)]
        idle[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert idle[-1].recv(100).startswith(b"HTTP/1.1 400")  # so the others were accepted before

        assert sum(map(is_closed_by_server, idle[:-1])) == 32 - 8


def test_a_request_that_is_being_answered_gives_way_to_nobody(few_connections: int, raw: RawClient) -> None:
    replies: list[int] = []

    def ask() -> None:
        replies.extend(raw.ask(b"GET /repos/acme/widgets/issues HTTP/1.1").status for _ in range(5))

    askers = [threading.Thread(target=ask) for _ in range(few_connections - 2)]
    for asker in askers:
        asker.start()
    for _ in range(few_connections):
        raw.connect()
    for asker in askers:
        asker.join()

    assert replies == [200] * 5 * (few_connections - 2)


@pytest.mark.parametrize("part", [b"X-A: " + b"a" * 1_000 + b"\r\n", b"a" * 1_000], ids=["many headers", "one header"])
def test_a_head_that_never_ends_is_refused_while_it_comes(part: bytes, raw: RawClient) -> None:
    connection = raw.connect()
    connection.sendall(b"GET /user HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
    sent = 0
    try:
        while sent < 100 * MOST_HEAD_BYTES:
            connection.sendall(part * 16)
            sent += len(part) * 16
    except OSError:  # it does not read on
        pass

    assert sent < 100 * MOST_HEAD_BYTES
    assert (received := read_all(connection)) == b"" or parse(received).status == 431


def test_a_long_body_is_no_head(raw: RawClient) -> None:
    body = b" " * 2 * MOST_HEAD_BYTES

    reply = raw.ask(b"POST /graphql HTTP/1.1", f"Content-Length: {len(body)}".encode(), body=body)

    assert reply.status == 400


def test_the_limit_leaves_most_descriptors_to_the_rest_of_the_process() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert 64 <= most_connections() <= max(64, soft // 4 if soft > 0 else 1024)
