"""One HTTP request, its answer, and the seam through which they go."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked; its headers hold the token, so that it is never shown."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What was answered; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Carries requests to a server; one may carry many at the same time."""

    async def send(self, request: Request) -> Response:
        """Send a request and return the answer, whatever its status; redirects are not followed.

        Raises `UnreachableError` where no whole answer came. Deadlines belong to the caller: a cancelled request
        leaves no open connection behind.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open; nothing is sent afterwards."""
        ...
