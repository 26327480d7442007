"""Who works on a repository, and who can be given work."""

from ghx_twin.commands import repositories
from ghx_twin.queries import lookup, permissions
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import JsonObject, Reply, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.repositories.repositories import permissions as render_permissions
from ghx_twin.rest.render.users import simple_team, simple_user
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Collaborator, Membership, Repository, Team, TeamRepository, User

_MUST_PUSH = "Must have push access to view repository collaborators."
_ROLES = {"pull": "read", "push": "write"}  # REST's older words
_COARSE = {"maintain": "write", "triage": "read"}  # what `permission` says for roles it does not know


def list_collaborators(request: RestRequest) -> Reply:
    """List repository collaborators."""
    home = from_path.repository_for(request, "write", _MUST_PUSH)
    permission = _ROLES.get(request.query.get("permission", ""), request.query.get("permission"))
    roles = {user.id: permissions.user_role(request.world, user, home) for user in _people(request, home)}
    people = [one for one in _affiliated(request, home) if permission is None or roles[one.id] == permission]
    return list_reply(request, people, lambda one: _collaborator(request, one, roles[one.id]))


def check_collaborator(request: RestRequest) -> Reply:
    """Check if a user is a repository collaborator."""
    home, user = from_path.repository_for(request, "write", _MUST_PUSH), _user(request)
    if user.id not in {one.id for one in _people(request, home)}:
        raise NotFoundRefusal(f"{user.login} is not a user")
    return no_content()


def get_permission(request: RestRequest) -> Reply:
    """Get repository permissions for a user."""
    home, user = from_path.repository_for(request, "write", _MUST_PUSH), _user(request)
    role = permissions.user_role(request.world, user, home)
    collaborator = _collaborator(request, user, role)
    return json_reply({"permission": _COARSE.get(role, role), "user": collaborator, "role_name": role})


def add_collaborator(request: RestRequest) -> Reply:
    """Add a repository collaborator."""
    home, user, body = from_path.repository(request), _user(request), request.body()
    text = body.text("permission") or "push"
    with request.acting() as act:
        repositories.add_collaborator(act, home, user, _ROLES.get(text, text))
    return no_content()  # an invitation needs no acceptance here


def remove_collaborator(request: RestRequest) -> Reply:
    """Remove a repository collaborator."""
    home, user = from_path.repository(request), _user(request)
    with request.acting() as act:
        repositories.remove_collaborator(act, home, user)
    return no_content()


def list_assignees(request: RestRequest) -> Reply:
    """List assignees."""
    people = permissions.assignable_users(request.world, from_path.repository(request))
    return list_reply(request, people, lambda one: simple_user(request.view, one))


def check_assignee(request: RestRequest) -> Reply:
    """Check if a user can be assigned."""
    home, user = from_path.repository(request), from_path.account(request, request.text("assignee"))
    if not permissions.assignable(request.world, home, user):
        raise NotFoundRefusal(f"{user.login} cannot be assigned.")
    return no_content()


def list_teams(request: RestRequest) -> Reply:
    """List repository teams."""
    home = from_path.repository_for(request, "admin")
    shares = request.world.database.all(TeamRepository, repository_id=home.id)
    teams = [(request.world.database.get(Team, one.team_id), one.role) for one in shares]
    return list_reply(
        request, [(team, role) for team, role in teams if team], lambda one: _team(request, one[0], one[1])
    )


def list_contributors(request: RestRequest) -> Reply:
    """List repository contributors."""
    home = from_path.repository(request)
    git = request.world.git(home)
    tip = git.ref(f"refs/heads/{home.default_branch}")
    if tip is None:
        return no_content()
    counts: dict[str, tuple[JsonObject, int]] = {}
    for commit in git.log(tip):
        user = lookup.user_by_email(request.world, commit.author.email)
        key = user.login if user else f"anonymous:{commit.author.email}"
        anonymous = {"email": commit.author.email, "name": commit.author.name, "type": "Anonymous"}
        entries, count = counts.get(key, (simple_user(request.view, user) if user else anonymous, 0))
        counts[key] = (entries, count + 1)
    with_anonymous = request.query.get("anon", "").lower() in {"1", "true"}
    people = [{**entries, "contributions": count} for entries, count in counts.values()]
    chosen = [one for one in people if with_anonymous or one["type"] != "Anonymous"]
    return list_reply(request, sorted(chosen, key=lambda one: -int(one["contributions"])), lambda one: one)


def _user(request: RestRequest) -> User:
    return from_path.account(request, request.text("username"))


def _affiliated(request: RestRequest, home: Repository) -> list[User]:
    """Return the requested people of a repository: all, those with a role of their own, or outsiders."""
    affiliation = request.query.get("affiliation", "all")
    if affiliation not in {"direct", "outside"}:
        return _people(request, home)
    database = request.world.database
    own = [request.view.user(one.user_id) for one in database.all(Collaborator, repository_id=home.id)]
    members = {one.user_id for one in database.all(Membership, organization_id=home.owner_id)}
    return [one for one in own if affiliation == "direct" or one.id not in members]


def _people(request: RestRequest, home: Repository) -> list[User]:
    return permissions.assignable_users(request.world, home)


def _collaborator(request: RestRequest, user: User, role: str) -> JsonObject:
    collaborator = simple_user(request.view, user)
    return {**collaborator, "permissions": render_permissions(role), "role_name": role}


def _team(request: RestRequest, team: Team, role: str) -> JsonObject:
    permission = {"read": "pull", "write": "push"}.get(role, role)
    return {**simple_team(request.view, team), "permission": permission, "permissions": render_permissions(role)}
