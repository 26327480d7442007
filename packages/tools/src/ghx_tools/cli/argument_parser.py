"""`argparse` with the error messages and the help of our other commands."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ghx_tools.cli.usage import UsageError, no_value


class _Help(argparse.RawDescriptionHelpFormatter):
    """Writes `Usage:` as our other commands do, and leaves lines as they are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=100)

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or "Usage: ")


class Parser(argparse.ArgumentParser):
    """Raises errors instead of printing them; flags cannot be abbreviated."""

    def __init__(self, name: str, purpose: str, **options: Any) -> None:
        self._switches = {"-h", "--help"}
        super().__init__(
            prog=name,
            description=purpose,
            allow_abbrev=False,
            formatter_class=_Help,
            **options,
        )

    def add_switch(self, flag: str, purpose: str) -> None:
        """Add a flag without a value."""
        self._switches.add(flag)
        self.add_argument(flag, action="store_true", help=purpose)

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Read the words of a command line."""
        for word in words:
            flag, attached, _ = word.partition("=")
            if attached and flag in self._switches:  # argparse would say "ignored explicit argument"
                self.error(no_value(flag))
        return self.parse_args(words)

    def print_help(self, file: Any = None) -> None:
        """Print the help; an error of writing is raised, which `argparse` would swallow."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        """Raise an error of one line."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def run_subcommand(
    arguments: Sequence[str], commands: dict[str, Callable[[Sequence[str]], int]], parser: Parser
) -> int:
    """Run the command of a group that the first argument names."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        parser.print_help()
        return 0
    command = commands.get(arguments[0])
    if command is None:
        parser.error(f"no command {arguments[0]!r}; there are {', '.join(commands)}")
    return command(arguments[1:])
