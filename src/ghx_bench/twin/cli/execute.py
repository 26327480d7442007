"""`ghx-twin exec`: run a command that sees a world of its own as GitHub."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import FrameType
from typing import Annotated

from cyclopts import Parameter

from ghx_bench._base.commandline import complain
from ghx_bench.twin.state.clock import ClockPolicy

NOT_FOUND = 127
NOT_EXECUTABLE = 126
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def execute(
    *command: Annotated[str, Parameter(help="The command and its arguments, after `--`.", allow_leading_hyphen=True)],
    seed: Annotated[Path | None, Parameter(help="The seed (YAML or JSON) of the world; else it has one user.")] = None,
    user: Annotated[str | None, Parameter(help="Whom the command acts as; the first user if left out.")] = None,
    journal: Annotated[Path | None, Parameter(help="Write what it asked, one line of JSON for each request.")] = None,
    diff: Annotated[Path | None, Parameter(help="Write what it changed, as JSON.")] = None,
    clock: Annotated[ClockPolicy, Parameter(help="The time in it: the real one, or a second for each write.")] = "wall",
) -> int:
    """Boot a private world, run the command in it, and end with its exit code; nothing is left behind."""
    from ghx_bench._base.errors import InputError
    from ghx_bench.twin.cli.findings import require_writable, write_findings
    from ghx_bench.twin.seed.worlds import open_world, person
    from ghx_bench.twin.server.loopback import Server
    from ghx_bench.twin.server.tokens import own_token

    if not command:
        raise InputError("name the command to run after `--`: ghx-twin exec -- gh repo list")
    require_writable(journal=journal, diff=diff)
    _end_tidily()
    with open_world(seed, clock=clock) as world, Server() as server:
        before = world.snapshot()
        server.add(world)
        somebody = person(world, user)
        token = own_token(server.hosting, world, somebody)
        environment = server.client_environment(world, somebody, token=token).over(os.environ)
        environment["PATH"] = _path_with_gh(environment.get("PATH", os.defpath))
        code = _run(command, environment)
        write_findings(world, before, journal=journal, diff=diff)
        return code


def _end_tidily() -> None:
    """Let the signals that end a process unwind this one, so that it removes what it has made."""

    def end(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    for number in _ENDING:
        signal.signal(number, end)


def _run(command: tuple[str, ...], environment: dict[str, str]) -> int:
    """Run the command as our shell would: its terminal, its signals, its exit code."""
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        return complain(f"{command[0]}: command not found", NOT_FOUND)
    came: list[int] = []  # signals from before the child was there
    for number in _ENDING:
        signal.signal(number, lambda received, _: came.append(received))
    try:
        child = subprocess.Popen([program, *command[1:]], env=environment)
    except OSError as error:
        return complain(f"{command[0]}: {error.strerror or error}", NOT_EXECUTABLE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child as well, and the child decides
    for number in _ENDING:
        signal.signal(number, lambda received, _: child.send_signal(received))
    for number in came:
        child.send_signal(number)
    code = child.wait()
    return code if code >= 0 else 128 - code


def _path_with_gh(path: str) -> str:
    """Add the folder of our own `gh` at the end where the machine has none."""
    if shutil.which("gh", path=path):
        return path
    return os.pathsep.join((path, sysconfig.get_path("scripts")))
