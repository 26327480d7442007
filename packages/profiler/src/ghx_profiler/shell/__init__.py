"""Shell text, understood: the commands it runs, and their names."""

from ghx_profiler.shell.calls import command_of, is_shell_tool, label_of, names_of, script_of
from ghx_profiler.shell.command import Command, Script
from ghx_profiler.shell.names import (
    COMMON_PROGRAMS,
    CommandResolver,
    SubcommandResolver,
    Subcommands,
    resolve_command,
)
from ghx_profiler.shell.parsing import parse_shell

__all__ = [
    "COMMON_PROGRAMS",
    "Command",
    "CommandResolver",
    "Script",
    "SubcommandResolver",
    "Subcommands",
    "command_of",
    "is_shell_tool",
    "label_of",
    "names_of",
    "parse_shell",
    "resolve_command",
    "script_of",
]
