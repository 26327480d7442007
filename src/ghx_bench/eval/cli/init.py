"""`ghx-bench init`: a project that runs at once."""

import shlex
from contextlib import suppress
from pathlib import Path

from ghx_bench._base.errors import InputError, OperationError

PROJECT = Path(__file__).parents[1] / "starters" / "project"
"""The files that are copied."""


def init(directory: Path = Path(), /) -> int:
    """Write a project that runs at once: a configuration, a scenario with its solution, a fixture, a mode of its own.

    Parameters
    ----------
    directory
        The folder to write it to; files that are there already are left alone, and nothing is written then.
    """
    targets = {directory / path.relative_to(PROJECT): path for path in sorted(PROJECT.rglob("*.yaml"))}
    taken = next((target for target in targets if target.exists()), None)
    if taken is not None:
        raise InputError(f"{taken} is there already; nothing was written, choose another folder")
    for target, path in targets.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        except OSError as error:
            # Half a project would be in the way of the next attempt.
            for written in targets:
                with suppress(OSError):
                    written.unlink(missing_ok=True)
            raise OperationError(f"{target} cannot be written: {error.strerror}; no file of it was left") from error
    print("\n".join(map(str, targets)))
    place = "" if directory == Path() else f"cd {shlex.quote(str(directory))} && "
    print(f"\nRun it: {place}ghx-bench run")
    return 0
