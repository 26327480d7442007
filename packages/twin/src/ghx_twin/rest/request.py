"""One REST request as its handler gets it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply
from ghx_twin.rest.body import Body, as_object, parse_body
from ghx_twin.rest.render.view import View
from ghx_twin.urls import BaseUrls
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """How much the viewer may still ask; counted by the server."""

    limit: int = 5000
    used: int = 0
    reset: int = 0  # seconds since 1970
    graphql_limit: int = 5000
    graphql_used: int = 0
    search_limit: int = 30
    search_used: int = 0
    code_search_limit: int = 10
    code_search_used: int = 0
    search_reset: int = 0
    graphql_reset: int = 0
    code_search_reset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRequest:
    """A request that has been routed; what the client wrote is checked where a handler reads it."""

    world: World
    viewer: Viewer
    view: View
    base: BaseUrls
    raw_path: str  # as it came, without the server's prefix
    parameters: dict[str, str]
    query: dict[str, str]
    media: frozenset[str]  # parameters of GitHub's media types in Accept
    headers: Mapping[str, str]  # names in lower case
    content: bytes
    rate: RateLimit

    def acting(self) -> AbstractContextManager[Act]:
        """Open the world for a change by the viewer."""
        return self.world.acting(self.viewer)

    def redirect_to_download(self, path: str) -> Reply:
        """Return the redirect to a file of the downloads' host, signed for a minute."""
        address = f"{self.base.downloads}{self.world.signatures.sign(path)}"
        return Reply(status=302, headers={"Location": address}, media_type="text/html;charset=utf-8")

    def json(self) -> Any:
        """Return the body, whatever JSON it is."""
        return parse_body(self.content)

    def body(self) -> Body:
        """Return the body, which must be an object."""
        return as_object(parse_body(self.content))

    def text(self, name: str) -> str:
        """Return a parameter of the path."""
        return self.parameters[name]

    def number(self, name: str) -> int:
        """Return a number in the path; refuse a text that is no number as not found, like GitHub."""
        text = self.parameters[name]
        if not text.isascii() or not text.isdigit() or int(text[:20]) > _LARGEST:
            raise NotFoundRefusal(f"Could not resolve to a thing with the number of {text[:20]!r}.")
        return int(text)
