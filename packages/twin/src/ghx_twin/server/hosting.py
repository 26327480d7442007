"""Which token selects which world, and as whom."""

import hashlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import anyio
import anyio.to_thread

from ghx_twin.queries.apps import app_access, check_json_web_token, find_app, issuer_of
from ghx_twin.server.rates import Rates
from ghx_twin.state.records import Token, User
from ghx_twin.viewer import ANONYMOUS, EVERY_SCOPE, AppAccess, Viewer
from ghx_twin.world import World

T = TypeVar("T")


class OpenRequests:
    """How many requests to a world have begun and not ended."""

    def __init__(self) -> None:
        self._count = 0
        self._changing = threading.Condition()  # threads: worlds are removed outside the server's event loop

    def begin(self) -> None:
        """Count one more."""
        with self._changing:
            self._count += 1

    def end(self) -> None:
        """Count one less."""
        with self._changing:
            self._count -= 1
            self._changing.notify_all()

    def wait_for_none(self, timeout_s: float) -> None:
        """Wait until there are none, at most `timeout_s`."""
        with self._changing:
            self._changing.wait_for(lambda: self._count == 0, timeout_s)


@dataclass(slots=True, kw_only=True, eq=False)
class Hosted:
    """A world on a server, with the lock of its writers, its rate limits and its open requests.

    What takes long is done in a thread, so that other worlds are served meanwhile. It has the world to itself: a thread
    may hold its database, and the event loop must never wait for that.
    """

    world: World
    uses_threads: bool
    write_lock: anyio.Lock = field(default_factory=anyio.Lock)
    rates: Rates = field(default_factory=Rates)
    open_requests: OpenRequests = field(default_factory=OpenRequests)
    looks: dict[bytes, int] = field(default_factory=dict[bytes, int])
    """How often clients read the same while a run has not ended, by a hash of the request."""
    _is_in_thread: bool = False

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Do what takes long; the caller has the write lock."""
        if not self.uses_threads:
            return work()
        self._is_in_thread = True
        try:
            return await anyio.to_thread.run_sync(work)
        finally:
            self._is_in_thread = False

    @property
    def is_in_thread(self) -> bool:
        """Return whether a thread works in the world."""
        return self._is_in_thread

    async def wait_for_thread(self) -> None:
        """Wait until no thread works in the world; until the caller awaits anything, none begins to."""
        if self._is_in_thread:
            async with self.write_lock:
                pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a credential opens."""

    hosted: Hosted
    viewer: Viewer
    token_name: str | None = None
    """What the token was called when it was issued here; several of one user are told apart by it."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """What a token stands for in one world."""

    user_id: int
    scopes: frozenset[str]
    app: AppAccess | None = None
    expires_at: str | None = None
    name: str | None = None


class Hosting:
    """The worlds of one server by token; worlds come and go while it serves.

    A token opens a world only if no other one here holds it: copies of a world hold the same tokens, and nothing says
    which of them is meant. Tokens that are issued here are always unique.

    With `uses_threads`, what takes long is done in threads. In process it is not, since the one who asks may be holding
    the world.
    """

    def __init__(self, *, uses_threads: bool = False) -> None:
        self._uses_threads = uses_threads
        self._grants: dict[str, dict[int, _Grant]] = {}  # by token, then by the id() of the world
        self._hosted: dict[int, Hosted] = {}
        self._default: World | None = None
        self._lock = threading.Lock()

    def add(self, world: World, *, is_default: bool = False) -> None:
        """Serve a world to the tokens it holds itself; one that another world here holds as well opens neither.

        The default world is the one that requests without a token are for, where nothing else says which is meant.
        """
        tokens = world.database.all(Token)
        with self._lock:
            if is_default:
                self._default = world
            self._hosted.setdefault(id(world), Hosted(world=world, uses_threads=self._uses_threads))
            for token in tokens:
                self._grants.setdefault(token.token, {})[id(world)] = _grant_of(world, token)

    def remove(self, world: World) -> Hosted | None:
        """Stop serving a world; its tokens are unknown from now on, unless another world holds them.

        Requests that began before may still use it: the returned `open_requests` counts them.
        """
        with self._lock:
            if self._default is world:
                self._default = None
            for token, grants in list(self._grants.items()):
                if grants.pop(id(world), None) is not None and not grants:
                    del self._grants[token]
            return self._hosted.pop(id(world), None)

    def add_token(self, world: World, token: str) -> None:
        """Serve a world to one more token, which was made in it meanwhile."""
        record = world.database.one(Token, token=token)
        with self._lock:
            if record is not None and id(world) in self._hosted:
                self._grants[token] = {id(world): _grant_of(world, record)}

    def find(self, world: World) -> Hosted | None:
        """Return a world as it is served here."""
        with self._lock:
            return self._hosted.get(id(world))

    def remove_token(self, token: str) -> None:
        """Serve nothing to a token any more, which was revoked."""
        with self._lock:
            self._grants.pop(token, None)

    def issue_token(
        self,
        world: World,
        user: User,
        scopes: Iterable[str] = EVERY_SCOPE,
        app: AppAccess | None = None,
        *,
        name: str | None = None,
    ) -> str:
        """Return a fresh token for a user of a world; the server knows it, the world does not, so no diff shows it.

        The journal has its `name` with every request that comes with it.
        """
        token = f"ghp_{hashlib.sha256(secrets.token_bytes(32)).hexdigest()[:36]}"
        with self._lock:
            self._hosted.setdefault(id(world), Hosted(world=world, uses_threads=self._uses_threads))
            self._grants[token] = {id(world): _Grant(user.id, frozenset(scopes), app, name=name)}
        return token

    def open(self, token: str) -> Access | None:
        """Return the world and the viewer behind a token; None if it is unknown or ambiguous, or its user gone."""
        access = self.begin_request(token)
        if access is not None:
            access.hosted.open_requests.end()
        return access

    async def wait_for_worlds(self, world: World | None) -> None:
        """Wait until no thread works in a world, or in any: an app names none, and `begin_app_request` asks them."""
        with self._lock:
            hosted = [one for one in self._hosted.values() if world is None or one.world is world]
        while busy := next((one for one in hosted if one.is_in_thread), None):
            await busy.wait_for_thread()

    async def wait_for_world(self, token: str) -> None:
        """Wait until no thread works in the world that a token opens; `begin_request` asks its database."""
        with self._lock:
            hosted = [self._hosted[world] for world in self._grants.get(token, ())]
        for each in hosted:
            await each.wait_for_thread()

    def begin_request(self, token: str) -> Access | None:
        """Return what `open` returns, with the world's `open_requests` begun; the caller ends it."""
        with self._lock:
            grants = self._grants.get(token, {})
            if len(grants) != 1:
                return None
            ((world, grant),) = grants.items()
            if grant.expires_at is not None and grant.expires_at <= _now():
                return None
            hosted = self._hosted[world]
            hosted.open_requests.begin()  # inside the lock: `remove` must not see none and close the world
        try:
            user = hosted.world.database.get(User, grant.user_id)
        except sqlite3.ProgrammingError:  # the world was closed and is still here
            user = None
        if user is None:
            hosted.open_requests.end()
            return None
        viewer = Viewer(user=user, scopes=grant.scopes, app=grant.app)
        return Access(hosted=hosted, viewer=viewer, token_name=grant.name)

    def begin_app_request(self, token: str, world: World | None) -> Access | None:
        """Return access for an app that has signed its token, in a world or in the only one here that knows the app.

        Raises `JsonWebTokenError` for a token that is not acceptable.
        """
        issuer = issuer_of(token)
        with self._lock:
            places = [self._hosted.get(id(world))] if world is not None else list(self._hosted.values())
            open_places = [one for one in places if one is not None and not one.world.is_closed]
            matching = [
                (one, app) for one in open_places if issuer and (app := find_app(one.world, issuer)) is not None
            ]
            if len(matching) != 1:
                return None
            ((hosted, app),) = matching
            check_json_web_token(app, token, time.time())
            user = hosted.world.database.get(User, app.user_id)
            if user is None:
                return None
            hosted.open_requests.begin()
        return Access(hosted=hosted, viewer=Viewer(user=user, scopes=frozenset(), app=AppAccess(app_id=app.id)))

    def begin_signed_request(self, path: str, query: str) -> Access | None:
        """Return access to the world that has signed a path, as `begin_request` does; who asks is not known."""
        with self._lock:
            for hosted in self._hosted.values():
                if not hosted.world.is_closed and hosted.world.signatures.opens(path, query):
                    hosted.open_requests.begin()
                    return Access(hosted=hosted, viewer=ANONYMOUS)
        return None

    def begin_anonymous_request(self, world: World | None) -> Access | None:
        """Return access to what is public in a world, or in the default one, as `begin_request` does."""
        with self._lock:
            hosted = self._hosted.get(id(world or self._default))
            if hosted is None or hosted.world.is_closed:
                return None
            hosted.open_requests.begin()
        return Access(hosted=hosted, viewer=ANONYMOUS)


def _grant_of(world: World, token: Token) -> _Grant:
    app = app_access(world, token)
    return _Grant(token.user_id, EVERY_SCOPE if app else frozenset(token.scopes), app, token.expires_at)


def _now() -> str:
    # By this machine's clock: tokens of apps expire by the clock of those who hold them, not by the world's.
    return f"{datetime.now(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
