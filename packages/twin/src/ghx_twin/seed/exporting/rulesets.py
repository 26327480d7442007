"""Harvests the rulesets of a repository or organization."""

from typing import Any, cast

from ghx_twin.queries.rulesets.applying import ROLE_IDS
from ghx_twin.seed.rulesets import SeedRuleset
from ghx_twin.state.records import Ruleset, Team, User
from ghx_twin.world import World


def export_rulesets(
    world: World, *, repository_id: int | None = None, organization_id: int | None = None
) -> tuple[SeedRuleset, ...]:
    """Return the rulesets of the repository or organization with an id, as a seed writes them."""
    rulesets = world.database.all(Ruleset, repository_id=repository_id, organization_id=organization_id)
    return tuple(
        SeedRuleset.model_validate(
            {
                **{name: getattr(each, name) for name in ("name", "target", "enforcement", "conditions", "rules")},
                "bypass_actors": tuple(_actor(world, actor) for actor in each.bypass_actors),
                "at": each.created_at,
                "updated_at": each.updated_at,
            }
        )
        for each in rulesets
    )


def _actor(world: World, actor: Any) -> dict[str, object]:
    identity = cast("int | None", actor["actor_id"])
    match actor["actor_type"]:
        case "RepositoryRole":
            name = next((role for role, known in ROLE_IDS.items() if known == identity), None)
        case "Team":
            name = getattr(world.database.get(Team, identity), "slug", None)
        case _:
            name = getattr(world.database.get(User, identity), "login", None)
    return {"actor_type": actor["actor_type"], "actor": name, "bypass_mode": actor["bypass_mode"]}
