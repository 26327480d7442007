"""The git database: refs, commits, trees, blobs and tags."""

import base64
import binascii

from ghx_twin.commands.repositories import objects, refs
from ghx_twin.commands.repositories.objects import NewEntry
from ghx_twin.git.errors import GitLookupError
from ghx_twin.queries.repositories.releases import is_only_asset
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body, read_signature
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.handlers.repositories.contents import RAW
from ghx_twin.rest.pagination import list_reply
from ghx_twin.rest.render.repositories import objects as render
from ghx_twin.rest.render.repositories.commits import git_commit
from ghx_twin.rest.request import RestRequest


def get_ref(request: RestRequest) -> Reply:
    """Get a reference."""
    home, name = from_path.repository_with_commits(request), _full(request.text("ref"))
    sha = request.world.git(home).ref(name)
    if sha is None:
        raise NotFoundRefusal(f"Could not resolve to a ref with the name of {name}.")
    return json_reply(render.ref(request.view, home, name, sha))


def get_refs(request: RestRequest) -> Reply:
    """Get a reference, as older clients ask for it."""
    home, name = from_path.repository_with_commits(request), _full(request.text("ref"))
    git = request.world.git(home)
    if (sha := git.ref(name)) is not None:
        return json_reply(render.ref(request.view, home, name, sha))
    below = [item for item in git.refs(f"{name.rstrip('/')}/").items()]  # noqa: C416
    if not below:
        raise NotFoundRefusal(f"Could not resolve to a ref with the name of {name}.")
    return list_reply(request, below, lambda one: render.ref(request.view, home, one[0], one[1]))


def list_refs(request: RestRequest) -> Reply:
    """List references, as older clients ask for them."""
    home = from_path.repository_with_commits(request)
    results = list(request.world.git(home).refs().items())
    return list_reply(request, results, lambda one: render.ref(request.view, home, one[0], one[1]))


def list_matching_refs(request: RestRequest) -> Reply:
    """List matching references."""
    home = from_path.repository_with_commits(request)
    matching_refs = list(request.world.git(home).refs(_full(request.text("ref"))).items())
    return list_reply(request, matching_refs, lambda one: render.ref(request.view, home, one[0], one[1]))


def create_ref(request: RestRequest) -> Reply:
    """Create a reference."""
    home, body = from_path.repository_with_commits(request), request.body()
    body.require("ref", "sha")
    name, sha = body.required_text("ref"), body.required_text("sha")
    with request.acting() as act:
        target = refs.create(act, home, ref=name, sha=sha)
    ref = render.ref(request.view, home, name, target)
    return created(ref, ref["url"])


def update_ref(request: RestRequest) -> Reply:
    """Update a reference."""
    home, name, body = from_path.repository_with_commits(request), _full(request.text("ref")), request.body()
    sha, force = body.required_text("sha"), body.flag("force") or False
    with request.acting() as act:
        target = refs.update(act, home, ref=name, sha=sha, force=force)
    return json_reply(render.ref(request.view, home, name, target))


def delete_ref(request: RestRequest) -> Reply:
    """Delete a reference."""
    home, name = from_path.repository_with_commits(request), _full(request.text("ref"))
    with request.acting() as act:
        refs.delete(act, home, ref=name)
    return no_content()


def get_commit(request: RestRequest) -> Reply:
    """Get a commit object."""
    home, sha = from_path.repository_with_commits(request), request.text("commit_sha").lower()
    commit = request.world.git(home).commit(sha)
    if commit is None:
        raise NotFoundRefusal(f"Could not resolve to a commit with the sha of {sha}.")
    return json_reply(git_commit(request.view, home, commit))


def create_commit(request: RestRequest) -> Reply:
    """Create a commit."""
    home, body = from_path.repository_with_commits(request), request.body()
    body.require("message", "tree")
    with request.acting() as act:
        commit = objects.create_commit(
            act,
            home,
            message=body.required_text("message"),
            tree=body.required_text("tree"),
            parents=body.texts("parents") or (),
            author=read_signature(body, "author", act.now),
            committer=read_signature(body, "committer", act.now),
        )
    content = git_commit(request.view, home, commit)
    return created(content, content["url"])


def get_tree(request: RestRequest) -> Reply:
    """Get a tree."""
    home, name = from_path.repository_with_commits(request), request.text("tree_sha")
    git = request.world.git(home)
    start, _, folder = name.partition(":")  # `main:src` is git's own spelling of a folder; no ref holds a colon
    commit = git.resolve(start, home.default_branch)
    try:
        root = git.entry(commit or start, folder)
    except GitLookupError:
        root = None
    if root is None or root.type != "tree":
        raise NotFoundRefusal(f"Could not resolve to a tree with the sha of {name}.")
    recursive = "recursive" in request.query
    return json_reply(render.tree(request.view, home, root.sha, git.tree(root.sha, recursive=recursive)))


def create_tree(request: RestRequest) -> Reply:
    """Create a tree."""
    home, body = from_path.repository_with_commits(request), request.body()
    body.require("tree")
    entries = [_entry(entry) for entry in body.objects("tree")]
    with request.acting() as act:
        sha = objects.create_tree(act, home, entries=entries, base=body.text("base_tree"))
    tree = render.tree(request.view, home, sha, request.world.git(home).tree(sha))
    return created(tree, tree["url"])


def get_blob(request: RestRequest) -> Reply:
    """Get a blob."""
    home, sha = from_path.repository_with_commits(request), request.text("file_sha").lower()
    content = request.world.git(home).blob(sha)
    if content is None or is_only_asset(request.world, home, sha):
        raise NotFoundRefusal(f"Could not resolve to a blob with the sha of {sha}.")
    if "raw" in request.media:
        return Reply(content=content, media_type=RAW)
    return json_reply(render.blob(request.view, home, sha, content))


def create_blob(request: RestRequest) -> Reply:
    """Create a blob."""
    home, body = from_path.repository_with_commits(request), request.body()
    text = body.required_text("content")
    # Any other encoding is the text itself, whatever it is called.
    content = _decode_base64(text) if body.text("encoding") == "base64" else text.encode()
    with request.acting() as act:
        sha = objects.create_blob(act, home, content)
    url = request.view.api(home, f"/git/blobs/{sha}")
    return created({"sha": sha, "url": url}, url)


def get_tag(request: RestRequest) -> Reply:
    """Get a tag."""
    home, sha = from_path.repository_with_commits(request), request.text("tag_sha").lower()
    tag = request.world.git(home).tag(sha)
    if tag is None:
        raise NotFoundRefusal(f"Could not resolve to a tag with the sha of {sha}.")
    return json_reply(render.annotated_tag(request.view, home, tag))


def create_tag(request: RestRequest) -> Reply:
    """Create a tag object."""
    home, body = from_path.repository_with_commits(request), request.body()
    body.require("tag", "message", "object", "type")
    with request.acting() as act:
        tag = objects.create_tag(
            act,
            home,
            name=body.required_text("tag"),
            target=body.required_text("object"),
            message=body.required_text("message"),
            tagger=read_signature(body, "tagger", act.now),
        )
    annotated_tag = render.annotated_tag(request.view, home, tag)
    return created(annotated_tag, annotated_tag["url"])


def _full(name: str) -> str:
    return name if name.startswith("refs/") else f"refs/{name}"


def _entry(entry: Body) -> NewEntry:
    path, content = entry.required_text("path"), entry.text("content")
    return NewEntry(
        path=path,
        mode=entry.text("mode") or "100644",
        type=entry.choice("type", ("blob", "tree", "commit")),
        sha=entry.text("sha"),
        content=None if content is None else content.encode(),
    )


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRefusal("Problems decoding base64 content") from None
