"""Naming commands, so that `gh pr view 7 --json title` and `gh pr view 9` are the same thing done twice."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ghx_profiler.shell.command import Command


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


GLUE = words_in("""
    : . cd echo exit export false history local popd printf pushd pwd read return set shift shopt sleep source test
    trap true type ulimit umask unset wait
""")
"""Commands that only prepare or comment on others."""
FILTERS = words_in("""
    awk base64 cat column cut egrep fgrep fmt fold gawk grep head jq less more nl rev rg sed sort tac tail tee tr
    uniq wc xargs yq
""")
"""Commands that, behind a pipe, only pass on what they read."""
WORD_MAKERS = FILTERS | words_in("basename date dirname hostname mktemp realpath seq uname whoami which")
"""Commands that, inside `$(...)`, only make words for others."""
ONE_SUBCOMMAND = words_in("""
    apt apt-get brew bundle bun cargo conda deno dnf docker go gradle helm kubectl mvn npm nx pip pip3 pnpm podman
    poetry rustup systemctl terraform uv yarn
""")
"""Programs whose first word is a subcommand."""
PLAIN_PROGRAMS = words_in("""
    alias ansible awk base64 basename bash bat bc cat cd chmod chown clear cmp column comm command cp curl cut date
    dd df diff dig dirname du echo egrep env exit export false fd fgrep file find fmt fold gawk grep gunzip gzip
    head hexdump hostname id install java jq kill less ln ls lsof make man md5sum mkdir mktemp mv nano nc netstat nl
    node od patch perl pgrep php ping pkill popd printf ps pushd pwd pytest python python2 python3 read readlink
    realpath rev rg rm rmdir rsync ruby scp sed seq set sh sha256sum sleep sort source split ssh stat strings tac
    tail tar tee test time top touch tr tree true tsc type umask uname uniq unset unzip vi vim wait wc wget whereis
    which who whoami xargs xxd yes yq zcat zip zsh
""")
"""Programs whose words are operands, however much they look like subcommands."""
ACTIONS = words_in("""
    add api apply approve archive assign attach auth blame bisect branch browse build bump cancel chain check
    checkout checks cherry-pick clean clone close comment commit compare config configure convert copy cp create
    deploy describe destroy detach develop diff disable down download edit enable exec execute explain export fetch
    fork format generate get grep help import info init inspect install invite invoke kill label link lint list lock
    log login logout logs ls merge migrate mv new open patch pause pin plan plugin preview profile prune publish
    pull push query ready rebase refresh release remove rename reopen replace reply rerun reset resolve restart
    restore resume revert review revoke rm rollback run scale search send serve set setup show start stash status
    stop submit subscribe switch sync tag test transfer trigger unassign unlink unlock unpin unresolve unset up
    update upgrade upload use validate verify version view wait watch
""")
"""Words that distinguish a subcommand from an operand, for programs without a table."""
ACTIONS_AND_THINGS = words_in("auth branch config label plugin profile release run stash tag")
"""Actions that are things as well: `run view`, `label create`, `release upload`."""
CommandResolver = Callable[[Command], str]
"""Names a command. A consumer that knows its programs better than the profiler brings one of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommands:
    """How a program's subcommands are found: a maximum of words, after options that may take a value."""

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

    For a program in `programs` the table has the number of subcommand words. For any other program a word counts if
    it is a common word for doing something, alone (`gh api`) or behind a thing to do it to (`gh pr view`).
    """

    programs: Mapping[str, Subcommands] = field(default_factory=lambda: COMMON_PROGRAMS)

    def __call__(self, command: Command) -> str:
        """Return the name of the command."""
        program = command.program
        if (known := self.programs.get(program)) is not None:
            return " ".join((program, *_subcommand_words(command.arguments, known)))
        if program in PLAIN_PROGRAMS:
            return program
        return " ".join((program, *_guessed(command.arguments)))


def _subcommand_words(arguments: tuple[str, ...], known: Subcommands) -> Iterator[str]:
    at, count = 0, 0
    while at < len(arguments) and count < known.words:
        word = arguments[at]
        if word.startswith("-"):
            at += 2 if word in known.options_with_value else 1
        elif _BARE.fullmatch(word):
            yield word
            at, count = at + 1, count + 1
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
