"""Accounts: people, bots, organisations with their members and teams, and tokens."""

import re
from collections.abc import Iterable
from typing import TypedDict, Unpack

from ghx_twin.commands import kernel
from ghx_twin.commands.issues import issue_types
from ghx_twin.commands.texts import already_exists, check_unicode_all, invalid, missing
from ghx_twin.queries.permissions import ROLES, Role, require_organization_admin
from ghx_twin.refusals import FieldError, ForbiddenRefusal, InvalidRefusal
from ghx_twin.state.records import Membership, Repository, Team, TeamMember, TeamRepository, Token, User
from ghx_twin.viewer import EVERY_SCOPE
from ghx_twin.world import Act

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9]|[-_](?=[A-Za-z0-9])){0,38}(?:\[bot\])?")
_NOT_A_SLUG = re.compile(r"[^a-z0-9]+")


class Profile(TypedDict, total=False):
    """What an account says about itself."""

    bio: str | None
    company: str | None
    location: str | None
    blog: str | None
    site_admin: bool


def create_user(
    act: Act,
    *,
    login: str,
    type: str = "User",  # noqa: A002 - GitHub's word for it
    name: str | None = None,
    email: str | None = None,
    **profile: Unpack[Profile],
) -> User:
    """Add an account; only the world's maker can."""
    _require_maker(act)
    if not _LOGIN.fullmatch(login):
        raise invalid("User", "login", value=login, message=f"login {login!r} is not a name an account can have")
    if act.database.one(User, login=login):
        raise already_exists("User", "login")
    if type not in {"User", "Organization", "Bot"}:
        raise invalid("User", "type", value=type)
    return act.database.insert(
        User, login=login, type=type, name=name, email=email, created_at=act.now, updated_at=act.now, **profile
    )


def create_organization(act: Act, *, login: str, name: str | None = None, **profile: Unpack[Profile]) -> User:
    """Add an organisation without members, with the types of issues that GitHub gives every new one."""
    organization = create_user(act, login=login, type="Organization", name=name, **profile)
    issue_types.create_first(act, organization)
    return organization


def update_user(act: Act, user: User, *, name: str | None = None, email: str | None = None) -> User:
    """Change the viewer's own profile; None keeps a field."""
    if act.viewer is not None and act.viewer.id != user.id:
        raise ForbiddenRefusal("Must have admin rights to the account.")
    current = kernel.reload(act, user)
    changes = {key: value for key, value in {"name": name, "email": email}.items() if value is not None}
    return kernel.touch(act, current, **check_unicode_all(changes, resource="User")) if changes else current


def add_member(act: Act, organization: User, user: User, role: str = "member") -> Membership:
    """Add a user to an organisation, or change the role they have there."""
    _require_organization_admin(act, organization)
    if role not in {"member", "admin"}:
        raise invalid("Membership", "role", value=role)
    if user.type == "Organization":
        raise invalid("Membership", "user", value=user.login)
    membership = act.database.one(Membership, organization_id=organization.id, user_id=user.id)
    if membership:
        return act.database.update(membership, role=role)
    return act.database.insert(Membership, organization_id=organization.id, user_id=user.id, role=role)


def create_team(
    act: Act,
    organization: User,
    *,
    name: str,
    slug: str | None = None,
    description: str | None = None,
    privacy: str = "closed",
) -> Team:
    """Add a team to an organisation; its slug follows from its name."""
    _require_organization_admin(act, organization)
    check_unicode_all({"name": name, "slug": slug, "description": description, "privacy": privacy}, resource="Team")
    team_slug = slug or _NOT_A_SLUG.sub("-", name.lower()).strip("-")
    if not team_slug:
        raise missing("Team", "name")
    if act.database.one(Team, organization_id=organization.id, slug=team_slug):
        raise InvalidRefusal(
            errors=(
                FieldError(
                    resource="Team", field="name", code="custom", message="Name must be unique for this organization"
                ),
            )
        )
    return act.database.insert(
        Team, organization_id=organization.id, slug=team_slug, name=name, description=description, privacy=privacy
    )


def add_team_member(act: Act, team: Team, user: User) -> TeamMember:
    """Add a user to a team, and to its organisation where they are no member yet."""
    organization = _organization_of(act, team)
    _require_organization_admin(act, organization)
    if not act.database.one(Membership, organization_id=organization.id, user_id=user.id):
        add_member(act, organization, user)
    team_member = act.database.one(TeamMember, team_id=team.id, user_id=user.id)
    return team_member or act.database.insert(TeamMember, team_id=team.id, user_id=user.id)


def add_team_repository(act: Act, team: Team, repository: Repository, role: Role = "write") -> TeamRepository:
    """Give a team a role in a repository of its organisation."""
    organization = _organization_of(act, team)
    _require_organization_admin(act, organization)
    if role not in ROLES[1:]:
        raise invalid("Team", "permission", value=role)
    if repository.owner_id != organization.id:
        raise invalid("Team", "repository", value=repository.name)
    team_repository = act.database.one(TeamRepository, team_id=team.id, repository_id=repository.id)
    if team_repository:
        return act.database.update(team_repository, role=role)
    return act.database.insert(TeamRepository, team_id=team.id, repository_id=repository.id, role=role)


def create_token(act: Act, user: User, *, token: str, scopes: Iterable[str] = EVERY_SCOPE) -> Token:
    """Give a user a token; only the world's maker can."""
    _require_maker(act)
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise invalid("Token", "token", message="a token is printable ASCII without blanks")
    if act.database.one(Token, token=token):
        raise already_exists("Token", "token")
    return act.database.insert(Token, token=token, user_id=user.id, scopes=tuple(sorted(scopes)))


def _organization_of(act: Act, team: Team) -> User:
    organization = act.database.get(User, team.organization_id)
    if organization is None:
        raise invalid("Team", "organization")
    return organization


def _require_maker(act: Act) -> None:
    if act.viewer is not None:
        raise ForbiddenRefusal("Only the maker of a world adds accounts and tokens.")


def _require_organization_admin(act: Act, organization: User) -> None:
    if organization.type != "Organization":
        raise invalid("Organization", "login", value=organization.login)
    require_organization_admin(act.world, act.viewer, organization)
