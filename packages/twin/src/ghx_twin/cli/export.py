"""`ghx-twin export`: a kept world as a seed."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def export(*, data_dir: Annotated[Path, Parameter(help="The folder that `ghx-twin serve --data-dir` keeps.")]) -> int:
    """Write the world of a data directory as a seed, to standard output."""
    from ghx_base.errors import FlagError
    from ghx_twin.seed.exporting import export_seed
    from ghx_twin.seed.loading import seed_text
    from ghx_twin.world import DATABASE, World

    if not (data_dir / DATABASE).is_file():
        raise FlagError("--data-dir", f"{data_dir} holds no world; name the folder given to `ghx-twin serve`")
    with World.create(data_dir) as world:
        sys.stdout.write(seed_text(export_seed(world)))
    return 0
