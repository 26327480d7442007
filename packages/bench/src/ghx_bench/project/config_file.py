"""The file of an evaluation's configuration: where it is, how it is read, and the folders next to it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ghx_base.documents import Document, DocumentError, problem, read_document, validate_document
from ghx_base.problems import Problem, nearest, pointer_of, shortened
from ghx_bench.project.config import EvalConfig
from ghx_bench.project.folders import CONFIG_FILE, FIXTURES_FOLDER, SCENARIOS_FOLDER

SCENARIO_DIRS = ("scenario_dirs",)
"""The key of the folders with scenarios, without which a run would know only half of them."""

DEFAULT_MODES = ("baseline", "ghx", "ghx-mcp")
"""The modes of a run without a configuration."""


def load_eval_config(path: str | os.PathLike[str]) -> EvalConfig:
    """Read an evaluation's configuration; raise `DocumentError` with everything wrong with it.

    Files and folders that it names are looked for next to it, except for where results go.
    """
    document = read_document(path)
    config = validate_document(document, EvalConfig)
    absent = list(absent_folders(document, SCENARIO_DIRS, config.scenario_dirs))
    if absent:
        raise DocumentError(absent)
    return config.beside(Path(path))


def project_config(path: Path | None = None) -> EvalConfig:
    """Return the configuration in a file, or in that of the current folder; without any, the built-in modes.

    The folders `scenarios` and `fixtures` next to it are looked into as well, unless it names others.
    """
    file = project_file(path)
    config = EvalConfig(modes=DEFAULT_MODES) if file is None else load_eval_config(file)
    return with_own_folders(config, Path() if file is None else file.parent)


def project_file(path: Path | None = None) -> Path | None:
    """Return the configuration file that counts: the one named, or that of the current folder, if it has one."""
    here = Path(CONFIG_FILE)
    return path or (here if here.is_file() else None)


def with_own_folders(config: EvalConfig, folder: Path) -> EvalConfig:
    """Return a configuration with the folders `scenarios` and `fixtures` next to it, unless it names others."""
    changes: dict[str, object] = {}
    scenarios, fixtures = folder / SCENARIOS_FOLDER, folder / FIXTURES_FOLDER
    if "scenario_dirs" not in config.model_fields_set and scenarios.is_dir():
        changes["scenario_dirs"] = (scenarios,)
    if "folders" not in config.fixtures.model_fields_set and fixtures.is_dir():
        changes["fixtures"] = config.fixtures.model_copy(update={"folders": (fixtures,)})
    return config.model_copy(update=changes)


def absent_folders(document: Document, key: Sequence[str], folders: Iterable[Path]) -> Iterator[Problem]:
    """Yield the folders under a key of a configuration that are not there, seen from the folder of its file."""
    for index, folder in enumerate(folders):
        path = document.path.parent / folder
        if not os.path.exists(path):  # noqa: PTH110 - Path raises for too long a name
            suggestion = nearest(path.name, _folders_in(path.parent))
            hint = (
                f"did you mean {str(folder.with_name(suggestion))!r}?"
                if suggestion
                else "it is taken from this file's folder"
            )
            yield problem(document, pointer_of((*key, index)), f"there is no folder {shortened(str(folder))}", hint)


def _folders_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir() if each.is_dir())
    except OSError:
        return []
