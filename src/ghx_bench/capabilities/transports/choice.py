"""Which transport reaches an address."""

from urllib.parse import urlsplit

from ghx_bench.capabilities.transports.exchange import Transport
from ghx_bench.capabilities.transports.plain import PlainTransport

_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


def transport_for(url: str, *, socket_path: str | None = None) -> Transport:
    """Return what carries requests to `url`: nothing is loaded, and no certificate read, that it does not need."""
    place = urlsplit(url)
    if socket_path is not None or (place.scheme == "http" and place.hostname in _THIS_MACHINE):
        return PlainTransport(socket_path=socket_path)
    from ghx_bench.capabilities.transports.pooled import PooledTransport  # noqa: PLC0415 - slow, and often not needed

    return PooledTransport()
