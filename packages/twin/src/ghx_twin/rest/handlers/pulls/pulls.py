"""Pull requests: lists, single ones, merges and review requests."""

from ghx_twin.commands.kernel import UNSET
from ghx_twin.commands.pulls import merges, pulls, reviews
from ghx_twin.git.diffs import MOST_FILES
from ghx_twin.queries import lookup
from ghx_twin.queries.repositories import comparison
from ghx_twin.refusals import FieldError, GoneRefusal, InvalidRefusal, MovedRefusal, NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.handlers.repositories.commits import DIFF, PATCH
from ghx_twin.rest.pagination import list_reply, order_clause
from ghx_twin.rest.render.pulls import pulls as render
from ghx_twin.rest.render.repositories import commits as render_commits
from ghx_twin.rest.render.view import View
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Issue, Pull, Repository, Team, User
from ghx_twin.state.rows import Rows

_FROM_HEAD = (
    "pulls.head_ref = ? AND pulls.head_repository_id IN (SELECT repositories.id FROM repositories "
    "JOIN users ON users.id = repositories.owner_id WHERE users.login = ?)"
)
_NOT_COLLABORATOR = (
    "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a "
    "collaborator of the {name} repository."
)


def list_pulls(request: RestRequest) -> Reply:
    """List pull requests."""
    home, query = from_path.repository(request), request.query
    # Asked of the issues, which have an index with the order of the list.
    conditions, values = ["issues.repository_id = ? AND issues.is_pull = 1"], list[object]([home.id])
    if (state := query.get("state", "open")) != "all":
        conditions.append("issues.state = ?")
        values.append("closed" if state == "closed" else "open")
    if base := query.get("base"):
        conditions.append("pulls.base_ref = ?")
        values.append(base)
    login, colon, ref = query.get("head", "").partition(":")
    if colon:  # a name without owner is no filter, as on GitHub
        conditions.append(_FROM_HEAD)
        values += [ref, login]
    columns = {
        "created": "issues.created_at",
        "updated": "issues.updated_at",
        "popularity": "(SELECT count(*) FROM comments WHERE comments.issue_id = issues.id)",
        "long-running": "issues.created_at",
    }
    direction = "asc" if query.get("sort") not in {None, "created"} else "desc"  # GitHub's documented default
    order = order_clause(request, columns, "created", direction, table="pulls")
    rest = f"JOIN issues ON issues.id = pulls.issue_id WHERE {' AND '.join(conditions)} {order}"
    rows = Rows(request.world.database, Pull, rest, values)
    return list_reply(request, rows, lambda one: render.pull(request.view, one))


def create_pull(request: RestRequest) -> Reply:
    """Create a pull request."""
    home, body = from_path.repository(request), request.body()
    body.require("base", "head")
    title, head, base = body.text("title"), body.required_text("head"), body.required_text("base")
    number = body.integer_or_digits("issue")  # GitHub turns that issue into the pull request
    if title is None and number is None:
        raise InvalidRefusal(errors=[FieldError(resource="PullRequest", field="title", code="missing_field")])
    with request.acting() as act:
        record = pulls.create(
            act,
            home,
            title=title or "",
            issue=None if number is None else _find_issue(request, home, number),
            head=head,
            base=base,
            body=body.text("body"),
            draft=body.flag("draft") or False,
            maintainer_can_modify=body.flag("maintainer_can_modify") or False,
            head_repository=_head_repository(request, home, head, body.text("head_repo")),
        )
    full_pull = render.full_pull(_fresh(request), record)
    return created(full_pull, full_pull["url"])


def _find_issue(request: RestRequest, home: Repository, number: int) -> Issue:
    try:
        return lookup.issue(request.world, home, number)
    except (NotFoundRefusal, GoneRefusal, MovedRefusal):
        error = FieldError(resource="PullRequest", field="issue", code="invalid", value=number)
        raise InvalidRefusal(errors=[error]) from None


def get_pull(request: RestRequest) -> Reply:
    """Get a pull request."""
    pull = from_path.pull(request)
    if not request.media & {"diff", "patch"}:
        return json_reply(render.full_pull(request.view, pull))
    git, base = comparison.git_of(request.world, pull), comparison.base_tip(request.world, pull)
    if "diff" in request.media:
        return Reply(content=git.diff_text(base, pull.head_sha).encode(), media_type=DIFF)
    return Reply(content=git.patch_text(base, pull.head_sha).encode(), media_type=PATCH)


def update_pull(request: RestRequest) -> Reply:
    """Update a pull request."""
    pull, body = from_path.pull(request), request.body()
    title, base, modify = body.text("title"), body.text("base"), body.flag("maintainer_can_modify")
    state = body.choice("state", ("open", "closed"))
    with request.acting() as act:
        pull = pulls.update(
            act,
            pull,
            title=UNSET if title is None else title,
            body=body.text("body") if "body" in body else UNSET,
            base=UNSET if base is None else base,
            maintainer_can_modify=UNSET if modify is None else modify,
        )
        if state is not None:
            pull = (pulls.close if state == "closed" else pulls.reopen)(act, pull)
    return json_reply(render.full_pull(_fresh(request), pull))


def list_pull_commits(request: RestRequest) -> Reply:
    """List commits on a pull request."""
    home, commits = from_path.repository(request), comparison.commits(request.world, from_path.pull(request))
    return list_reply(request, commits, lambda one: render_commits.commit(request.view, home, one))


def list_pull_files(request: RestRequest) -> Reply:
    """List pull requests files."""
    home, pull = from_path.repository(request), from_path.pull(request)
    files = comparison.files(request.world, pull)[:MOST_FILES]
    return list_reply(request, files, lambda one: render_commits.file(request.view, home, pull.head_sha, one))


def check_merged(request: RestRequest) -> Reply:
    """Check if a pull request has been merged."""
    if from_path.pull(request).merged_at is None:
        raise NotFoundRefusal("It has not been merged.")
    return no_content()


def merge_pull(request: RestRequest) -> Reply:
    """Merge a pull request."""
    pull, body = from_path.pull(request), request.body()
    method = body.choice("merge_method", ("merge", "squash", "rebase")) or "merge"
    with request.acting() as act:
        sha = merges.merge(
            act,
            pull,
            method=method,  # pyright: ignore[reportArgumentType] - one of the choices
            title=body.text("commit_title"),
            message=body.text("commit_message"),
            expected_head=body.text("sha"),
        )
    return json_reply({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def update_branch(request: RestRequest) -> Reply:
    """Update a pull request branch."""
    pull, body = from_path.pull(request), request.body()
    method = "rebase" if body.choice("update_method", ("merge", "rebase")) == "rebase" else "merge"
    with request.acting() as act:
        pulls.update_branch(act, pull, expected_head=body.text("expected_head_sha"), method=method)
    issue = lookup.issue_of(request.world, pull)
    page = request.view.issue_page(issue)
    return json_reply({"message": "Updating pull request branch.", "url": page}, status=202)


def get_requested_reviewers(request: RestRequest) -> Reply:
    """Get all requested reviewers for a pull request."""
    users, teams = render.requested_reviewers(request.view, from_path.pull(request))
    return json_reply({"users": users, "teams": teams})


def request_reviewers(request: RestRequest) -> Reply:
    """Request reviewers for a pull request."""
    pull = from_path.pull(request)
    users, teams = _reviewers(request, request.body())
    with request.acting() as act:
        pull = reviews.request_reviews(act, pull, users=users, teams=teams)
    return created(render.pull(request.view, pull))


def remove_reviewers(request: RestRequest) -> Reply:
    """Remove requested reviewers from a pull request."""
    pull, body = from_path.pull(request), request.body()
    body.require("reviewers")
    users, teams = _reviewers(request, body)
    with request.acting() as act:
        pull = reviews.remove_review_requests(act, pull, users=users, teams=teams)
    return json_reply(render.pull(request.view, pull))


def _reviewers(request: RestRequest, body: Body) -> tuple[list[User], list[Team]]:
    home = from_path.repository(request)
    logins, slugs = body.texts("reviewers") or [], body.texts("team_reviewers") or []
    users = from_path.accounts(request, logins)
    results = [request.world.database.one(Team, organization_id=home.owner_id, slug=slug) for slug in slugs]
    teams = [team for team in results if team]
    if len(users) < len(logins) or len(teams) < len(slugs):
        raise InvalidRefusal(_NOT_COLLABORATOR.format(name=request.view.full_name(home)))
    return users, teams


def _head_repository(request: RestRequest, home: Repository, head: str, name: str | None) -> Repository | None:
    if not name:
        return None
    owner = head.partition(":")[0] if ":" in head else request.view.user(home.owner_id).login
    return lookup.repository(request.world, request.viewer, owner, name.rpartition("/")[2])


def _fresh(request: RestRequest) -> View:
    """Return a view for the reply: the request's own remembers records from before the change."""
    return View(request.world, request.viewer, request.base, request.media)
