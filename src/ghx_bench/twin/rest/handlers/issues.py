"""Issues: lists, one by one, and what is changed on them."""

from collections.abc import Sequence

from ghx_bench.twin.commands import issues, pulls
from ghx_bench.twin.commands.kernel import UNSET, Unset
from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal
from ghx_bench.twin.rest.answer import NO_CONTENT, Answer, created
from ghx_bench.twin.rest.body import Body
from ghx_bench.twin.rest.handlers import located
from ghx_bench.twin.rest.handlers.issue_filters import chosen_issues, own_issues
from ghx_bench.twin.rest.pagination import listed
from ghx_bench.twin.rest.render import issues as render
from ghx_bench.twin.rest.render.repositories import repository as render_repository
from ghx_bench.twin.rest.request import RestRequest
from ghx_bench.twin.state.records import Issue, Milestone, Repository, User
from ghx_bench.twin.world import Act

_STATES = ("open", "closed")
_REASONS = ("completed", "not_planned", "duplicate", "reopened")


def list_issues(request: RestRequest) -> Answer:
    """List repository issues."""
    found = chosen_issues(request, located.repository(request))
    return listed(request, found, lambda one: render.issue(request.view, one))


def list_own_issues(request: RestRequest) -> Answer:
    """List issues assigned to the authenticated user."""
    return listed(request, own_issues(request), lambda one: _with_repository(request, one))


def create_issue(request: RestRequest) -> Answer:
    """Create an issue."""
    home, body = located.repository(request), request.body()
    title = _title(body)
    with request.acting() as act:
        triages = permissions.may(request.world, request.viewer, home, "triage")
        names = _label_names(body) if triages else []
        made = issues.create(
            act,
            home,
            title=title,
            body=body.text("body"),
            labels=issues.find_labels(act, home, names or [], create_missing=True),
            assignees=_assignees(request, body) or [] if triages else [],
            milestone=_milestone(request, home, body) if triages else None,
        )
    shown = render.issue(request.view, made)
    return created(shown, shown["url"])


def get_issue(request: RestRequest) -> Answer:
    """Get an issue."""
    return Answer(body=render.issue(request.view, located.issue(request)))


def update_issue(request: RestRequest) -> Answer:
    """Update an issue."""
    found, body = located.issue(request), request.body()
    home = located.repository(request)
    with request.acting() as act:
        found = _rewrite(act, found, body)
        if permissions.may(request.world, request.viewer, home, "triage"):
            found = _arrange(act, request, home, found, body)
        found = _change_state(act, request, found, body)
    return Answer(body=render.issue(request.view, found))


def lock_issue(request: RestRequest) -> Answer:
    """Lock an issue."""
    found, reason = located.issue(request), request.body().text("lock_reason")
    with request.acting() as act:
        issues.lock(act, found, reason)
    return NO_CONTENT


def unlock_issue(request: RestRequest) -> Answer:
    """Unlock an issue."""
    found = located.issue(request)
    with request.acting() as act:
        issues.unlock(act, found)
    return NO_CONTENT


def add_assignees(request: RestRequest) -> Answer:
    """Add assignees to an issue."""
    found, people = located.issue(request), _assignees(request, request.body(), strict=False) or []
    with request.acting() as act:
        found = issues.add_assignees(act, found, people)
    shown = render.issue(request.view, found)
    return created(shown)


def remove_assignees(request: RestRequest) -> Answer:
    """Remove assignees from an issue."""
    found, people = located.issue(request), _assignees(request, request.body(), strict=False) or []
    with request.acting() as act:
        found = issues.remove_assignees(act, found, people)
    return Answer(body=render.issue(request.view, found))


def check_assignee(request: RestRequest) -> Answer:
    """Check if a user can be assigned to an issue."""
    home, found = located.repository(request), located.issue(request)
    user = located.account(request, request.text("assignee"))
    if not permissions.assignable(request.world, home, user, found):
        raise NotFoundRefusal(f"{user.login} cannot be assigned.")
    return NO_CONTENT


def _with_repository(request: RestRequest, issue: Issue) -> dict[str, object]:
    home = request.view.repository(issue.repository_id)
    return {**render.issue(request.view, issue), "repository": render_repository(request.view, home)}


def _title(body: Body) -> str:
    body.require("title")
    title = body.get("title")
    return str(title) if isinstance(title, int) and not isinstance(title, bool) else body.required_text("title")


def _rewrite(act: Act, issue: Issue, body: Body) -> Issue:
    title: str | Unset = UNSET if body.get("title") is None else _title(body)
    text: str | Unset | None = body.text("body") if "body" in body else UNSET
    return issues.update(act, issue, title=title, body=text) if (title, text) != (UNSET, UNSET) else issue


def _arrange(act: Act, request: RestRequest, home: Repository, issue: Issue, body: Body) -> Issue:
    names, people = _label_names(body), _assignees(request, body)
    if names is not None:
        issue = issues.set_labels(act, issue, issues.find_labels(act, home, names, create_missing=True))
    if people is not None:
        issue = issues.set_assignees(act, issue, people)
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
    logins = body.texts("assignees")
    if logins is None and "assignee" in body:
        login = body.text("assignee")
        logins = [login] if login else []
    if logins is None:
        return None
    people = located.accounts(request, logins)
    if strict and len(people) < len(logins):
        known = {person.login.lower() for person in people}
        stranger = next(login for login in logins if login.removesuffix("[bot]").lower() not in known)
        raise InvalidRefusal(errors=[FieldError(resource="Issue", field="assignees", code="invalid", value=stranger)])
    return people


def _milestone(request: RestRequest, home: Repository, body: Body) -> Milestone | None:
    number = body.integer("milestone")
    if number is None:
        return None
    try:
        return lookup.milestone(request.world, home, number)
    except NotFoundRefusal:
        error = FieldError(resource="Issue", field="milestone", code="invalid", value=number)
        raise InvalidRefusal(errors=[error]) from None
