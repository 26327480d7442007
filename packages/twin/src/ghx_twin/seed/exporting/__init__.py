"""Export a world as a seed from which `build_world` makes an equal world."""

from ghx_twin.seed.exporting.world import export_seed

__all__ = ["export_seed"]
