"""Programs that run other programs: what is behind `sudo`, `env`, `timeout`, `xargs`, `bash -c` and the like."""

from collections.abc import Iterator
from dataclasses import dataclass

from ghx_bench.profiler.shell.vocabulary import words_in

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash"})
REPEATERS = frozenset({"xargs", "parallel", "watch"})
"""Programs that may run others several times."""
_SHELL_OPTIONS_WITH_VALUE = frozenset({"--rcfile", "--init-file"})


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
    "watch": _Wrapper(words_in("-n --interval")),
    "xargs": _Wrapper(
        words_in(
            "-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s --max-chars "
            "--process-slot-var"
        )
    ),
}


@dataclass(frozen=True, slots=True)
class Text:
    """Shell text that a command hands to a shell."""

    source: str


Inside = tuple[str, ...] | Text


def behind(words: tuple[str, ...]) -> Inside | None:
    """Return what a wrapper runs: other words, or shell text; `None` if the command is no wrapper or runs nothing."""
    program = words[0].rsplit("/", 1)[-1]
    if program in SHELLS:
        return _script_of_shell(words)
    if program == "eval":
        return Text(" ".join(words[1:])) if len(words) > 1 else None
    wrapper = _WRAPPERS.get(program)
    inside = None if wrapper is None else _command_behind(words[1:], wrapper, is_env=program == "env")
    if program == "watch" and isinstance(inside, tuple):
        return Text(" ".join(inside))  # it hands its words to a shell
    return inside


def found_commands(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the commands that `find` runs on what it finds."""
    starts = (at for at, word in enumerate(words) if word in {"-exec", "-execdir", "-ok", "-okdir"})
    for start in starts:
        rest = words[start + 1 :]
        end = next((at for at, word in enumerate(rest) if word in {";", "+"}), len(rest))
        if rest[:end]:
            yield rest[:end]


def reads_script_from_input(words: tuple[str, ...]) -> bool:
    """Say whether the command is a shell that runs what it reads, as in `bash <<EOF` or `sh -s`."""
    if words[0].rsplit("/", 1)[-1] not in SHELLS:
        return False
    rest = words[1:]
    return not rest or "-s" in rest or all(word.startswith("-") and "c" not in word for word in rest)


def _script_of_shell(words: tuple[str, ...]) -> Text | None:
    """Return the text behind `-c`, also as in `bash -lc '...'` and `bash -o pipefail -c '...'`."""
    at = 1
    while at < len(words) and words[at][:1] in {"-", "+"}:
        word = words[at]
        if not word.startswith("--") and "c" in word[1:] and word.startswith("-"):
            return Text(words[at + 1]) if at + 1 < len(words) else None
        takes_value = word in _SHELL_OPTIONS_WITH_VALUE or (not word.startswith("--") and word[-1] in "oO")
        at += 2 if takes_value else 1
    return None


def _command_behind(words: tuple[str, ...], wrapper: _Wrapper, *, is_env: bool) -> Inside | None:
    at, operands = 0, wrapper.operands
    while at < len(words):
        word = words[at]
        if word in wrapper.answers:
            return None
        if is_env and word in {"-S", "--split-string"}:
            return Text(" ".join(words[at + 1 :]))
        if word == "--":
            at += 1
        elif word.startswith("-") and len(word) > 1:
            at += 2 if word in wrapper.with_value else 1
            continue
        elif _is_assignment(word):
            at += 1
            continue
        rest = words[at + operands :]
        return rest or None
    return None


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
