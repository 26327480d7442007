"""Issues: lists, one by one, and what is changed on them."""

from collections.abc import Sequence

from ghx_twin.commands import issues
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.pulls import pulls
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.issues.issue_types import find_issue_type
from ghx_twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal
from ghx_twin.reply import Reply, created, json_reply, no_content
from ghx_twin.rest.body import Body, parse_time
from ghx_twin.rest.handlers import from_path
from ghx_twin.rest.pagination import list_reply, order_clause
from ghx_twin.rest.render.issues import issues as render
from ghx_twin.rest.render.repositories.repositories import repository as render_repository
from ghx_twin.rest.request import RestRequest
from ghx_twin.state.records import Issue, Label, Milestone, Repository, User
from ghx_twin.state.rows import Rows
from ghx_twin.world import Act

_STATES = ("open", "closed")
_REASONS = ("completed", "not_planned", "duplicate", "reopened")
_Condition = tuple[str, list[object]]  # SQL of ours, and the values in it
_NO_ID = -1  # matches no row: an unknown login or number finds nothing


def list_issues(request: RestRequest) -> Reply:
    """List repository issues."""
    rows = _select_issues(request, from_path.repository(request))
    return list_reply(request, rows, lambda one: render.issue(request.view, one))


def list_own_issues(request: RestRequest) -> Reply:
    """List issues assigned to the authenticated user."""
    return list_reply(request, _select_own_issues(request), lambda one: _with_repository(request, one))


def create_issue(request: RestRequest) -> Reply:
    """Create an issue."""
    home, body = from_path.repository(request), request.body()
    title = _title(body)
    with request.acting() as act:
        # Labels, assignees and milestone of a viewer without triage access are dropped silently, as GitHub documents.
        triages = permissions.may(request.world, request.viewer, home, "triage")
        names = _label_names(body) if triages else []
        record = issues.create(
            act,
            home,
            title=title,
            body=body.text("body"),
            labels=issues.find_labels(act, home, names or [], create_missing=True),
            assignees=_assignees(request, body) or [] if triages else [],
            milestone=_milestone(request, home, body) if triages else None,
            issue_type=body.text("type"),
        )
    issue = render.issue(request.view, record)
    return created(issue, issue["url"])


def get_issue(request: RestRequest) -> Reply:
    """Get an issue."""
    return json_reply(render.issue(request.view, from_path.issue(request)))


def update_issue(request: RestRequest) -> Reply:
    """Update an issue."""
    issue, body = from_path.issue(request), request.body()
    home = from_path.repository(request)
    with request.acting() as act:
        issue = _update_text(act, issue, body)
        if permissions.may(request.world, request.viewer, home, "triage"):
            issue = _update_metadata(act, request, home, issue, body)
        issue = _change_state(act, request, issue, body)
    return json_reply(render.issue(request.view, issue))


def lock_issue(request: RestRequest) -> Reply:
    """Lock an issue."""
    issue, reason = from_path.issue(request), request.body().text("lock_reason")
    with request.acting() as act:
        issues.lock(act, issue, reason)
    return no_content()


def unlock_issue(request: RestRequest) -> Reply:
    """Unlock an issue."""
    issue = from_path.issue(request)
    with request.acting() as act:
        issues.unlock(act, issue)
    return no_content()


def add_assignees(request: RestRequest) -> Reply:
    """Add assignees to an issue."""
    issue, people = from_path.issue(request), _assignees(request, request.body(), strict=False) or []
    with request.acting() as act:
        issue = issues.add_assignees(act, issue, people)
    assignees = render.issue(request.view, issue)
    return created(assignees)


def remove_assignees(request: RestRequest) -> Reply:
    """Remove assignees from an issue."""
    issue, people = from_path.issue(request), _assignees(request, request.body(), strict=False) or []
    with request.acting() as act:
        issue = issues.remove_assignees(act, issue, people)
    return json_reply(render.issue(request.view, issue))


def check_assignee(request: RestRequest) -> Reply:
    """Check if a user can be assigned to an issue."""
    home, issue = from_path.repository(request), from_path.issue(request)
    user = from_path.account(request, request.text("assignee"))
    if not permissions.assignable(request.world, home, user, issue):
        raise NotFoundRefusal(f"{user.login} cannot be assigned.")
    return no_content()


def _with_repository(request: RestRequest, issue: Issue) -> dict[str, object]:
    home = request.view.repository(issue.repository_id)
    return {**render.issue(request.view, issue), "repository": render_repository(request.view, home)}


def _title(body: Body) -> str:
    body.require("title")
    title = body.get("title")  # GitHub's OpenAPI description allows integers
    return str(title) if isinstance(title, int) and not isinstance(title, bool) else body.required_text("title")


def _update_text(act: Act, issue: Issue, body: Body) -> Issue:
    title: str | Unset = UNSET if body.get("title") is None else _title(body)
    text: str | Unset | None = body.text("body") if "body" in body else UNSET
    return issues.update(act, issue, title=title, body=text) if (title, text) != (UNSET, UNSET) else issue


def _update_metadata(act: Act, request: RestRequest, home: Repository, issue: Issue, body: Body) -> Issue:
    names, people = _label_names(body), _assignees(request, body)
    if names is not None:
        issue = issues.set_labels(act, issue, issues.find_labels(act, home, names, create_missing=True))
    if people is not None:
        issue = issues.set_assignees(act, issue, people)
    if "type" in body:
        issue = issues.update(act, issue, issue_type=body.text("type"))
    if "milestone" in body:
        issue = issues.update(act, issue, milestone=_milestone(request, home, body))
    return issue


def _change_state(act: Act, request: RestRequest, issue: Issue, body: Body) -> Issue:
    state, reason = body.choice("state", _STATES), body.choice("state_reason", _REASONS)
    pull = lookup.pull_of(request.world, issue)
    if pull is not None and state is not None:
        change = pulls.close if state == "closed" else pulls.reopen
        change(act, pull)
        return lookup.issue_of(request.world, pull)
    # A reason alone changes why a closed issue is closed; of an open one it says nothing.
    if state == "closed" or (state is None and reason not in {None, "reopened"} and issue.state == "closed"):
        return issues.close(act, issue, reason=None if reason == "reopened" else reason)
    return issues.reopen(act, issue) if state == "open" else issue


def _label_names(body: Body) -> list[str] | None:
    items = body.items("labels")
    return None if items is None else label_names(items)


def label_names(items: Sequence[object]) -> list[str]:
    """Return the names of labels that were given as texts or as objects with a name."""
    names: list[str] = []
    for item in items:
        name = item.get("name") if isinstance(item, dict) else item  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON from a client
        if not isinstance(name, str):
            raise InvalidRefusal(
                "Invalid request.\n\nFor 'properties/labels/items', no subschema in \"oneOf\" matched."
            )
        names.append(name)
    return names


def _assignees(request: RestRequest, body: Body, *, strict: bool = True) -> list[User] | None:
    """Return whom to assign; None where the body does not say. An unknown login is refused if `strict`, else ignored.

    GitHub refuses it when an issue is written, and ignores it where assignees alone are added or removed.
    """
    logins = body.texts("assignees")
    if logins is None and "assignee" in body:
        login = body.text("assignee")
        logins = [login] if login else []
    if logins is None:
        return None
    people = from_path.accounts(request, logins)
    if strict and len(people) < len(logins):
        known = {person.login.lower() for person in people}
        stranger = next(login for login in logins if login.removesuffix("[bot]").lower() not in known)
        raise InvalidRefusal(errors=[FieldError(resource="Issue", field="assignees", code="invalid", value=stranger)])
    return people


def _milestone(request: RestRequest, home: Repository, body: Body) -> Milestone | None:
    number = body.integer_or_digits("milestone")
    if number is None:
        return None
    try:
        return lookup.milestone(request.world, home, number)
    except NotFoundRefusal:
        error = FieldError(resource="Issue", field="milestone", code="invalid", value=number)
        raise InvalidRefusal(errors=[error]) from None


def _select_issues(request: RestRequest, home: Repository) -> Sequence[Issue]:
    """Return the issues and pull requests of a repository that the query asks for, in its order."""
    conditions = [("repository_id = ?", list[object]([home.id])), *_conditions(request, home)]
    return _rows(request, [*conditions, *_label_conditions(request, home)])


def _select_own_issues(request: RestRequest) -> Sequence[Issue]:
    """Return the open issues anywhere that are the viewer's by assignment, authorship or mention."""
    filters = {
        "assigned": "id IN (SELECT issue_id FROM assignees WHERE user_id = ?)",
        "created": "author_id = ?",
        "mentioned": "id IN (SELECT issue_id FROM events WHERE event = 'mentioned' AND actor_id = ?)",
        "subscribed": "id IN (SELECT issue_id FROM events WHERE event = 'subscribed' AND actor_id = ?)",
    }
    scope, state = request.query.get("filter", "assigned"), request.query.get("state", "open")
    visible = [one.id for one in permissions.visible_repositories(request.world, request.viewer)]
    conditions: list[_Condition] = [(f"repository_id IN ({', '.join('?' * len(visible))})", [*visible])]
    if scope not in {"all", "repos"}:
        conditions.append((filters.get(scope, filters["assigned"]), [request.viewer.id]))
    if state != "all":
        conditions.append(("state = ?", [state]))
    return _rows(request, conditions)


def _rows(request: RestRequest, conditions: Sequence[_Condition]) -> Rows[Issue]:
    comments = "(SELECT count(*) FROM comments WHERE comments.issue_id = issues.id)"
    columns = {"created": "created_at", "updated": "updated_at", "comments": comments}
    order = order_clause(request, columns, "created", table="issues")
    where = " AND ".join(condition for condition, _ in conditions)
    values = [value for _, values in conditions for value in values]
    return Rows(request.world.database, Issue, f"WHERE {where} {order}", values)


def _conditions(request: RestRequest, home: Repository) -> list[_Condition]:
    query, conditions = request.query, list[_Condition]()
    state = query.get("state", "open")
    if state != "all":
        conditions.append(("state = ?", ["closed" if state == "closed" else "open"]))
    if creator := query.get("creator"):
        conditions.append(("author_id = ?", [_user_id(request, creator)]))
    if since := parse_time(query.get("since")):
        conditions.append(("updated_at >= ?", [since]))
    if mentioned := query.get("mentioned"):
        condition = "id IN (SELECT issue_id FROM events WHERE event = 'mentioned' AND actor_id = ?)"
        conditions.append((condition, [_user_id(request, mentioned)]))
    if assignee := query.get("assignee"):
        conditions.append(_assignee_condition(request, assignee))
    if issue_type := query.get("type"):
        conditions.append(_type_condition(request, home, issue_type))
    if milestone := query.get("milestone"):
        conditions.append(_milestone_condition(request, home, milestone))
    return conditions


def _assignee_condition(request: RestRequest, assignee: str) -> _Condition:
    if assignee == "none":
        return "id NOT IN (SELECT issue_id FROM assignees)", []
    if assignee == "*":
        return "id IN (SELECT issue_id FROM assignees)", []
    return "id IN (SELECT issue_id FROM assignees WHERE user_id = ?)", [_user_id(request, assignee)]


def _type_condition(request: RestRequest, home: Repository, name: str) -> _Condition:
    if name == "none":
        return "issue_type_id IS NULL", []
    if name == "*":
        return "issue_type_id IS NOT NULL", []
    issue_type = find_issue_type(request.world, home, name)
    return "issue_type_id = ?", [issue_type.id if issue_type else _NO_ID]


def _milestone_condition(request: RestRequest, home: Repository, milestone: str) -> _Condition:
    if milestone == "none":
        return "milestone_id IS NULL", []
    if milestone == "*":
        return "milestone_id IS NOT NULL", []
    number = int(milestone) if milestone.isascii() and milestone.isdigit() and len(milestone) < 19 else _NO_ID  # noqa: PLR2004 - what a column holds
    found = request.world.database.one(Milestone, repository_id=home.id, number=number)
    if found is None:
        error = FieldError(resource="Issue", field="milestone", code="invalid", value=milestone)
        raise InvalidRefusal(errors=[error])
    return "milestone_id = ?", [found.id]


def _label_conditions(request: RestRequest, home: Repository) -> list[_Condition]:
    conditions: list[_Condition] = []
    for name in filter(None, (part.strip() for part in request.query.get("labels", "").split(","))):
        label = request.world.database.one(Label, repository_id=home.id, name=name)
        identity = label.id if label else _NO_ID
        conditions.append(("id IN (SELECT issue_id FROM issue_labels WHERE label_id = ?)", [identity]))
    return conditions


def _user_id(request: RestRequest, login: str) -> int:
    accounts = from_path.accounts(request, [login])
    return accounts[0].id if accounts else _NO_ID
