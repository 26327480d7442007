"""Accounts: users, organisations, their teams and tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class User(Record):
    """A user, a bot or an organisation: an account that can own, write and be mentioned."""

    table: ClassVar[str] = "users"
    unique: ClassVar = (("login",),)
    caseless: ClassVar = ("login",)

    login: str
    type: str = "User"  # User | Organization | Bot
    name: str | None = None
    email: str | None = None
    bio: str | None = None
    company: str | None = None
    location: str | None = None
    blog: str | None = None
    site_admin: bool = False
    next_project_number: int = 1
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Record):
    """A credential: whose it is and what it may do."""

    table: ClassVar[str] = "tokens"
    unique: ClassVar = (("token",),)

    token: str
    user_id: int
    scopes: tuple[str, ...]
    installation_id: int | None = None  # of the app's installation that it acts for; then `user_id` is the app's bot
    permissions: Mapping[str, str] | None = None  # fewer than the installation's, where it was made so
    repository_ids: tuple[int, ...] | None = None  # fewer than the installation's, where it was made so
    expires_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class App(Record):
    """A GitHub App; what it does is done by its bot, `slug[bot]`."""

    table: ClassVar[str] = "apps"
    unique: ClassVar = (("slug",), ("client_id",), ("user_id",))
    caseless: ClassVar = ("slug",)

    slug: str
    name: str
    description: str | None = None
    owner_id: int
    user_id: int  # its bot
    client_id: str
    public_key: str | None = None  # PEM, of the key that the app signs its requests with
    permissions: Mapping[str, str]  # issues: write, metadata: read, ...
    events: tuple[str, ...] = ()
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation(Record):
    """An app installed on the account of a user or an organization."""

    table: ClassVar[str] = "installations"
    unique: ClassVar = (("app_id", "account_id"),)

    app_id: int
    account_id: int
    permissions: Mapping[str, str]
    repository_ids: tuple[int, ...] | None = None  # None: all repositories of the account
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(Record):
    """A user's place in an organisation."""

    table: ClassVar[str] = "memberships"
    unique: ClassVar = (("organization_id", "user_id"),)

    organization_id: int
    user_id: int
    role: str = "member"  # member | admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Team(Record):
    """A team of an organisation."""

    table: ClassVar[str] = "teams"
    unique: ClassVar = (("organization_id", "slug"),)
    caseless: ClassVar = ("slug",)

    organization_id: int
    slug: str
    name: str
    description: str | None = None
    privacy: str = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMember(Record):
    """A user in a team."""

    table: ClassVar[str] = "team_members"
    unique: ClassVar = (("team_id", "user_id"),)

    team_id: int
    user_id: int
