"""A sandbox for what a session starts: namespaces of its own for files, processes and the network, by bubblewrap.

What it keeps from sessions, and what it does not: `docs/security.md`.
"""

import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, SocketStream

from ghx_bench._base.errors import OperationError

Ring = Literal["plain", "bwrap"]
"""What keeps sessions from the rest of the machine: nothing but what any process of the same account is kept from, or
a sandbox."""

LOOPBACK = "127.0.0.1"

_ENTRY = Path(__file__).with_name("sandbox_entry.py")
_INSIDE = Path("/run/ghx-bench")
_ISOLATION = ("--unshare-all", "--unshare-user", "--die-with-parent", "--hostname", "sandbox")
_LONGEST_LOOK_S = 20.0
_INSTALL = "install bubblewrap (apt install bubblewrap, dnf install bubblewrap), or use `sandbox: plain`"

_current: ContextVar["Sandbox | None"] = ContextVar("_current", default=None)


class NoSandboxError(OperationError):
    """This machine cannot isolate sessions."""

    code: ClassVar[str] = "NO_SANDBOX"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Forward:
    """A port on the loopback of a sandbox, and the socket that leads out of it."""

    address: str
    port: int
    socket_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What the programs of one session are started in; each has namespaces of its own, all see the same files."""

    mounts: tuple[str, ...]
    """What they see of the file system, as options of bubblewrap."""
    sockets: Path
    """A private folder for the sockets that lead out; its path is short, as that of a socket has to be."""
    hosts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Addresses of their own loopback, by the names of the hosts that are reached there."""
    forwards: list[_Forward] = field(default_factory=list[_Forward])

    def wrap(self, command: Sequence[str], environment: Mapping[str, str], directory: Path | None) -> list[str]:
        """Return the command that starts another inside; raise `FileNotFoundError` for a program that is not there."""
        # Looked for here: inside, its absence would be an exit code of the program.
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            raise FileNotFoundError(command[0])
        start_in = directory or Path(environment.get("HOME", "/"))
        # Binding a port below 1024 is a right over the network namespace, which has nothing but its own loopback.
        rights = ("--cap-add", "CAP_NET_BIND_SERVICE") if self.hosts else ()
        return [
            # bubblewrap would end at SIGTERM, and kill the session's program before that could end by itself.
            *("/bin/sh", "-c", 'trap "" TERM; exec "$@"', "sh"),
            *(bwrap_path(), *_ISOLATION, "--cap-drop", "ALL", *rights, *self.mounts),
            *("--ro-bind", str(_ENTRY), str(_INSIDE / "entry.py")),
            *("--ro-bind", str(self.sockets), str(_INSIDE / "sockets")),
            *("--chdir", str(start_in), "--"),
            *(interpreter_path(), "-I", "-S", "-B", str(_INSIDE / "entry.py")),
            *(f"{each.address}:{each.port}={_INSIDE / 'sockets' / each.socket_name}" for each in self.forwards),
            *("--", *command),
        ]


def bwrap_path() -> str:
    """Return where bubblewrap is; raise `NoSandboxError` if it is not installed."""
    found = shutil.which("bwrap")
    if found is None:
        raise NoSandboxError(f"bubblewrap is not on this machine; {_INSTALL}")
    return found


def interpreter_path() -> str:
    """Return the interpreter outside of any virtual environment, which needs nothing but its own installation."""
    return str(Path(sys.executable).resolve())


def require_sandbox() -> str:
    """Return the version of bubblewrap; raise `NoSandboxError` with the reason where it cannot isolate a program."""
    if sys.platform != "linux":
        raise NoSandboxError("`sandbox: bwrap` needs Linux; use `sandbox: plain`, or run the bench in a container")
    words = [bwrap_path(), *_ISOLATION, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/true"]
    try:
        tried = subprocess.run(words, capture_output=True, text=True, timeout=_LONGEST_LOOK_S, check=False)
        told = subprocess.run([words[0], "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoSandboxError(f"bubblewrap cannot be started: {error}; {_INSTALL}") from None
    if tried.returncode:
        reason = next(iter(tried.stderr.strip().splitlines()), f"exit code {tried.returncode}")
        raise NoSandboxError(
            f"bubblewrap may not make namespaces here ({reason}); allow unprivileged user namespaces, "
            "or use `sandbox: plain`"
        )
    return told.stdout.strip()


def current_sandbox() -> Sandbox | None:
    """Return the sandbox of the session that is being held; `None` in the plain ring, and outside of sessions."""
    return _current.get()


@contextmanager
def inside(sandbox: Sandbox) -> Generator[None]:
    """Start every program of this task, and of those that it starts, in a sandbox."""
    token = _current.set(sandbox)
    try:
        yield
    finally:
        _current.reset(token)


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
async def expose_host(host: str, ports: Sequence[int] = (443, 80)) -> AsyncGenerator[None]:
    """Let the session's programs reach a host, which their sandbox has an address for."""
    sandbox = current_sandbox()
    if sandbox is None:
        raise RuntimeError("without a sandbox there is nothing in the way to a host")
    first, *others = ports
    async with _lead_out(sandbox, (sandbox.hosts[host], first), to=(host, first)):
        if not others:
            yield
            return
        async with expose_host(host, others):
            yield


@asynccontextmanager
async def _lead_out(sandbox: Sandbox, inner: tuple[str, int], *, to: tuple[str, int]) -> AsyncGenerator[None]:
    """Forward what is sent to a port inside to an address outside."""
    forward = _Forward(address=inner[0], port=inner[1], socket_name=f"{inner[0]}-{inner[1]}")
    async with (
        await anyio.create_unix_listener(sandbox.sockets / forward.socket_name, mode=0o600) as listener,
        anyio.create_task_group() as serving,
    ):
        serving.start_soon(listener.serve, partial(_connect, to=to))
        sandbox.forwards.append(forward)
        try:
            yield
        finally:
            sandbox.forwards.remove(forward)
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
