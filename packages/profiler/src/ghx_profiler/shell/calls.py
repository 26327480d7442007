"""Tool calls, understood: what a call of a shell tool really runs, and what to call it."""

import re
from collections.abc import Mapping
from typing import cast

from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell.command import Command, Script
from ghx_profiler.shell.names import FILTERS, GLUE, WORD_MAKERS, CommandResolver, resolve_command
from ghx_profiler.shell.parsing import parse_shell, script_of_words

_SHELL_WORDS = frozenset({"bash", "sh", "zsh", "shell", "terminal", "cmd", "command", "exec", "console"})
_TEXT_KEYS = ("command", "cmd", "script", "commandLine", "command_line", "code", "input")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def is_shell_tool(name: str) -> bool:
    """Return whether a tool runs commands, by what agents call it: `Bash`, `exec_command`, `run_shell_command`."""
    return not _SHELL_WORDS.isdisjoint(part.lower() for part in _NAME_PARTS.findall(name))


def command_of(call: ToolCallEvent) -> str | tuple[str, ...] | None:
    """Return what a shell tool was given: text, or the words of one program; `None` for any other tool."""
    return _text_of(call.input) if is_shell_tool(call.name) else None


def script_of(call: ToolCallEvent) -> Script | None:
    """Return what a call of a shell tool runs; `None` for any other tool."""
    match command_of(call):
        case str(text):
            return parse_shell(text)
        case tuple(words):
            return script_of_words(words)
        case None:
            return None


def names_of(call: ToolCallEvent, resolve: CommandResolver = resolve_command) -> tuple[str, ...]:
    """Return the names of what a call does: of the commands that matter, or of the tool itself.

    Of a shell call, what only moves about (`cd`), comments (`echo`), filters behind a pipe (`| head`) or makes words
    inside `$(...)` (`$(date)`) is left out, unless there is nothing else. There is always at least one name.
    """
    script = script_of(call)
    if script is None or not script.commands:
        return (call.name,)
    matter = [command for command in script.commands if _matters(command)]
    names = (resolve(command) for command in matter or script.commands[-1:])
    return tuple(name or call.name for name in names)


def label_of(names: tuple[str, ...]) -> str:
    """Return one text for all that a call does, such as `git add + git commit`."""
    return " + ".join(dict.fromkeys(names))


def _matters(command: Command) -> bool:
    if command.program in GLUE:
        return False
    if command.nested:
        return command.program not in WORD_MAKERS
    return not (command.piped and command.program in FILTERS)


def _text_of(arguments: object) -> str | tuple[str, ...] | None:
    match arguments:
        case str():
            return arguments
        case list():
            words = cast("list[object]", arguments)
            return tuple(word for word in words if isinstance(word, str)) if words else None
        case {"action": {"type": "exec"}}:  # of OpenAI's local_shell
            return _text_of(cast("Mapping[str, object]", arguments)["action"])
        case dict():
            fields = cast("Mapping[str, object]", arguments)
            values = (fields[key] for key in _TEXT_KEYS if key in fields)
            return next((text for text in map(_text_of, values) if text is not None), None)
        case _:
            return None
