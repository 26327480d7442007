"""From a world to a seed: what `plant` needs to make a world like it again."""

from ghx_twin.seed.harvesting.world import harvest

__all__ = ["harvest"]
