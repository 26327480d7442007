"""Bytes that are no HTTP, or hardly: refused with a 4xx, and the server goes on serving."""

import json
from collections.abc import Generator

import httpx2
import pytest
from raw_http import RawClient, parse, read_all

from ghx_twin.server.request import MOST_BYTES, MOST_HEADER_BYTES


@pytest.fixture(autouse=True)
def _still_serving(client: httpx2.Client, caplog: pytest.LogCaptureFixture) -> Generator[None]:
    """Whatever a test here has sent: the next client is served, and nothing of ours has failed."""
    yield
    assert client.get("/user").status_code == 200
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    "content",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET user HTTP/1.1\r\n\r\n",
        b"GET ? HTTP/1.1\r\n\r\n",
        b"BREW /user HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT github.com:443 HTTP/1.1\r\nHost: github.com:443\r\n\r\n",
        b"GET /users/\xff\xfe HTTP/1.1\r\n\r\n",
        b"GET /users?since=\xff HTTP/1.1\r\n\r\n",
        b"GET http:// HTTP/1.1\r\n\r\n",
        b"GET http://github.com HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /user HTTP/1.1\r\nno colon here\r\n\r\n",
        b"GET /user HTTP/1.1\r\nX: a\rb\r\n\r\n",
        b"POST /user/repos HTTP/1.1\r\nContent-Length: -4\r\n\r\n{}",
        b"POST /user/repos HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
        b"POST /user/repos HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_no_http_is_a_bad_request(raw: RawClient, content: bytes) -> None:
    assert raw.exchange(content).status == 400


def test_garbage_where_a_chunk_should_begin_is_a_bad_request(raw: RawClient) -> None:
    reply = raw.ask(b"POST /user/repos HTTP/1.1", b"Transfer-Encoding: chunked", body=b'5\r\n{"nam\r\nzz\r\n')

    assert reply.status == 400


def test_a_body_in_chunks_is_read_as_one(raw: RawClient) -> None:
    chunks = b'8\r\n{"name":\r\n6\r\n "new"\r\n1\r\n}\r\n0\r\n\r\n'

    reply = raw.ask(b"POST /user/repos HTTP/1.1", b"Transfer-Encoding: chunked", body=chunks)

    assert reply.status == 201


@pytest.mark.parametrize(
    "target", [b"http://api.github.com/user", b"http://anything.example/user", b"https://x:1/user"]
)
def test_a_target_in_absolute_form_is_served(raw: RawClient, target: bytes) -> None:
    reply = raw.ask(b"GET " + target + b" HTTP/1.1")

    assert reply.status == 200
    assert json.loads(reply.content)["login"] == "ann"


@pytest.mark.parametrize(
    "target",
    [
        b"*",
        b"/user//repos",
        b"/./user",
        b"/../user",
        b"/user/%2e%2e/user",
        b"/%2e%2e/%2e%2e/etc/passwd",
        b"/user%00",
        b"/users/%ff%fe%00",
        b"/users/%zz%2",
        b"/users/%u0041",
        b"/repos/acme/widgets%2fissues",
        b"/repos/" + b"a/" * 10_000,
        b"/repos/acme/widgets/contents/" + b"a/" * 10_000,
        b"/repos/acme/widgets/compare/" + b"." * 20_000,
    ],
)
def test_a_strange_target_is_not_found(raw: RawClient, target: bytes) -> None:
    reply = raw.ask(b"GET " + target + b" HTTP/1.1")

    assert reply.status == 404
    assert json.loads(reply.content)["message"]


@pytest.mark.parametrize("host", [b"a b", b'"<>', b"a/b", b"a@b", b"x:y", b"\xff", b"[::1", b"a,b", b"%00"])
def test_a_host_that_is_none_is_a_bad_request(raw: RawClient, host: bytes) -> None:
    reply = raw.exchange(b"GET /user HTTP/1.1\r\nConnection: close\r\nHost: " + host + b"\r\n\r\n")

    assert reply.status == 400


def test_headers_without_end_are_refused(raw: RawClient) -> None:
    long = raw.ask(b"GET /user HTTP/1.1", b"X-Long: " + b"a" * MOST_HEADER_BYTES)
    many = raw.ask(b"GET /user HTTP/1.1", *(b"X-%d: a" % number for number in range(20_000)))

    assert (long.status, many.status) == (431, 431)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"Accept: \xff\xfe", 415),
        (b"User-Agent: \xff\xfe", 200),
        (b'If-None-Match: \xff,,"', 200),
        (b"X-GitHub-Api-Version: \xff", 400),
        (b"Content-Type: \xff", 200),
        (b"Accept-Encoding: \xff", 200),
        (b"Range: bytes=9-1", 200),
        (b"Expect: 200-maybe", 200),
    ],
)
def test_a_header_of_nonsense_does_no_harm(raw: RawClient, header: bytes, status: int) -> None:
    assert raw.ask(b"GET /user HTTP/1.1", header).status == status


def test_an_upgrade_to_another_protocol_is_not_taken_up(raw: RawClient) -> None:
    wanted = (b"Upgrade: websocket", b"Sec-WebSocket-Key: eA==", b"Sec-WebSocket-Version: 13")

    assert raw.ask(b"GET /user HTTP/1.1", *wanted).status == 200


def test_a_body_that_is_announced_as_larger_than_anything_is_refused_at_once(raw: RawClient) -> None:
    reply = raw.ask(b"POST /user/repos HTTP/1.1", b"Content-Length: 9999999999999", body=b"{}")

    assert reply.status == 413
    assert reply.headers["connection"] == "close"


def test_a_client_that_waits_for_permission_to_send_is_refused_before_it_sends(raw: RawClient) -> None:
    announced = b"Content-Length: %d" % (MOST_BYTES + 1)

    reply = raw.ask(b"POST /user/repos HTTP/1.1", announced, b"Expect: 100-continue")

    assert reply.status == 413


def test_clients_that_go_away_midway_do_no_harm(raw: RawClient) -> None:
    beginnings = [
        b"GET /us",
        raw.head(b"GET /user HTTP/1.1"),
        raw.head(b"POST /user/repos HTTP/1.1", b"Content-Length: 1000") + b'\r\n{"name": "half',
        raw.head(b"POST /user/repos HTTP/1.1", b"Transfer-Encoding: chunked") + b"\r\n5\r\n{",
        raw.head(b"POST /graphql HTTP/1.1", b"Content-Length: 1000") + b'\r\n{"query',
        raw.head(b"POST /acme/widgets.git/git-receive-pack HTTP/1.1", b"Content-Length: 1000") + b"\r\n0099",
        raw.head(b"POST /acme/widgets.git/git-upload-pack HTTP/1.1", b"Content-Length: 1000") + b"\r\n0099",
    ]
    for beginning in beginnings:
        connection = raw.connect()
        connection.sendall(beginning)
        connection.close()


def test_a_slow_client_keeps_nobody_waiting(raw: RawClient, client: httpx2.Client) -> None:
    slow = [raw.connect() for _ in range(3)]
    body = b'{"name": "slow"}'
    for connection, line in zip(
        slow,
        (
            b"POST /user/repos HTTP/1.1",
            b"POST /graphql HTTP/1.1",
            b"POST /acme/widgets.git/git-receive-pack HTTP/1.1",
        ),
        strict=True,
    ):
        connection.sendall(raw.head(line, b"Content-Length: %d" % len(body)) + b"\r\n" + body[:3])

    meanwhile = client.post("/user/repos", json={"name": "fast"})
    asked = client.post("/graphql", json={"query": "{ viewer { login } }"})
    for byte in body[3:]:
        slow[0].sendall(bytes([byte]))

    assert meanwhile.status_code == 201
    assert asked.json() == {"data": {"viewer": {"login": "ann"}}}
    assert parse(read_all(slow[0])).status == 201


def test_many_requests_in_one_packet_are_answered_in_order(raw: RawClient) -> None:
    one = f"GET /users/{{}} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {raw.token}\r\n"
    requests = [one.format(login) for login in ("ann", "bob", "nobody")]
    connection = raw.connect()
    connection.sendall("\r\n".join([*requests, ""])[:-2].encode() + b"\r\nConnection: close\r\n\r\n"[2:])

    answers = read_all(connection)

    assert [part[:3] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"404"]
