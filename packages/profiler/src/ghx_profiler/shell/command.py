"""What a piece of shell text runs: commands, one by one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program (or builtin, or function from elsewhere) that is run, with its words as the shell reads them.

    Quotes and escapes are gone from the words; what only the running shell knows, such as `$HOME` or `$(date)`, stands
    there as it was written. Environment prefixes, redirections and wrappers such as `sudo` are not part of it.
    """

    words: tuple[str, ...]
    piped: bool = False
    """Whether it reads what another command of the same pipeline prints."""
    nested: bool = False
    """Whether it only makes a part of another command's words, as in `$(date)`."""

    @property
    def program(self) -> str:
        """The name of the program, without the folder it is in."""
        return self.words[0].rsplit("/", 1)[-1] or self.words[0]

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words behind the program."""
        return self.words[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """Shell text, understood: its commands in the order in which they start."""

    commands: tuple[Command, ...] = ()
    has_fallback: bool = False
    """Whether something is only tried after something else failed, with `||`."""
    has_loop: bool = False
    """Whether something may be run several times."""
    is_whole: bool = True
    """Whether all of the text was read; what is overly long or has overly many commands is read in part."""
