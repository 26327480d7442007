"""Commits and comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass

from ghx_twin.git.diffs import MOST_FILES
from ghx_twin.git.objects import Commit
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup, permissions
from ghx_twin.refusals import NotFoundRefusal, NotImplementedRefusal, PlainNotFoundRefusal
from ghx_twin.reply import JsonObject, Reply, json_reply
from ghx_twin.rest.body import parse_time
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, page_of
from ghx_twin.rest.render.pulls.pulls import pull as render_pull
from ghx_twin.rest.render.repositories import commits as render
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Pull, Repository

MOST_COMMITS = 250  # what a comparison without pages shows
DIFF, PATCH, SHA = (f"application/vnd.github.{kind}; charset=utf-8" for kind in ("diff", "patch", "sha"))


def list_commits(request: RestRequest) -> Reply:
    """List commits."""
    home, query = from_path.repository_with_commits(request), request.query
    git = request.world.git(home)
    start = git.resolve(query.get("sha") or home.default_branch, home.default_branch)
    if start is None:
        raise NotFoundRefusal(f"Could not resolve to a commit with the name of {query.get('sha')!r}.")
    log = git.log(
        start,
        path=(query.get("path") or "").strip("/") or None,
        since=parse_time(query.get("since")),
        until=parse_time(query.get("until")),
        author=_names(request, query["author"]) if query.get("author") else None,
    )
    return list_reply(request, log, lambda one: render.commit(request.view, home, one))


def get_commit(request: RestRequest) -> Reply:
    """Get a commit."""
    home = from_path.repository_with_commits(request)
    sha = from_path.commit(request, home, request.text("ref"))
    git = request.world.git(home)
    commit = git.commit(sha)
    assert commit is not None  # noqa: S101 - it was just resolved
    parent = commit.parents[0] if commit.parents else None
    if "diff" in request.media:
        return Reply(content=git.diff_text(parent, sha, from_merge_base=False).encode(), media_type=DIFF)
    if "patch" in request.media:
        return Reply(content=git.patch_text(parent, sha).encode(), media_type=PATCH)
    if "sha" in request.media:
        return Reply(content=sha.encode(), media_type=SHA)
    return json_reply(render.full_commit(request.view, home, commit))


def list_branches_at(request: RestRequest) -> Reply:
    """List branches for HEAD commit."""
    home = from_path.repository_with_commits(request)
    sha = from_path.commit(request, home, request.text("commit_sha"))
    heads = request.world.git(home).refs("refs/heads/")
    names = [name.removeprefix("refs/heads/") for name, tip in heads.items() if tip == sha]
    commit = {"sha": sha, "url": request.view.api(home, f"/commits/{sha}")}
    return list_reply(request, names, lambda name: {"name": name, "commit": commit, "protected": False})


def list_pulls_with(request: RestRequest) -> Reply:
    """List pull requests associated with a commit."""
    home = from_path.repository_with_commits(request)
    git, sha = request.world.git(home), from_path.commit(request, home, request.text("commit_sha"))
    pulls = request.world.database.all(Pull, repository_id=home.id, order="id DESC")
    chosen = [
        one
        for one in pulls
        if sha in {one.head_sha, one.merge_commit_sha}
        or (git.kind(one.head_sha) and git.is_ancestor(sha, one.head_sha) and not git.is_ancestor(sha, one.base_sha))
    ]
    return list_reply(request, chosen, lambda one: render_pull(request.view, one))


def compare(request: RestRequest) -> Reply:
    """Compare two commits."""
    home = from_path.repository(request)
    first, dots, second = request.text("basehead").partition("...")
    if not dots:
        raise NotFoundRefusal("Could not resolve to a comparison.")
    ends = _ends(request, home, first, second)
    if "diff" in request.media:
        return Reply(content=ends.git.diff_text(ends.base, ends.head).encode(), media_type=DIFF)
    if "patch" in request.media:
        return Reply(content=ends.git.patch_text(ends.base, ends.head).encode(), media_type=PATCH)
    return _comparison(request, home, ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Two commits to compare, in a repository that has both."""

    git: GitRepository
    base: str
    head: str
    shared: str

    def commit(self, sha: str) -> Commit:
        commit = self.git.commit(sha)
        assert commit is not None  # noqa: S101 - it was just resolved
        return commit


def _ends(request: RestRequest, home: Repository, first: str, second: str) -> _Ends:
    (one, base), (other, head) = _side(request, home, first), _side(request, home, second)
    git = next((git for git in (one, other) if git.kind(base) and git.kind(head)), None)
    if git is None:
        raise NotImplementedRefusal("The twin compares a repository with its forks, not forks with each other.")
    shared = git.merge_base(base, head)
    if shared is None:
        raise PlainNotFoundRefusal(f"No common ancestor between {first} and {second}.")
    return _Ends(git=git, base=base, head=head, shared=shared)


def _comparison(request: RestRequest, home: Repository, ends: _Ends) -> Reply:
    view, basehead = request.view, request.text("basehead")
    ahead, behind = ends.git.ahead_behind(ends.base, ends.head)
    commits, headers = _compared_commits(request, ends)
    owner = view.user(home.owner_id).login
    html = view.html(home, f"/compare/{basehead}")
    body: JsonObject = {
        "url": view.api(home, f"/compare/{basehead}"),
        "html_url": html,
        "permalink_url": view.html(home, f"/compare/{owner}:{ends.base[:7]}...{owner}:{ends.head[:7]}"),
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": render.commit(view, home, ends.commit(ends.base)),
        "merge_base_commit": render.commit(view, home, ends.commit(ends.shared)),
        "status": _status(ahead, behind),
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": [render.commit(view, home, one) for one in commits],
        "files": [render.file(view, home, ends.head, one) for one in ends.git.diff(ends.base, ends.head)[:MOST_FILES]],
    }
    return json_reply(body, headers=headers)


def _compared_commits(request: RestRequest, ends: _Ends) -> tuple[Sequence[Commit], dict[str, str]]:
    commits = ends.git.commits_between(ends.base, ends.head)
    if "page" in request.query or "per_page" in request.query:
        return page_of(request, commits)
    return commits[-MOST_COMMITS:], {}


def _status(ahead: int, behind: int) -> str:
    if ahead and behind:
        return "diverged"
    return "ahead" if ahead else "behind" if behind else "identical"


def _side(request: RestRequest, home: Repository, name: str) -> tuple[GitRepository, str]:
    """Return the commit of one side: a name here, or `owner:name` in a repository of the same network."""
    owner, colon, ref = name.rpartition(":")
    foreign = colon and owner.partition(":")[0].lower() != request.view.user(home.owner_id).login.lower()
    place = _in_network(request, home, owner.partition(":")[0]) if foreign else home
    git = request.world.git(place)
    sha = git.resolve(ref, place.default_branch)
    if sha is None:
        raise NotFoundRefusal(f"Could not resolve to a commit with the name of {name!r}.")
    return git, sha


def _in_network(request: RestRequest, home: Repository, owner: str) -> Repository:
    account = lookup.account(request.world, owner)
    root = home.parent_id or home.id
    for one in request.world.database.all(Repository, owner_id=account.id):
        related = root in {one.id, one.parent_id}
        if related and permissions.is_visible(request.world, request.viewer, one):
            return one
    raise NotFoundRefusal(f"{owner} has no repository in this network.")


def _names(request: RestRequest, author: str) -> list[str]:
    """Return how an author may be spelled in commits: as given, and by the addresses of the user of that login."""
    names = [author]
    for user in from_path.accounts(request, [author]):
        noreply = f"{user.login}@users.noreply.github.com"
        names += [noreply, f"{user.id}+{noreply}", *([user.email] if user.email else ())]
    return names
