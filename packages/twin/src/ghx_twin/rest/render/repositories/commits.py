"""Commits, as the repository API shows them and as the git database does."""

from ghx_twin.git.diffs import MOST_FILES
from ghx_twin.git.objects import Commit, FileDiff, Signature
from ghx_twin.nodes import git_node_id
from ghx_twin.queries import lookup
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.users import simple_user
from ghx_twin.rest.render.view import View, quote_part
from ghx_twin.state.records import CommitComment, Repository

UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def signature(signature: Signature) -> JsonObject:
    """Render who signed a commit, and when."""
    return {"name": signature.name, "email": signature.email, "date": signature.utc}


def message(commit: Commit) -> str:
    """Return what a commit says, without the line end that git puts after it."""
    return commit.message.rstrip("\n")


def commit(view: View, repository: Repository, commit: Commit) -> JsonObject:
    """Render a commit in a list."""
    url = view.api(repository, f"/commits/{commit.sha}")
    return {
        "sha": commit.sha,
        "node_id": git_node_id("commit", repository.id, commit.sha),
        "commit": {
            "author": signature(commit.author),
            "committer": signature(commit.committer),
            "message": message(commit),
            "tree": {"sha": commit.tree, "url": view.api(repository, f"/git/trees/{commit.tree}")},
            "url": view.api(repository, f"/git/commits/{commit.sha}"),
            "comment_count": view.database.count(CommitComment, repository_id=repository.id, commit_sha=commit.sha),
            "verification": UNSIGNED,
        },
        "url": url,
        "html_url": view.html(repository, f"/commit/{commit.sha}"),
        "comments_url": f"{url}/comments",
        "author": _account(view, commit.author),
        "committer": _account(view, commit.committer),
        "parents": [_parent(view, repository, sha, "/commits/") for sha in commit.parents],
    }


def full_commit(view: View, repository: Repository, record: Commit) -> JsonObject:
    """Render a commit with what it changed."""
    files = changed_files(view, repository, record)
    additions, deletions = sum(f.additions for f in files), sum(f.deletions for f in files)
    return {
        **commit(view, repository, record),
        "stats": {"total": additions + deletions, "additions": additions, "deletions": deletions},
        "files": [file(view, repository, record.sha, changed) for changed in files[:MOST_FILES]],
    }


def changed_files(view: View, repository: Repository, commit: Commit) -> tuple[FileDiff, ...]:
    """Return what a commit changed against its first parent."""
    git = view.git(repository)
    return git.diff(commit.parents[0] if commit.parents else None, commit.sha, from_merge_base=False)


def git_commit(view: View, repository: Repository, commit: Commit) -> JsonObject:
    """Render a commit of the git database."""
    return {
        "sha": commit.sha,
        "node_id": git_node_id("commit", repository.id, commit.sha),
        "url": view.api(repository, f"/git/commits/{commit.sha}"),
        "html_url": view.html(repository, f"/commit/{commit.sha}"),
        "author": signature(commit.author),
        "committer": signature(commit.committer),
        "tree": {"sha": commit.tree, "url": view.api(repository, f"/git/trees/{commit.tree}")},
        "message": message(commit),
        "parents": [_parent(view, repository, sha, "/git/commits/") for sha in commit.parents],
        "verification": UNSIGNED,
    }


def file(view: View, repository: Repository, sha: str, changed: FileDiff) -> JsonObject:
    """Render a changed file."""
    path = quote_part(changed.path)
    body: JsonObject = {
        "sha": changed.sha,
        "filename": changed.path,
        "status": changed.status,
        "additions": changed.additions,
        "deletions": changed.deletions,
        "changes": changed.additions + changed.deletions,
        "blob_url": view.html(repository, f"/blob/{sha}/{path}"),
        "raw_url": view.html(repository, f"/raw/{sha}/{path}"),
        "contents_url": view.api(repository, f"/contents/{path}?ref={sha}"),
    }
    if changed.patch is not None:
        body["patch"] = changed.patch
    if changed.previous_path is not None:
        body["previous_filename"] = changed.previous_path
    return body


def commit_comment(view: View, comment: CommitComment) -> JsonObject:
    """Render a comment on a commit."""
    repository, author = view.repository(comment.repository_id), view.user(comment.author_id)
    return {
        "url": view.api(repository, f"/comments/{comment.id}"),
        "html_url": view.html(repository, f"/commit/{comment.commit_sha}#commitcomment-{comment.id}"),
        "id": comment.id,
        "node_id": view.node(comment),
        "user": simple_user(view, author),
        "position": comment.position,
        "line": comment.line,
        "path": comment.path,
        "commit_id": comment.commit_sha,
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "author_association": view.association(repository, author),
        "body": comment.body,
    }


def _account(view: View, signature: Signature) -> JsonObject | None:
    user = lookup.user_by_email(view.world, signature.email)
    return None if user is None else simple_user(view, user)


def _parent(view: View, repository: Repository, sha: str, path: str) -> JsonObject:
    return {
        "sha": sha,
        "url": view.api(repository, f"{path}{sha}"),
        "html_url": view.html(repository, f"/commit/{sha}"),
    }
