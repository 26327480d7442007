"""Which rules hold for a ref, and for whom."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from ghx_twin.queries import permissions
from ghx_twin.queries.permissions import Role
from ghx_twin.queries.repositories.globs import matches_path
from ghx_twin.queries.rulesets.rule_types import RULE, Rule
from ghx_twin.state.columns import canonical_json
from ghx_twin.state.records import Membership, Repository, Ruleset, TeamMember, User
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

BypassMode = Literal["always", "pull_request", "exempt"]
ROLE_IDS: dict[Role, int] = {"read": 1, "maintain": 2, "triage": 3, "write": 4, "admin": 5}
"""The ids by which bypass actors name the roles of a repository."""
_PREFIXES = {"branch": "refs/heads/", "tag": "refs/tags/"}


@dataclass(frozen=True, slots=True)
class ActiveRule:
    """A rule that holds for a ref, and the ruleset it is from."""

    ruleset: Ruleset
    rule: Rule


def source_of(world: World, ruleset: Ruleset) -> Repository | User:
    """Return the repository or organization that a ruleset belongs to."""
    repository = world.database.get(Repository, ruleset.repository_id) or world.database.get(
        User, ruleset.organization_id
    )
    assert repository is not None  # noqa: S101 - a ruleset goes with its owner
    return repository


def rulesets_of(world: World, repository: Repository, *, with_parents: bool = True) -> list[Ruleset]:
    """Return the rulesets of a repository, and with its parents those of its organization that name it."""
    own = world.database.all(Ruleset, repository_id=repository.id)
    if not with_parents:
        return own
    above = world.database.all(Ruleset, organization_id=repository.owner_id)
    return own + [each for each in above if _covers(each, repository)]


def rules_of(world: World, repository: Repository, ref: str) -> list[ActiveRule]:
    """Return the rules of active rulesets that hold for a ref, by its full name, whether it exists or not."""
    return list(_active_rules(world, repository, ref))


def rules_that_bind(
    world: World, viewer: Viewer | None, repository: Repository, ref: str, *, merging: bool = False
) -> list[ActiveRule]:
    """Return the rules for a ref that a viewer cannot bypass, by a push or by merging a pull request."""
    if viewer is None or viewer.unrestricted:
        return []
    free: set[str | None] = {"always", "exempt", "pull_request"} if merging else {"always", "exempt"}
    rules = rules_of(world, repository, ref)
    modes = {one.ruleset.id: bypass_mode(world, viewer, repository, one.ruleset) for one in rules}
    return [one for one in rules if modes[one.ruleset.id] not in free]


def bypass_mode(world: World, viewer: Viewer, repository: Repository, ruleset: Ruleset) -> BypassMode | None:
    """Return how a viewer may bypass a ruleset; None if not at all. Nobody may unless the ruleset names them."""
    modes = [
        cast("BypassMode", actor.get("bypass_mode", "always"))
        for actor in ruleset.bypass_actors
        if _is_actor(world, viewer, repository, cast("str", actor["actor_type"]), actor.get("actor_id"))
    ]
    return next((mode for mode in ("exempt", "always", "pull_request") if mode in modes), None)


def _active_rules(world: World, repository: Repository, ref: str) -> Iterator[ActiveRule]:
    for ruleset in rulesets_of(world, repository):
        if ruleset.enforcement == "active" and _targets(ruleset, repository, ref):
            for rule in ruleset.rules:
                yield ActiveRule(ruleset, _parse_rule(canonical_json(rule)))


@lru_cache(maxsize=512)
def _parse_rule(text: str) -> Rule:
    """Return a rule as its model; rules were checked when they were stored."""
    return RULE.validate_json(text)


def _targets(ruleset: Ruleset, repository: Repository, ref: str) -> bool:
    if ruleset.target == "push":
        return True
    if not ref.startswith(_PREFIXES[ruleset.target]):
        return False
    names = ruleset.conditions.get("ref_name", {})
    default = f"refs/heads/{repository.default_branch}"
    included = any(_matches_ref(pattern, ref, default) for pattern in names.get("include", ()))
    return included and not any(_matches_ref(pattern, ref, default) for pattern in names.get("exclude", ()))


def _matches_ref(pattern: str, ref: str, default: str) -> bool:
    match pattern:
        case "~ALL":
            return True
        case "~DEFAULT_BRANCH":
            return ref == default
        case _:
            # Patterns are of full names; people also write them without the prefix.
            return matches_path(pattern, ref) or matches_path(pattern, ref.split("/", 2)[2])


def _covers(ruleset: Ruleset, repository: Repository) -> bool:
    names = ruleset.conditions.get("repository_name")
    if names is None:
        return True
    name = repository.name
    included = any(one == "~ALL" or matches_path(one, name) for one in names.get("include", ()))
    return included and not any(matches_path(one, name) for one in names.get("exclude", ()))


def _is_actor(world: World, viewer: Viewer, repository: Repository, kind: str, identity: object) -> bool:
    match kind:
        case "OrganizationAdmin":
            owner = world.database.one(Membership, organization_id=repository.owner_id, user_id=viewer.id, role="admin")
            return owner is not None
        case "RepositoryRole":
            return ROLE_IDS.get(permissions.role(world, viewer, repository)) in _role_ids_from(identity)
        case "Team":
            return world.database.one(TeamMember, team_id=identity, user_id=viewer.id) is not None
        case "User" | "Integration":  # an app acts as its bot
            return viewer.id == identity
        case _:
            return False  # deploy keys do not come by HTTP


def _role_ids_from(identity: object) -> set[int]:
    """Return the ids of a role and of those that include it."""
    needed = next((role for role, role_ids in ROLE_IDS.items() if role_ids == identity), None)
    return {ROLE_IDS[role] for role in ROLE_IDS if needed and permissions.at_least(role, needed)}
