"""The processes between the bench and the programs of its sessions, which outlive the bench and end those.

A launcher, one for each bench, forks a keeper for each group of programs. Run by its path, without this package: so it
starts in 25 ms, has one thread, and forks in a millisecond. Why: `docs/adr/process-families.md`.
"""

import array
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_ROOM_FOR_FILES = socket.CMSG_SPACE(8 * array.array("i").itemsize)
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.1
_OOM_SCORE = "500"  # of -1000 to 1000
_LONGEST_END_S = 10.0
"""How long keepers may take to end without a bench; one that an agent stops again and again never would."""


def find_descendants(root: int, *, enough: int | None = None) -> list[int]:
    """Return the processes that descend from one, at this moment; those that have ended but not been waited for too.

    Not many more are looked for than are enough: of those of a fork bomb, there are more the longer one looks.
    """
    find_children = _read_children if _HAS_LISTS_OF_CHILDREN else _list_children_with_ps().get
    descendants: list[int] = []
    left = [root]
    while left and (enough is None or len(descendants) < enough):
        children = find_children(left.pop()) or []
        descendants += children
        left += children
    return descendants


def kill_descendants(root: int) -> None:
    """Kill the processes that descend from one, as far as they can be seen at this moment."""
    kill_all(find_descendants(root))


def kill_all(pids: Iterable[int]) -> None:
    """Kill processes, each with its process group unless that is our own."""
    spared = os.getpgrp()
    for pid in pids:
        with suppress(OSError):
            # The kernel kills a whole group in one step: no member gets to fork in between.
            if (group := os.getpgid(pid)) != spared:
                os.killpg(group, signal.SIGKILL)
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _read_children(parent: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):  # it ended meanwhile
        for thread in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - `pathlib` takes as long to load as the rest
            with suppress(OSError), open(f"/proc/{parent}/task/{thread}/children", "rb") as file:  # noqa: PTH123 - as above
                children += map(int, file.read().split())
    return children


_HAS_LISTS_OF_CHILDREN = os.path.exists("/proc/thread-self/children")  # noqa: PTH110 - as above
"""On Linux, unless its kernel was built without; macOS has none."""


def _list_children_with_ps() -> dict[int, list[int]]:
    """Return the children of every process of the machine."""
    listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=False).stdout  # noqa: S607 - of the system
    children: dict[int, list[int]] = {}
    for pid, parent in (map(int, line.split()) for line in listing.splitlines()):
        children.setdefault(parent, []).append(pid)
    return children


class _Children:
    """The children of this process: awaited, and ended with it."""

    def __init__(self, control: socket.socket) -> None:
        self._control: socket.socket | None = control
        self._pause_s = _SHORTEST_PAUSE_S
        if sys.platform == "linux":
            # What loses its parent becomes our child, whatever session, group and environment it has.
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._woken, woken = os.pipe()
        for end in (self._woken, woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        # Handled and not ignored: what is ignored stays so in the programs that we start.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, _do_nothing)

    def wait(self) -> bool:
        """Wait until a child has ended or a request is there; return whether it is a request."""
        if self._control is None:
            # Nothing but the end of the children is left to wait for; some may fork as fast as they are killed.
            ready, _, _ = select.select([self._woken], [], [], self._pause_s)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        else:
            ready, _, _ = select.select([self._woken, self._control], [], [])
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        return self._control in ready

    def receive(self) -> list[int] | None:
        """Return the files of a request; `None` if the bench asks for no more, or is gone."""
        assert self._control is not None  # noqa: S101 - a request is only waited for while there is one
        try:
            message, ancillary, _, _ = self._control.recvmsg(1, _ROOM_FOR_FILES)
        except OSError:
            message, ancillary = b"", []
        if not message:
            self._control = None
            return None
        files = array.array("i")
        for _level, _kind, data in ancillary:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
        for each in files:
            os.set_inheritable(each, False)
        return list(files)

    def reap(self) -> tuple[dict[int, int], bool]:
        """Return the exit codes of the children that have ended, and whether any is left."""
        ended: dict[int, int] = {}
        try:
            while (child := os.waitpid(-1, os.WNOHANG))[0]:
                ended[child[0]] = os.waitstatus_to_exitcode(child[1])
        except ChildProcessError:
            return ended, False
        return ended, True


def _do_nothing(_number: int, _frame: object) -> None: ...


def _launch(control: socket.socket) -> None:
    """Fork a keeper for each request; end the programs of those that were killed."""
    children = _Children(control)
    keepers: set[int] = set()
    is_wanted, deadline = True, 0.0
    while True:
        is_asked = children.wait()
        ended, has_any = children.reap()
        keepers -= ended.keys()
        # Elsewhere than on Linux orphans are not ours, and each look would start a program, whose end wakes us again.
        for orphan in set(_read_children(os.getpid()) if _HAS_LISTS_OF_CHILDREN else ()) - keepers:
            kill_descendants(orphan)
            with suppress(OSError):  # one that has another user's rights by now
                os.kill(orphan, signal.SIGKILL)
        if is_asked:
            files = children.receive()
            is_wanted, deadline = files is not None, time.monotonic() + _LONGEST_END_S
            if files:
                keepers.add(_fork_keeper(files, control))
        if not is_wanted:
            if not has_any:
                return
            # An agent may have stopped them. What those leave that are killed becomes ours, and is killed above.
            number = signal.SIGCONT if time.monotonic() < deadline else signal.SIGKILL
            for keeper in keepers:
                os.kill(keeper, number)  # there, since it has not been waited for


def _fork_keeper(files: list[int], control: socket.socket) -> int:
    launcher = os.getpid()
    pid = os.fork()
    if pid:
        for each in files:
            os.close(each)
        return pid
    status = 1
    try:
        control.close()
        os.setsid()
        line = socket.socket(fileno=files[0])
        line.send(b"%d" % os.getpid())
        _keep(line)
        status = 0
    finally:
        if os.getppid() == launcher:
            os.kill(launcher, signal.SIGCONT)  # stopped by an agent, it would outlive the bench
        os._exit(status)


def _keep(control: socket.socket) -> None:
    """Start programs on request; after the last request, kill their remaining processes."""
    children = _Children(control)
    statuses: dict[int, int] = {}
    is_wanted = True
    while True:
        is_asked = children.wait()
        ended, has_any = children.reap()
        for pid in ended.keys() & statuses.keys():
            _send_status(statuses.pop(pid), {"exit": ended[pid]}, is_last=True)
        if is_asked:
            files = children.receive()
            is_wanted = files is not None
            if files:
                _start(files, statuses)
        if not is_wanted:
            if not has_any:
                return
            kill_descendants(os.getpid())


def _start(files: list[int], statuses: dict[int, int]) -> None:
    """Start a program; send its id, or the error."""
    request_file, status, stdin, stdout, *others = files
    try:
        request = _read_json(request_file)
        stderr = others[0] if others else request["stderr"]
        program = subprocess.Popen(
            request["command"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=request["directory"],
            env=request["environment"],
            start_new_session=True,
        )
    except OSError as error:
        _send_status(status, {"errno": error.errno, "filename": error.filename}, is_last=True)
    except (ValueError, subprocess.SubprocessError) as error:
        _send_status(status, {"refused": str(error)}, is_last=True)
    else:
        program.returncode = 0  # waited for by us: it must not be by `subprocess`
        statuses[program.pid] = status
        # Where the machine has no memory left, the kernel ends this program rather than the bench. Not set before it is
        # loaded, since that would keep `subprocess` from starting it without a copy of this process.
        with suppress(OSError), open(f"/proc/{program.pid}/oom_score_adj", "w") as file:  # noqa: PTH123 - as above
            file.write(_OOM_SCORE)
        _send_status(status, {"pid": program.pid})
    for each in (stdin, stdout, *others):
        os.close(each)


def _send_status(status: int, message: Mapping[str, Any], *, is_last: bool = False) -> None:
    with suppress(OSError):  # the bench is gone, or does not want to know any more
        os.write(status, json.dumps(message).encode() + b"\n")
    if is_last:
        os.close(status)


def _read_json(file: int) -> Any:
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(file, "rb") as opened:
        return json.load(opened)


def _main() -> NoReturn:
    # Otherwise programs of the same user may read our memory and open what we have open; keepers inherit this. Not
    # where processes of other users are hidden (`hidepid`): there, the bench would not see what descends from keepers.
    if os.path.exists("/proc/1"):  # noqa: PTH110 - as above
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    _launch(socket.socket(fileno=int(sys.argv[1])))
    raise SystemExit(0)


if __name__ == "__main__":
    _main()
