"""A seeded world behind real sockets, and clients that have a token for it."""

from dataclasses import dataclass
from typing import Any

import httpx2
from rest_world import Seeded

from ghx_twin.server.loopback import Server
from ghx_twin.viewer import EVERY_SCOPE
from ghx_twin.world import World


@dataclass(frozen=True)
class Served:
    """A world behind sockets."""

    server: Server
    world: World
    seeded: Seeded

    def token(self, login: str = "ann", scopes: frozenset[str] = EVERY_SCOPE) -> str:
        return self.server.hosting.issue_token(self.world, self.seeded.people[login], scopes)

    def client(self, login: str = "ann", **options: Any) -> httpx2.Client:
        """Return a client of the REST API at the root of the server's own address."""
        headers = {"Authorization": f"Bearer {self.token(login)}"}
        return httpx2.Client(
            base_url=self.server.url, headers=headers, trust_env=False, timeout=300, verify=False, **options
        )
