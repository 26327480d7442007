"""The environment a process was started with, taken out of the reach of programs that it starts.

A process of the same user may read `/proc/PID/environ`, which shows the memory that the kernel filled at the start. An
agent could find there every key and token of the person who started the bench.
"""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_STAT = Path("/proc/self/stat")
_ENV_START, _ENV_END = 49, 50
"""Fields of `/proc/self/stat`, counted from 0: where the block begins and ends in memory; see proc(5)."""
_PR_SET_DUMPABLE = 4


def hide_environment() -> None:
    """Blank the block, and keep other users' and, unless they are root, also our own programs from our memory.

    Variables stay what they are for this process and for what it starts. On other systems than Linux nothing is done:
    there, the environment of a process of the same user can be read.
    """
    if sys.platform != "linux":
        return
    start, end = _find_block()
    if start == 0 or end <= start:
        return  # the kernel does not report it, as in some sandboxes
    for name, value in os.environ.items():
        # The C library's own list points into the block: a new value gets memory of its own.
        os.putenv(name, value)
    ctypes.memset(start, 0, end - start)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _find_block() -> tuple[int, int]:
    try:
        # The name of the program stands in brackets, and may hold spaces and brackets itself.
        fields = _STAT.read_text().rpartition(")")[2].split()
        return int(fields[_ENV_START - 2]), int(fields[_ENV_END - 2])
    except (OSError, ValueError, IndexError):
        return 0, 0
