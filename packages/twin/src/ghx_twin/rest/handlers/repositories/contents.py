"""Files of a repository: read, written and removed one at a time."""

import base64
import binascii

from ghx_twin.commands.repositories import contents
from ghx_twin.commands.repositories.contents import ContentChange
from ghx_twin.git.objects import TreeEntry
from ghx_twin.queries.composition import composition
from ghx_twin.refusals import ForbiddenRefusal, InvalidRefusal, NotFoundRefusal, PlainNotFoundRefusal
from ghx_twin.reply import JsonObject, Reply, json_reply
from ghx_twin.rest.body import read_signature
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.render.repositories import objects as render
from ghx_twin.rest.render.repositories.commits import git_commit
from ghx_twin.rest.render.repositories.repositories import repository as render_repository
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Repository

RAW = "application/vnd.github.raw; charset=utf-8"
LARGEST_RAW = 100_000_000
_README_PLACES = ("", ".github", "docs")
_README_NAMES = ("readme.md", "readme.markdown", "readme.rst", "readme.txt", "readme")


def get_contents(request: RestRequest) -> Reply:
    """Get repository content."""
    home, path = from_path.repository(request), _path(request)
    ref, commit = _commit(request, home)
    entry = request.world.git(home).entry(commit, path)
    if entry is None:
        raise NotFoundRefusal(f"Could not resolve to a file at {path}.")
    if entry.type == "tree":
        return _directory(request, home, entry, ref)
    return _file(request, home, entry, ref)


def get_readme(request: RestRequest) -> Reply:
    """Get a repository README."""
    home = from_path.repository(request)
    ref, commit = _commit(request, home)
    places = (request.text("dir").strip("/"),) if "dir" in request.parameters else _README_PLACES
    for place in places:
        if entry := _readme(request, home, commit, place):
            return _file(request, home, entry, ref)
    raise NotFoundRefusal("Could not resolve to a README.")


def get_license(request: RestRequest) -> Reply:
    """Get the license for a repository."""
    home = from_path.repository(request)
    ref, commit = _commit(request, home)
    path = composition(request.world, home).license_path
    entry = request.world.git(home).entry(commit, path) if path else None
    if entry is None:
        raise NotFoundRefusal("Could not resolve to a license.")
    if "raw" in request.media:
        return _file(request, home, entry, ref)
    license_content = render_repository(request.view, home)["license"]
    return json_reply({**render.file(request.view, home, entry, ref), "license": license_content})


def put_contents(request: RestRequest) -> Reply:
    """Create or update file contents."""
    home, body = from_path.repository(request), request.body()
    body.require("message", "content")
    message, content = body.required_text("message"), _decode_base64(body.required_text("content"))
    with request.acting() as act:
        change = contents.put(
            act,
            home,
            path=_path(request),
            content=content,
            message=message,
            branch=_branch(body.text("branch")),
            sha=body.text("sha"),
            author=read_signature(body, "author", act.now),
            committer=read_signature(body, "committer", act.now),
        )
    return json_reply(_render_change(request, home, change, body.text("branch")), status=201 if change.created else 200)


def delete_contents(request: RestRequest) -> Reply:
    """Delete a file."""
    home, body = from_path.repository(request), request.body()
    # GitHub takes these from the query as well: not every HTTP client sends a body with DELETE.
    text = {name: body.text(name) or request.query.get(name) for name in ("message", "sha", "branch")}
    missing = [name for name in ("message", "sha") if text[name] is None]
    if missing:
        body.require(*missing)
    with request.acting() as act:
        change = contents.delete(
            act,
            home,
            path=_path(request),
            message=text["message"],
            sha=text["sha"],
            branch=_branch(text["branch"]),
            author=read_signature(body, "author", act.now),
            committer=read_signature(body, "committer", act.now),
        )
    return json_reply(_render_change(request, home, change, text["branch"]))


def _path(request: RestRequest) -> str:
    return request.parameters.get("path", "").strip("/")


def _branch(name: str | None) -> str | None:
    return name.removeprefix("refs/heads/") if name else None


def _commit(request: RestRequest, home: Repository) -> tuple[str, str]:
    """Return the name of what is read, and its commit."""
    ref = request.query.get("ref") or home.default_branch
    git = request.world.git(home)
    commit = git.resolve(ref, home.default_branch)
    if commit is None and not git.refs("refs/heads/"):
        raise PlainNotFoundRefusal("This repository is empty.")
    if commit is None:
        raise PlainNotFoundRefusal(f"No commit found for the ref {ref}")
    return ref, commit


def _file(request: RestRequest, home: Repository, entry: TreeEntry, ref: str) -> Reply:
    if "raw" not in request.media or entry.type != "blob":
        return json_reply(render.file(request.view, home, entry, ref))
    if (entry.size or 0) > LARGEST_RAW:
        raise ForbiddenRefusal("This API returns blobs up to 100 MB in size.")
    return Reply(content=request.world.git(home).blob(entry.sha) or b"", media_type=RAW)


def _directory(request: RestRequest, home: Repository, entry: TreeEntry, ref: str) -> Reply:
    entries = render.directory(request.view, home, request.world.git(home), entry, ref)
    if "object" not in request.media:  # a folder is a bare list unless the client asks for an object
        return json_reply(entries)
    return json_reply({**render.entry(request.view, home, entry, ref), "entries": entries})


def _readme(request: RestRequest, home: Repository, commit: str, place: str) -> TreeEntry | None:
    git = request.world.git(home)
    folder = git.entry(commit, place)
    if folder is None or folder.type != "tree":
        return None
    files = {entry.path.lower(): entry.path for entry in git.tree(folder.sha) if entry.type == "blob"}
    name = next((files[name] for name in _README_NAMES if name in files), None)
    return git.entry(commit, f"{place}/{name}" if place else name) if name else None


def _decode_base64(content: str) -> bytes:
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRefusal("content is not valid Base64") from None


def _render_change(request: RestRequest, home: Repository, change: ContentChange, branch: str | None) -> JsonObject:
    ref = _branch(branch) or home.default_branch
    entry = render.entry(request.view, home, change.entry, ref) if change.entry else None
    return {"content": entry, "commit": git_commit(request.view, home, change.commit)}
