"""GitHub's hosts other than the API: raw files, differences, archives, files of releases, logs and artifacts.

There are no pages for people.
"""

import re
from hmac import compare_digest
from urllib.parse import parse_qs, quote, unquote

from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.actions import workflow_runs
from ghx_twin.queries.repositories import archives
from ghx_twin.queries.repositories import releases as releases_of
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply, error_reply
from ghx_twin.rest import dispatch
from ghx_twin.rest.handlers.repositories.releases import asset_reply
from ghx_twin.rest.render.actions.artifacts import artifact_archive
from ghx_twin.rest.render.actions.logs import job_log, logs_archive
from ghx_twin.server.hosting import Access
from ghx_twin.server.request import Request
from ghx_twin.state.records import Artifact, CheckRun, Release, ReleaseAsset, Repository, RunAttempt
from ghx_twin.world import World

_TEXT = "text/plain; charset=utf-8"
_OK = 200
_REPOSITORY = re.compile(r"/([^/]+)/([^/]+)(?:/|$)")
_FILE = re.compile(r"/([^/]+)/([^/]+)/(.+)")
_RAW_PAGE = re.compile(r"/([^/]+)/([^/]+)/raw/(.+)")
_DIFFERENCE = re.compile(r"/([^/]+)/([^/]+)/(pull|commit|compare)/(.+)\.(diff|patch)")
_ARCHIVE_PAGE = re.compile(r"/([^/]+)/([^/]+)/archive/(.+)\.(tar\.gz|zip)")
_LATEST = re.compile(r"/([^/]+)/([^/]+)/releases/latest(?:/download/([^/]+))?")
_DOWNLOAD = re.compile(r"/([^/]+)/([^/]+)/releases/download/(.+)/([^/]+)")
_DOWNLOADS = re.compile(r"/(?!repos/)[^/]+/[^/]+/(?:archive/|releases/(?:download/|latest(?:/download/|$)))")
_ARCHIVE = re.compile(r"/([^/]+)/([^/]+)/(legacy\.)?(tar\.gz|zip)/(.+)")
_ARCHIVE_TYPES = {"tar.gz": "application/x-gzip", "zip": "application/zip"}
_JOB_LOG = re.compile(r"/actions/jobs/(\d+)/logs")
_ATTEMPT_LOGS = re.compile(r"/actions/runs/(\d+)/attempts/(\d+)/logs")
_ARTIFACT_FILE = re.compile(r"/actions/artifacts/(\d+)/zip")
_ENDPOINTS = {"pull": "pulls", "commit": "commits", "compare": "compare"}


def is_download(request: Request) -> bool:
    """Return whether a path on a host of ours is one of GitHub's pages that programs download from."""
    return request.endpoint.host_kind == "any" and not request.endpoint.prefix and bool(_DOWNLOADS.match(request.path))


def answer(request: Request, access: Access) -> Reply:
    """Return the reply to a request for one of GitHub's hosts that is not the API."""
    if request.method not in {"GET", "HEAD"}:
        return _text(404, "Not Found", "page")
    match request.endpoint.host_kind:
        case "raw":
            return _file(request, access)
        case "codeload":
            return _archive(request, access)
        case "web" | "any":
            return _page(request, access)
        case _:
            host = request.headers.get("host", "")
            reply = error_reply(501, f"Not Implemented: {host}; the twin has nothing there")
            reply.not_implemented = f"{request.method} {host}"
            return reply


def answer_download(world: World, path: str) -> Reply:
    """Return the file at a path that the world has signed; it may have been deleted since."""
    return _find_download(world, path) or error_reply(404, "The specified blob does not exist.")


def _file(request: Request, access: Access) -> Reply:
    """Return a file of a repository; the path begins with a ref, which may have slashes in it."""
    match = _FILE.fullmatch(request.path)
    owner, name, rest = match.groups() if match else ("", "", "")
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
        place = quote(unquote(raw[3]), safe="/")  # `raw_url` of the API has its slashes encoded
        return _redirect(f"{request.endpoint.urls.raw}/{raw[1]}/{raw[2]}/{place}")
    if match := _DIFFERENCE.fullmatch(request.path):
        owner, name, kind, what, media = match.groups()
        reply = _ask_api(request, access, f"/repos/{owner}/{name}/{_ENDPOINTS[kind]}/{what}", media)
        return _text(reply.status, reply.content if reply.status == _OK else "Not Found", "difference")
    if archived := _ARCHIVE_PAGE.fullmatch(request.path):
        owner, name, ref, kind = archived.groups()
        return _redirect(f"{request.endpoint.urls.codeload}/{owner}/{name}/{kind}/{ref}")
    if latest := _LATEST.fullmatch(request.path):
        owner, name, file = latest.groups()
        return _lead_to_latest(request, access, owner, name, file)
    if match := _DOWNLOAD.fullmatch(request.path):
        owner, name, tag, file = match.groups()
        return _release_file(access, owner, name, tag, file)
    return _no_page(request, access)


def _no_page(request: Request, access: Access) -> Reply:
    """Report whether GitHub has a page there that the emulator has not."""
    match = _REPOSITORY.match(request.path)
    try:
        if match is not None:
            lookup.repository(access.hosted.world, access.viewer, unquote(match[1]), unquote(match[2]))
    except NotFoundRefusal:
        return _text(404, "Not Found", "page")
    reply = _text(501, "Not Implemented: the twin has no pages for people; ask the API for what is on them", "page")
    reply.not_implemented = reply.operation
    return reply


def _lead_to_latest(request: Request, access: Access, owner: str, name: str, file: str | None) -> Reply:
    """Lead to the page of the latest release, or to a file of it."""
    home = _find_repository(access, owner, name)
    latest_release = releases_of.latest_release(access.hosted.world, home) if home else None
    if latest_release is None:
        return _text(404, "Not Found", "page")
    page, tag = f"{request.endpoint.urls.html}/{owner}/{name}/releases", quote(latest_release.tag_name, safe="/")
    return _redirect(f"{page}/download/{tag}/{file}" if file else f"{page}/tag/{tag}")


def _release_file(access: Access, owner: str, name: str, tag: str, file: str) -> Reply:
    """Return a file of a release."""
    world, home = access.hosted.world, _find_repository(access, owner, name)
    if home is None:
        return _text(404, "Not Found", "file")
    release = releases_of.release_by_tag(world, home, unquote(tag)) or _find_draft(access, home, tag)
    asset = world.database.one(ReleaseAsset, release_id=release.id, name=unquote(file)) if release else None
    if asset is None:
        return _text(404, "Not Found", "file")
    reply = asset_reply(world.git(home).blob(asset.blob_sha) or b"", asset)
    reply.operation = "GET file of a release"
    return reply


def _find_draft(access: Access, home: Repository, name: str) -> Release | None:
    world = access.hosted.world
    drafts = world.database.all(Release, repository_id=home.id, draft=True)
    draft = (one for one in drafts if releases_of.untagged_name(one) == name)
    return next((one for one in draft if releases_of.is_visible(world, access.viewer, home, one)), None)


def _archive(request: Request, access: Access) -> Reply:
    match = _ARCHIVE.fullmatch(request.path)
    owner, name, legacy, kind, ref = match.groups() if match else ("", "", None, "", "")
    ref, world = unquote(ref), access.hosted.world
    token = parse_qs(request.query).get("token", [""])[0]
    home = _find_repository(access, owner, name, token=token, ref=ref)
    full = archives.full_ref(world, home, ref) if home else None
    sha = world.git(home).resolve(full, home.default_branch) if home and full else None
    if home is None or full is None or sha is None:
        return _text(404, "404: Not Found", "archive")
    called = archives.api_archive_name(world, home, full, sha) if legacy else archives.page_archive_name(home, full)
    content = world.git(home).archive(sha, kind, f"{called.folder}/")
    # A header holds no letters beyond Latin-1, and a tag may have any.
    headers = {"content-disposition": f"attachment; filename={quote(called.file, safe='+@')}.{kind}"}
    media = _ARCHIVE_TYPES[kind]
    return Reply(content=content, media_type=media, headers=headers, operation="GET archive of a website")


def _find_repository(access: Access, owner: str, name: str, *, token: str = "", ref: str = "") -> Repository | None:
    """Return a repository that the viewer may see, or whose archive the token in the address opens."""
    world = access.hosted.world
    try:
        repository = lookup.repository(world, None, unquote(owner), unquote(name))
    except NotFoundRefusal:
        return None
    is_open = permissions.is_visible(world, access.viewer, repository)
    return repository if is_open or compare_digest(token, archives.archive_token(repository, ref)) else None


def _redirect(address: str) -> Reply:
    reply = _text(302, "", "page")
    reply.headers["location"] = address
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
        base=request.endpoint.urls,
    )


def _text(status: int, content: str | bytes, what: str) -> Reply:
    body = content.encode() if isinstance(content, str) else content
    return Reply(status=status, content=body, media_type=_TEXT, operation=f"GET {what} of a website")


def _find_download(world: World, path: str) -> Reply | None:
    database = world.database
    if (match := _JOB_LOG.fullmatch(path)) and (job := database.get(CheckRun, int(match[1]))):
        log = job_log(job, workflow_runs.steps(world, job))
        return _file_reply("GET logs of a job", log.encode(), "text/plain; charset=utf-8")
    if match := _ATTEMPT_LOGS.fullmatch(path):
        attempt = database.one(RunAttempt, run_id=int(match[1]), number=int(match[2]))
        jobs = workflow_runs.jobs(world, attempt) if attempt else []
        ran = [(job, steps) for job in jobs if (steps := workflow_runs.steps(world, job))]
        return _zip_reply("GET logs of a run", logs_archive(ran), f"logs_{match[1]}.zip") if ran else None
    if (match := _ARTIFACT_FILE.fullmatch(path)) and (artifact := database.get(Artifact, int(match[1]))):
        return _zip_reply("GET artifact of a run", artifact_archive(artifact), f"artifact_{artifact.id}.zip")
    return None


def _zip_reply(operation: str, content: bytes, name: str) -> Reply:
    reply = _file_reply(operation, content, "application/zip")
    reply.headers["content-disposition"] = f'attachment; filename="{name}"'
    return reply


def _file_reply(operation: str, content: bytes, media_type: str) -> Reply:
    return Reply(content=content, media_type=media_type, operation=operation)
