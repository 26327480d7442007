"""`ghx-twin check`: what is wrong with a seed."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def check(seed: Annotated[Path, Parameter(help="The seed file, YAML or JSON.")], /) -> int:
    """Report the mistakes of form in a seed all at once, then the first thing that GitHub would refuse in its world.

    What scripts say of jobs and steps that no workflow file has is a warning.
    """
    from ghx_base.problems import plural
    from ghx_twin.seed.building import build_world
    from ghx_twin.seed.loading import load_seed
    from ghx_twin.seed.mistakes import error_place
    from ghx_twin.seed.script_warnings import script_warnings
    from ghx_twin.world import World

    document = load_seed(seed)
    with World.create() as world, error_place(str(seed)):
        build_world(world, document)
        for warning in script_warnings(world, document):
            print(f"warning: {seed}: {warning}", file=sys.stderr)  # noqa: T201 - this command's output
    kinds = {"user": document.users, "organization": document.organizations, "repository": document.repositories}
    counts = ", ".join(plural(len(records), kind) for kind, records in kinds.items())
    print(f"{seed}: ok ({counts})")  # noqa: T201 - this command's output
    return 0
