"""The records of a seed for rulesets."""

from typing import Literal, cast

from pydantic import Field, field_validator

from ghx_base.documents import RefusedError
from ghx_twin.queries.rulesets.rule_types import NOT_ENFORCED, Rule
from ghx_twin.seed.format import Moment, SeedModel


class SeedNamePatterns(SeedModel):
    """Patterns of names."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class SeedRulesetConditions(SeedModel):
    """Which refs, and of an organization's ruleset which repositories, it is for."""

    ref_name: SeedNamePatterns | None = Field(
        default=None, description="Full names such as `refs/heads/release/*`, `~DEFAULT_BRANCH` or `~ALL`."
    )
    repository_name: SeedNamePatterns | None = Field(
        default=None, description="Names of repositories, or `~ALL`; for rulesets of an organization."
    )


class SeedBypassActor(SeedModel):
    """Who need not follow the rules."""

    actor_type: Literal["Integration", "OrganizationAdmin", "RepositoryRole", "Team", "DeployKey", "User"]
    actor: str | None = Field(
        default=None, description="A role, the slug of a team of the organization, or a login; an app by its bot."
    )
    bypass_mode: Literal["always", "pull_request", "exempt"] = "always"


class SeedRuleset(SeedModel):
    """Rules for refs; they hold from when the world is planted."""

    name: str
    target: Literal["branch", "tag", "push"] = "branch"
    enforcement: Literal["active", "disabled", "evaluate"] = "active"
    conditions: SeedRulesetConditions = Field(
        default=SeedRulesetConditions(), description="Which refs it is for; none if left out."
    )
    rules: tuple[Rule, ...] = Field(default=(), description="Rules with their parameters, as in GitHub's REST API.")
    bypass_actors: tuple[SeedBypassActor, ...] = ()
    at: Moment | None = Field(default=None, description="When it was made.")
    updated_at: Moment | None = None

    @field_validator("rules", mode="before")
    @classmethod
    def _has_what_the_twin_enforces(cls, rules: object) -> object:
        given = cast("list[object]", rules) if isinstance(rules, list) else []
        for place, rule in enumerate(given):
            match rule:
                case {"type": str(kind)} if kind in NOT_ENFORCED:
                    reason = f"the rule {kind!r} of GitHub's is not in the twin"
                    raise RefusedError(reason, at=(place, "type"), suggestion="leave it out")
                case _:
                    pass
        return cast("object", rules)
