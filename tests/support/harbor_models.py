"""Harbor's own models of ATIF, which are the judges of what we write."""

import fcntl
import importlib
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HARBOR = "harbor==0.25.0"
CACHE = Path(__file__).parents[2] / ".cache" / HARBOR.replace("==", "-")


@pytest.fixture(scope="session")
def trajectory_model() -> Iterator[Any]:
    """Load Harbor's models alone, fetched once: all of it needs a newer Python and much else."""
    CACHE.parent.mkdir(exist_ok=True)
    with CACHE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not CACHE.exists():
            _fetch()
    sys.path.insert(0, str(CACHE))
    try:
        yield importlib.import_module("harbor.models.trajectories").Trajectory
    finally:
        sys.path.remove(str(CACHE))
        for name in [name for name in sys.modules if name.split(".")[0] == "harbor"]:
            del sys.modules[name]


def _fetch() -> None:
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as scratch:
        wheel, environment, growing = (Path(scratch, name) for name in ("wheel", "pip", "alone"))
        venv.create(environment, with_pip=True)  # the environment of the tests may have no pip of its own
        asked = [
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--ignore-requires-python",
            "--target",
            wheel,
        ]
        command = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *asked, HARBOR]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"pip cannot fetch {HARBOR}: {done.stderr.strip().splitlines()[-1:]}")
        # Without the `__init__` of the packages above, which load the rest.
        models = Path("harbor", "models", "trajectories")
        shutil.copytree(wheel / models, growing / models)
        growing.rename(CACHE)
