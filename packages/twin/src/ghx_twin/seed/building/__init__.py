"""Build a world from a seed, by the commands that serve clients, too."""

from ghx_twin.seed.building.world import build_world
from ghx_twin.seed.mistakes import SeedError

__all__ = ["SeedError", "build_world"]
