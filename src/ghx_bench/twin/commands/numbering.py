"""The next free number: issues and pull requests share one row of numbers, milestones have their own."""

from ghx_bench.twin.commands.events import fresh
from ghx_bench.twin.state.records import Repository
from ghx_bench.twin.world import Act


def next_number(act: Act, repository: Repository) -> int:
    """Take the next number of a repository's issues and pull requests."""
    current = fresh(act, repository)
    act.database.update(current, next_number=current.next_number + 1)
    return current.next_number


def next_milestone_number(act: Act, repository: Repository) -> int:
    """Take the next number of a repository's milestones."""
    current = fresh(act, repository)
    act.database.update(current, next_milestone_number=current.next_milestone_number + 1)
    return current.next_milestone_number
