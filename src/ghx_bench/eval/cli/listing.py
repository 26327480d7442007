"""`ghx-bench list`: what there is to run."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def list_scenarios(
    *paths: Path,
    tag: list[str] | None = None,
    category: list[Literal["pr", "issue", "workflow", "release", "repo"]] | None = None,
    difficulty: list[Literal["basic", "intermediate", "advanced"]] | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """List scenarios.

    Parameters
    ----------
    paths
        Files and folders of scenarios; unless given, those of this folder's project and the built-in ones.
    tag
        Only scenarios with this tag; repeat for several.
    category
        Only scenarios about this part of GitHub; repeat for several.
    difficulty
        Only scenarios this hard; repeat for several.
    json
        Print the list as JSON.
    """
    from ghx_bench.eval.cli.scenario_table import show_scenarios

    return show_scenarios(paths, tag, category, difficulty, as_json=json)
