"""Programs that are measured: started with bytecode, timed, and ended with everything that they started."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KEEP_FILES = "KEEP_BENCHMARK_FILES"
"""Set, this variable leaves the files of a benchmark where they are: `make bench` removes them after the last one."""

_GRACE_S = 5.0


def compiled_environment() -> dict[str, str]:
    """Return our environment without the variable that forbids bytecode: containers set it, users' machines do not."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@contextlib.contextmanager
def workplace() -> Generator[Path]:
    """Yield a folder for everything that is written while measuring, which is removed only at the end.

    For minutes after files were deleted, ext4 steps over each of their inodes whenever a file is made, which doubled
    the overhead of a cell where every round removed its results.
    """
    folder = tempfile.mkdtemp(prefix="ghx-benchmark-")
    try:
        yield Path(folder)
    finally:
        if not os.environ.get(KEEP_FILES):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a program took from its start to its end, with the programs that it waited for."""

    wall_s: float
    cpu_s: float
    output: str


def time_program(
    command: Sequence[str | Path], *, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Spent:
    """Run a program to its end; one that fails stops the benchmark with what it said."""
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env=compiled_environment() if environment is None else environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    wall_s, after = time.perf_counter() - began, os.times()
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr}{done.stdout}")
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(wall_s=wall_s, cpu_s=cpu_s, output=done.stdout)


@contextlib.contextmanager
def running(command: Sequence[str]) -> Generator[subprocess.Popen[bytes]]:
    """Run a program next to the block; at its end, the program and its children are gone."""
    process = subprocess.Popen(
        command,
        env=compiled_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a group of its own: a wrapper that is ended alone leaves what it wraps behind
    )
    with process:
        try:
            yield process
        finally:
            _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    with contextlib.suppress(ProcessLookupError):  # nothing is left, as it should be
        os.killpg(process.pid, signal.SIGKILL)
