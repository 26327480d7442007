"""Users, organisations and teams."""

from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Membership, Repository, Team, TeamMember, TeamRepository, User

_LINKS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}


def login(user: User) -> str:
    """Return the login as REST spells it, with `[bot]` for the bot of an app; GraphQL leaves that out."""
    return f"{user.login}[bot]" if user.type == "Bot" and not user.login.endswith("[bot]") else user.login


def user_page(view: View, user: User) -> str:
    """Return the page of a user; a bot has that of its app."""
    if user.type == "Bot":
        return f"{view.base.html}/apps/{user.login.removesuffix('[bot]')}"
    return f"{view.base.html}/{user.login}"


def avatar(user: User) -> str:
    """Return where the picture of a user is."""
    kind = "in" if user.type == "Bot" else "u"  # the picture of a bot is that of its app
    return f"https://avatars.githubusercontent.com/{kind}/{user.id}?v=4"


def simple_user(view: View, user: User) -> JsonObject:
    """Render a user next to what they did."""
    return view.once("simple user", user, lambda: _simple_user(view, user))


def _simple_user(view: View, user: User) -> JsonObject:
    url = f"{view.base.api}/users/{quote_part(login(user))}"
    return {
        "login": login(user),
        "id": user.id,
        "node_id": view.node(user),
        "avatar_url": avatar(user),
        "gravatar_id": "",
        "url": url,
        "html_url": user_page(view, user),
        **{name: f"{url}{suffix}" for name, suffix in _LINKS.items()},
        "type": user.type,
        "user_view_type": "public",
        "site_admin": user.site_admin,
    }


def optional_user(view: View, identity: int | None) -> JsonObject | None:
    """Render a user that may be missing."""
    return None if identity is None else simple_user(view, view.user(identity))


def full_user(view: View, user: User) -> JsonObject:
    """Render a user's own page."""
    return {
        **simple_user(view, user),
        "name": user.name,
        "company": user.company,
        "blog": user.blog or "",
        "location": user.location,
        "email": user.email,
        "hireable": None,
        "bio": user.bio,
        "twitter_username": None,
        "public_repos": view.database.count(Repository, owner_id=user.id, visibility="public"),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": user.created_at,
        "updated_at": user.updated_at,
    }


def own_user(view: View, user: User) -> JsonObject:
    """Render the viewer's own page; what is private on it only where the token may see that."""
    if not view.viewer.has_scope("read:user"):
        return full_user(view, user)
    private = view.database.count(Repository, owner_id=user.id, visibility=("private", "internal"))
    return {
        **full_user(view, user),
        "user_view_type": "private",
        "private_gists": 0,
        "total_private_repos": private,
        "owned_private_repos": private,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": False,
        "plan": {"name": "free", "space": 976562499, "collaborators": 0, "private_repos": 10000},
    }


def simple_organization(view: View, organization: User) -> JsonObject:
    """Render an organisation in a list."""
    url = f"{view.base.api}/orgs/{quote_part(organization.login)}"
    return {
        "login": organization.login,
        "id": organization.id,
        "node_id": view.node(organization),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "avatar_url": avatar(organization),
        "description": organization.bio,
    }


def full_organization(view: View, organization: User) -> JsonObject:
    """Render an organisation's own page."""
    texts = {name: getattr(organization, name) for name in ("name", "company", "blog", "location", "email")}
    return {
        **simple_organization(view, organization),
        **{name: text for name, text in texts.items() if text is not None},
        "twitter_username": None,
        "is_verified": False,
        "has_organization_projects": True,
        "has_repository_projects": True,
        "public_repos": view.database.count(Repository, owner_id=organization.id, visibility="public"),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "html_url": f"{view.base.html}/{organization.login}",
        "created_at": organization.created_at,
        "updated_at": organization.updated_at,
        "archived_at": None,
        "type": "Organization",
    }


def simple_team(view: View, team: Team) -> JsonObject:
    """Render a team next to what it was asked to do."""
    url = f"{view.base.api}/organizations/{team.organization_id}/team/{team.id}"
    organization = view.user(team.organization_id)
    return {
        "name": team.name,
        "id": team.id,
        "node_id": view.node(team),
        "slug": team.slug,
        "description": team.description,
        "privacy": team.privacy,
        "notification_setting": "notifications_enabled",
        "url": url,
        "html_url": f"{view.base.html}/orgs/{organization.login}/teams/{team.slug}",
        "members_url": f"{url}/members{{/member}}",
        "repositories_url": f"{url}/repos",
        "permission": "pull",
        "type": "organization",
        "organization_id": organization.id,
        "parent": None,
    }


def full_team(view: View, team: Team) -> JsonObject:
    """Render a team's own page."""
    organization = view.user(team.organization_id)
    profile = full_organization(view, organization)
    return {
        **simple_team(view, team),
        "created_at": organization.created_at,
        "updated_at": organization.updated_at,
        "members_count": view.database.count(TeamMember, team_id=team.id),
        "repos_count": view.database.count(TeamRepository, team_id=team.id),
        "organization": profile,
    }


def membership(view: View, membership: Membership) -> JsonObject:
    """Render a user's membership in an organisation."""
    organization, user = view.user(membership.organization_id), view.user(membership.user_id)
    url = f"{view.base.api}/orgs/{quote_part(organization.login)}"
    return {
        "url": f"{url}/memberships/{quote_part(login(user))}",
        "state": "active",
        "role": membership.role,
        "organization_url": url,
        "user": simple_user(view, user),
        "organization": simple_organization(view, organization),
    }
