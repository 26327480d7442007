"""Which files are our own, wherever the packages are installed: each may lie in a folder of its own."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("ghx_base", "ghx_twin", "ghx_tools", "ghx_profiler", "ghx_bench")


@cache
def own_folders() -> tuple[Path, ...]:
    """Return the folders of those of our packages that are installed."""
    specs = (find_spec(name) for name in PACKAGES)
    return tuple(Path(spec.origin).resolve().parent for spec in specs if spec is not None and spec.origin is not None)


def is_own(path: Path) -> bool:
    """Return whether a file belongs to one of our packages."""
    return any(map(path.is_relative_to, own_folders()))
