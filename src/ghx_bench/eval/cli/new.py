"""`ghx-bench new`: first drafts of files."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def new_scenario(
    id: str,  # noqa: A002 - the name on the command line
    /,
    *,
    category: Literal["pr", "issue", "workflow", "release", "repo"] | None = None,
    directory: Annotated[Path, Parameter(name="--dir", show_default=True)] = Path("scenarios"),
    format: Annotated[Literal["yaml", "json"], Parameter(show_default=True)] = "yaml",  # noqa: A002 - the same
) -> int:
    """Write the first draft of a scenario and of its solution: they work as they stand, and say what to change.

    Parameters
    ----------
    id
        The id: lower-case words and three digits, as in `pr-review-001`.
    category
        The part of GitHub it is about; told by the first word of the id unless given.
    directory
        The folder to write it to.
    format
        YAML has comments that explain each part; JSON has none.
    """
    from ghx_bench.eval.project.starter import write_starter

    path = write_starter(id, directory, category=category, format_=format)
    said = f"{path} written, and its solution beside it; edit them, then run: ghx-bench check {directory}"
    print(said)
    return 0
