"""Harbor's own models of ATIF, which are the judges of what we write."""

import importlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HARBOR = "harbor==0.25.0"


@pytest.fixture(scope="session")
def trajectory_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Fetch Harbor and load its models alone: all of it needs a newer Python and much else."""
    folder = tmp_path_factory.mktemp("harbor")
    _fetch(folder / "wheel", folder / "pip")
    # Without the `__init__` of the packages above, which load the rest.
    models = Path("harbor", "models", "trajectories")
    shutil.copytree(folder / "wheel" / models, folder / "alone" / models)
    sys.path.insert(0, str(folder / "alone"))
    try:
        yield importlib.import_module("harbor.models.trajectories").Trajectory
    finally:
        sys.path.remove(str(folder / "alone"))
        for name in [name for name in sys.modules if name.split(".")[0] == "harbor"]:
            del sys.modules[name]


def _fetch(target: Path, environment: Path) -> None:
    venv.create(environment, with_pip=True)  # the environment of the tests may have no pip of its own
    asked = ["install", "--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--target", target]
    command = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *asked, HARBOR]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"pip cannot fetch {HARBOR}: {done.stderr.strip().splitlines()[-1:]}")
