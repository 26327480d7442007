"""Who there is in a seed: people, bots, organizations and teams."""

from typing import Literal

from pydantic import Field

from ghx_bench.twin.seed.format import Login, Moment, SeedModel


class SeedToken(SeedModel):
    """A credential that exists from the start."""

    token: str = Field(min_length=1, description="What clients send.")
    scopes: tuple[str, ...] = Field(
        default=("repo", "read:org", "workflow", "gist", "delete_repo"), description="What it may do."
    )


class SeedUser(SeedModel):
    """A person or a bot."""

    login: Login
    type: Literal["User", "Bot"] = "User"
    name: str | None = None
    email: str | None = None
    bio: str | None = None
    company: str | None = None
    location: str | None = None
    blog: str | None = None
    site_admin: bool = False
    tokens: tuple[SeedToken, ...] = ()
    at: Moment | None = Field(default=None, description="When the account was made.")


class SeedTeam(SeedModel):
    """A team of an organization."""

    name: str
    slug: str | None = Field(default=None, description="Its name in addresses; follows from the name if left out.")
    description: str | None = None
    privacy: Literal["closed", "secret"] = "closed"
    members: tuple[Login, ...] = ()


class SeedOrganization(SeedModel):
    """An organization, its members and teams."""

    login: Login
    name: str | None = None
    email: str | None = None
    bio: str | None = Field(default=None, description="What it says about itself.")
    location: str | None = None
    blog: str | None = None
    members: dict[Login, Literal["member", "admin"]] = Field(default={}, description="Roles by login.")
    teams: tuple[SeedTeam, ...] = ()
    at: Moment | None = Field(default=None, description="When it was made.")
