"""What `ghx-bench init` writes."""

import shlex
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ghx_bench._base.errors import InputError, OperationError

PROJECT = Path(__file__).parents[1] / "starters" / "project"


def found(directory: Path) -> int:
    """Copy the project, unless one of its files is there already."""
    targets = {directory / path.relative_to(PROJECT): path for path in sorted(PROJECT.rglob("*.yaml"))}
    taken = next((target for target in targets if target.exists()), None)
    if taken is not None:
        raise InputError(f"{taken} is there already; nothing was written, choose another folder")
    for target, path in targets.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        except OSError as error:
            _remove(targets)
            raise OperationError(f"{target} cannot be written: {error.strerror}; no file of it was left") from error
    print("\n".join(map(str, targets)))  # noqa: T201 - this command's output
    place = "" if directory == Path() else f"cd {shlex.quote(str(directory))} && "
    print(f"\nRun it: {place}ghx-bench run")  # noqa: T201 - this command's output
    return 0


def _remove(targets: Iterable[Path]) -> None:
    """Take half a project away again, or it would be in the way of the next attempt."""
    for target in targets:
        with suppress(OSError):
            target.unlink(missing_ok=True)
