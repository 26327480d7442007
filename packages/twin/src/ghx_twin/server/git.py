"""Git's endpoint: who may fetch and push, and what a push changes in the world."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote

from ghx_twin.commands.repositories import refs
from ghx_twin.git import http
from ghx_twin.git.objects import RefUpdate
from ghx_twin.queries import lookup
from ghx_twin.queries.repositories.protections import may_push, push_rule
from ghx_twin.queries.rulesets import push_violations
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.reply import Reply
from ghx_twin.server.hosting import Access
from ghx_twin.server.request import Request
from ghx_twin.server.watching import watch_push
from ghx_twin.state.records import Repository

_PATH = re.compile(r"^/([^/]+)/([^/]+?)(?:\.git)?/(info/refs|git-upload-pack|git-receive-pack)$")
_FETCH, _PUSH, _ADVERTISEMENT = "git-upload-pack", "git-receive-pack", "info/refs"
_METHODS = {_ADVERTISEMENT: {"GET", "HEAD"}, _FETCH: {"POST"}, _PUSH: {"POST"}}
_CHALLENGE = {"www-authenticate": 'Basic realm="GitHub"'}


class _GitRequest(NamedTuple):
    owner: str
    name: str
    endpoint: str
    service: str

    @property
    def operation(self) -> str:
        return f"{self.service} (refs)" if self.endpoint == _ADVERTISEMENT else self.service


def is_git(path: str) -> bool:
    """Return whether a path belongs to git's smart protocol."""
    return _PATH.match(path) is not None


def operation_of(request: Request) -> str:
    """Return what the journal calls a request of git, whether or not it is answered."""
    return _parse_request(request).operation


async def answer(request: Request, access: Access | None) -> Reply:
    """Return the reply to one request of git."""
    git_request = _parse_request(request)
    if access is not None:
        await access.hosted.wait_for_thread()
    # Git asks without credentials first, and with them after the challenge.
    if access is None or (access.viewer.is_anonymous and not _is_public(access, git_request)):
        return _refuse(401, "Authentication required", git_request, _CHALLENGE)
    if request.method not in _METHODS[git_request.endpoint]:
        return _refuse(
            405, "Method Not Allowed", git_request, {"allow": ", ".join(sorted(_METHODS[git_request.endpoint]))}
        )
    if git_request.service not in {_FETCH, _PUSH}:
        return _refuse(403, "Please upgrade your git client.", git_request)
    try:
        repository = lookup.repository(access.hosted.world, access.viewer, git_request.owner, git_request.name)
    except NotFoundRefusal:  # also one that the viewer may not see: GitHub does not give away that it exists
        return _refuse(404, "Repository not found.", git_request)
    # For the advertisement too: a push is refused before the client has packed anything.
    if git_request.service == _PUSH and (problem := _push_refusal(access, repository)):
        return _refuse(403, problem, git_request)
    reply = await _serve(request, access, repository, git_request)
    reply.operation = git_request.operation
    return reply


def _is_public(access: Access, git_request: _GitRequest) -> bool:
    """Return whether what was requested takes no credentials: fetching from a repository that anyone may see."""
    try:
        lookup.repository(access.hosted.world, access.viewer, git_request.owner, git_request.name)
    except NotFoundRefusal:  # GitHub asks for credentials, rather than giving away that there is none
        return False
    return git_request.service != _PUSH


async def _serve(request: Request, access: Access, repository: Repository, git_request: _GitRequest) -> Reply:
    git = access.hosted.world.git(repository)
    protocol = request.headers.get("git-protocol")
    if git_request.endpoint == _ADVERTISEMENT:
        return await http.info_refs(git, git_request.service, protocol)
    gzip = request.headers.get("content-encoding") == "gzip"
    if git_request.endpoint == _FETCH:
        return await http.upload_pack(git, request.stream(), protocol, gzip=gzip)
    return await _push(request, access, repository, gzip=gzip)


async def _push(request: Request, access: Access, repository: Repository, *, gzip: bool) -> Reply:
    world, viewer = access.hosted.world, access.viewer
    git = world.git(repository)

    def record(names: Collection[str]) -> Sequence[RefUpdate]:
        with world.database.locked():  # no other act may move the same refs in between
            updates = git.pushed_refs(names)
            if world.watch is not None and viewer.user.login == world.watch.login:
                watch_push(world.watch, lookup.full_name(world, repository), git, updates)
            if updates:
                with world.acting(viewer) as act:
                    git.accept_push(updates)
                    refs.record_push(act, repository, updates)
        return updates

    def describe(updates: Sequence[RefUpdate]) -> str:
        page = f"{request.endpoint.urls.html}/{lookup.full_name(world, repository)}/pull/new"
        made = (one.ref.removeprefix("refs/heads/") for one in updates if one.old is None and one.new is not None)
        branches = [name for name in made if not name.startswith("refs/") and name != repository.default_branch]
        return "".join(
            f"\nCreate a pull request for '{name}' on GitHub by visiting:\n     {page}/{quote(name)}\n\n"
            for name in branches
        )

    return await http.receive_pack(
        git,
        request.stream(),
        request.headers.get("git-protocol"),
        gzip=gzip,
        rules=lambda update: push_rule(world, viewer, repository, update),
        lock=access.hosted.write_lock,
        inspect=lambda update: _describe_violations(request, access, repository, update),
        record=record,
        describe=describe,
    )


def _describe_violations(request: Request, access: Access, repository: Repository, update: RefUpdate) -> list[str]:
    """Return the lines that tell which rules a push of a ref violates; none where it violates none."""
    world = access.hosted.world
    violations = push_violations(world, access.viewer, repository, update)
    if not violations:
        return []
    page = f"{request.endpoint.urls.html}/{lookup.full_name(world, repository)}/rules?ref={quote(update.ref, safe='')}"
    lines = [f"error: GH013: Repository rule violations found for {update.ref}."]
    lines += [f"Review all repository rules at {page}", ""]
    for violation in violations:
        lines += [*f"- {violation}".splitlines(), ""]
    return lines


def _parse_request(request: Request) -> _GitRequest:
    matched = _PATH.match(request.path)
    assert matched is not None  # noqa: S101 - the caller asked is_git
    owner, name, endpoint = (unquote(part) for part in matched.groups())
    service = parse_qs(request.query).get("service", [""])[0] if endpoint == _ADVERTISEMENT else endpoint
    return _GitRequest(owner, name, endpoint, service)


def _push_refusal(access: Access, repository: Repository) -> str | None:
    """Return why any push by this viewer is refused; None if it is not."""
    world, viewer = access.hosted.world, access.viewer
    if repository.archived:
        return "This repository was archived so it is read-only."
    if not may_push(world, viewer, repository):
        return f"Permission to {lookup.full_name(world, repository)}.git denied to {viewer.user.login}."
    return None


def _refuse(status: int, text: str, git_request: _GitRequest, headers: dict[str, str] | None = None) -> Reply:
    return Reply(
        status=status,
        content=f"{text}\n".encode(),
        media_type="text/plain; charset=utf-8",
        headers=dict(headers or {}),
        operation=git_request.operation,
    )
