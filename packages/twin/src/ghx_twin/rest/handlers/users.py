"""Users, organisations and teams."""

from ghx_twin.queries import lookup
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render import users as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Membership, Team, TeamMember, User
from ghx_twin.state.rows import Rows


def get_viewer(request: RestRequest) -> Reply:
    """Get the authenticated user."""
    return json_reply(render.own_user(request.view, request.viewer.user))


def get_user(request: RestRequest) -> Reply:
    """Get a user."""
    return _profile(request, from_path.account(request, request.text("username")))


def get_user_by_id(request: RestRequest) -> Reply:
    """Get a user using their ID."""
    return _profile(request, lookup.user_by_id(request.world, request.number("account_id")))


def list_users(request: RestRequest) -> Reply:
    """List users."""
    since = request.query.get("since", "")
    start = int(since[:18]) if since.isascii() and since.isdigit() else 0
    users = Rows(request.world.database, User, "WHERE id > ? ORDER BY id", (start,))
    return list_reply(request, users, lambda user: render.simple_user(request.view, user))


def list_viewer_organizations(request: RestRequest) -> Reply:
    """List organizations for the authenticated user."""
    return _organizations(request, request.viewer.user)


def list_user_organizations(request: RestRequest) -> Reply:
    """List organizations for a user."""
    return _organizations(request, from_path.account(request, request.text("username")))


def list_viewer_teams(request: RestRequest) -> Reply:
    """List teams for the authenticated user."""
    memberships = request.world.database.all(TeamMember, user_id=request.viewer.id)
    teams = [request.world.database.get(Team, one.team_id) for one in memberships]
    return list_reply(request, [team for team in teams if team], lambda team: render.full_team(request.view, team))


def list_viewer_memberships(request: RestRequest) -> Reply:
    """List organization memberships for the authenticated user."""
    memberships = request.world.database.all(Membership, user_id=request.viewer.id)
    return list_reply(request, memberships, lambda one: render.membership(request.view, one))


def get_organization(request: RestRequest) -> Reply:
    """Get an organization."""
    return json_reply(render.full_organization(request.view, _organization(request)))


def list_members(request: RestRequest) -> Reply:
    """List organization members."""
    role = request.query.get("role", "all")
    memberships = request.world.database.all(Membership, organization_id=_organization(request).id)
    members = [one for one in memberships if role not in {"admin", "member"} or one.role == role]
    return list_reply(request, members, lambda one: render.simple_user(request.view, request.view.user(one.user_id)))


def check_member(request: RestRequest) -> Reply:
    """Check organization membership for a user."""
    _membership(request)
    return no_content()


def get_membership(request: RestRequest) -> Reply:
    """Get organization membership for a user."""
    return json_reply(render.membership(request.view, _membership(request)))


def list_teams(request: RestRequest) -> Reply:
    """List teams."""
    teams = request.world.database.all(Team, organization_id=_organization(request).id)
    return list_reply(request, teams, lambda team: render.simple_team(request.view, team))


def get_team(request: RestRequest) -> Reply:
    """Get a team by name."""
    return json_reply(render.full_team(request.view, _team(request)))


def list_team_members(request: RestRequest) -> Reply:
    """List team members."""
    members = request.world.database.all(TeamMember, team_id=_team(request).id)
    return list_reply(request, members, lambda one: render.simple_user(request.view, request.view.user(one.user_id)))


def _profile(request: RestRequest, user: User) -> Reply:
    return json_reply(render.full_user(request.view, user))


def _organizations(request: RestRequest, user: User) -> Reply:
    memberships = request.world.database.all(Membership, user_id=user.id)
    organizations = [request.view.user(one.organization_id) for one in memberships]
    return list_reply(request, organizations, lambda one: render.simple_organization(request.view, one))


def _organization(request: RestRequest) -> User:
    return lookup.organization(request.world, request.text("org"))


def _team(request: RestRequest) -> Team:
    return lookup.team(request.world, _organization(request), request.text("team_slug"))


def _membership(request: RestRequest) -> Membership:
    organization, user = _organization(request), from_path.account(request, request.text("username"))
    membership = request.world.database.one(Membership, organization_id=organization.id, user_id=user.id)
    if membership is None:
        raise NotFoundRefusal(f"{user.login} is no member of {organization.login}.")
    return membership
