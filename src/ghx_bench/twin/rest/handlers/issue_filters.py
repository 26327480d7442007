"""Which issues a list shows."""

from ghx_bench.twin.queries import permissions
from ghx_bench.twin.refusals import FieldError, InvalidRefusal
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.handlers.ordering import Keys, ordered
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.rest.timestamps import parsed_time
from ghx_bench.twin.state.records import Comment, Issue, IssueLabel, Label, Milestone, Repository

_NOBODY = -1  # an id that nobody has


def chosen_issues(request: RestRequest, home: Repository) -> list[Issue]:
    """Return the issues and pull requests of a repository that the query asks for, in its order."""
    conditions, values = ["repository_id = ?"], list[object]([home.id])
    for condition, value in _conditions(request, home):
        conditions.append(condition)
        values += value
    found = request.world.database.select(Issue, f"WHERE {' AND '.join(conditions)} ORDER BY id", values)
    return _sorted(request, _labelled(request, home, found))


def own_issues(request: RestRequest) -> list[Issue]:
    """Return the open issues anywhere that are the viewer's by assignment, authorship or mention."""
    database, viewer = request.world.database, request.viewer
    filters = {
        "assigned": "id IN (SELECT issue_id FROM assignees WHERE user_id = ?)",
        "created": "author_id = ?",
        "mentioned": "id IN (SELECT issue_id FROM events WHERE event = 'mentioned' AND actor_id = ?)",
        "subscribed": "id IN (SELECT issue_id FROM events WHERE event = 'subscribed' AND actor_id = ?)",
    }
    asked = request.query.get("filter", "assigned")
    wanted = filters.get(asked, filters["assigned"]) if asked not in {"all", "repos"} else "? IS NOT NULL"
    found = database.select(Issue, f"WHERE {wanted} ORDER BY id", (viewer.id,))
    state = request.query.get("state", "open")
    visible = {one.id for one in permissions.visible_repositories(request.world, viewer)}
    return _sorted(request, [one for one in found if state in {"all", one.state} and one.repository_id in visible])


def _conditions(request: RestRequest, home: Repository) -> list[tuple[str, list[object]]]:
    query, found = request.query, list[tuple[str, list[object]]]()
    state = query.get("state", "open")
    if state != "all":
        found.append(("state = ?", ["closed" if state == "closed" else "open"]))
    if creator := query.get("creator"):
        found.append(("author_id = ?", [_user_id(request, creator)]))
    if since := parsed_time(query.get("since")):
        found.append(("updated_at >= ?", [since]))
    if mentioned := query.get("mentioned"):
        condition = "id IN (SELECT issue_id FROM events WHERE event = 'mentioned' AND actor_id = ?)"
        found.append((condition, [_user_id(request, mentioned)]))
    if assignee := query.get("assignee"):
        found.append(_assigned(request, assignee))
    if milestone := query.get("milestone"):
        found.append(_in_milestone(request, home, milestone))
    return found


def _assigned(request: RestRequest, assignee: str) -> tuple[str, list[object]]:
    if assignee == "none":
        return "id NOT IN (SELECT issue_id FROM assignees)", []
    if assignee == "*":
        return "id IN (SELECT issue_id FROM assignees)", []
    return "id IN (SELECT issue_id FROM assignees WHERE user_id = ?)", [_user_id(request, assignee)]


def _in_milestone(request: RestRequest, home: Repository, milestone: str) -> tuple[str, list[object]]:
    if milestone == "none":
        return "milestone_id IS NULL", []
    if milestone == "*":
        return "milestone_id IS NOT NULL", []
    number = int(milestone) if milestone.isascii() and milestone.isdigit() and len(milestone) < 19 else _NOBODY  # noqa: PLR2004 - what a column holds
    found = request.world.database.one(Milestone, repository_id=home.id, number=number)
    if found is None:
        error = FieldError(resource="Issue", field="milestone", code="invalid", value=milestone)
        raise InvalidRefusal(errors=[error])
    return "milestone_id = ?", [found.id]


def _labelled(request: RestRequest, home: Repository, issues: list[Issue]) -> list[Issue]:
    for name in filter(None, (part.strip() for part in request.query.get("labels", "").split(","))):
        label = request.world.database.one(Label, repository_id=home.id, name=name)
        marked = request.world.database.all(IssueLabel, label_id=label.id) if label else []
        carriers = {one.issue_id for one in marked}
        issues = [one for one in issues if one.id in carriers]
    return issues


def _sorted(request: RestRequest, issues: list[Issue]) -> list[Issue]:
    database = request.world.database
    keys: Keys[Issue] = {
        "created": lambda one: one.created_at,
        "updated": lambda one: one.updated_at,
        "comments": lambda one: database.count(Comment, issue_id=one.id),
    }
    return ordered(request, issues, keys, "created")


def _user_id(request: RestRequest, login: str) -> int:
    found = located.accounts(request, [login])
    return found[0].id if found else _NOBODY
