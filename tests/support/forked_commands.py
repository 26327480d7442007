"""Our commands in processes that are forked from one in which everything is loaded.

A fresh start spends most of a second of CPU on imports, and hundreds of tests run a command. A fork is a process like
any other: its folder, environment, streams and exit code are its own. Only what the kernel tells of its start, as in
`/proc/PID/environ` and `/proc/PID/cmdline`, is that of the first: tests which look there need a fresh start.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

_LONGEST_REQUEST = 1 << 20
_LEFT_OUT = ("ghx_profiler.testing", "ghx_twin.pytest_plugin")
"""Modules for tests of others, which load pytest."""


def run_forked(
    script: Path, arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run the script of a command to its end, as `subprocess.run` does."""
    if sys.platform != "linux":  # system libraries of macOS do not survive a fork
        command = [script, *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    request = {"words": [str(script), *arguments], "folder": str(folder), "environment": dict(environment)}
    try:
        return _start_server().run(request)
    except BaseException:
        _start_server.cache_clear()  # it has been killed
        raise


@cache
def _start_server() -> "ForkServer":
    server = ForkServer()
    atexit.register(server.kill)
    return server


class ForkServer:
    """The process that forks, as seen from this one."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        command = [sys.executable, __file__, str(theirs.fileno())]
        # A group of its own, which its forks belong to, so that they can be ended together.
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()

    def kill(self) -> None:
        """End the process, with the command that may still run."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._line.close()

    def run(self, asked: Mapping[str, Any]) -> "subprocess.CompletedProcess[str]":
        """Have a process forked that runs a command, and wait until it and all who hold its streams have ended."""
        (out, to_out), (err, to_err), nothing = os.pipe(), os.pipe(), os.open(os.devnull, os.O_RDONLY)
        with self._turn, os.fdopen(out) as output, os.fdopen(err) as errors, ThreadPoolExecutor(1) as beside:
            given = [nothing, to_out, to_err]
            complained = beside.submit(errors.read)
            try:
                # From here on the command runs, and may be given up: nothing of this may come before the `try`.
                socket.send_fds(self._line, [json.dumps(asked).encode()], given)
                while given:
                    os.close(given.pop())
                content = output.read()
                code = int(self._line.recv(_LONGEST_REQUEST))
            except BaseException:  # such as a timeout; the code of a command that still runs would answer the next one
                self.kill()
                while given:
                    os.close(given.pop())
                raise
        return subprocess.CompletedProcess(asked["words"], code, content, complained.result())


def serve(line: socket.socket) -> list[str]:
    """Fork for every request; return in the forks, with the words of the command that they are to run."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(line, _LONGEST_REQUEST, 3)
        if not request:
            sys.exit()
        child = os.fork()
        if child == 0:
            line.close()
            return _take_over(json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        line.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _take_over(asked: Mapping[str, Any], descriptors: Sequence[int]) -> list[str]:
    """Make the folder, the environment and the standard streams of a request those of this process."""
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    return asked["words"]


def load_everything() -> None:
    """Load all modules and the schema of GraphQL, and keep the garbage collector from touching them after a fork."""
    from ghx_base.own_code import PACKAGES
    from ghx_twin.server import graphql

    for package in map(importlib.import_module, PACKAGES):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(_LEFT_OUT) and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    graphql.load()
    gc.freeze()


if __name__ == "__main__":
    load_everything()
    sys.argv = serve(socket.socket(fileno=int(sys.argv[1])))
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
