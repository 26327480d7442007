"""HTTP/1.1 as bytes: a request written, a response read; for transports that bring their own sockets."""

from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from ghx_tools.capabilities.errors import UnreachableError
from ghx_tools.capabilities.transports.exchange import LARGEST_RESPONSE, Request, Response, describe_excess

_HTTP_PORT = 80
_FIRST_FINAL_STATUS = 200


def find_server(request: Request, socket_path: str | None) -> tuple[str, int]:
    """Return host and port of a request; raise `UnreachableError` if it asks for TLS and no socket leads there."""
    place = urlsplit(request.url)
    host = place.hostname or ""
    if place.scheme != "http" and socket_path is None:
        # A server on this machine redirected to one with TLS; without it, the request could be read on its way.
        problem = f"{host} is asked over {place.scheme}, and a server without TLS led there; ask it by its own address"
        raise UnreachableError(problem, sent=False, retryable=False)
    return host, place.port or _HTTP_PORT


def describe_refusal(place: str, error: OSError) -> UnreachableError:
    """Return the error for a connection that could not be made."""
    return UnreachableError(f"cannot reach GitHub at {place}: {error.strerror or 'no connection'}", sent=False)


def describe_loss(host: str) -> UnreachableError:
    """Return the error for a connection that ended too early."""
    return UnreachableError(f"{host} closed the connection before it answered", sent=True)


def serialize(request: Request) -> bytes:
    """Return a request as it goes over the wire."""
    place = urlsplit(request.url)
    target = f"{place.path or '/'}?{place.query}" if place.query else place.path or "/"
    host = place.netloc.rpartition("@")[2]
    # Closed by the server after the response: no connection outlives its request, so there is no pool to manage.
    headers = {"Host": host, **request.headers, "Connection": "close", "Content-Length": str(len(request.body))}
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


class ResponseReader:
    """Reads one response of `host` from the parts in which it comes."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._parser = HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        self._received = 0
        self._has_all_headers = False
        self._is_complete = False

    def feed(self, content: bytes) -> Response | None:
        """Take the next part, an empty one if the connection has ended; return the response as soon as it is whole."""
        self._received += len(content)
        if self._received > LARGEST_RESPONSE:
            raise describe_excess(self._host)
        if content:
            try:
                self._parser.feed_data(content)
            except (HttpParserError, HttpParserUpgrade):  # it may also switch to another protocol, unasked
                raise UnreachableError(f"{self._host} answered something that is not HTTP", sent=True) from None
        else:
            # Without a length a response ends with its connection; with one, this is only a part of it.
            if not self._has_all_headers or self._headers.keys() & {"content-length", "transfer-encoding"}:
                raise describe_loss(self._host)
            self._is_complete = True
        if not self._is_complete:
            return None
        return Response(status=self._parser.get_status_code(), headers=self._headers, body=b"".join(self._parts))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header from the parser."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        # A header that comes twice is one list, by the rules of HTTP.
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        """Take note that the body begins."""
        self._has_all_headers = True

    def on_body(self, body: bytes) -> None:
        """Take a part of the body from the parser."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Take note that the response is whole; one with a status below 200 only announces another."""
        if self._parser.get_status_code() >= _FIRST_FINAL_STATUS:
            self._is_complete = True
            return
        self._headers.clear()
        self._has_all_headers = False
