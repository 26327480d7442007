"""Git over HTTP: who may fetch and push, and what a push means for the world."""

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import parse_qs, unquote

from ghx_bench.twin.commands import refs
from ghx_bench.twin.git import http
from ghx_bench.twin.git.repository import RefUpdate
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.protections import may_push, push_rule
from ghx_bench.twin.refusals import NotFoundRefusal
from ghx_bench.twin.server.exchange import Reply, Request
from ghx_bench.twin.server.hosting import Access
from ghx_bench.twin.state.records import Repository

_TARGET = re.compile(r"^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$")
_FETCH, _PUSH, _ADVERTISEMENT = "git-upload-pack", "git-receive-pack", "info/refs"
_METHODS = {_ADVERTISEMENT: {"GET", "HEAD"}, _FETCH: {"POST"}, _PUSH: {"POST"}}
_CHALLENGE = {"www-authenticate": 'Basic realm="GitHub"'}


class _Wanted(NamedTuple):
    owner: str
    name: str
    what: str
    service: str


def is_git(path: str) -> bool:
    """Tell whether a path belongs to git's smart protocol."""
    return _TARGET.match(path) is not None


def git_operation(request: Request) -> str:
    """Return what the journal calls a request of git, whether or not it is answered."""
    return _operation(_wanted(request))


async def answer_git(request: Request, access: Access | None) -> Reply:
    """Serve one request of git."""
    wanted = _wanted(request)
    if access is None:
        return _refuse(401, "Authentication required", wanted, _CHALLENGE)
    if request.method not in _METHODS[wanted.what]:
        return _refuse(405, "Method Not Allowed", wanted, {"allow": ", ".join(sorted(_METHODS[wanted.what]))})
    if wanted.service not in {_FETCH, _PUSH}:
        return _refuse(403, "Please upgrade your git client.", wanted)
    try:
        repository = lookup.repository(access.hosted.world, access.viewer, wanted.owner, wanted.name)
    except NotFoundRefusal:
        return _refuse(404, "Repository not found.", wanted)
    if wanted.service == _PUSH and (problem := _obstacle(access, repository)):
        return _refuse(403, problem, wanted)
    reply = await _serve(request, access, repository, wanted)
    reply.operation = _operation(wanted)
    return reply


async def _serve(request: Request, access: Access, repository: Repository, wanted: _Wanted) -> Reply:
    git = access.hosted.world.git(repository)
    protocol = request.headers.get("git-protocol")
    if wanted.what == _ADVERTISEMENT:
        answer = await http.info_refs(git, wanted.service, protocol)
        return Reply(status=answer.status, headers=dict(answer.headers), content=answer.body)
    gzip = request.headers.get("content-encoding") == "gzip"
    if wanted.what == _FETCH:
        download = await http.upload_pack(git, request.stream(), protocol, gzip=gzip)
        return Reply(status=download.status, headers=dict(download.headers), stream=download.body)
    return await _push(request, access, repository, gzip=gzip)


async def _push(request: Request, access: Access, repository: Repository, *, gzip: bool) -> Reply:
    world, viewer = access.hosted.world, access.viewer

    def record(updates: Sequence[RefUpdate]) -> None:
        with world.acting(viewer) as act:
            refs.record_push(act, repository, updates)

    answer = await http.receive_pack(
        world.git(repository),
        request.stream(),
        request.headers.get("git-protocol"),
        gzip=gzip,
        rules=lambda update: push_rule(world, viewer, repository, update),
        gate=access.hosted.gate,
        record=record,
    )
    changed = bool(answer.updates)
    return Reply(status=answer.status, headers=dict(answer.headers), content=answer.body, changed=changed)


def _wanted(request: Request) -> _Wanted:
    matched = _TARGET.match(request.path)
    assert matched is not None  # noqa: S101 - the caller asked is_git
    owner, name, what = (unquote(part) for part in matched.groups())
    service = parse_qs(request.query).get("service", [""])[0] if what == _ADVERTISEMENT else what
    return _Wanted(owner, name, what, service)


def _obstacle(access: Access, repository: Repository) -> str | None:
    """Return why a push by this viewer is refused whatever is in it."""
    world, viewer = access.hosted.world, access.viewer
    if repository.archived:
        return "This repository was archived so it is read-only."
    if not may_push(world, viewer, repository):
        return f"Permission to {lookup.full_name(world, repository)}.git denied to {viewer.user.login}."
    return None


def _refuse(status: int, text: str, wanted: _Wanted, headers: dict[str, str] | None = None) -> Reply:
    return Reply(
        status=status,
        content=f"{text}\n".encode(),
        media_type="text/plain; charset=utf-8",
        headers=dict(headers or {}),
        operation=_operation(wanted),
    )


def _operation(wanted: _Wanted) -> str:
    return f"{wanted.service} (refs)" if wanted.what == _ADVERTISEMENT else wanted.service
