"""Packages whose names are imported when they are first used (PEP 562), so that a command loads only what it needs."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_exports(
    package: str, homes: Mapping[str, str], *, extra: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for `package`; `homes` maps its modules to the names they hold.

    Names are separated by spaces, as in `{"loader": "load_eval_scenarios scenario_loader"}`. `extra` is what some of
    the modules need, where that is an extra: without it, they raise an error that says how to install it.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(import_module(f"{package}.{home}"), name)
        except ModuleNotFoundError:
            if extra is not None:
                from ghx_base.extras import require_extra  # noqa: PLC0415 - of no use where nothing is missing

                require_extra(extra, for_what=f"{package}.{name}")
            raise
        # The next access finds it as an ordinary attribute and does not come here.
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of})

    return get, list_names
