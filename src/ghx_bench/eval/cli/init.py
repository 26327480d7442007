"""`ghx-bench init`: a project that runs at once."""

from pathlib import Path


def init(directory: Path = Path(), /) -> int:
    """Write a project that runs at once: a configuration, a scenario with its solution, a fixture, a mode of its own.

    Parameters
    ----------
    directory
        The folder to write it to; files that are there already are left alone, and nothing is written then.
    """
    from ghx_bench.eval.cli.founding import found

    return found(directory)
