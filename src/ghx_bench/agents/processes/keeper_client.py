"""The bench's side of keepers: programs that they start, with pipes to these."""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from subprocess import PIPE
from typing import Any

import anyio
import anyio.lowlevel
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteSendStream, Process

from ghx_bench.profiler.causes import EnvironmentFailure

_PROGRAM = Path(__file__).with_name("keeper.py")
_START_S = 60.0
"""How long a program may take to start; a machine that is out of memory may never start one."""
_LEAST_PATIENCE_S = 5.0


@dataclass(slots=True)
class PipeReader(ByteReceiveStream):
    """The reading end of a pipe."""

    file: int
    count: Callable[[int], None] | None = None
    """Told how many bytes were read."""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Return what was written, or wait for it."""
        await anyio.lowlevel.checkpoint()
        while True:
            _require_open(self.file)
            try:
                chunk = os.read(self.file, max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self.file)
                continue
            if not chunk:
                raise anyio.EndOfStream
            if self.count is not None:
                self.count(len(chunk))
            return chunk

    async def aclose(self) -> None:
        """Close this end."""
        self.file = _close(self.file)


@dataclass(slots=True)
class PipeWriter(ByteSendStream):
    """The writing end of a pipe."""

    file: int

    async def send(self, item: bytes) -> None:
        """Write, and wait where the pipe is full."""
        await anyio.lowlevel.checkpoint()
        left = memoryview(item)
        while left:
            _require_open(self.file)
            try:
                left = left[os.write(self.file, left) :]
            except BlockingIOError:
                await anyio.wait_writable(self.file)
            except OSError as error:
                raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Close this end."""
        self.file = _close(self.file)


_CLOSED = -1


def _require_open(file: int) -> None:
    if file == _CLOSED:
        raise anyio.ClosedResourceError


def _close(file: int) -> int:
    if file != _CLOSED:
        anyio.notify_closing(file)
        os.close(file)
    return _CLOSED


@dataclass(slots=True, kw_only=True)
class KeptProgram(Process):
    """A program that a keeper started, and waits for."""

    _pid: int
    _status: PipeReader
    _stdin: PipeWriter
    _stdout: PipeReader
    _stderr: PipeReader | None
    _exit_code: int | None = None
    _is_waited_for: anyio.Lock = field(default_factory=anyio.Lock)

    async def wait(self) -> int:
        """Wait until the program has ended, and return its exit code."""
        async with self._is_waited_for:
            while (code := self.returncode) is None:
                await anyio.wait_readable(self._status.file)
            return code

    async def aclose(self) -> None:
        """Close the pipes and wait for the program; it is killed if that is cancelled."""
        with anyio.CancelScope(shield=True):
            for stream in (self._stdin, self._stdout, self._stderr):
                if stream is not None:
                    await stream.aclose()
        try:
            await self.wait()
        except BaseException:
            self.kill()
            raise
        finally:
            await self._status.aclose()

    def terminate(self) -> None:
        """Ask the program to end."""
        self.send_signal(15)

    def kill(self) -> None:
        """End the program by force."""
        self.send_signal(SIGKILL)

    def send_signal(self, signal: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self._pid, signal)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._pid

    @property
    def returncode(self) -> int | None:
        """Its exit code, or `None` while it runs."""
        if self._exit_code is None:
            try:
                said = os.read(self._status.file, 4096)
            except BlockingIOError:
                return None
            # A keeper that says nothing was killed, and its programs with it.
            self._exit_code = json.loads(said)["exit"] if said else -SIGKILL
        return self._exit_code

    @property
    def stdin(self) -> PipeWriter:
        """Its standard input."""
        return self._stdin

    @property
    def stdout(self) -> PipeReader:
        """Its standard output."""
        return self._stdout

    @property
    def stderr(self) -> PipeReader | None:
        """Its standard error, where that is a pipe."""
        return self._stderr


class KeeperConnection:
    """The line to a keeper; once it is closed, or this process is gone, the keeper kills what it has started."""

    def __init__(self, line: socket.socket) -> None:
        self.pid: int | None = None
        """The process id of the keeper; unknown before it has started a program."""
        self._line = line

    async def start(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: Path | None,
        stderr: int | None,
        count_output: Callable[[int], None] | None = None,
    ) -> KeptProgram:
        """Start a program; raise as `subprocess` does where that is not possible."""
        request = {
            "command": [os.fspath(word) for word in command],
            "environment": dict(environment),
            "directory": None if directory is None else str(directory),
            "stderr": stderr,
        }
        ours, theirs = _open_pipes(with_stderr=stderr == PIPE)
        status, stdin, stdout, *others = ours
        try:
            if stderr is None:
                theirs.append(os.dup(2))
            theirs.insert(0, _write_json(request))
            try:
                self._send(theirs)
            finally:
                # Before the answer is waited for: a keeper that is killed meanwhile is noticed by the end of its pipe.
                _close_all(theirs)
            told = await self._wait_for_start(PipeReader(status))
        except BaseException:
            _close_all(ours)
            raise
        self.pid = told["keeper"]
        return KeptProgram(
            _pid=told["pid"],
            _status=PipeReader(status),
            _stdin=PipeWriter(stdin),
            _stdout=PipeReader(stdout, count_output),
            _stderr=PipeReader(others[0], count_output) if others else None,
        )

    def _send(self, files: Sequence[int]) -> None:
        try:
            socket.send_fds(self._line, [b"s"], list(files))
        except OSError as error:
            raise EnvironmentFailure("the process that keeps the session's programs was killed") from error

    async def _wait_for_start(self, status: PipeReader) -> dict[str, Any]:
        try:
            with anyio.fail_after(_START_S):
                # Both lines may be there at once; of the second, the exit code, the bytes stay in the pipe.
                said = b""
                while not said.endswith(b"\n"):
                    said += await status.receive(1)
                told: dict[str, Any] = json.loads(said)
        except anyio.EndOfStream:
            raise EnvironmentFailure("the process that keeps the session's programs was killed") from None
        except TimeoutError:
            raise EnvironmentFailure(f"a program of the session did not start within {_START_S:.0f} s") from None
        if "errno" in told:
            raise OSError(told["errno"], os.strerror(told["errno"]), told["filename"])
        if "refused" in told:
            raise ValueError(told["refused"])
        return told

    def holds_descendants(self) -> bool:
        """Return whether all processes of its programs descend from the keeper, also those whose parents have ended."""
        if sys.platform != "linux":
            return False
        try:
            return bool(self._line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))  # its end: it was killed
        except BlockingIOError:
            return self.pid is not None
        except OSError:
            return False

    async def end(self, patience_s: float) -> bool:
        """Have the keeper kill what is left, and wait until it has; return whether it has in time."""
        with self._line, suppress(OSError):  # it was killed
            self._line.shutdown(socket.SHUT_WR)
            with anyio.move_on_after(max(patience_s, _LEAST_PATIENCE_S)) as waiting:
                await anyio.wait_readable(self._line)  # it says nothing: this is its end
            return not waiting.cancelled_caught
        return True


def _open_pipes(*, with_stderr: bool) -> tuple[list[int], list[int]]:
    """Return our ends of pipes for a program's status, input, output and errors, and the other ends."""
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for name in ("status", "stdin", "stdout", *(("stderr",) if with_stderr else ())):
            reading, writing = os.pipe()
            ours.append(writing if name == "stdin" else reading)
            theirs.append(reading if name == "stdin" else writing)
            os.set_blocking(ours[-1], False)
    except OSError:  # no more files may be open
        _close_all([*ours, *theirs])
        raise
    return ours, theirs


def _write_json(value: object) -> int:
    """Return a file with a request in it: it may be larger than what a socket takes at once."""
    if sys.platform == "linux":
        file = os.memfd_create("request")
    else:
        handle, path = tempfile.mkstemp()
        os.unlink(path)  # noqa: PTH108 - it is a text
        file = handle
    with os.fdopen(os.dup(file), "wb") as opened:
        opened.write(json.dumps(value).encode())
    return file


def _close_all(files: Sequence[int]) -> None:
    for each in files:
        os.close(each)


class _Launcher:
    """The process that forks keepers, started when the first is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._owner: int = 0
        self.pid: int = 0

    def open_keeper(self) -> KeeperConnection:
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            # A second time: it may have been killed since, as all that a session can see may be.
            for _ in range(2):
                try:
                    socket.send_fds(self._connect(), [b"k"], [theirs.fileno()])
                except OSError:
                    self._line = None
                else:
                    return KeeperConnection(ours)
        ours.close()
        raise EnvironmentFailure("the process that starts the programs of sessions does not come up")

    def _connect(self) -> socket.socket:
        # One that was forked off, as workers may be, has none: with the line it would share that of its parent.
        if self._line is None or self._owner != os.getpid():
            ours, theirs = socket.socketpair()
            with theirs:
                # With an empty environment, which sessions can read: this process's own has secrets in it.
                kept = {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}
                program = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_PROGRAM), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=kept,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            program.returncode = 0  # it ends after this process: nobody waits for it
            atexit.register(ours.close)
            self._line, self._owner, self.pid = ours, os.getpid(), program.pid
        return self._line


_launcher = _Launcher()


async def open_keeper() -> KeeperConnection:
    """Return a line to a new keeper."""
    return await to_thread.run_sync(_launcher.open_keeper)


def launcher_pid() -> int:
    """Return the id of the process that forks keepers; 0 where there is none yet."""
    return _launcher.pid
