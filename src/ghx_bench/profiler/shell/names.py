"""Naming commands, so that `gh pr view 7 --json title` and `gh pr view 9` are the same thing done twice."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ghx_bench.profiler.shell.command import Command
from ghx_bench.profiler.shell.vocabulary import ACTIONS, ACTIONS_AND_THINGS, ONE_SUBCOMMAND, PLAIN_PROGRAMS

CommandResolver = Callable[[Command], str]
"""Names a command. A consumer that knows its programs better than the profiler brings one of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommands:
    """How a program's subcommands are found: so many words at most, behind options that may take a value."""

    words: int = 1
    options_with_value: frozenset[str] = frozenset()


COMMON_PROGRAMS: Mapping[str, Subcommands] = {
    **dict.fromkeys(ONE_SUBCOMMAND, Subcommands()),
    "git": Subcommands(
        options_with_value=frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
    ),
}
"""Programs of everybody's, and how many of their words are subcommands."""

_BARE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubcommandResolver:
    """Names a command by its program and the subcommands behind it: `git push`, `npm run`, `gh pr view`.

    For a program in `programs` the table says how many words are subcommands. For any other program a word counts if
    it is a common word for doing something, alone (`gh api`) or behind a thing to do it to (`gh pr view`).
    """

    programs: Mapping[str, Subcommands] = field(default_factory=lambda: COMMON_PROGRAMS)

    def __call__(self, command: Command) -> str:
        """Return the name of the command."""
        program = command.program
        if (known := self.programs.get(program)) is not None:
            return " ".join((program, *_told(command.arguments, known)))
        if program in PLAIN_PROGRAMS:
            return program
        return " ".join((program, *_guessed(command.arguments)))


def _told(arguments: tuple[str, ...], known: Subcommands) -> Iterator[str]:
    at, found = 0, 0
    while at < len(arguments) and found < known.words:
        word = arguments[at]
        if word.startswith("-"):
            at += 2 if word in known.options_with_value else 1
        elif _BARE.fullmatch(word):
            yield word
            at, found = at + 1, found + 1
        else:
            return


def _guessed(arguments: tuple[str, ...]) -> tuple[str, ...]:
    words = list(leading_words(arguments))
    match words:
        case [thing, action, *_] if action in ACTIONS and (thing not in ACTIONS or thing in ACTIONS_AND_THINGS):
            return (thing, action)
        case [action, *_] if action in ACTIONS:
            return (action,)
        case _:
            return ()


def leading_words(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the bare words at the start; behind an option, the word that may be its value is passed over."""
    behind_option = False
    for word in arguments:
        if word.startswith("-"):
            behind_option = "=" not in word
        elif _BARE.fullmatch(word):
            yield word
            behind_option = False
        elif behind_option:
            behind_option = False
        else:
            return


resolve_command: CommandResolver = SubcommandResolver()
"""The resolver that is used unless a consumer brings another."""
