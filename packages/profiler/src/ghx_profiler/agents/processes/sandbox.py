"""A sandbox for what a session starts: namespaces of its own for files, processes and the network, by bubblewrap.

What it keeps from sessions, and what it does not: `docs/security.md`.
"""

import hashlib
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import ClassVar, Literal

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ghx_base.errors import OperationError
from ghx_base.files.scratch import SHORT_PLACE, ScratchFolder
from ghx_profiler.records.causes import EnvironmentFailure

Ring = Literal["plain", "bwrap"]
"""What keeps sessions from the rest of the machine: nothing but what any process of the same account is kept from, or
a sandbox."""

LOOPBACK = "127.0.0.1"

_OF_NETWORK = ("--unshare-user", "--unshare-net", "--die-with-parent")
_SAME_FILES = ("--dev-bind", "/", "/")
_OF_PROGRAMS = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--cap-drop", "ALL", "--hostname", "sandbox"),
)
# bubblewrap would end at SIGTERM, and kill the session's program before that could end by itself.
# Its mounts come from a file: they name folders of the machine, and a session reads its command in /proc/1/cmdline.
_DEAF_TO_SIGTERM = ("/bin/sh", "-c", 'trap "" TERM; exec "$@" 9<"$0"')
_OPTIONS_FROM_FILE = ("--args", "9")
_HEARING_IT_AGAIN = ("/usr/bin/env", "--default-signal=TERM", "-u", "PWD")  # bubblewrap sets PWD
_SHARED = ("/tmp", "/var/tmp")  # noqa: S108 - of a session, whose commands all see what one of them wrote there
_KEEPER = Path(__file__).with_name("sandbox_network.py")
_LONGEST_LINE = 4096
_LONGEST_LOOK_S = 20.0
_INSTALL = "install bubblewrap (apt install bubblewrap, dnf install bubblewrap), or use `sandbox: plain`"

MountsFor = Callable[[tuple[Path, ...]], Sequence[str]]
"""Returns what a program sees of the file system, as options of bubblewrap, from the files that it is started from."""

_current: ContextVar["Sandbox | None"] = ContextVar("_current", default=None)


class NoSandboxError(OperationError):
    """This machine cannot isolate sessions."""

    code: ClassVar[str] = "NO_SANDBOX"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What the programs of one session are started in: they share files and a network, and see no others' processes."""

    mounts_for: MountsFor
    network: "_Network"
    hosts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Addresses of their own loopback, by the names of the hosts that are reached there."""

    def wrap(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        directory: Path | None,
        started_from: tuple[Path, ...] = (),
    ) -> list[str]:
        """Return the command that starts another inside; raise `FileNotFoundError` for a program that is not there."""
        # Looked for here: inside, its absence would be an exit code of the program.
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            raise FileNotFoundError(command[0])
        mounts = self.mounts_for(started_from)
        _clear_links(mounts)
        start_in = directory or Path(environment.get("HOME", "/"))
        return [
            *(*_DEAF_TO_SIGTERM, str(self.network.write_options(mounts))),
            *self.network.entrance,
            *(_find("bwrap"), *_OF_PROGRAMS, *_OPTIONS_FROM_FILE, "--chdir", str(start_in), "--"),
            *_HEARING_IT_AGAIN,
            *command,
        ]


def _clear_links(mounts: Sequence[str]) -> None:
    """Remove links that a session put into its folder for /tmp where something is mounted: bubblewrap follows them."""
    binds = zip(mounts, mounts[1:], mounts[2:], strict=False)
    shared = {place: Path(source) for option, source, place in binds if option == "--bind" and place in _SHARED}
    for place, inside in product(shared, mounts):
        if inside.startswith(f"{place}/"):
            _clear_link(shared[place], Path(inside).relative_to(place))


def _clear_link(folder: Path, path: Path) -> None:
    for part in path.parts:
        folder /= part
        if folder.is_symlink():
            folder.unlink()
            return


class _Network:
    """A network with nothing but a loopback, and the process that keeps it and forwards ports of it."""

    def __init__(self, keeper: Process, sockets: Path) -> None:
        if keeper.stdin is None or keeper.stdout is None:
            raise RuntimeError("a program was started without its pipes")
        self.sockets = sockets
        self.entrance: tuple[str, ...] = ()
        self._keeper, self._orders, self._answers = keeper, keeper.stdin, BufferedByteReceiveStream(keeper.stdout)

    async def start(self) -> None:
        """Wait until there is a network to enter."""
        # Programs enter it, instead of each having one of its own: starting what forwards takes longer than they do.
        namespaces = ("--preserve-credentials", "--user", "--net", "--target", await self._read_answer())
        self.entrance = (_find("nsenter"), *namespaces, "--")

    def write_options(self, options: Sequence[str]) -> Path:
        """Return a file with options of bubblewrap, which no session sees; it is there as long as the network."""
        content = "".join(f"{each}\0" for each in options).encode()
        file = self.sockets / hashlib.sha256(content).hexdigest()[:16]
        if not file.exists():
            # Agents of a project start programs in threads of their own.
            draft = file.with_suffix(f".{threading.get_ident()}")
            draft.write_bytes(content)
            draft.replace(file)
        return file

    async def forward(self, address: str, port: int, socket: Path) -> None:
        """Have a port inside lead to a socket outside."""
        await self._orders.send(f"{address}:{port}={socket}\n".encode())
        if problem := await self._read_answer():
            raise EnvironmentFailure(f"the sandbox of the session has no way out: {problem}")

    async def _read_answer(self) -> str:
        try:
            return (await self._answers.receive_until(b"\n", _LONGEST_LINE)).decode()
        except (anyio.IncompleteRead, anyio.EndOfStream):
            raise EnvironmentFailure("the network of the session's sandbox could not be made") from None


def _find(program: str) -> str:
    """Return where a program of the sandbox is; raise `NoSandboxError` if it is not installed."""
    path = shutil.which(program)
    if path is None:
        raise NoSandboxError(f"{program} is not on this machine; {_INSTALL}")
    return path


def require_sandbox() -> str:
    """Return the version of bubblewrap; raise `NoSandboxError` with the reason where it cannot isolate a program."""
    if sys.platform != "linux":
        raise NoSandboxError("`sandbox: bwrap` needs Linux; use `sandbox: plain`, or run the bench in a container")
    bwrap, _ = _find("bwrap"), _find("nsenter")
    machine = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
    inner = (bwrap, *_OF_PROGRAMS, *machine, "--", *_HEARING_IT_AGAIN, "/bin/true")
    try:
        tried = _run(bwrap, *_OF_NETWORK, *_SAME_FILES, "--", *inner)
        result = _run(bwrap, "--version")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSandboxError(f"bubblewrap cannot be started: {error}; {_INSTALL}") from None
    if tried.returncode:
        reason = next(iter(tried.stderr.strip().splitlines()), f"exit code {tried.returncode}")
        raise NoSandboxError(
            f"bubblewrap cannot make a sandbox here ({reason}); allow unprivileged user namespaces, "
            "or use `sandbox: plain`"
        )
    return result.stdout.strip()


def _run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, timeout=_LONGEST_LOOK_S, check=False)


@cache
def bounded_tmpfs(place: str, most_bytes: int) -> tuple[str, ...]:
    """Return the options for files in memory; before version 0.8, bubblewrap cannot limit their size."""
    size = ("--size", str(most_bytes)) if "--size " in _run(_find("bwrap"), "--help").stdout else ()
    return (*size, "--tmpfs", place)


def current_sandbox() -> Sandbox | None:
    """Return the sandbox of the current session; `None` without isolation and outside of sessions."""
    return _current.get()


@asynccontextmanager
async def open_sandbox(mounts_for: MountsFor, hosts: Mapping[str, str] | None = None) -> AsyncGenerator[Sandbox]:
    """Start every program of this task, and of the tasks that it starts, in a sandbox."""
    rights = ("--cap-add", "CAP_NET_BIND_SERVICE") if hosts else ()  # to listen on port 443 of its own network
    # The path of a socket is short.
    with ScratchFolder(SHORT_PLACE) as sockets:
        keeper = await anyio.open_process(
            [_find("bwrap"), *_OF_NETWORK, *rights, *_SAME_FILES, "--", sys.executable, "-I", "-S", "-B", str(_KEEPER)],
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            start_new_session=True,
        )
        try:
            network = _Network(keeper, sockets)
            await network.start()
            sandbox = Sandbox(mounts_for=mounts_for, network=network, hosts=hosts or {})
            token = _current.set(sandbox)
            try:
                yield sandbox
            finally:
                _current.reset(token)
        finally:
            with anyio.CancelScope(shield=True):
                with suppress(ProcessLookupError):
                    keeper.kill()
                await keeper.aclose()


@asynccontextmanager
async def expose_port(port: int) -> AsyncGenerator[None]:
    """Let the session's programs reach a port of this machine's loopback on their own; without a sandbox they do."""
    sandbox = current_sandbox()
    if sandbox is None:
        yield
        return
    async with _lead_out(sandbox, (LOOPBACK, port), to=(LOOPBACK, port)):
        yield


@asynccontextmanager
async def expose_host(host: str, port: int) -> AsyncGenerator[None]:
    """Let the session's programs reach a port of a host, which their sandbox has an address for."""
    sandbox = current_sandbox()
    if sandbox is None:
        raise RuntimeError("without a sandbox there is nothing in the way to a host")
    async with _lead_out(sandbox, (sandbox.hosts[host], port), to=(host, port)):
        yield


@asynccontextmanager
async def _lead_out(sandbox: Sandbox, inner: tuple[str, int], *, to: tuple[str, int]) -> AsyncGenerator[None]:
    """Forward what is sent to a port inside to an address outside."""
    socket = sandbox.network.sockets / f"{inner[0]}-{inner[1]}"
    async with (
        await anyio.create_unix_listener(socket, mode=0o600) as listener,
        anyio.create_task_group() as serving,
    ):
        serving.start_soon(listener.serve, partial(_connect, to=to))
        await sandbox.network.forward(*inner, socket)
        try:
            yield
        finally:
            serving.cancel_scope.cancel()


async def _connect(client: SocketStream, *, to: tuple[str, int]) -> None:
    """Connect one client with what it wants to reach, until both sides have ended."""
    async with client:
        try:
            server = await anyio.connect_tcp(*to)
        except OSError:
            return
        async with server, anyio.create_task_group() as copying:
            copying.start_soon(_copy, client, server)
            copying.start_soon(_copy, server, client)


async def _copy(source: ByteReceiveStream, sink: ByteSendStream) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in source:
            await sink.send(chunk)
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        if isinstance(sink, SocketStream):
            await sink.send_eof()
