"""Plants the rulesets of a repository or organization."""

from collections.abc import Sequence

from ghx_twin.commands.repositories import rulesets
from ghx_twin.queries import lookup
from ghx_twin.queries.rulesets.applying import ROLE_IDS
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.seed.mistakes import error_place
from ghx_twin.seed.rulesets import SeedBypassActor, SeedRuleset
from ghx_twin.state.records import Repository, User
from ghx_twin.world import World


def build_rulesets(world: World, owner: Repository | User, seeds: Sequence[SeedRuleset]) -> None:
    """Plant rulesets; they bind nobody before the rest of the world is there."""
    for seed in seeds:
        with error_place(f"rulesets: {seed.name!r}"), world.acting(None, at=seed.at) as act:
            record = rulesets.create(
                act,
                owner,
                name=seed.name,
                target=seed.target,
                enforcement=seed.enforcement,
                conditions=seed.conditions.model_dump(exclude_none=True),
                rules=[rule.model_dump(mode="json", exclude_none=True) for rule in seed.rules],
                bypass_actors=[_find_actor(world, owner, actor) for actor in seed.bypass_actors],
            )
            if seed.updated_at is not None:
                act.database.update(record, updated_at=seed.updated_at)


def _find_actor(world: World, owner: Repository | User, actor: SeedBypassActor) -> dict[str, object]:
    match actor.actor_type:
        case "RepositoryRole":
            found = next((known for role, known in ROLE_IDS.items() if role == actor.actor), None)
        case "Team":
            login = lookup.owner(world, owner).login if isinstance(owner, Repository) else owner.login
            found = lookup.team(world, lookup.organization(world, login), actor.actor or "").id
        case "User" | "Integration":
            found = lookup.user(world, actor.actor or "").id
        case _:
            return {"actor_type": actor.actor_type, "bypass_mode": actor.bypass_mode}
    if found is None:
        raise InvalidRefusal(f"there is no role {actor.actor!r}; known are {', '.join(ROLE_IDS)}")
    return {"actor_id": found, "actor_type": actor.actor_type, "bypass_mode": actor.bypass_mode}
