"""`ghx-bench check`: everything wrong with scenarios, sets, fixtures, manifests and configurations."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def check(
    *paths: Path,
    config: Path | None = None,
    strict: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Say everything that is wrong with scenarios, sets, fixtures, manifests and configurations.

    Parameters
    ----------
    paths
        Files and folders; the current folder unless given. What a file is, is told by its name and content.
    config
        The configuration whose scorers scenarios may name, besides those among the files; `eval.config.yaml` in the
        current folder unless given. The Python file with the scorers is executed.
    strict
        Let warnings count as problems.
    json
        Print what was found as JSON.
    """
    from ghx_bench.eval.cli.checking import check_paths

    return check_paths(paths or (Path(),), config=config, strict=strict, as_json=json)
