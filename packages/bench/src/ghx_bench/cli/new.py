"""`ghx-bench new`: first drafts of files."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from ghx_base.errors import InputError


def new_scenario(
    id: str,  # noqa: A002 - the name on the command line
    /,
    *,
    category: Literal["pr", "issue", "workflow", "release", "repo"] | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
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
    from_
        A scenario to begin with, of the project or of the package: it is copied, and so is its solution.
    directory
        The folder to write it to.
    format
        YAML has comments that explain each part; JSON has none. A copy keeps the format of its original.
    """
    from ghx_bench.catalogue import Catalogue
    from ghx_bench.project.config_file import project_config
    from ghx_bench.project.starter import copy_scenario, write_starter

    if from_ is None:
        path, has_solution = write_starter(id, directory, category=category, format_=format), True
    elif category is None:
        path, *others = copy_scenario(Catalogue(project_config()).path_of(from_), from_, id, directory)
        has_solution = bool(others)
    else:
        raise InputError("a copy has the category of its original; leave --category out, or --from")
    and_solution = ", and its solution beside it; edit them" if has_solution else "; edit it"
    print(f"{path} written{and_solution}, then run: ghx-bench check {directory}")
    return 0


def new_fixture(
    name: str,
    /,
    *,
    from_: Annotated[str, Parameter(name="--from")],
    directory: Annotated[Path, Parameter(name="--dir", show_default=True)] = Path("fixtures"),
) -> int:
    """Write a fixture that begins as a copy of another, with the seed of its world if it has one.

    Parameters
    ----------
    name
        Its name: lower-case words, joined by underscores, as in `pr_with_changes`.
    from_
        The fixture to begin with, of the project or of the package.
    directory
        The folder to write it to; name it in `fixtures.folders` of the configuration.
    """
    from ghx_bench.fixtures.library import load_fixtures
    from ghx_bench.project.config_file import project_config
    from ghx_bench.project.starter import copy_fixture

    entry = load_fixtures(project_config().fixtures.folders).entry(from_)
    seed = None if entry.document.world is None else entry.path.parent / entry.document.world.seed
    path, *_ = copy_fixture(entry.path, from_, name, directory, seed=seed)
    print(f"{path} written; edit it, then run: ghx-bench check {directory}")
    return 0
