"""Which transport reaches an address, and how a unix socket is spoken to."""

import types
from collections.abc import Generator
from pathlib import Path

import pytest
from scripted_server import scripted_server

from ghx_base.errors import InputError
from ghx_tools.capabilities.client import transport_for
from ghx_tools.capabilities.environment import blocking_client_from_environment
from ghx_tools.capabilities.errors import UnreachableError
from ghx_tools.capabilities.transports.blocking import BlockingTransport, run_to_end
from ghx_tools.capabilities.transports.exchange import Request
from ghx_tools.capabilities.transports.plain import PlainTransport
from ghx_tools.capabilities.transports.pooled import PooledTransport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("make", [PlainTransport, BlockingTransport])
async def test_a_unix_socket_is_spoken_to_as_the_host_it_leads_to(
    tmp_path_factory: pytest.TempPathFactory, make: type[PlainTransport | BlockingTransport]
) -> None:
    place = Path(tmp_path_factory.mktemp("s")) / "gh.sock"
    with scripted_server([OK], socket_path=place) as server:
        transport = make(socket_path=str(place))
        response = await transport.send(Request(method="GET", url=f"{server.url}/user", headers={}), patience_s=60)

    assert response.body == b"{}"
    assert server.requests[0].startswith(b"GET /user HTTP/1.1\r\nHost: api.github.com\r\n")


@pytest.mark.parametrize("make", [PlainTransport, BlockingTransport])
async def test_a_unix_socket_that_is_not_there_is_named(
    tmp_path: Path, make: type[PlainTransport | BlockingTransport]
) -> None:
    request = Request(method="GET", url="http://api.github.com/user", headers={})
    with pytest.raises(UnreachableError, match=r"gone\.sock: No such file") as caught:
        await make(socket_path=str(tmp_path / "gone.sock")).send(request, patience_s=60)

    assert not caught.value.sent


def test_only_what_needs_tls_needs_an_event_loop(tmp_path: Path) -> None:
    def blocking(**variables: str) -> bool:
        return blocking_client_from_environment({"HOME": str(tmp_path), **variables}) is not None

    assert blocking(GITHUB_API_URL="http://127.0.0.1:8000")
    assert blocking(GHX_UNIX_SOCKET="/gh.sock")
    assert not blocking()
    assert not blocking(GITHUB_API_URL="http://ghe.example.com/api/v3")


def test_a_coroutine_that_waits_for_an_event_loop_is_not_run_without_one() -> None:
    @types.coroutine
    def wait() -> Generator[None]:
        yield

    async def waiting() -> None:
        await wait()

    with pytest.raises(RuntimeError, match="event loop"):
        run_to_end(waiting())


async def test_a_whole_http_library_is_loaded_only_where_it_is_needed() -> None:
    chosen = [type(transport_for(url)) for url in ("http://127.0.0.1:8000", "http://localhost", "http://[::1]:1")]
    assert chosen == [PlainTransport] * 3

    for url in ("https://api.github.com", "http://ghe.example.com/api/v3", "https://127.0.0.1"):
        transport = transport_for(url)
        assert isinstance(transport, PooledTransport)
        await transport.aclose()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HTTPS_PROXY", "gopher://octo:s3cret@127.0.0.1:1"),
        ("HTTPS_PROXY", "http://octo:s3cret@127.0.0.1:99999"),
        ("HTTPS_PROXY", "http://octo:s3cret@[::1"),
        ("SSL_CERT_FILE", "s3cret.pem"),
        ("SSL_CERT_FILE", __file__),
    ],
)
async def test_a_proxy_or_certificate_of_no_use_is_one_line_without_passwords(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(InputError, match=variable) as caught:
        transport_for("https://api.github.com")

    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
