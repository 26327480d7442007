"""What agents with recipes speak, and the provider for it."""

from ghx_bench.agents.drivers.command import CommandProvider
from ghx_bench.agents.drivers.recipe import Recipe
from ghx_bench.agents.drivers.recipe_provider import RecipeProvider


def provider_class(recipe: Recipe) -> type[RecipeProvider]:
    """Return what opens sessions of an agent that speaks what its recipe says."""
    if recipe.protocol == "command":
        return CommandProvider
    # The SDK takes a moment to load, and belongs to an extra, which commands do without.
    from ghx_bench.agents.drivers.acp import AcpProvider  # noqa: PLC0415 - see above

    return AcpProvider
