"""Programs that run other programs: what is behind `sudo`, `env`, `timeout`, `xargs`, `bash -c` and the like."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ghx_profiler.shell.names import words_in

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash"})
REPEATERS = frozenset({"xargs", "parallel", "watch"})
"""Programs that may run a command several times."""
_SHELL_OPTIONS_WITH_VALUE = frozenset({"--rcfile", "--init-file"})
_FOR_A_SHELL = frozenset({"su", "runuser", "script"})
"""Programs that hand what is behind `-c` to a shell."""
_OPERANDS_OF_PARALLEL = frozenset({":::", ":::+", "::::", "::::+"})


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """How to find the command behind a wrapper's own options and operands."""

    with_value: frozenset[str] = frozenset()
    operands: int = 0
    """Words of its own that come before the command, such as the duration of `timeout`."""
    answers: frozenset[str] = frozenset()
    """Options with which it runs nothing, such as `command -v`."""


_WRAPPERS = {
    "builtin": _Wrapper(),
    "busybox": _Wrapper(answers=words_in("--list --help")),
    "coproc": _Wrapper(),
    "command": _Wrapper(answers=words_in("-v -V")),
    "doas": _Wrapper(words_in("-u -C")),
    "env": _Wrapper(words_in("-u --unset -C --chdir")),
    "exec": _Wrapper(words_in("-a")),
    "ionice": _Wrapper(words_in("-c --class -n --classdata -p --pid")),
    "nice": _Wrapper(words_in("-n --adjustment")),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper(words_in("-i --input -o --output -e --error")),
    "sudo": _Wrapper(
        words_in("-u --user -g --group -h --host -p --prompt -C -r -t -T -U -D --chdir -R"),
        answers=words_in("-l --list -v --validate -k -K"),
    ),
    "time": _Wrapper(words_in("-f --format -o --output")),
    "timeout": _Wrapper(words_in("-k --kill-after -s --signal"), operands=1),
    "gtimeout": _Wrapper(words_in("-k --kill-after -s --signal"), operands=1),
    "parallel": _Wrapper(
        words_in(
            "-a --arg-file -C --colsep -d --delimiter --delay -I --joblog -j --jobs -L -n --max-args -N -P --max-procs "
            "--results --retries -S --sshlogin --tagstring --timeout --workdir"
        )
    ),
    "uvx": _Wrapper(words_in("--from --index --index-url -p --python --with --with-editable --with-requirements")),
    "watch": _Wrapper(words_in("-n --interval")),
    "xargs": _Wrapper(
        words_in(
            "-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s --max-chars "
            "--process-slot-var"
        )
    ),
}


@dataclass(frozen=True, slots=True)
class ShellText:
    """Shell text that a command hands to a shell."""

    source: str


Inside = tuple[str, ...] | ShellText


def behind(words: tuple[str, ...]) -> Inside | None:
    """Return what a wrapper runs: other words, or shell text; `None` if the command is no wrapper or runs nothing."""
    program = words[0].rsplit("/", 1)[-1]
    if program in SHELLS:
        return _script_of_shell(words)
    if program == "eval":
        return ShellText(" ".join(words[1:])) if len(words) > 1 else None
    if program in _FOR_A_SHELL:
        return _text_behind_c(words)
    wrapper = _WRAPPERS.get(program)
    inside = None if wrapper is None else _command_behind(words[1:], wrapper, is_env=program == "env")
    return _as_handed_on(program, inside) if isinstance(inside, tuple) else inside


def _as_handed_on(program: str, words: tuple[str, ...]) -> Inside | None:
    """Return what a wrapper makes of the words behind it before it runs them."""
    match program:
        case "watch":
            return ShellText(" ".join(words))  # it hands its words to a shell
        case "parallel":
            return _text_for_parallel(words)
        case "uvx":
            return (words[0].partition("@")[0] or words[0], *words[1:])  # `ghx@1.2` is `ghx`
        case _:
            return words


def commands_of_find(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the commands that `find` runs on what it finds."""
    starts = (at for at, word in enumerate(words) if word in {"-exec", "-execdir", "-ok", "-okdir"})
    for start in starts:
        rest = words[start + 1 :]
        end = next((at for at, word in enumerate(rest) if word in {";", "+"}), len(rest))
        if rest[:end]:
            yield rest[:end]


def reads_script_from_input(words: tuple[str, ...]) -> bool:
    """Return whether the command is a shell that runs what it reads, as in `bash <<EOF` or `sh -s`."""
    if words[0].rsplit("/", 1)[-1] not in SHELLS:
        return False
    rest = words[1:]
    return not rest or "-s" in rest or all(word.startswith("-") and "c" not in word for word in rest)


def _script_of_shell(words: tuple[str, ...]) -> ShellText | None:
    """Return the text behind `-c`, also as in `bash -lc '...'`, `bash -o pipefail -c '...'`, `bash -c -- '...'`."""
    at, has_text = 1, False
    while at < len(words) and words[at][:1] in {"-", "+"}:
        word = words[at]
        has_text |= not word.startswith("--") and "c" in word[1:] and word.startswith("-")
        takes_value = word in _SHELL_OPTIONS_WITH_VALUE or (not word.startswith("--") and word[-1] in "oO")
        at += 2 if takes_value else 1
        if word == "--":
            break
    return ShellText(words[at]) if has_text and at < len(words) else None


def _text_behind_c(words: tuple[str, ...]) -> ShellText | None:
    """Return what `su -c '...'`, `su bob -c '...'` or `script -qec '...' log` hand to a shell."""
    for word, following in itertools.pairwise(words):
        if word in {"--command", "--session-command"} or _OPTIONS_WITH_C.fullmatch(word):
            return ShellText(following)
    return next((ShellText(word.partition("=")[2]) for word in words if word.startswith("--command=")), None)


def _text_for_parallel(words: tuple[str, ...]) -> ShellText | None:
    """Return the command that is run for every operand behind `:::`; without one, the operands are commands."""
    end = next((at for at, word in enumerate(words) if word in _OPERANDS_OF_PARALLEL), len(words))
    if end == 0:
        return ShellText("\n".join(words[1:])) if words[0].startswith(":::") and len(words) > 1 else None
    return ShellText(" ".join(words[:end]))


def _command_behind(words: tuple[str, ...], wrapper: _Wrapper, *, is_env: bool) -> Inside | None:
    at, operands = 0, wrapper.operands
    while at < len(words):
        word = words[at]
        if word in wrapper.answers:
            return None
        if is_env and word in {"-S", "--split-string"}:
            return ShellText(" ".join(words[at + 1 :]))
        if word == "--":
            at += 1
        elif word.startswith("-") and len(word) > 1:
            at += 2 if word in wrapper.with_value else 1
            continue
        elif word.partition("=")[0].isidentifier() and "=" in word:  # an assignment, as behind `env`
            at += 1
            continue
        rest = words[at + operands :]
        return rest or None
    return None


_OPTIONS_WITH_C = re.compile("-[a-zA-Z]*c")
