"""Packages whose names are imported when they are first used (PEP 562), so that a command loads only what it needs."""

import ast
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


def lazy_exports(package: str, *, extra: str | None = None) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for `package`, which exports what its `if TYPE_CHECKING:` block imports.

    That block is the only list of the exports: type checkers, import rules and editors read it as it is, and here it is
    read from the source on first use of a name; `__all__` is made of it. `extra` is what some of the modules
    need, where that is an extra: without it, they raise an error with the install command.
    """

    def get(name: str) -> object:
        homes = _exports_of(package)
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(homes[name]), name)
        except ModuleNotFoundError:
            if extra is not None:
                from ghx_base.extras import require_extra  # noqa: PLC0415 - of no use where nothing is missing

                require_extra(extra, for_what=f"{package}.{name}")
            raise
        # The next access finds it as an ordinary attribute and does not come here.
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *_exports_of(package)})

    return get, list_names


@cache
def _exports_of(package: str) -> Mapping[str, str]:
    """Return the modules that the `if TYPE_CHECKING:` block of a package imports from, by the names it imports."""
    loader: Any = sys.modules[package].__loader__
    source = loader.get_source(package)
    if source is None:
        raise ImportError(f"{package} cannot be used without the source of its __init__.py, which lists its names")
    (block,) = (each for each in ast.parse(source).body if isinstance(each, ast.If))
    imports = (each for each in block.body if isinstance(each, ast.ImportFrom))
    return {alias.name: each.module for each in imports for alias in each.names if each.module is not None}
