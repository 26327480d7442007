"""Repositories, in the three sizes that GitHub shows."""

from ghx_twin.queries.composition import LICENSES, composition
from ghx_twin.queries.permissions import at_least
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import Issue, Repository

_LINKS = {
    "forks_url": "/forks",
    "keys_url": "/keys{/key_id}",
    "collaborators_url": "/collaborators{/collaborator}",
    "teams_url": "/teams",
    "hooks_url": "/hooks",
    "issue_events_url": "/issues/events{/number}",
    "events_url": "/events",
    "assignees_url": "/assignees{/user}",
    "branches_url": "/branches{/branch}",
    "tags_url": "/tags",
    "blobs_url": "/git/blobs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "trees_url": "/git/trees{/sha}",
    "statuses_url": "/statuses/{sha}",
    "languages_url": "/languages",
    "stargazers_url": "/stargazers",
    "contributors_url": "/contributors",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "commits_url": "/commits{/sha}",
    "git_commits_url": "/git/commits{/sha}",
    "comments_url": "/comments{/number}",
    "issue_comment_url": "/issues/comments{/number}",
    "contents_url": "/contents/{+path}",
    "compare_url": "/compare/{base}...{head}",
    "merges_url": "/merges",
    "archive_url": "/{archive_format}{/ref}",
    "downloads_url": "/downloads",
    "issues_url": "/issues{/number}",
    "pulls_url": "/pulls{/number}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "labels_url": "/labels{/name}",
    "releases_url": "/releases{/id}",
    "deployments_url": "/deployments",
}
_SWITCHES = ("has_issues", "has_projects", "has_downloads", "has_wiki", "has_pages", "has_discussions")
_PERMISSIONS = {"admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage", "pull": "read"}


def bare_repository(view: View, repository: Repository) -> JsonObject:
    """Render a repository by its names and addresses only, as next to a search result."""
    api, html = view.api(repository), view.html(repository)
    return {
        "id": repository.id,
        "node_id": view.node(repository),
        "name": repository.name,
        "full_name": view.full_name(repository),
        "private": repository.visibility != "public",
        "owner": simple_user(view, view.user(repository.owner_id)),
        "html_url": html,
        "description": repository.description,
        "fork": repository.parent_id is not None,
        "url": api,
        **{name: f"{api}{suffix}" for name, suffix in _LINKS.items()},
    }


def repository(view: View, repository: Repository) -> JsonObject:
    """Render a repository in a list, or next to a pull request."""
    return view.once("repository", repository, lambda: _repository(view, repository))


def _repository(view: View, repository: Repository) -> JsonObject:
    html, contents = view.html(repository), composition(view.world, repository)
    host = view.base.html.partition("://")[2]
    forks = view.database.count(Repository, parent_id=repository.id)
    unfinished = view.database.count(Issue, repository_id=repository.id, state="open")
    return {
        **bare_repository(view, repository),
        "created_at": repository.created_at,
        "updated_at": repository.updated_at,
        "pushed_at": repository.pushed_at,
        "git_url": f"git://{host}/{view.full_name(repository)}.git",
        "ssh_url": f"git@github.com:{view.full_name(repository)}.git",
        "clone_url": f"{html}.git",
        "svn_url": html,
        "homepage": repository.homepage,
        "size": contents.kilobytes,
        "stargazers_count": 0,
        "watchers_count": 0,
        "language": contents.language,
        **{name: getattr(repository, name) for name in _SWITCHES},
        "forks_count": forks,
        "mirror_url": None,
        "archived": repository.archived,
        "disabled": False,
        "open_issues_count": unfinished,
        "license": _license(view, contents.license),
        "allow_forking": repository.allow_forking,
        "is_template": repository.is_template,
        "web_commit_signoff_required": repository.web_commit_signoff_required,
        "has_pull_requests": True,
        "topics": list(repository.topics),
        "visibility": repository.visibility,
        "forks": forks,
        "open_issues": unfinished,
        "watchers": 0,
        "default_branch": repository.default_branch,
        **({} if view.viewer.is_anonymous else {"permissions": permissions(view.role(repository))}),
    }


def full_repository(view: View, record: Repository) -> JsonObject:
    """Render a repository's own page."""
    body: JsonObject = {**repository(view, record), "temp_clone_token": None if view.viewer.is_anonymous else ""}
    if at_least(view.role(record), "write"):
        body |= _merge_settings(record)
    owner = view.user(record.owner_id)
    if owner.type == "Organization":
        body["organization"] = simple_user(view, owner)
    if parent := view.database.get(Repository, record.parent_id):
        body["parent"] = repository(view, parent)
        body["source"] = repository(view, _source(view, parent))
    network = view.database.count(Repository, parent_id=record.id)
    return {**body, "network_count": network, "subscribers_count": 0}


def permissions(role: str) -> JsonObject:
    """Render a role as the five flags that REST knows."""
    return {name: at_least(role, needed) for name, needed in _PERMISSIONS.items()}


def _merge_settings(repository: Repository) -> JsonObject:
    return {
        "allow_squash_merge": repository.allow_squash_merge,
        "allow_merge_commit": repository.allow_merge_commit,
        "allow_rebase_merge": repository.allow_rebase_merge,
        "allow_auto_merge": repository.allow_auto_merge,
        "delete_branch_on_merge": repository.delete_branch_on_merge,
        "allow_update_branch": repository.allow_update_branch,
        "use_squash_pr_title_as_default": False,
        "squash_merge_commit_message": "COMMIT_MESSAGES",
        "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
        "merge_commit_message": "PR_TITLE",
        "merge_commit_title": "MERGE_MESSAGE",
    }


def _source(view: View, repository: Repository) -> Repository:
    while parent := view.database.get(Repository, repository.parent_id):
        repository = parent
    return repository


def _license(view: View, key: str | None) -> JsonObject | None:
    if key is None:
        return None
    name, spdx = LICENSES.get(key, ("Other", "NOASSERTION"))
    url = f"{view.base.api}/licenses/{key}" if key in LICENSES else None
    return {"key": key, "name": name, "spdx_id": spdx, "url": url, "node_id": f"MDc6TGljZW5zZ{key}"}
