"""The way to a model through the proxy of the person who runs the bench."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.streams.tls import TLSListener
from metered_conversations import ask_for, served
from wire_clients import wire_client

from ghx_base.errors import InputError
from ghx_profiler.agents.metering.meter import Meter
from ghx_profiler.agents.metering.metered_session import MeteredSession
from ghx_profiler.agents.metering.model_provider import ModelProvider
from ghx_profiler.agents.metering.upstream import HttpProxy, HttpUpstream
from ghx_twin.server.clients.authority import make_certificates

pytestmark = pytest.mark.anyio

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


async def answer(stream: Any) -> None:
    async with stream:
        await stream.receive()
        await stream.send(ANSWER)


@asynccontextmanager
async def asked_through(proxy: str, base_url: str) -> AsyncIterator[tuple[int, MeteredSession]]:
    """Ask a model once, and yield the status of its answer."""
    upstream = HttpUpstream(base_url, HttpProxy.at(proxy))
    async with Meter({"openai-chat": ModelProvider(name="far", upstream=upstream)}) as meter:
        with meter.session() as session:
            async with wire_client(session.base_url, session.key) as client:
                response = await client.ask(ask_for("openai-chat", stream=False))
            yield response.status_code, session


async def test_a_provider_without_tls_is_asked_for_by_its_whole_address() -> None:
    requests: list[bytes] = []

    async def serve(stream: Any) -> None:
        async with stream:
            requests.append(await stream.receive())
            await stream.send(ANSWER)

    async with (
        served(serve) as proxy,
        asked_through(proxy.replace("//", "//me:a%20b@"), "http://models.example:81/v1") as (status, _),
    ):
        assert status == 200

    secret = base64.b64encode(b"me:a b")
    assert requests[0].startswith(
        b"POST http://models.example:81/v1/chat/completions HTTP/1.1\r\nhost: models.example:81\r\n"
    )
    assert b"\r\nproxy-authorization: Basic " + secret + b"\r\n" in requests[0]


async def test_a_provider_with_tls_is_reached_through_a_tunnel_that_the_proxy_cannot_look_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = make_certificates(tmp_path, ["models.example"])
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    requests: list[bytes] = []

    async def pass_on(source: Any, target: Any) -> None:
        async for piece in source:
            await target.send(piece)

    async def serve(stream: Any) -> None:
        async with stream, await anyio.connect_tcp("127.0.0.1", port) as provider:
            requests.append(await stream.receive())
            await stream.send(b"HTTP/1.1 200 Connection established\r\nvia: us\r\n\r\n")
            async with anyio.create_task_group() as both:
                both.start_soon(pass_on, stream, provider)
                await pass_on(provider, stream)
                both.cancel_scope.cancel()

    async with TLSListener(listener, certificates.context) as secure, anyio.create_task_group() as group:
        group.start_soon(secure.serve, answer)
        async with served(serve) as proxy, asked_through(proxy, "https://models.example/v1") as (status, session):
            assert (status, session.calls[0].status) == (200, 200)
        group.cancel_scope.cancel()
    assert requests == [b"CONNECT models.example:443 HTTP/1.1\r\nhost: models.example:443\r\n\r\n"]


async def test_a_proxy_that_refuses_is_named() -> None:
    async def serve(stream: Any) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")

    async with served(serve) as proxy, asked_through(proxy, "https://models.example/v1") as (status, session):
        error = session.calls[0].error or ""

    assert status == 502
    assert "models.example through the proxy 127.0.0.1:" in error
    assert "407" in error


@pytest.mark.parametrize(
    ("address", "environment", "host"),
    [
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://proxy:3128"}, "proxy"),
        ("https://api.openai.com/v1", {"https_proxy": "one:1", "HTTPS_PROXY": "other:1"}, "one"),
        ("https://api.openai.com/v1", {"HTTP_PROXY": "http://proxy:3128"}, None),
        ("https://api.openai.com/v1", {"ALL_PROXY": "http://proxy:3128"}, "proxy"),
        ("http://models.example:8000", {"http_proxy": "http://proxy:3128"}, "proxy"),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "example.com,.openai.com"}, None),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://proxy:1", "no_proxy": "*"}, None),
        ("https://api.openai.com/v1", {"HTTPS_PROXY": "http://proxy:1", "no_proxy": "api.openai.com:443"}, None),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://proxy:1"}, None),
        ("http://localhost:8000/v1", {"HTTP_PROXY": "http://proxy:1"}, None),
    ],
)
def test_the_proxy_is_the_one_that_the_environment_names(
    address: str, environment: dict[str, str], host: str | None
) -> None:
    proxy = HttpProxy.find(address, environment)
    assert (None if proxy is None else proxy.host) == host


def test_a_proxy_that_is_not_known_how_to_use_is_told_without_its_password() -> None:
    with pytest.raises(InputError, match=r"socks5://proxy:1080.*NO_PROXY") as raised:
        ModelProvider.at(
            "openai",
            "https://api.openai.com/v1",
            key_variable=None,
            environment={"ALL_PROXY": "socks5://me:secret@proxy:1080"},
        )
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("address", ["http://me:secret@proxy:abc", "http://proxy:99999", "http://[proxy"])
def test_an_address_that_is_none_is_refused_in_a_line(address: str) -> None:
    def find(base_url: str, environment: dict[str, str]) -> ModelProvider:
        return ModelProvider.at("openai", base_url, key_variable=None, environment=environment)

    with pytest.raises(InputError, match=r"http://host:port.*set HTTPS_PROXY") as raised:
        find("https://api.openai.com/v1", {"HTTPS_PROXY": address})
    assert "secret" not in str(raised.value)
    with pytest.raises(InputError, match="is no address"):
        find(address, {"HTTP_PROXY": "http://proxy:3128"})
