"""One HTTP request, its response, and the seam between the client and what carries them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ghx_tools.capabilities.errors import CapabilityError, ErrorCode, UnexpectedResponseError

LARGEST_RESPONSE = 128 << 20
"""Bytes that are read of one response; GitHub sends no file of more than 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An HTTP request."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)  # they hold the token
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An HTTP response; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        """Return the body as JSON that was not checked yet; `None` if it is empty."""
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise UnexpectedResponseError(f"GitHub's answer with status {self.status} is not JSON") from None

    @property
    def text(self) -> str:
        """Return the body as text; bytes that are not UTF-8 are replaced."""
        return self.body.decode("utf-8", "replace")

    @property
    def next_url(self) -> str | None:
        """Return the address of the next page of a list, if there is one."""
        for link in self.headers.get("link", "").split(","):
            address, _, relation = link.partition(";")
            if 'rel="next"' in relation:
                return address.strip().removeprefix("<").removesuffix(">")
        return None


def describe_excess(host: str) -> CapabilityError:
    """Return the error for a response of more than `LARGEST_RESPONSE` bytes."""
    problem = f"the answer of {host} is larger than {LARGEST_RESPONSE >> 20} MB, and was not read; ask for less of it"
    return CapabilityError(problem, error_code=ErrorCode.TOO_LARGE)


class Transport(Protocol):
    """Carries requests to a server; one may carry many at the same time."""

    async def send(self, request: Request, *, patience_s: float) -> Response:
        """Send a request and return the response, whatever its status; redirects are not followed.

        Raises `UnreachableError` where no whole response came, `TimeoutError` where none came in time, and
        `CapabilityError` (`TOO_LARGE`) where one has more than `LARGEST_RESPONSE` bytes. The caller
        does not set the deadline itself, since that takes an event loop, which not every transport has. A cancelled
        request leaves no open connection behind.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open; nothing is sent afterwards."""
        ...
