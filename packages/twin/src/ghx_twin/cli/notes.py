"""What is said of a world at its end: what was asked for and is not there, and which faults were met."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loads git and the database, which a command does when it runs
    from ghx_twin.world import World


def print_notes(world: "World") -> None:
    """Say what was asked for and the twin lacks, and which scripted faults were met, on standard error."""
    lines: list[str] = []
    if lacks := world.journal.count_not_implemented():  # a client that repeats on any 5xx has hidden the sentence
        lines.append("ghx-twin: asked for and not implemented:")
        lines += [f"  {what}{f' ({count} times)' if count > 1 else ''}" for what, count in lacks.items()]
    if counts := world.faults.count_hits():
        lines.append("ghx-twin: faults, and how many requests met them:")
        lines += [f"  {fault}: {count or 'none'}" for fault, count in counts.items()]
    if lines:
        print(*lines, sep="\n", file=sys.stderr)  # noqa: T201 - the command's own
