"""Which files of a folder are scenarios.

Every file that ends in `.json`, `.yaml` or `.yml` is, in the folder and in folders below it, but for

- names with another dot in them, which say what else they are: `<id>.solution.yaml`, `scenario.schema.json`,
  `eval.config.yaml`;
- `scenario-sets.json` (or `.yaml`, `.yml`), the named sets;
- whatever is in a folder called `fixtures`, or in one whose name begins with `.` or `_`, or has such a name itself.

Links are followed; a folder to which several lead is read once. A file that is named itself, rather than its folder,
is taken for a scenario whatever its name.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from ghx_base.errors import DocumentError
from ghx_base.problems import Problem

PathLike = str | os.PathLike[str]

BUILT_IN_SCENARIOS = Path(__file__).parents[1] / "scenarios"
"""The folder of the scenarios that come with the package."""

SUFFIXES = (".json", ".yaml", ".yml")
SETS_NAME = "scenario-sets"
FIXTURES_FOLDER = "fixtures"
SCENARIOS_FOLDER = "scenarios"
CONFIG_NAME = "eval.config"
CONFIG_FILE = f"{CONFIG_NAME}.yaml"


def scenario_files(paths: PathLike | Iterable[PathLike]) -> list[Path]:
    """Return the files named, and the scenarios in the folders named, in order of their names; each once."""
    path_list = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = (file for path in map(Path, path_list) for file in (_in_folder(path) if path.is_dir() else [path]))
    return list({os.path.realpath(file): file for file in files}.values())


def documents_in(
    folder: Path, *, skip: Iterable[str] = (), on_error: Callable[[OSError], object] | None = None
) -> Iterator[Path]:
    """Yield the JSON and YAML files in a folder and below, in order; hidden ones and folders to skip left out.

    `on_error` is called for a folder that cannot be read, which is passed over.
    """
    skipped, visited = set(skip), {os.path.realpath(folder)}
    for directory, folders, names in os.walk(folder, onerror=on_error, followlinks=True):
        subfolders = sorted(each for each in folders if each[0] not in "._" and each not in skipped)
        folders[:] = [each for each in subfolders if _is_new(os.path.realpath(Path(directory, each)), visited)]
        for name in sorted(names):
            if name.endswith(SUFFIXES) and name[0] not in "._":
                yield Path(directory, name)


def _is_new(place: str, visited: set[str]) -> bool:
    """Return whether a folder was not met before, and remember it: links may lead to the same one, or in a circle."""
    if place in visited:
        return False
    visited.add(place)
    return True


def _in_folder(folder: Path) -> Iterator[Path]:
    files = documents_in(folder, skip=[FIXTURES_FOLDER], on_error=_refuse)
    return (file for file in files if is_scenario_name(file))


def _refuse(error: OSError) -> NoReturn:
    """Raise: a run of some of the scenarios would look like one of all."""
    reason = f"the folder cannot be read: {error.strerror or error}"
    raise DocumentError([Problem(file=str(error.filename), reason=reason)]) from None


def is_scenario_name(file: Path) -> bool:
    """Return whether a file with this name is a scenario when its folder is read."""
    return "." not in file.stem and file.stem != SETS_NAME
