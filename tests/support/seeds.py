"""Seeds for tests: planted from text, or from the file that uses every key."""

import textwrap
from pathlib import Path

from ghx_base.documents import parse_document, validate_document
from ghx_twin.seed.building import build_world
from ghx_twin.seed.document import WorldSeed
from ghx_twin.seed.loading import load_seed
from ghx_twin.world import World

RICH = Path(__file__).parents[2] / "packages" / "twin" / "tests" / "seed" / "rich.yaml"


def seed_of(text: str) -> WorldSeed:
    return validate_document(parse_document(textwrap.dedent(text).encode(), path=Path("seed.yaml")), WorldSeed)


def world_of(seed: WorldSeed | str) -> World:
    """Plant a seed in a new world, which is closed if that fails."""
    world = World.create()
    try:
        build_world(world, seed_of(seed) if isinstance(seed, str) else seed)
    except BaseException:
        world.close()
        raise
    return world


def rich_world() -> World:
    return world_of(load_seed(RICH))
