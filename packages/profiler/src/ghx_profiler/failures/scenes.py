"""What kind of answer a call asked for, which decides how far the words in it can be trusted to be its own.

A command that prints a log file shows errors, and nothing failed; the same lines from a build mean that it failed.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice

from ghx_profiler.records.trace import ToolCallEvent
from ghx_profiler.shell.calls import script_of
from ghx_profiler.shell.command import Command, Script
from ghx_profiler.shell.names import FILTERS, GLUE, leading_words, words_in


class Trust(IntEnum):
    """How much of the text that came back is the called program's own."""

    CONTENT = 0
    """Nothing but what was asked for: a file, a log, what a search found."""
    SELECTION = 1
    """Parts of an answer that were picked out, such as the body of an issue."""
    ACCOUNT = 2
    """An answer that shows something, in words of the program and of others."""
    REPORT = 3
    """What a program says of what it does."""


READERS = FILTERS | words_in("""
    ag ack bat cmp dmesg diff fd file find hexdump journalctl ls man od stat strings tree xxd zcat zgrep zless
""")
_READING = words_in("blame cat cat-file diff grep log logs reflog shortlog")
_READING_OPTIONS = words_in("--comments --log --log-failed --logs --patch")
_SHOWING = words_in("""
    api comments describe dump export get history info inspect list ls print ps query read search show status view
""")
_FETCHERS = words_in("curl wget http https xh")
_PICKING = words_in("--format --jq --jsonpath --query --template -q -t")
_PICKERS = words_in("awk cut egrep fgrep gawk grep jq rg sed sort uniq yq")
_ANSWERS_WITH_ONE = words_in("cmp diff egrep expr fgrep grep pgrep rg test zgrep")
_READING_TOOL = re.compile(
    r"(?:^|[_.:/-])(?:read|view|open|cat|show|get)(?:_\w+)?_(?:file|files|contents?|log|logs|page|resource|url)s?$"
    r"|^(?:read|view|cat|grep|glob|ls|list|find|search|rg|codebase_?search|web_?fetch|web_?search|fetch|fs_?read"
    r"|read_?\w*files?|search_file_content|list_dir\w*|notebook_?read)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Who may have printed what a call gave back."""

    trust: Trust
    is_shell: bool = False
    programs: frozenset[str] = frozenset()
    only_reads: bool = False
    """Whether no program but readers of files and texts was run."""
    is_single: bool = False
    """Whether one program printed all of it, so that its complaint would come first."""
    exit_code_is_its_own: bool = False
    has_fallback: bool = False
    last_program: str = ""

    def answers_with(self, exit_code: int) -> bool:
        """Return whether the exit code is an answer, such as that a search found nothing, and not a failure."""
        return exit_code == 1 and self.last_program in _ANSWERS_WITH_ONE


def scene_of(call: ToolCallEvent) -> Scene:
    """Return who may have printed the output of a call."""
    script = script_of(call)
    if script is not None:
        return _shell_scene(script)
    return Scene(trust=Trust.CONTENT if _READING_TOOL.search(call.name) else Trust.ACCOUNT, is_single=True)


def _shell_scene(script: Script) -> Scene:
    visible = [command for command in script.commands if not command.nested] or list(script.commands)
    working = [command for command in visible if not _passes_on(command)]
    is_single = len(working) == 1 and script.is_whole and not script.has_loop
    return Scene(
        trust=_trust_in(visible),
        is_shell=True,
        programs=frozenset(command.program for command in script.commands),
        only_reads=all(command.program in READERS | GLUE for command in script.commands),
        is_single=is_single,
        exit_code_is_its_own=is_single and visible[-1] is working[0] and not script.has_fallback,
        has_fallback=script.has_fallback,
        last_program=visible[-1].program if visible else "",
    )


def _trust_in(commands: list[Command]) -> Trust:
    """Return the trust in the most talkative command, less where only parts of its words are let through."""
    most, current = Trust.CONTENT, Trust.REPORT if not commands else Trust.CONTENT
    for command in commands:
        if command.piped and command.program in _PICKERS:
            current = min(current, Trust.SELECTION)
        elif not _passes_on(command):
            most, current = max(most, current), _trust_in_one(command)
    return max(most, current)


def _passes_on(command: Command) -> bool:
    return command.program in GLUE or (command.piped and command.program in FILTERS)


def _trust_in_one(command: Command) -> Trust:
    words = set(islice(leading_words(command.arguments), 2))
    options = {word.split("=")[0] for word in command.arguments if word.startswith("-")}
    if command.program in READERS or _READING & words or _READING_OPTIONS & options:
        return Trust.CONTENT
    if command.program == "git" and "show" in words:
        return Trust.CONTENT
    if command.program not in _FETCHERS and not _SHOWING & words:
        return Trust.REPORT
    return Trust.SELECTION if _PICKING & options else Trust.ACCOUNT
