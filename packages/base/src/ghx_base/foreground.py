"""A program run in our place: with our terminal and our signals, and its exit code is ours."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from ghx_base.commandline import complain

NOT_FOUND = 127
NOT_EXECUTABLE = 126
_ENDING = (signal.SIGTERM, signal.SIGHUP)


def exit_on_signals() -> None:
    """Turn the signals that end a process into `SystemExit`, so that temporary folders are removed."""

    def end(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    for number in _ENDING:
        signal.signal(number, end)


def run_in_foreground(command: Sequence[str], environment: Mapping[str, str], *, directory: Path | None = None) -> int:
    """Run a command as our shell would, and return its exit code; signals to us are passed on to it."""
    program = shutil.which(command[0], path=environment["PATH"])
    if program is None:
        return complain(f"{command[0]}: command not found", NOT_FOUND)
    early: list[int] = []  # signals that come before there is a child to pass them on to
    for number in _ENDING:
        signal.signal(number, lambda received, _: early.append(received))
    try:
        child = subprocess.Popen([program, *command[1:]], env=environment, cwd=directory)
    except OSError as error:
        return complain(f"{command[0]}: {error.strerror or error}", NOT_EXECUTABLE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child as well, and the child decides
    for number in _ENDING:
        signal.signal(number, lambda received, _: child.send_signal(received))
    for number in early:
        child.send_signal(number)
    code = child.wait()
    return code if code >= 0 else 128 - code
