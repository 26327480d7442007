"""Modes whose program is taken from elsewhere: another version of its package, or a build of one's own."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from ghx_base.documents import RefusedError
from ghx_base.errors import InputError
from ghx_bench.modes.presets import PRESETS
from ghx_bench.modes.program_words import is_path, is_version, name_of, package_of, with_source, with_version
from ghx_profiler.agents.tools.toolset import McpServer

INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|node|deno|bun|ruby|perl|java|dotnet|npx|uvx?|go")
"""Programs that run another, which is what a server is known by."""


def check_pin(pin: str) -> str:
    """Return a pin; refuse what is neither a version nor seen to be a path."""
    if not is_version(pin) and not is_path(pin):
        raise RefusedError(
            f"{pin!r} is no version and no path",
            suggestion="write a version with all its numbers, as 0.1.34, or a path that begins with ./ or /",
        )
    return pin


def replace_program(
    mode: str, tools: tuple[str, ...], servers: Mapping[str, McpServer], pin: str
) -> tuple[tuple[str, ...], dict[str, McpServer]]:
    """Return the tools and servers of a mode with its one program taken from where the pin says."""
    if len(tools) + len(servers) != 1:
        raise InputError(
            f"mode {mode!r}: a pin is for a mode with one program or server, and this one has "
            f"{', '.join((*map(name_of, tools), *servers)) or 'none'}; describe a mode of its own"
        )
    if tools:
        return (_repin(mode, tools[0], pin),), {}
    ((name, server),) = servers.items()
    return (), {name: _repin_server(mode, server, pin)}


def _repin(mode: str, word: str, pin: str) -> str:
    if is_version(pin):
        if package_of(word) is None:
            raise InputError(
                f"mode {mode!r}: {name_of(word)} is no package of npm, whose versions can be fetched; pin it to a "
                "path, as MODE@./path"
            )
        return with_version(word, pin)
    return with_source(word, str(_find_build(mode, pin, name_of(word))))


def _repin_server(mode: str, server: McpServer, pin: str) -> McpServer:
    if server.command is None:
        raise InputError(f"mode {mode!r}: its server is at {server.url}, and is not started here; describe another")
    if is_version(pin) or package_of(server.command) is not None:
        return server.model_copy(update={"command": _repin(mode, server.command, pin)})
    if server == PRESETS["ghx"]:  # a module of this very installation: another one is a program
        return server.model_copy(update={"command": str(_find_build(mode, pin, "ghx")), "args": server.args[-1:]})
    if not INTERPRETER.fullmatch(Path(server.command).name):
        build = _find_build(mode, pin, name_of(server.command))
        return server.model_copy(update={"command": str(build)})
    script = next((each for each in server.args if not each.startswith("-")), None)
    if script is None or not os.path.isfile(script):  # noqa: PTH113 - any text
        raise InputError(
            f"mode {mode!r}: its server is started as `{' '.join(server.words)}`, where no file can be put in place of "
            "another; describe a mode of its own"
        )
    build = str(_find_build(mode, pin, Path(script).name))
    return server.model_copy(update={"args": tuple(build if each == script else each for each in server.args)})


def _find_build(mode: str, pin: str, name: str) -> Path:
    """Return the file that a pin means: itself, a folder with a package, or the program of that name in a folder."""
    path = Path(os.path.expanduser(pin)).absolute()  # noqa: PTH111 - Path raises for a user who is not there
    if not path.exists():
        raise InputError(f"mode {mode!r}: there is no {path}; name the file of {name}, or a folder with it")
    if not path.is_dir() or (path / "package.json").is_file():
        return path
    if not (path / name).is_file():
        raise InputError(f"mode {mode!r}: the folder {path} has no {name} in it; name the file itself")
    return path / name
