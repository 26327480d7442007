"""Refs, tags, trees, blobs and files of a repository."""

import base64
from pathlib import PurePosixPath

from ghx_twin.git.objects import AnnotatedTag, Signature, TreeEntry
from ghx_twin.git.repository import GitRepository
from ghx_twin.git.trees import MOST_ENTRIES
from ghx_twin.nodes import git_node_id
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.repositories.commits import UNSIGNED, signature
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import Repository

_LINE = 60  # characters of base64 before GitHub breaks the line
LARGEST_CONTENT = 1_000_000  # larger files are shown without their content
LARGEST_TREE = 7_000_000  # bytes of JSON
BYTES_AROUND_AN_ENTRY = 60  # keys, quotes and commas
MOST_IN_A_FOLDER = 1_000


def ref(view: View, repository: Repository, name: str, sha: str) -> JsonObject:
    """Render a reference and the object it points at."""
    kind = view.git(repository).kind(sha) or "commit"
    return {
        "ref": name,
        "node_id": git_node_id("ref", repository.id, name),
        "url": view.api(repository, f"/git/{quote_part(name, safe='/')}"),
        "object": {"sha": sha, "type": kind, "url": view.api(repository, f"/git/{kind}s/{sha}")},
    }


def annotated_tag(view: View, repository: Repository, tag: AnnotatedTag) -> JsonObject:
    """Render a tag object."""
    kind, tagger = tag.target_type, tag.tagger or Signature(name="", email="", at="1970-01-01T00:00:00Z")
    return {
        "node_id": git_node_id("tag", repository.id, tag.sha),
        "sha": tag.sha,
        "url": view.api(repository, f"/git/tags/{tag.sha}"),
        "tagger": signature(tagger),
        "object": {"sha": tag.target, "type": kind, "url": view.api(repository, f"/git/{kind}s/{tag.target}")},
        "tag": tag.name,
        "message": tag.message.rstrip("\n"),
        "verification": UNSIGNED,
    }


def tag(view: View, repository: Repository, name: str, sha: str) -> JsonObject:
    """Render a tag in the list of a repository's tags."""
    commit = view.git(repository).peel(sha)
    return {
        "name": name,
        "zipball_url": view.api(repository, f"/zipball/refs/tags/{name}"),
        "tarball_url": view.api(repository, f"/tarball/refs/tags/{name}"),
        "commit": {"sha": commit, "url": view.api(repository, f"/commits/{commit}")},
        "node_id": git_node_id("ref", repository.id, f"refs/tags/{name}"),
    }


def tree(view: View, repository: Repository, sha: str, entries: list[TreeEntry]) -> JsonObject:
    """Render a tree with as many of its entries as GitHub shows."""
    shown: list[JsonObject] = []
    budget = LARGEST_TREE
    for entry in entries:
        shown.append(_tree_entry(view, repository, entry))
        budget -= sum(len(str(value)) for value in shown[-1].values()) + BYTES_AROUND_AN_ENTRY
        if budget <= 0:
            break
    return {
        "sha": sha,
        "url": view.api(repository, f"/git/trees/{sha}"),
        "tree": shown,
        "truncated": len(shown) < len(entries) or len(entries) == MOST_ENTRIES,
    }


def blob(view: View, repository: Repository, sha: str, content: bytes) -> JsonObject:
    """Render a blob with its content."""
    return {
        "sha": sha,
        "node_id": git_node_id("blob", repository.id, sha),
        "size": len(content),
        "url": view.api(repository, f"/git/blobs/{sha}"),
        "content": encode_base64(content),
        "encoding": "base64",
    }


def encode_base64(content: bytes) -> str:
    """Return base64 in lines, as GitHub writes it."""
    text = base64.b64encode(content).decode()
    return "".join(f"{text[start : start + _LINE]}\n" for start in range(0, len(text), _LINE))


def entry(view: View, repository: Repository, entry: TreeEntry, ref: str) -> JsonObject:
    """Render what is at a path, without its content."""
    path, kind = quote_part(entry.path, safe="/"), _kind(entry)
    url = view.api(repository, f"/contents/{path}?ref={quote_part(ref, safe='/')}")
    page = {"dir": "tree", "submodule": "tree"}.get(kind, "blob")
    html = view.html(repository, f"/{page}/{quote_part(ref, safe='/')}/{path}") if entry.path else None
    git = view.api(repository, f"/git/{'blobs' if entry.type == 'blob' else 'trees'}/{entry.sha}")
    raw = f"{view.base.raw}/{view.full_name(repository)}/{quote_part(ref, safe='/')}/{path}"
    return {
        "name": PurePosixPath(entry.path).name,
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "url": url,
        "html_url": html,
        "git_url": git,
        "download_url": raw if kind in {"file", "symlink"} else None,
        "type": kind,
        "_links": {"self": url, "git": git, "html": html},
    }


def file(view: View, repository: Repository, found: TreeEntry, ref: str) -> JsonObject:
    """Render a file, a symbolic link or a submodule on its own."""
    body = entry(view, repository, found, ref)
    git = view.git(repository)
    if body["type"] == "submodule":
        return {**body, "submodule_git_url": None}
    content = git.blob(found.sha) or b""
    if body["type"] == "symlink":
        return {**body, "target": content.decode(errors="replace")}
    if len(content) > LARGEST_CONTENT:
        return {**body, "content": "", "encoding": "none"}
    return {**body, "content": encode_base64(content), "encoding": "base64"}


def directory(view: View, repository: Repository, git: GitRepository, found: TreeEntry, ref: str) -> list[JsonObject]:
    """Render the entries of a folder: a thousand at most, as on GitHub, where a longer one is read as a tree."""
    prefix = f"{found.path}/" if found.path else ""
    entries = (
        TreeEntry(path=f"{prefix}{inside.path}", mode=inside.mode, type=inside.type, sha=inside.sha, size=inside.size)
        for inside in git.tree(found.sha, most=MOST_IN_A_FOLDER)
    )
    return [entry(view, repository, inside, ref) for inside in entries]


def _kind(entry: TreeEntry) -> str:
    if entry.type == "tree":
        return "dir"
    if entry.type == "commit":
        return "submodule"
    return "symlink" if entry.mode == "120000" else "file"


def _tree_entry(view: View, repository: Repository, entry: TreeEntry) -> JsonObject:
    body: JsonObject = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
    if entry.type == "commit":
        return body
    if entry.size is not None:
        body["size"] = entry.size
    return {**body, "url": view.api(repository, f"/git/{entry.type}s/{entry.sha}")}
