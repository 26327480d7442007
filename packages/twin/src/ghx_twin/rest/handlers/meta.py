"""The root of the API and what it says about itself."""

from ghx_twin.reply import Reply, json_reply
from ghx_twin.rest.request import RestRequest

_ROOT = {
    "current_user_url": "/user",
    "authorizations_url": "/authorizations",
    "code_search_url": "/search/code?q={query}{&page,per_page,sort,order}",
    "commit_search_url": "/search/commits?q={query}{&page,per_page,sort,order}",
    "emails_url": "/user/emails",
    "emojis_url": "/emojis",
    "events_url": "/events",
    "feeds_url": "/feeds",
    "followers_url": "/user/followers",
    "following_url": "/user/following{/target}",
    "gists_url": "/gists{/gist_id}",
    "hub_url": "/hub",
    "issue_search_url": "/search/issues?q={query}{&page,per_page,sort,order}",
    "issues_url": "/issues",
    "keys_url": "/user/keys",
    "label_search_url": "/search/labels?q={query}&repository_id={repository_id}{&page,per_page}",
    "notifications_url": "/notifications",
    "organization_url": "/orgs/{org}",
    "organization_repositories_url": "/orgs/{org}/repos{?type,page,per_page,sort}",
    "organization_teams_url": "/orgs/{org}/teams",
    "public_gists_url": "/gists/public",
    "rate_limit_url": "/rate_limit",
    "repository_url": "/repos/{owner}/{repo}",
    "repository_search_url": "/search/repositories?q={query}{&page,per_page,sort,order}",
    "current_user_repositories_url": "/user/repos{?type,page,per_page,sort}",
    "starred_url": "/user/starred{/owner}{/repo}",
    "starred_gists_url": "/gists/starred",
    "topic_search_url": "/search/topics?q={query}{&page,per_page}",
    "user_url": "/users/{user}",
    "user_organizations_url": "/user/orgs",
    "user_repositories_url": "/users/{user}/repos{?type,page,per_page,sort}",
    "user_search_url": "/search/users?q={query}{&page,per_page,sort,order}",
}


def get_root(request: RestRequest) -> Reply:
    """Get the addresses of the API's resources."""
    addresses = {name: f"{request.base.api}{path}" for name, path in _ROOT.items()}
    page = f"{request.base.html}/settings/connections/applications{{/client_id}}"
    return json_reply({"current_user_authorizations_html_url": page, **addresses})


def get_rate_limit(request: RestRequest) -> Reply:
    """Get rate limit status for the authenticated user."""
    rate = request.rate
    core = _allowance(rate.limit, rate.used, rate.reset)
    resources = {
        "core": core,
        "search": _allowance(rate.search_limit, rate.search_used, rate.search_reset),
        "code_search": _allowance(rate.code_search_limit, rate.code_search_used, rate.code_search_reset),
        "graphql": _allowance(rate.graphql_limit, rate.graphql_used, rate.graphql_reset),
    }
    rate_limits = {name: {**values, "resource": name} for name, values in resources.items()}
    return json_reply({"resources": rate_limits, "rate": {**core, "resource": "core"}})


def _allowance(limit: int, used: int, reset: int) -> dict[str, int]:
    return {"limit": limit, "used": used, "remaining": max(0, limit - used), "reset": reset}
