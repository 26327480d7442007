"""What GitHub's other hosts show beside the API: files as they are, and differences; pages for people are not here."""

import re
from urllib.parse import quote, unquote

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.reply import Reply, error_reply
from ghx_bench.twin.rest import dispatch
from ghx_bench.twin.server.hosting import Access
from ghx_bench.twin.server.request import Request

_TEXT = "text/plain; charset=utf-8"
_OK = 200
_REPOSITORY = re.compile(r"/([^/]+)/([^/]+)(?:/|$)")
_FILE = re.compile(r"/([^/]+)/([^/]+)/(.+)")
_RAW_PAGE = re.compile(r"/([^/]+)/([^/]+)/raw/(.+)")
_DIFFERENCE = re.compile(r"/([^/]+)/([^/]+)/(pull|commit|compare)/(.+)\.(diff|patch)")
_ENDPOINTS = {"pull": "pulls", "commit": "commits", "compare": "compare"}


def answer(request: Request, access: Access) -> Reply:
    """Return the reply to a request for one of GitHub's hosts that is not the API."""
    if request.method not in {"GET", "HEAD"}:
        return _text(404, "Not Found", "page")
    match request.door.host_kind:
        case "raw":
            return _file(request, access)
        case "web":
            return _page(request, access)
        case _:
            host = request.headers.get("host", "")
            reply = error_reply(501, f"Not Implemented: {host}; the twin has nothing there")
            reply.not_implemented = f"{request.method} {host}"
            return reply


def _file(request: Request, access: Access) -> Reply:
    """Return a file of a repository; the path begins with a ref, which may have slashes in it."""
    named = _FILE.fullmatch(request.path)
    owner, name, rest = named.groups() if named else ("", "", "")
    parts = rest.split("/")
    for length in range(1, len(parts)):
        ref, path = unquote("/".join(parts[:length])), "/".join(parts[length:])
        place = f"/repos/{owner}/{name}/contents/{path}"
        reply = _ask_api(request, access, place, "raw", query=f"ref={quote(ref, safe='')}")
        if reply.status == _OK and (reply.media_type or "").startswith("application/vnd.github.raw"):
            return _text(_OK, reply.content, "file")
    return _text(404, "404: Not Found", "file")


def _page(request: Request, access: Access) -> Reply:
    if raw := _RAW_PAGE.fullmatch(request.path):
        reply = _text(302, "", "file")
        place = quote(unquote(raw[3]), safe="/")  # `raw_url` of the API has its slashes encoded
        reply.headers["location"] = f"{request.door.urls.raw}/{raw[1]}/{raw[2]}/{place}"
        return reply
    if wanted := _DIFFERENCE.fullmatch(request.path):
        owner, name, kind, what, media = wanted.groups()
        reply = _ask_api(request, access, f"/repos/{owner}/{name}/{_ENDPOINTS[kind]}/{what}", media)
        return _text(reply.status, reply.content if reply.status == _OK else "Not Found", "difference")
    named = _REPOSITORY.match(request.path)
    try:
        if named is not None:
            lookup.repository(access.hosted.world, access.viewer, unquote(named[1]), unquote(named[2]))
    except NotFoundRefusal:
        return _text(404, "Not Found", "page")
    reply = _text(501, "Not Implemented: the twin has no pages for people; ask the API for what is on them", "page")
    reply.not_implemented = reply.operation
    return reply


def _ask_api(request: Request, access: Access, path: str, media: str, *, query: str = "") -> Reply:
    return dispatch.answer(
        access.hosted.world,
        access.viewer,
        method="GET",
        raw_path=path,
        query=query,
        headers={"accept": f"application/vnd.github.{media}"},
        body=b"",
        base=request.door.urls,
    )


def _text(status: int, content: str | bytes, what: str) -> Reply:
    body = content.encode() if isinstance(content, str) else content
    return Reply(status=status, content=body, media_type=_TEXT, operation=f"GET {what} of a website")
