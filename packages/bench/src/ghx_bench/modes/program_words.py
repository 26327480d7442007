"""How modes name programs: by name, by path, as a package of npm; under another name; and pinned.

`gh`, `./bin/helper`, `npm:gh-axi@0.1.35`; `gh=./build/gh-head` is `gh` on the path, taken from that file; and the mode
`gh-axi@0.1.34` or `baseline@./build/gh-head` is another mode with its program taken from there.
"""

import os
import re
from pathlib import Path

from ghx_base.documents import RefusedError
from ghx_profiler.agents.npm import NpmPackage

TOOLS_FOLDER = Path(".cache", "tools")
"""Where packages of npm that modes name are installed, seen from the folder of the project: each in NAME/VERSION."""

FROM_HERE = ("./", "../")

_NPM = "npm:"
_VERSION = r"\d+\.\d+\.\d+[0-9A-Za-z.+-]*"
_PACKAGE = re.compile(rf"npm:(?P<package>(?:@[a-z0-9._~-]+/)?[a-z0-9._~-]+)@(?P<version>{_VERSION})")
_ALIAS = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._+-]*)=(?P<source>.+)", re.DOTALL)
_PINNED = re.compile(r"(?P<mode>[A-Za-z0-9][A-Za-z0-9._-]*)@(?P<pin>.+)")


def check_word(word: str) -> str:
    """Return a word that names a program; refuse a package of npm without its exact version."""
    source = source_of(word)
    if source.startswith(_NPM) and not _PACKAGE.fullmatch(source):
        raise RefusedError(
            f"{source!r} is no package of npm in one version", suggestion="write it as npm:NAME@1.2.3, with all numbers"
        )
    return word


def source_of(word: str) -> str:
    """Return where a program is taken from, without the name that it gets."""
    alias = _ALIAS.fullmatch(word)
    return alias["source"] if alias else word


def with_source(word: str, source: str) -> str:
    """Return a word for the same program, taken from elsewhere; it keeps its name."""
    name = name_of(word)
    return source if name_of(source) == name else f"{name}={source}"


def name_of(word: str) -> str:
    """Return what a program is called on the path: as its file is, or as its package without the scope."""
    if alias := _ALIAS.fullmatch(word):
        return alias["name"]
    package = package_of(word)
    return Path(word if package is None else package.name).name


def package_of(word: str) -> NpmPackage | None:
    """Return the package of npm that a word names; `None` for any other program."""
    match = _PACKAGE.fullmatch(source_of(word))
    return NpmPackage(package=match["package"], version=match["version"]) if match else None


def with_version(word: str, version: str) -> str:
    """Return a word for the same package of npm in another version."""
    package = package_of(word)
    if package is None:
        raise ValueError(f"{word!r} is no package of npm")
    return with_source(word, f"{_NPM}{package.package}@{version}")


def split_pin(mode: str) -> tuple[str, str] | None:
    """Return the mode and the pin in a name such as `gh-axi@0.1.34`; `None` for a name without one."""
    pinned = _PINNED.fullmatch(mode)
    return (pinned["mode"], pinned["pin"]) if pinned else None


def is_version(pin: str) -> bool:
    """Return whether a pin is the version of a package."""
    return re.fullmatch(_VERSION, pin) is not None


def is_path(pin: str) -> bool:
    """Return whether a pin is seen to be a path."""
    return pin.startswith((*FROM_HERE, os.sep, "~"))
