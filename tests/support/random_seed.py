"""The seed of everything that tests draw: the same for one state of the repository, so that a failure comes back."""

import os
import subprocess
from functools import cache
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
VARIABLE = "GHX_BENCH_TEST_SEED"
"""A number, or `free` to draw another seed in each run, as the nightly tests do."""
_SIZE = 2**32


@cache
def random_seed() -> int:
    """Return the seed that the environment names; else one made of the hash of the tree at HEAD."""
    given = os.environ.get(VARIABLE, "")
    if given == "free":
        # In the environment, so that the workers of this run draw the same.
        os.environ[VARIABLE] = given = str(Random().randrange(_SIZE))
    if given:
        return int(given)
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD^{tree}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout, 16) % _SIZE if done.returncode == 0 else 0


def random_for(purpose: str) -> Random:
    """Return what a test draws a sample with."""
    return Random(f"{random_seed()} {purpose}")
