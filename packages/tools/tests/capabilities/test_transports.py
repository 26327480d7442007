"""All transports keep the same contract, against servers that behave and servers that do not."""

import gzip
import socket
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

import pytest
from scripted_server import scripted_server

from ghx_tools.capabilities.errors import CapabilityError, ErrorCode, UnreachableError
from ghx_tools.capabilities.transports import http1, pooled
from ghx_tools.capabilities.transports.blocking import BlockingTransport
from ghx_tools.capabilities.transports.exchange import Request, Response, Transport
from ghx_tools.capabilities.transports.plain import PlainTransport
from ghx_tools.capabilities.transports.pooled import PooledTransport

TRANSPORTS = [PlainTransport, PooledTransport, BlockingTransport]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-One: a\r\n\r\n{}"

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("make", TRANSPORTS)]


async def exchange(make: Callable[[], Transport], answer: bytes, **given: object) -> tuple[Response, bytes]:
    with scripted_server([answer]) as server:
        request = Request(**{"method": "GET", "url": f"{server.url}/a%20b?c=d", "headers": {"X-Mine": "1"}, **given})
        response = await send(make(), request)
    return response, server.requests[0]


async def send(transport: Transport, request: Request, *, patience_s: float = 60) -> Response:
    try:
        return await transport.send(request, patience_s=patience_s)
    finally:
        await transport.aclose()


async def test_a_request_is_sent_as_it_was_given(make: Callable[[], Transport]) -> None:
    _, sent = await exchange(make, OK, method="POST", body=b'{"a":1}')

    head, _, body = sent.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert lines[0] == b"post /a%20b?c=d http/1.1"
    assert b"x-mine: 1" in lines
    assert b"content-length: 7" in lines
    assert body == b'{"a":1}'


async def test_an_answer_comes_back_with_status_headers_and_body(make: Callable[[], Transport]) -> None:
    response, _ = await exchange(make, OK)

    assert (response.status, response.body, response.headers["x-one"]) == (200, b"{}", "a")


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx", b"x"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", b"abcd"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", b""),
    ],
)
async def test_every_form_of_an_answer_is_read(make: Callable[[], Transport], answer: bytes, body: bytes) -> None:
    response, _ = await exchange(make, answer)

    assert response.status == int(answer[9:12])
    assert response.body == body


async def test_a_header_that_comes_twice_is_one_list(make: Callable[[], Transport]) -> None:
    response, _ = await exchange(make, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nLink: a\r\nLink: b\r\n\r\n")

    assert response.headers["link"] == "a, b"


async def test_nothing_was_sent_where_nobody_listens(make: Callable[[], Transport]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"

    with pytest.raises(UnreachableError) as caught:
        await send(make(), Request(method="GET", url=url, headers={}))

    assert not caught.value.sent


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    ],
)
async def test_half_an_answer_is_none(make: Callable[[], Transport], answer: bytes) -> None:
    with pytest.raises(UnreachableError) as caught:
        await exchange(make, answer)

    assert caught.value.sent


async def test_a_server_that_never_answers_is_not_waited_for_forever(make: Callable[[], Transport]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        request = Request(method="GET", url=f"http://127.0.0.1:{silent.getsockname()[1]}/", headers={})
        with pytest.raises(TimeoutError):
            await send(make(), request, patience_s=0.05)


async def test_headers_are_in_no_representation(make: Callable[[], Transport]) -> None:
    request = Request(method="GET", url="http://127.0.0.1/", headers={"Authorization": "Bearer s3cret"})

    assert "s3cret" not in repr(request)
    assert "s3cret" not in repr(make())


async def test_nothing_is_sent_in_the_clear_to_where_tls_is_asked_for(make: Callable[[], Transport]) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(UnreachableError) as caught:
            await send(make(), Request(method="GET", url=url, headers={"Authorization": "Bearer s3cret"}))

    assert not caught.value.sent
    assert caught.value.retryable == (make is PooledTransport)


async def test_an_answer_that_is_announced_is_waited_for(make: Callable[[], Transport]) -> None:
    response, _ = await exchange(make, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK)

    assert (response.status, response.body, "link" in response.headers) == (200, b"{}", False)


@pytest.mark.parametrize("answer", [b"Content-Length: 5000\r\n\r\n", b"Connection: close\r\n\r\n"])
async def test_an_endless_answer_is_not_read_to_its_end(
    make: Callable[[], Transport], answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (http1, pooled):
        monkeypatch.setattr(module, "LARGEST_RESPONSE", 4_000)

    with pytest.raises(CapabilityError) as caught:
        await exchange(make, b"HTTP/1.1 200 OK\r\n" + answer + b"x" * 5_000)

    assert caught.value.error_code == ErrorCode.TOO_LARGE


async def test_a_small_answer_does_not_unfold_to_any_size(
    make: Callable[[], Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooled, "LARGEST_RESPONSE", 4_000)
    packed = gzip.compress(b"x" * 100_000)
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    if make is not PooledTransport:  # the others ask for no compression, and undo none
        assert (await exchange(make, answer))[0].body == packed
        return

    with pytest.raises(CapabilityError) as caught:
        await exchange(make, answer)

    assert caught.value.error_code == ErrorCode.TOO_LARGE


@contextmanager
def named(monkeypatch: pytest.MonkeyPatch, port: int, *, addresses: int) -> Generator[str]:
    """Yield a name with so many addresses, at each of which a server listens that takes no more connections."""
    look_up = socket.getaddrinfo
    with ExitStack() as stack:
        for number in range(1, addresses + 1):
            listening = stack.enter_context(socket.create_server((f"127.0.0.{number}", port), backlog=0))
            port = listening.getsockname()[1]
            for _ in range(2):  # one more than the backlog: from here on the system answers nothing
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(listening.getsockname())

        def find(host: str | bytes, *given: object, **options: object) -> object:
            hosts = (
                [f"127.0.0.{number}" for number in range(1, addresses + 1)]
                if host in {"many.test", b"many.test"}
                else [host]
            )
            return [found for each in hosts for found in look_up(each, *given, **options)]

        monkeypatch.setattr(socket, "getaddrinfo", find)
        yield f"http://many.test:{port}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere not all of 127.0.0.0/8 is this machine")
async def test_all_addresses_of_a_name_share_one_deadline(
    make: Callable[[], Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    with named(monkeypatch, 0, addresses=4) as url:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await send(make(), Request(method="GET", url=url, headers={}), patience_s=1)

    assert time.monotonic() - began < 3
