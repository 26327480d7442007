"""Repositories: lists, creation, settings and copies."""

from collections.abc import Sequence

from ghx_twin.commands import repositories
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.composition import composition
from ghx_twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal
from ghx_twin.reply import JsonObject, Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import Keys, list_reply, sort_items
from ghx_twin.rest.render.repositories import repositories as render
from ghx_twin.rest.render.view import View
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Collaborator, Membership, Repository, User
from ghx_twin.state.rows import Rows

_SETTINGS = (
    "has_issues", "has_projects", "has_wiki", "has_discussions", "has_downloads", "is_template", "allow_squash_merge",
    "allow_merge_commit", "allow_rebase_merge", "allow_auto_merge", "delete_branch_on_merge", "allow_update_branch",
    "allow_forking", "web_commit_signoff_required",
)  # fmt: skip


def get_repository(request: RestRequest) -> Reply:
    """Get a repository."""
    return json_reply(render.full_repository(request.view, from_path.repository(request)))


def update_repository(request: RestRequest) -> Reply:
    """Update a repository."""
    repository, body = from_path.repository(request), request.body()
    changes = _settings(body)
    for name in ("name", "default_branch"):
        if (text := body.text(name)) is not None:
            changes[name] = text
    for name in ("description", "homepage"):
        if name in body:
            changes[name] = body.text(name)
    if (archived := body.flag("archived")) is not None:
        changes["archived"] = archived
    if visibility := _visibility(body):
        changes["visibility"] = visibility
    with request.acting() as act:
        changed = repositories.update(act, repository, **changes)
    return json_reply(render.full_repository(_fresh(request), changed))


def delete_repository(request: RestRequest) -> Reply:
    """Delete a repository."""
    repository = from_path.repository(request)
    with request.acting() as act:
        repositories.delete(act, repository)
    return no_content()


def create_own_repository(request: RestRequest) -> Reply:
    """Create a repository for the authenticated user."""
    return _create(request, request.viewer.user)


def create_organization_repository(request: RestRequest) -> Reply:
    """Create an organization repository."""
    return _create(request, lookup.organization(request.world, request.text("org")))


def list_own_repositories(request: RestRequest) -> Reply:
    """List repositories for the authenticated user."""
    viewer, database = request.viewer, request.world.database
    affiliation = request.query.get("affiliation", "owner,collaborator,organization_member").split(",")
    kind = request.query.get("type", "all")
    shared = {one.repository_id for one in database.all(Collaborator, user_id=viewer.id)}
    organizations = {one.organization_id for one in database.all(Membership, user_id=viewer.id)}

    def belongs(one: Repository) -> bool:
        owns, member = one.owner_id == viewer.id, one.owner_id in organizations
        if kind == "owner":
            return owns
        if kind == "member":
            return one.id in shared or member
        return (
            ("owner" in affiliation and owns)
            or ("collaborator" in affiliation and one.id in shared)
            or ("organization_member" in affiliation and member)
        )

    visible = permissions.visible_repositories(request.world, viewer)
    return _list(request, [one for one in visible if belongs(one) and _has_visibility(request, one)], "full_name")


def list_user_repositories(request: RestRequest) -> Reply:
    """List repositories for a user."""
    owner = from_path.account(request, request.text("username"))
    visible = permissions.visible_repositories(request.world, request.viewer)
    return _list(
        request, [one for one in visible if one.owner_id == owner.id and one.visibility == "public"], "full_name"
    )


def list_organization_repositories(request: RestRequest) -> Reply:
    """List organization repositories."""
    owner = lookup.organization(request.world, request.text("org"))
    visible = permissions.visible_repositories(request.world, request.viewer)
    return _list(request, [one for one in visible if one.owner_id == owner.id and _has_type(request, one)], "created")


def list_public_repositories(request: RestRequest) -> Reply:
    """List public repositories."""
    since = request.query.get("since", "")
    start = int(since[:18]) if since.isascii() and since.isdigit() else 0
    rest = "WHERE visibility = 'public' AND id > ? ORDER BY id"
    rows = Rows(request.world.database, Repository, rest, (start,))
    return list_reply(request, rows, lambda one: render.repository(request.view, one))


def list_forks(request: RestRequest) -> Reply:
    """List forks."""
    records = request.world.database.all(Repository, parent_id=from_path.repository(request).id)
    visible = [one for one in records if permissions.is_visible(request.world, request.viewer, one)]
    keys: Keys[Repository] = {"newest": lambda one: one.created_at, "oldest": lambda one: one.created_at}
    oldest = request.query.get("sort") == "oldest"
    chosen = sort_items(request, visible, keys, "newest", "asc" if oldest else "desc")
    return list_reply(request, chosen, lambda one: render.repository(request.view, one))


def create_fork(request: RestRequest) -> Reply:
    """Create a fork."""
    repository, body = from_path.repository(request), request.body()
    organization, name = body.text("organization"), body.text("name")
    owner = _fork_owner(request, organization) if organization else request.viewer.user
    only_default = body.flag("default_branch_only") or False
    with request.acting() as act:
        fork = repositories.fork(act, repository, owner=owner, name=name, default_branch_only=only_default)
    return json_reply(render.full_repository(_fresh(request), fork), status=202)


def _fork_owner(request: RestRequest, login: str) -> User:
    try:
        return lookup.organization(request.world, login)
    except NotFoundRefusal:
        account = request.world.database.one(User, login=login)
    error = FieldError(resource="Fork", field="organization", code="invalid")
    message = "Validation Failed"
    if account is not None:
        message = (
            f"'{account.login}' is the login for a user account. You must pass the login for an organization account."
        )
    raise InvalidRefusal(message, errors=[error])


def get_topics(request: RestRequest) -> Reply:
    """Get all repository topics."""
    return json_reply({"names": list(from_path.repository(request).topics)})


def replace_topics(request: RestRequest) -> Reply:
    """Replace all repository topics."""
    repository, body = from_path.repository(request), request.body()
    body.require("names")
    names = tuple(dict.fromkeys(name.lower() for name in body.texts("names") or ()))
    with request.acting() as act:
        changed = repositories.update(act, repository, topics=names)
    return json_reply({"names": list(changed.topics)})


def get_languages(request: RestRequest) -> Reply:
    """List repository languages."""
    return json_reply(dict(composition(request.world, from_path.repository(request)).languages))


def _create(request: RestRequest, owner: User) -> Reply:
    body = request.body()
    name = body.required_text("name")
    with request.acting() as act:
        record = repositories.create(
            act,
            owner=owner,
            name=name,
            visibility=_visibility(body) or "public",
            description=body.text("description"),
            homepage=body.text("homepage"),
            auto_init=body.flag("auto_init") or False,
            gitignore_template=body.text("gitignore_template") or None,
            license_template=body.text("license_template") or None,
            **_settings(body),
        )
    full_repository = render.full_repository(_fresh(request), record)
    return created(full_repository, full_repository["url"])


def _settings(body: Body) -> JsonObject:
    flags = {name: body.flag(name) for name in _SETTINGS}
    return {name: flag for name, flag in flags.items() if flag is not None}


def _visibility(body: Body) -> str | None:
    visibility, private = body.choice("visibility", ("public", "private", "internal")), body.flag("private")
    return visibility or (None if private is None else "private" if private else "public")


def _list(request: RestRequest, repositories: Sequence[Repository], default: str) -> Reply:
    view = request.view
    keys: Keys[Repository] = {
        "full_name": lambda one: view.full_name(one).lower(),
        "created": lambda one: one.created_at,
        "updated": lambda one: one.updated_at,
        "pushed": lambda one: one.pushed_at,
    }
    sort_key = request.query.get("sort", default)
    chosen = sort_items(request, repositories, keys, default, "asc" if sort_key == "full_name" else "desc")
    return list_reply(request, chosen, lambda one: render.repository(view, one))


def _has_visibility(request: RestRequest, repository: Repository) -> bool:
    visibility = request.query.get("visibility", request.query.get("type", "all"))
    if visibility == "public":
        return repository.visibility == "public"
    return visibility != "private" or repository.visibility != "public"


def _has_type(request: RestRequest, repository: Repository) -> bool:
    match request.query.get("type", "all"):
        case "forks":
            return repository.parent_id is not None
        case "sources":
            return repository.parent_id is None
        case _:
            return _has_visibility(request, repository)


def _fresh(request: RestRequest) -> View:
    """Return a view that remembers nothing from before the change."""
    return View(request.world, request.viewer, request.base, request.media)
