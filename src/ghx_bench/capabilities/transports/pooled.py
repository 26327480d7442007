"""HTTPS, proxies and connections that are kept: the whole of an HTTP library, for github.com and its kind."""

from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from ghx_bench._base.errors import InputError
from ghx_bench.capabilities.errors import UnreachableError
from ghx_bench.capabilities.transports.exchange import Request, Response

_BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class PooledTransport:
    """Many requests over few connections; proxies and certificates come from the environment, as everybody's do."""

    def __init__(self, client: httpx2.AsyncClient | None = None) -> None:
        self._client = client or _client()

    async def send(self, request: Request) -> Response:
        """Send a request over a connection that is free, or a new one."""
        try:
            answer = await self._client.request(
                request.method, request.url, headers=dict(request.headers), content=request.body or None
            )
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise UnreachableError(f"the address of GitHub cannot be used: {error}", sent=False) from None
        except httpx2.RequestError as error:
            host, reason = httpx2.URL(request.url).host, str(error) or type(error).__name__
            problem = f"cannot reach GitHub at {host}: {reason}"
            raise UnreachableError(problem, sent=not isinstance(error, _BEFORE_SENDING)) from None
        return Response(status=answer.status_code, headers=dict(answer.headers), body=answer.content)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _client() -> httpx2.AsyncClient:
    """Return a client as the environment wants it; what it names is read now, and may be of no use."""
    try:
        for address in getproxies().values():
            _ = urlsplit(address).port  # the library would find out only when it connects, and not say it in words
        return httpx2.AsyncClient(timeout=None, follow_redirects=False)
    except (ValueError, OSError, httpx2.InvalidURL) as error:
        # Not the whole text: of a proxy's address it might show the password.
        reason = error.strerror if isinstance(error, OSError) else "no address"
        raise InputError(
            f"a proxy or certificate that the environment names cannot be used ({reason}); "
            "check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        ) from None
