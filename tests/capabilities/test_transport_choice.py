"""Which transport reaches an address, and how a unix socket is spoken to."""

from pathlib import Path

import pytest
from scripted_server import scripted_server

from ghx_bench._base.errors import InputError
from ghx_bench.capabilities.client import transport_for
from ghx_bench.capabilities.transports.exchange import Request
from ghx_bench.capabilities.transports.plain import PlainTransport
from ghx_bench.capabilities.transports.pooled import PooledTransport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

pytestmark = pytest.mark.anyio


async def test_a_unix_socket_is_spoken_to_as_the_host_it_leads_to(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = Path(tmp_path_factory.mktemp("s")) / "gh.sock"
    with scripted_server([OK], socket_path=place) as server:
        transport = transport_for(server.url, socket_path=str(place))
        response = await transport.send(Request(method="GET", url=f"{server.url}/user", headers={}), patience_s=60)

    assert response.body == b"{}"
    assert server.requests[0].startswith(b"GET /user HTTP/1.1\r\nHost: api.github.com\r\n")


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
