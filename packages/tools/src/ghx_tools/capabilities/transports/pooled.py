"""HTTP with TLS, proxies and kept connections, by an HTTP library: for every GitHub that is not on this machine."""

from urllib.parse import urlsplit
from urllib.request import getproxies

import anyio
import httpx2

from ghx_base.errors import InputError
from ghx_tools.capabilities.errors import UnreachableError
from ghx_tools.capabilities.transports.exchange import LARGEST_RESPONSE, Request, Response, describe_excess

_BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class PooledTransport:
    """Many requests over few connections; the environment names proxies and certificates."""

    def __init__(self, client: httpx2.AsyncClient | None = None) -> None:
        self._client = client or _make_client()

    async def send(self, request: Request, *, patience_s: float) -> Response:
        """Send a request over a connection that is free, or a new one."""
        try:
            with anyio.fail_after(patience_s):
                async with self._client.stream(
                    request.method, request.url, headers=dict(request.headers), content=request.body or None
                ) as response:
                    body = await _read_body(response)
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise UnreachableError(f"the address of GitHub cannot be used: {error}", sent=False) from None
        except httpx2.RequestError as error:
            # `sent` decides whether a change may be made again: only where no byte of it can have left.
            host, reason = httpx2.URL(request.url).host, str(error) or type(error).__name__
            problem = f"cannot reach GitHub at {host}: {reason}"
            raise UnreachableError(problem, sent=not isinstance(error, _BEFORE_SENDING)) from None
        return Response(status=response.status_code, headers=dict(response.headers), body=body)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


async def _read_body(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for part in response.aiter_bytes():  # decompressed: a small answer may unfold to any size
        body += part
        if len(body) > LARGEST_RESPONSE:
            raise describe_excess(response.url.host)
    return bytes(body)


def _make_client() -> httpx2.AsyncClient:
    """Return a client with the proxies and certificates that the environment names; raise `InputError` for bad ones."""
    try:
        for address in getproxies().values():
            _ = urlsplit(address).port  # raises: the library would notice only when it connects, and not say why
        # `send` sets deadlines; our client follows redirects itself, so that the token is not sent to other hosts.
        return httpx2.AsyncClient(timeout=None, follow_redirects=False)
    except (ValueError, OSError, httpx2.InvalidURL) as error:
        # Not the whole text: of a proxy's address it might show the password.
        reason = error.strerror if isinstance(error, OSError) else "no address"
        raise InputError(
            f"a proxy or certificate that the environment names cannot be used ({reason}); "
            "check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        ) from None
