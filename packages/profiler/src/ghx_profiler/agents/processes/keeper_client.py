"""The bench's side of keepers, of the programs that they start, and of the launcher that forks them."""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, SIGKILL
from subprocess import PIPE
from typing import Any, cast

import anyio
import psutil
from anyio import to_thread
from anyio.abc import Process

from ghx_profiler.agents.processes.program_pipes import PipeReader, PipeWriter, close_all, open_pipes
from ghx_profiler.records.causes import AgentError, EnvironmentFailure

_PROGRAM = Path(__file__).with_name("keeper.py")
_START_S = 60.0
"""How long a program may take to start; a machine that is out of memory may never start one."""
_FORK_S = 30.0
"""How long a launcher may take to fork a keeper."""
_LOOK_S = 1.0
"""A process that has not answered for this long may have been stopped."""
_LEAST_PATIENCE_S = 5.0


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
                content = os.read(self._status.file, 4096)
            except BlockingIOError:
                return None
            # A keeper that sends nothing was killed, and its programs with it.
            self._exit_code = _read_message(content).get("exit", -SIGKILL)
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

    def __init__(self, line: socket.socket, pid: int) -> None:
        self.pid = pid
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
        ours, theirs = open_pipes(with_stderr=stderr == PIPE)
        status, stdin, stdout, *others = ours
        try:
            if stderr is None:
                theirs.append(os.dup(2))
            theirs.insert(0, _write_json(request))
            try:
                self._send(theirs)
            finally:
                # Before the answer is waited for: a keeper that is killed meanwhile is noticed by the end of its pipe.
                close_all(theirs)
            message = await self._wait_for_start(PipeReader(status))
        except BaseException:
            close_all(ours)
            raise
        return KeptProgram(
            _pid=message["pid"],
            _status=PipeReader(status),
            _stdin=PipeWriter(stdin),
            _stdout=PipeReader(stdout, count_output),
            _stderr=PipeReader(others[0], count_output) if others else None,
        )

    def _send(self, files: Sequence[int]) -> None:
        try:
            socket.send_fds(self._line, [b"s"], list(files))
        except OSError as error:
            raise _killed() from error

    async def _wait_for_start(self, status: PipeReader) -> dict[str, Any]:
        try:
            with anyio.fail_after(_START_S):
                # Both lines may be there at once; of the second, the exit code, the bytes stay in the pipe.
                content = b""
                while not content.endswith(b"\n"):
                    with anyio.move_on_after(_LOOK_S) as looking:
                        while not content.endswith(b"\n"):
                            content += await status.receive(1)
                    if looking.cancelled_caught:
                        self.resume()  # a program may stop it before it can report the start
                message = _read_message(content)
        except anyio.EndOfStream:
            raise _killed() from None
        except TimeoutError:
            if self.is_stopped():
                raise AgentError("the session stopped the process that starts its programs") from None
            raise EnvironmentFailure(f"a program of the session did not start within {_START_S:.0f} s") from None
        if "errno" in message:
            raise OSError(message["errno"], os.strerror(message["errno"]), message["filename"])
        if "refused" in message:
            raise ValueError(message["refused"])
        if "pid" not in message:
            raise _killed()
        return message

    def holds_descendants(self) -> bool:
        """Return whether all processes of its programs descend from the keeper, also those whose parents have ended."""
        return sys.platform == "linux" and self.is_alive()

    def is_alive(self) -> bool:
        """Return whether the keeper is there; as long as it is, its id cannot be that of another process."""
        try:
            return bool(self._line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))  # nothing is its end
        except BlockingIOError:
            return True
        except OSError:
            return False

    def is_stopped(self) -> bool:
        """Return whether the keeper does nothing, as after SIGSTOP."""
        with suppress(psutil.Error):
            return psutil.Process(self.pid).status() == psutil.STATUS_STOPPED
        return False

    def resume(self) -> None:
        """Have a keeper go on that was stopped, as an agent may do to it; another one does not notice."""
        if self.is_alive():
            with suppress(OSError):
                os.kill(self.pid, SIGCONT)

    async def end(self, patience_s: float) -> bool:
        """Have the keeper kill what is left, and wait until it has; return whether it has in time."""
        with suppress(OSError):  # it was killed
            self._line.shutdown(socket.SHUT_WR)
        self.resume()
        return await self._wait_for_end(max(patience_s, _LEAST_PATIENCE_S))

    async def kill(self) -> bool:
        """Kill the keeper; what it leaves becomes the launcher's, which kills it. Return whether it is gone."""
        if self.is_alive():
            with suppress(OSError):
                os.kill(self.pid, SIGKILL)
        _launcher.resume()
        return await self._wait_for_end(_LEAST_PATIENCE_S)

    async def _wait_for_end(self, patience_s: float) -> bool:
        with anyio.move_on_after(patience_s):
            await anyio.wait_readable(self._line)  # an empty message: this is its end
            return True
        return False

    def close(self) -> None:
        """Close the line."""
        self._line.close()


def _killed() -> AgentError:
    # The agent's fault: a machine that is out of memory ends programs before their keeper, and no one else kills it.
    return AgentError("the process that keeps the session's programs was killed, by the session itself or by hand")


def _read_message(line: bytes) -> dict[str, Any]:
    """Return a message of a keeper; an empty one if it cannot be parsed."""
    try:
        message: object = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", message) if isinstance(message, dict) else {}


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


class _Launcher:
    """The process that forks keepers, started when the first is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._owner: int = 0
        self.pid: int = 0

    def open_keeper(self) -> KeeperConnection:
        with self._lock:
            # A second time: it may have been killed or stopped since, as all that a session can see may be.
            for _ in range(2):
                ours, theirs = socket.socketpair()
                with suppress(OSError):
                    with theirs:
                        socket.send_fds(self._connect(), [b"k"], [theirs.fileno()])
                    if pid := self._wait_for_keeper(ours):
                        return KeeperConnection(ours, pid)
                ours.close()
                self._discard()
        raise EnvironmentFailure("the process that starts the programs of sessions does not come up")

    def resume(self) -> None:
        """Have it go on if it was stopped, as an agent may do to it."""
        if self._line is not None and self._owner == os.getpid():
            with suppress(OSError):  # its id stays its own, since it is not waited for
                os.kill(self.pid, SIGCONT)

    def _wait_for_keeper(self, line: socket.socket) -> int:
        """Return the id of a keeper, which is its first message; 0 if none was started."""
        line.settimeout(_LOOK_S)
        deadline = time.monotonic() + _FORK_S
        while time.monotonic() < deadline:
            with suppress(TimeoutError):
                content = line.recv(32)
                line.settimeout(None)
                return int(content or 0)
            self.resume()
        return 0

    def _discard(self) -> None:
        """Kill an idle launcher; keepers do not need it, and the next request starts another."""
        if self._line is not None and self._owner == os.getpid():
            self._line.close()
            with suppress(OSError):
                os.kill(self.pid, SIGKILL)
                os.waitpid(self.pid, 0)
        self._line = None

    def _connect(self) -> socket.socket:
        # One that was forked off, as workers may be, has none: with the line it would share that of its parent.
        if self._line is None or self._owner != os.getpid():
            ours, theirs = socket.socketpair()
            with theirs:
                # With an empty environment, which sessions can read: this process's own has secrets in it.
                environment = {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}
                program = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_PROGRAM), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=environment,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            program.returncode = 0  # it ends after this process, and is not waited for
            atexit.register(ours.close)
            atexit.register(self.resume)
            self._line, self._owner, self.pid = ours, os.getpid(), program.pid
        return self._line


_launcher = _Launcher()


async def open_keeper() -> KeeperConnection:
    """Return a line to a new keeper."""
    return await to_thread.run_sync(_launcher.open_keeper)


def launcher_pid() -> int:
    """Return the id of the process that forks keepers; 0 before it was started."""
    return _launcher.pid
