"""REST's endpoint: from a request to the operation that serves it, and to the reply."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl

from ghx_twin.git.errors import GitError
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import NO_INTEGRATION, VARIABLES
from ghx_twin.refusals import (
    FieldError,
    ForbiddenRefusal,
    InvalidRefusal,
    MovedRefusal,
    NotFoundRefusal,
    NotImplementedRefusal,
    Refusal,
)
from ghx_twin.reply import Reply, json_reply
from ghx_twin.rest.catalogue import documentation_url, known_operation
from ghx_twin.rest.errors import (
    UNKNOWN,
    BadRequestRefusal,
    RenamedRefusal,
    UnauthenticatedRefusal,
    no_such_path,
    refusal_reply,
)
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.operation import Operation
from ghx_twin.rest.operations import router
from ghx_twin.rest.render.view import View
from ghx_twin.rest.request import RateLimit, RestRequest
from ghx_twin.rest.routing import Match
from ghx_twin.state.records import Issue
from ghx_twin.urls import BaseUrls
from ghx_twin.viewer import AppAccess, Viewer
from ghx_twin.world import World

_BY_ID = re.compile(r"/repositories/(\d{1,18})(/.*)?")
_ARCHIVE = re.compile(r"/repos/[^/]+/[^/]+/(?:tarball|zipball)")
_VERSIONS = frozenset({"", "2022-11-28", "2026-03-10"})
MOST_FIELDS = 1000  # in a query string
_LONG_BODY = 64 * 1024
# What may be as large as a repository: trees, blobs, histories and their differences, and searches over everything.
# Not `contents`, which shows at most 1 MB of a file: a thread costs as much as reading a small one.
_LONG = re.compile(
    r"/search/|/(?:git/trees|git/blobs|compare|commits|contributors|languages|files|merges?|generate-notes|assets)(?:/|$)"
)
_LONG_MEDIA = re.compile(r"diff|patch|raw")
FRESH = RateLimit()
_REDIRECTS = "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"
_MOVED, _REPEAT = 301, 307
_ANYTHING = {"*/*", "application/*", "application/json", "text/*"}
_NO_CODE_SEARCH = FieldError(
    resource="Search", field="q", code="invalid", message="Must be authenticated to access the code search API"
)
_WRITTEN = frozenset(
    {"releases", "issues", "pulls", "comments", "reviews", "timeline", "contents", "readme", "license"}
)
# A GitHub App needs one of these permissions, at the level of write, by what follows `/repos/{owner}/{repo}/`.
_WRITE_PERMISSIONS: dict[str, tuple[str, ...]] = {
    "actions": ("actions",),
    "branches": ("administration",),
    "check-runs": ("checks",),
    "collaborators": ("administration",),
    "comments": ("contents",),  # of commits
    "commits": ("contents",),
    "contents": ("contents",),
    "deployments": ("deployments",),
    "environments": ("administration",),
    "forks": ("administration", "contents"),
    "git": ("contents",),
    "issues": ("issues", "pull_requests"),
    "labels": ("issues", "pull_requests"),
    "merge-upstream": ("contents",),
    "merges": ("contents",),
    "milestones": ("issues", "pull_requests"),
    "pulls": ("pull_requests",),
    "releases": ("contents",),
    "rulesets": ("administration",),
    "statuses": ("statuses",),
    "topics": ("administration",),
    "": ("administration",),
}
# Reading these also needs a permission, at the level of read.
_READ_PERMISSIONS: dict[str, tuple[str, ...]] = {
    "actions/secrets": ("secrets",),
    "actions/variables": VARIABLES,
    "environments/{environment_name}/secrets": ("environments",),
    "environments/{environment_name}/variables": ("environments",),
}
_USER_PATHS = ("/user", "/issues")
_APP_PATHS = ("/installation", "/{org}/installation", "/{username}/installation")


def answer(
    world: World,
    viewer: Viewer,
    *,
    method: str,
    raw_path: str,
    query: str,
    headers: Mapping[str, str],
    body: bytes,
    base: BaseUrls,
    rate: RateLimit = FRESH,
) -> Reply:
    """Return the reply to a request; nothing that a client sends makes this raise.

    `raw_path` is still percent-encoded and without the server's prefix, the names of `headers` are in lower case.
    HEAD is answered as GET is; the server leaves out the content.
    """
    http_method = "GET" if method == "HEAD" else method
    path, match = _route(world, viewer, http_method, raw_path or "/")
    if match is None:
        return _not_served_reply(http_method, path)
    operation = match.target
    try:
        accept = headers.get("accept", "")
        media = _media_parameters(accept)
        _check_accept(accept, operation.own_media)
        _check_version(headers.get("x-github-api-version", ""))
        _check_representation(media, operation.template)
        request = RestRequest(
            world=world,
            viewer=viewer,
            view=View(world, viewer, base, media),
            base=base,
            raw_path=raw_path or "/",
            parameters=match.parameters,
            query=_parse_query(query),
            media=media,
            headers=headers,
            content=body,
            rate=rate,
        )
        if viewer.is_anonymous:
            _check_openness(request, operation)
        if viewer.app is not None:
            _check_app(viewer.app, operation)
        reply = operation.handler(request)
    except Refusal as refusal:
        moved = _find_new_path(world, refusal, path, query)
        page = documentation_url(operation.name)
        reply = refusal_reply(refusal, page) if moved is None else _redirect(http_method, base, moved)
        if isinstance(refusal, NotImplementedRefusal):
            reply.not_implemented = f"{operation.name}: {refusal.message}"
    except GitError as error:
        reply = refusal_reply(InvalidRefusal(str(error)), documentation_url(operation.name))
    reply.operation = operation.name
    # What the refusal says wins: it names the scopes that were missing, the operation those that are enough.
    if not viewer.is_anonymous and viewer.app is None:
        reply.headers.setdefault("X-Accepted-OAuth-Scopes", operation.scope)
    return reply


def may_take_long(path: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether an answer may take longer than other worlds of a server can wait: by what it reads of git."""
    return bool(len(body) > _LONG_BODY or _LONG.search(path) or _LONG_MEDIA.search(headers.get("accept", "")))


def operation_of(world: World, viewer: Viewer, method: str, raw_path: str) -> str:
    """Return what the journal calls a request, whether or not it is answered."""
    http_method = "GET" if method == "HEAD" else method
    path, match = _route(world, viewer, http_method, raw_path or "/")
    return match.target.name if match else known_operation(http_method, path) or UNKNOWN


def _route(world: World, viewer: Viewer, method: str, raw_path: str) -> tuple[str, Match[Operation] | None]:
    """Return the path by name, and the operation that serves it; a repository may also be named by its id."""
    by_id = _BY_ID.fullmatch(raw_path)
    if by_id:
        try:
            home = lookup.repository_by_id(world, viewer, int(by_id[1]))
        except NotFoundRefusal:
            raw_path = f"/repos/-/-{by_id[2] or ''}"  # a name that no repository can have: not found, as by name
        else:
            raw_path = f"/repos/{lookup.full_name(world, home)}{by_id[2] or ''}"
    if _ARCHIVE.fullmatch(raw_path):  # GitHub takes the default branch where none is named
        raw_path += "/HEAD"
    match = router().find(method, raw_path)
    operation_name = known_operation(method, raw_path) if match else None
    # GitHub may have a closer match that the emulator lacks: `/user/keys` is a 501, not the account with the id "keys".
    if match and operation_name and _fixed_segments(operation_name) > _fixed_segments(match.target.name):
        return raw_path, None
    return raw_path, match


def _fixed_segments(operation: str) -> int:
    return sum(not segment.startswith("{") for segment in operation.split("/"))


def _not_served_reply(method: str, raw_path: str) -> Reply:
    """Return 501 for a path that GitHub has and the emulator does not; else 404."""
    operation_name = known_operation(method, raw_path)
    if operation_name is None:
        return no_such_path()
    refusal = NotImplementedRefusal(f"{operation_name} is not implemented by the twin.")
    reply = refusal_reply(refusal, documentation_url(operation_name))
    reply.operation = reply.not_implemented = operation_name
    return reply


def _find_new_path(world: World, refusal: Refusal, path: str, query: str) -> str | None:
    """Return the path of what was renamed or transferred, by the id of its repository; None for other refusals."""
    if isinstance(refusal, RenamedRefusal):
        below = path.split("/", 4)[4:]
        place = "/".join((f"/repositories/{refusal.repository_id}", *below))
        return f"{place}?{query}" if query else place
    issue = world.database.get(Issue, refusal.issue_id) if isinstance(refusal, MovedRefusal) else None
    return f"/repositories/{issue.repository_id}/issues/{issue.number}" if issue else None


def _redirect(method: str, base: BaseUrls, path: str) -> Reply:
    url = f"{base.api}{path}"
    body = {"message": "Moved Permanently", "url": url, "documentation_url": _REDIRECTS}
    # 307 makes a client repeat method and body at the new address; after 301 it may send a GET.
    return json_reply(body, status=_MOVED if method == "GET" else _REPEAT, headers={"Location": url})


def _parse_query(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise BadRequestRefusal("The query string has too many fields.") from None


class _UnsupportedMediaRefusal(Refusal):
    """The client accepts nothing that GitHub's API sends."""

    code = "UNSUPPORTED_MEDIA"
    status = 415


def _media_parameters(accept: str) -> frozenset[str]:
    """Return the parameters of GitHub's media types in an Accept header: `raw`, `diff`, `text-match`, ...

    Versions and suffixes are among them; media types that are not GitHub's are ignored, as GitHub does.
    """
    parameters: set[str] = set()
    for part in accept.split(","):
        kind = part.split(";")[0].strip().lower()
        if kind.startswith("application/vnd.github"):
            parameters.update(kind.removeprefix("application/vnd.github").replace("+", ".").split("."))
    return frozenset(parameters - {""})


def _check_openness(request: RestRequest, operation: Operation) -> None:
    """Refuse what takes a token, unless it is about a repository that is not there for this viewer."""
    if not operation.mutates and not operation.needs_token:
        return
    if "repo" in request.parameters:
        from_path.repository(request)
    match operation.name:
        case "POST /repos/{owner}/{repo}/forks":
            raise UnauthenticatedRefusal("You must be logged in to do that.")
        case "GET /search/code":
            raise UnauthenticatedRefusal("Requires authentication", errors=(_NO_CODE_SEARCH,))
        case _:
            raise UnauthenticatedRefusal("Requires authentication")


def _check_app(access: AppAccess, operation: Operation) -> None:
    """Raise `ForbiddenRefusal` if the app's credential does not allow the operation; roles decide what it can see."""
    template = operation.template
    if access.installation_id is None:
        is_own = template.startswith(("/app", "/rate_limit")) or template == "/" or template.endswith(_APP_PATHS)
        if not is_own:
            raise ForbiddenRefusal(NO_INTEGRATION)
        return
    if template in _USER_PATHS or template.startswith("/user/"):
        raise ForbiddenRefusal(NO_INTEGRATION)
    needed = _needed_permissions(operation)
    if needed is not None and not access.may(*needed, level="write" if operation.mutates else "read"):
        raise ForbiddenRefusal(NO_INTEGRATION)


def _needed_permissions(operation: Operation) -> tuple[str, ...] | None:
    """Return permissions of which an operation needs one; None if it needs no permission."""
    template = operation.template
    if not template.startswith("/repos/"):
        return ("organization_projects",) if operation.mutates and "/projectsV2" in template else None
    inside = "/".join(template.split("/")[4:])  # nothing for the repository itself
    to_see = next((names for start, names in _READ_PERMISSIONS.items() if inside.startswith(start)), None)
    if to_see is not None or not operation.mutates:
        return to_see
    return ("contents",) if inside == "pulls/{pull_number}/merge" else _WRITE_PERMISSIONS.get(inside.split("/")[0])


def _check_representation(media: frozenset[str], template: str) -> None:
    """Refuse to render what people wrote as HTML or plain text: that takes GitHub's own Markdown."""
    media_types = sorted(media & {"full", "html", "text"})
    if media_types and any(segment in _WRITTEN for segment in template.split("/")):
        raise NotImplementedRefusal(f"application/vnd.github.{media_types[0]}+json is not implemented by the twin.")


def _check_version(version: str) -> None:
    """Refuse a version of the API that GitHub does not have; that it does is documented, in which words is not."""
    if version not in _VERSIONS:
        raise BadRequestRefusal("The version you specified is not a supported version.")


def _check_accept(accept: str, own_media: str | None) -> None:
    """Refuse a client that takes neither JSON, nor any media type of GitHub's, nor what only this operation sends."""
    kinds = [part.split(";")[0].strip().lower() for part in accept.split(",") if part.strip()]
    if (
        not kinds
        or own_media in kinds
        or any(kind in _ANYTHING or kind.startswith("application/vnd.github") for kind in kinds)
    ):
        return
    raise _UnsupportedMediaRefusal(f"Unsupported 'Accept' header: {kinds}. Must accept 'application/json'.")
