"""Which token selects which world, and as whom."""

import hashlib
import secrets
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

import anyio

from ghx_bench.twin.server.rates import Rates
from ghx_bench.twin.state.records import Token, User
from ghx_bench.twin.viewer import EVERY_SCOPE, Viewer
from ghx_bench.twin.world import World


@dataclass(slots=True, kw_only=True, eq=False)
class Hosted:
    """A world on a server, with the gate that its writers pass one at a time."""

    world: World
    gate: anyio.Lock = field(default_factory=anyio.Lock)
    rates: Rates = field(default_factory=Rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a credential opens."""

    hosted: Hosted
    viewer: Viewer


class Hosting:
    """The worlds of one server by token; worlds come and go while it serves."""

    def __init__(self) -> None:
        self._access: dict[str, tuple[Hosted, int, frozenset[str]]] = {}
        self._hosted: dict[int, Hosted] = {}
        self._lock = threading.Lock()

    def add(self, world: World) -> None:
        """Serve a world to the tokens it holds itself, except those that already open another."""
        tokens = world.database.all(Token)
        with self._lock:
            hosted = self._hosted.setdefault(id(world), Hosted(world=world))
            for token in tokens:
                self._access.setdefault(token.token, (hosted, token.user_id, frozenset(token.scopes)))

    def remove(self, world: World) -> None:
        """Stop serving a world; its tokens are unknown from now on."""
        with self._lock:
            hosted = self._hosted.pop(id(world), None)
            self._access = {token: entry for token, entry in self._access.items() if entry[0] is not hosted}

    def issue_token(self, world: World, user: User, scopes: Iterable[str] = EVERY_SCOPE) -> str:
        """Return a fresh token for a user of a world; the server knows it, the world does not, so no diff shows it."""
        token = f"ghp_{hashlib.sha256(secrets.token_bytes(32)).hexdigest()[:36]}"
        with self._lock:
            hosted = self._hosted.setdefault(id(world), Hosted(world=world))
            self._access[token] = (hosted, user.id, frozenset(scopes))
        return token

    def open(self, token: str) -> Access | None:
        """Return the world and the viewer behind a token; None for an unknown one or one whose user is gone."""
        with self._lock:
            entry = self._access.get(token)
        if entry is None:
            return None
        hosted, user_id, scopes = entry
        try:
            user = hosted.world.database.get(User, user_id)
        except sqlite3.ProgrammingError:  # the world was closed and is still here
            return None
        return None if user is None else Access(hosted=hosted, viewer=Viewer(user=user, scopes=scopes))
