"""Merging branches without a pull request, and bringing a fork up to date."""

from ghx_twin.commands.repositories import objects, refs
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import ConflictRefusal, InvalidRefusal, PlainNotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.render.repositories.commits import commit as render_commit
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Repository
from ghx_twin.world import Act

_NEEDS_WRITE = "Must have push access to repository"


def merge_branches(request: RestRequest) -> Reply:
    """Merge a branch."""
    home, body = from_path.repository(request), request.body()
    body.require("base", "head")
    base, head = body.required_text("base"), body.required_text("head")
    git = request.world.git(home)
    ours, theirs = git.ref(f"refs/heads/{base}"), git.resolve(head, home.default_branch)
    if ours is None or theirs is None:
        raise PlainNotFoundRefusal("Base does not exist" if ours is None else "Head does not exist")
    message = body.text("commit_message") or f"Merge {head} into {base}"
    with request.acting() as act:
        require(act, home, "write", _NEEDS_WRITE)
        if git.is_ancestor(theirs, ours):
            return no_content()
        sha = _merge(act, home, (base, ours, theirs), message)
    commit = git.commit(sha)
    assert commit is not None  # noqa: S101 - just written
    content = render_commit(request.view, home, commit)
    return created(content, content["url"])


def sync_fork(request: RestRequest) -> Reply:
    """Sync a fork branch with the upstream repository."""
    home, branch = from_path.repository(request), request.body().required_text("branch")
    parent = request.world.database.get(Repository, home.parent_id)
    if parent is None:
        raise InvalidRefusal("This repository is not a fork and has no upstream to sync with.")
    upstream = f"{request.view.user(parent.owner_id).login}:{branch}"
    theirs, ours = request.world.git(parent).ref(f"refs/heads/{branch}"), from_path.branch(request, home, branch)
    if theirs is None:
        raise InvalidRefusal(f"The upstream repository has no branch {branch}.")
    with request.acting() as act:
        require(act, home, "write", _NEEDS_WRITE)
        kind = _catch_up(act, home, (branch, ours, theirs), upstream)
    messages = {
        "none": f"This branch is not behind the upstream {upstream}.",
        "merge": f"Successfully fetched and merged from upstream {upstream}.",
        "fast-forward": f"Successfully fetched and fast-forwarded from upstream {upstream}.",
    }
    return json_reply({"message": messages[kind], "merge_type": kind, "base_branch": upstream})


def _catch_up(act: Act, home: Repository, ends: tuple[str, str, str], upstream: str) -> str:
    branch, ours, theirs = ends
    git = act.git(home)
    if git.kind(theirs) and git.is_ancestor(theirs, ours):
        return "none"
    if git.is_ancestor(ours, theirs):
        refs.update(act, home, ref=f"refs/heads/{branch}", sha=theirs)
        return "fast-forward"
    _merge(act, home, ends, f"Merge branch '{upstream}' into {branch}")
    return "merge"


def _merge(act: Act, home: Repository, ends: tuple[str, str, str], message: str) -> str:
    branch, ours, theirs = ends
    tree = act.git(home).merge(ours, theirs)
    if tree is None:
        raise ConflictRefusal("Merge conflict")
    commit = objects.create_commit(act, home, message=message, tree=tree, parents=(ours, theirs))
    refs.update(act, home, ref=f"refs/heads/{branch}", sha=commit.sha)
    return commit.sha
