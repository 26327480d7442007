"""Users, organisations and teams."""

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.rest.answer import NO_CONTENT, Answer
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.pagination import listed
from ghx_bench.twin.rest.render import users as render
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import Membership, Team, TeamMember, User


def get_viewer(request: RestRequest) -> Answer:
    """Get the authenticated user."""
    return Answer(body=render.own_user(request.view, request.viewer.user))


def get_user(request: RestRequest) -> Answer:
    """Get a user."""
    return _profile(request, located.account(request, request.text("username")))


def get_user_by_id(request: RestRequest) -> Answer:
    """Get a user using their ID."""
    return _profile(request, lookup.user_by_id(request.world, request.number("account_id")))


def list_users(request: RestRequest) -> Answer:
    """List users."""
    since = request.query.get("since", "")
    start = int(since[:18]) if since.isascii() and since.isdigit() else 0
    users = [user for user in request.world.database.all(User) if user.id > start]
    return listed(request, users, lambda user: render.simple_user(request.view, user))


def list_viewer_organizations(request: RestRequest) -> Answer:
    """List organizations for the authenticated user."""
    return _organizations(request, request.viewer.user)


def list_user_organizations(request: RestRequest) -> Answer:
    """List organizations for a user."""
    return _organizations(request, located.account(request, request.text("username")))


def list_viewer_teams(request: RestRequest) -> Answer:
    """List teams for the authenticated user."""
    memberships = request.world.database.all(TeamMember, user_id=request.viewer.id)
    teams = [request.world.database.get(Team, one.team_id) for one in memberships]
    return listed(request, [team for team in teams if team], lambda team: render.full_team(request.view, team))


def list_viewer_memberships(request: RestRequest) -> Answer:
    """List organization memberships for the authenticated user."""
    memberships = request.world.database.all(Membership, user_id=request.viewer.id)
    return listed(request, memberships, lambda one: render.membership(request.view, one))


def get_organization(request: RestRequest) -> Answer:
    """Get an organization."""
    return Answer(body=render.full_organization(request.view, _organization(request)))


def list_members(request: RestRequest) -> Answer:
    """List organization members."""
    role = request.query.get("role", "all")
    found = request.world.database.all(Membership, organization_id=_organization(request).id)
    members = [one for one in found if role not in {"admin", "member"} or one.role == role]
    return listed(request, members, lambda one: render.simple_user(request.view, request.view.user(one.user_id)))


def check_member(request: RestRequest) -> Answer:
    """Check organization membership for a user."""
    _membership(request)
    return NO_CONTENT


def get_membership(request: RestRequest) -> Answer:
    """Get organization membership for a user."""
    return Answer(body=render.membership(request.view, _membership(request)))


def list_teams(request: RestRequest) -> Answer:
    """List teams."""
    teams = request.world.database.all(Team, organization_id=_organization(request).id)
    return listed(request, teams, lambda team: render.simple_team(request.view, team))


def get_team(request: RestRequest) -> Answer:
    """Get a team by name."""
    return Answer(body=render.full_team(request.view, _team(request)))


def list_team_members(request: RestRequest) -> Answer:
    """List team members."""
    members = request.world.database.all(TeamMember, team_id=_team(request).id)
    return listed(request, members, lambda one: render.simple_user(request.view, request.view.user(one.user_id)))


def _profile(request: RestRequest, user: User) -> Answer:
    return Answer(body=render.full_user(request.view, user))


def _organizations(request: RestRequest, user: User) -> Answer:
    memberships = request.world.database.all(Membership, user_id=user.id)
    organizations = [request.view.user(one.organization_id) for one in memberships]
    return listed(request, organizations, lambda one: render.simple_organization(request.view, one))


def _organization(request: RestRequest) -> User:
    return lookup.organization(request.world, request.text("org"))


def _team(request: RestRequest) -> Team:
    return lookup.team(request.world, _organization(request), request.text("team_slug"))


def _membership(request: RestRequest) -> Membership:
    organization, user = _organization(request), located.account(request, request.text("username"))
    found = request.world.database.one(Membership, organization_id=organization.id, user_id=user.id)
    if found is None:
        raise NotFoundRefusal(f"{user.login} is no member of {organization.login}.")
    return found
