"""Work that is done once for all tests of a run, however many processes they are spread over."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder in which `make` has done its work; whoever comes first does it, others wait for that."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    done = folder / ".done"
    with folder.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of somebody whose work failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
