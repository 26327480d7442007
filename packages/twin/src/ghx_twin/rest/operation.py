"""An operation of the REST API: a method of a path, and what serves it."""

from collections.abc import Callable
from dataclasses import dataclass

from ghx_twin.reply import Reply
from ghx_twin.rest.request import RestRequest

Handler = Callable[[RestRequest], Reply]


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path template in GitHub's spelling, and what serves it."""

    method: str
    template: str
    handler: Handler
    own_scope: str | None = None  # where it is not the one of the template's first segment
    needs_token: bool = False  # also where everything requested is public
    own_media: str | None = None  # a media type that it sends next to those of the API

    @property
    def name(self) -> str:
        """Return method and template, as the journal shows it."""
        return f"{self.method} {self.template}"

    @property
    def summary(self) -> str:
        """Return what it does, in GitHub's words."""
        return (self.handler.__doc__ or "").strip().splitlines()[0].removesuffix(".")

    @property
    def mutates(self) -> bool:
        """Return whether it may change the world."""
        return self.method != "GET"

    @property
    def scope(self) -> str:
        """Return the token's scope it asks for, empty where it asks for none."""
        if self.own_scope is not None:
            return self.own_scope
        return "repo" if self.template.startswith("/repos/") else ""
