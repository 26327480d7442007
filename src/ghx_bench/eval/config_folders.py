"""The folders that a configuration names: those that are not there, told with their place."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ghx_bench._base.problems import Problem, nearest, pointer_of, shortened
from ghx_bench.documents import Document, problem


def absent_folders(document: Document, key: Sequence[str], folders: Iterable[Path]) -> Iterator[Problem]:
    """Yield the folders under a key of a configuration that are not there, seen from the folder of its file."""
    for index, folder in enumerate(folders):
        path = document.path.parent / folder
        if not os.path.exists(path):  # noqa: PTH110 - Path raises for too long a name
            meant = nearest(path.name, _folders_in(path.parent))
            hint = f"did you mean {str(folder.with_name(meant))!r}?" if meant else "it is taken from this file's folder"
            yield problem(document, pointer_of((*key, index)), f"there is no folder {shortened(str(folder))}", hint)


def _folders_in(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir() if each.is_dir())
    except OSError:
        return []
