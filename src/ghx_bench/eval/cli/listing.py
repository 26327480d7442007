"""`ghx-bench list`: what there is to run, and to run it with."""

from pathlib import Path

from ghx_bench.eval.cli.flags import Listing, Narrowing

_EVERY = Narrowing()
_HERE = Listing()


def list_scenarios(*paths: Path, narrowing: Narrowing = _EVERY, listing: Listing = _HERE) -> int:
    """List scenarios: those of the project, and those that come with the package.

    Parameters
    ----------
    paths
        Files and folders of scenarios, to list these alone.
    """
    from ghx_bench.eval.cli.inventory import show_scenarios

    return show_scenarios(paths, narrowing, listing)


def list_sets(*, listing: Listing = _HERE) -> int:
    """List the named sets of scenarios, for `run --scenario-set`."""
    from ghx_bench.eval.cli.inventory import show_sets

    return show_sets(listing)


def list_modes(*, listing: Listing = _HERE) -> int:
    """List the modes, for `run --mode`: what their agents find on the path, and their MCP servers."""
    from ghx_bench.eval.cli.inventory import show_modes

    return show_modes(listing)


def list_agents(*, listing: Listing = _HERE) -> int:
    """List the agents, for `run --agent`."""
    from ghx_bench.eval.cli.inventory import show_agents

    return show_agents(listing)


def list_fixtures(*, listing: Listing = _HERE) -> int:
    """List the fixtures, which scenarios require: those of the project, and those that come with the package."""
    from ghx_bench.eval.cli.inventory import show_fixtures

    return show_fixtures(listing)
