"""What `ghx-bench init` writes."""

from pathlib import Path

from ghx_bench._base.errors import InputError, OperationError

PROJECT = Path(__file__).parent.parent / "project"


def found(directory: Path) -> int:
    """Copy the project, unless one of its files is there already."""
    files = sorted(path for path in PROJECT.rglob("*.yaml"))
    taken = [path.relative_to(PROJECT) for path in files if (directory / path.relative_to(PROJECT)).exists()]
    if taken:
        raise InputError(f"{directory / taken[0]} is there already; nothing was written, choose another folder")
    try:
        for path in files:
            target = directory / path.relative_to(PROJECT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
            print(target)  # noqa: T201 - this command's output
    except OSError as error:
        raise OperationError(f"{error.filename} cannot be written: {error.strerror}") from error
    place = "" if directory == Path() else f"cd {directory} && "
    print(f"\nRun it: {place}ghx-bench run")  # noqa: T201 - this command's output
    return 0
