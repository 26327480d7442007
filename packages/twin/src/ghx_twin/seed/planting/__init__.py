"""From a seed to a world: what it says is done by the commands that clients use too."""

from ghx_twin.seed.mistakes import SeedError
from ghx_twin.seed.planting.world import plant

__all__ = ["SeedError", "plant"]
