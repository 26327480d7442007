"""`ghx-bench check`: everything wrong with a project's files, alone and together."""

from pathlib import Path

from ghx_bench.eval.cli.flags import Switch


def check(
    *paths: Path,
    config: Path | None = None,
    strict: Switch = False,
    json: Switch = False,
) -> int:
    """Say everything that is wrong with scenarios, solutions, sets, fixtures, manifests, modes and configurations.

    Parameters
    ----------
    paths
        Files and folders; the current folder unless given. What a file is, is told by its name and content.
    config
        The configuration whose scorers, fixtures and modes may be named, besides those among the files;
        `eval.config.yaml` in the current folder unless given. The Python file with the scorers is executed.
    strict
        Let warnings count as problems.
    json
        Print what was found as JSON.
    """
    from ghx_bench.eval.cli.checking import check_paths

    return check_paths(paths or (Path(),), config=config, strict=strict, as_json=json)
