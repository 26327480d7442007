"""Where the server hands over a REST request."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from ghx_bench.twin.git.errors import GitError
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import InvalidRefusal, MovedRefusal, NotFoundRefusal, NotImplementedRefusal, Refusal
from ghx_bench.twin.rest.answer import Answer
from ghx_bench.twin.rest.catalogue import documentation_url, known_operation
from ghx_bench.twin.rest.errors import UNKNOWN, BadRequestRefusal, RenamedRefusal, no_such_path, refused
from ghx_bench.twin.rest.media import check_accept, check_representation, media_parameters
from ghx_bench.twin.rest.operations import Operation, router
from ghx_bench.twin.rest.render.view import View
from ghx_bench.twin.rest.request import RateLimit, RestRequest
from ghx_bench.twin.rest.routing import Match
from ghx_bench.twin.state.records import Issue
from ghx_bench.twin.urls import BaseUrls
from ghx_bench.twin.viewer import Viewer
from ghx_bench.twin.world import World

_BY_ID = re.compile(r"/repositories/(\d{1,18})(/.*)?")
MOST_FIELDS = 1000  # in a query string
FRESH = RateLimit()
_REDIRECTS = "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"
_MOVED, _REPEAT = 301, 307


@dataclass(frozen=True, slots=True, kw_only=True)
class RestAnswer:
    """What goes over the wire, but for the headers that every answer has."""

    status: int
    content: bytes
    media_type: str
    headers: dict[str, str]
    operation: str  # method and template of the route, for the journal


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
) -> RestAnswer:
    """Answer a request; nothing that a client sends makes this raise.

    `raw_path` is still percent-encoded and without the server's prefix, the names of `headers` are in lower case.
    HEAD is answered as GET is; the server leaves out the content.
    """
    asked = "GET" if method == "HEAD" else method
    path, found = _route(world, viewer, asked, raw_path or "/")
    if found is None:
        return _wire(_unserved(asked, path))
    operation = found.target
    try:
        given = _answer(operation, found, world, viewer, (raw_path or "/", query, headers, body, base, rate))
    except Refusal as refusal:
        moved = _moved_to(world, refusal, path, query)
        given = refused(refusal, documentation_url(operation.name)) if moved is None else _elsewhere(asked, base, moved)
    except GitError as error:
        given = refused(InvalidRefusal(str(error)), documentation_url(operation.name))
    return _wire(_marked(given, operation))


def operation_of(world: World, viewer: Viewer, method: str, raw_path: str) -> str:
    """Return what the journal calls a request, whether or not it is answered."""
    asked = "GET" if method == "HEAD" else method
    path, found = _route(world, viewer, asked, raw_path or "/")
    return found.target.name if found else known_operation(asked, path) or UNKNOWN


def _answer(
    operation: Operation,
    found: Match[Operation],
    world: World,
    viewer: Viewer,
    sent: tuple[str, str, Mapping[str, str], bytes, BaseUrls, RateLimit],
) -> Answer:
    raw_path, query, headers, body, base, rate = sent
    accept = headers.get("accept", "")
    check_accept(accept)
    media = media_parameters(accept)
    check_representation(media, operation.template)
    request = RestRequest(
        world=world,
        viewer=viewer,
        view=View(world, viewer, base, media),
        base=base,
        raw_path=raw_path,
        parameters=found.parameters,
        query=_query(query),
        media=media,
        content=body,
        rate=rate,
    )
    return operation.handler(request)


def _route(world: World, viewer: Viewer, method: str, raw_path: str) -> tuple[str, Match[Operation] | None]:
    """Find what serves a path; a repository may also be named by its id."""
    by_id = _BY_ID.fullmatch(raw_path)
    if by_id:
        try:
            home = lookup.repository_by_id(world, viewer, int(by_id[1]))
        except NotFoundRefusal:
            raw_path = f"/repos/-/-{by_id[2] or ''}"  # a name that no repository can have: not found, as by name
        else:
            raw_path = f"/repos/{lookup.full_name(world, home)}{by_id[2] or ''}"
    found = router().find(method, raw_path)
    return raw_path, None if found and _is_of_another(found.target, method, raw_path) else found


def _is_of_another(operation: Operation, method: str, raw_path: str) -> bool:
    """Tell whether GitHub has a closer match that we lack: `/user/keys` is no account of that id."""
    known = known_operation(method, raw_path)
    return known is not None and _fixed_segments(known) > _fixed_segments(operation.name)


def _fixed_segments(operation: str) -> int:
    return sum(not segment.startswith("{") for segment in operation.split("/"))


def _unserved(method: str, raw_path: str) -> Answer:
    known = known_operation(method, raw_path)
    if known is None:
        return no_such_path()
    refusal = NotImplementedRefusal(f"{known} is not implemented by the twin.")
    return replace(refused(refusal, documentation_url(known)), operation=known)


def _moved_to(world: World, refusal: Refusal, path: str, query: str) -> str | None:
    """Return the path at which something is found now, by the id of its repository."""
    if isinstance(refusal, RenamedRefusal):
        below = path.split("/", 4)[4:]
        place = "/".join((f"/repositories/{refusal.repository_id}", *below))
        return f"{place}?{query}" if query else place
    issue = world.database.get(Issue, refusal.issue_id) if isinstance(refusal, MovedRefusal) else None
    return f"/repositories/{issue.repository_id}/issues/{issue.number}" if issue else None


def _elsewhere(method: str, base: BaseUrls, path: str) -> Answer:
    """Send a client on; one that writes must repeat what it wrote."""
    url = f"{base.api}{path}"
    body = {"message": "Moved Permanently", "url": url, "documentation_url": _REDIRECTS}
    return Answer(status=_MOVED if method == "GET" else _REPEAT, body=body, headers={"Location": url})


def _query(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise BadRequestRefusal("The query string has too many fields.") from None


def _marked(given: Answer, operation: Operation) -> Answer:
    scopes = {"X-Accepted-OAuth-Scopes": operation.scope}
    return replace(given, operation=operation.name, headers={**scopes, **given.headers})


def _wire(given: Answer) -> RestAnswer:
    return RestAnswer(
        status=given.status,
        content=given.content(),
        media_type=given.content_type,
        headers=dict(given.headers),
        operation=given.operation,
    )
