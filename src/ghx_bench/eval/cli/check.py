"""`ghx-bench check`: everything wrong with scenarios, sets, manifests and configurations."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def check(
    *paths: Path,
    strict: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Say everything that is wrong with scenarios, sets, manifests and configurations.

    Parameters
    ----------
    paths
        Files and folders; the current folder unless given. What a file is, is told by its name and content.
    strict
        Let warnings count as problems.
    json
        Print what was found as JSON.
    """
    from ghx_bench.eval.cli.checking import check_paths

    return check_paths(paths or (Path(),), strict=strict, as_json=json)
