"""Lists of issues, pull requests and repositories, filtered and ordered as GraphQL's arguments say."""

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Self

from ghx_twin.graphql.context import Context
from ghx_twin.state.columns import RecordT
from ghx_twin.state.records import Collaborator, Issue, Membership, Pull, Repository, User
from ghx_twin.state.rows import Rows

_LABELLED = (
    "EXISTS (SELECT 1 FROM issue_labels JOIN labels ON labels.id = issue_labels.label_id "
    "WHERE issue_labels.issue_id = issues.id AND labels.name IN ({marks}))"
)
_ASSIGNED = "EXISTS (SELECT 1 FROM assignees {join}WHERE assignees.issue_id = issues.id{more})"
_IN_MILESTONE = "EXISTS (SELECT 1 FROM milestones WHERE milestones.id = issues.milestone_id AND {column} = ?)"
_LOGIN = "(SELECT id FROM users WHERE login = ?)"
_COMMENTS = "(SELECT count(*) FROM comments WHERE comments.issue_id = issues.id)"
_ORDERS = {"CREATED_AT": "issues.created_at", "UPDATED_AT": "issues.updated_at", "COMMENTS": _COMMENTS}


class _Query(Generic[RecordT]):
    """Conditions on the table of issues, which pull requests share."""

    model: ClassVar[type[Any]]
    start: ClassVar[str]

    def __init__(self, context: Context) -> None:
        self.context = context
        self._conditions: list[str] = []
        self._values: list[object] = []
        self._order = "issues.id ASC"

    def by(self, **equals: object) -> Self:
        """Keep those whose columns have these values."""
        for name, value in equals.items():
            self.where(f"issues.{name} = ?", value)
        return self

    def where(self, condition: str, *values: object) -> Self:
        """Keep those for which this is true; never build `condition` from a client's text, pass it in `values`."""
        self._conditions.append(condition)
        self._values += values
        return self

    def with_labels(self, names: Sequence[str] | None) -> Self:
        """Keep those with any of these labels."""
        if names:
            self.where(_LABELLED.format(marks=", ".join("?" * len(names))), *names)
        return self

    def sort(self, order: dict[str, str] | None) -> Self:
        """Sort them; ties by id, so that pages do not overlap."""
        if order:
            direction = "DESC" if order["direction"] == "DESC" else "ASC"
            self._order = f"{_ORDERS[order['field']]} {direction}, issues.id {direction}"
        return self

    def rows(self) -> Rows[RecordT]:
        """Return what is left, not fetched yet."""
        conditions = " AND ".join(self._conditions) or "1"
        rest = f"{self.start}WHERE {conditions} ORDER BY {self._order}"
        return Rows(self.context.database, self.model, rest, self._values)

    def visible(self) -> Rows[RecordT]:
        """Return what is left and the viewer may see, from all repositories; `rows` is for lists within one."""
        # Which repositories these are is decided in Python; there are few, next to what is in them.
        seen = [one.id for one in self.context.database.all(Repository) if self.context.visible(one)]
        return self.where("issues.repository_id IN (SELECT value FROM json_each(?))", json.dumps(seen)).rows()


class IssueQuery(_Query[Issue]):
    """Issues that are no pull requests."""

    model: ClassVar[type[Any]] = Issue
    start: ClassVar[str] = ""

    def filter(
        self,
        *,
        filter_by: dict[str, Any] | None = None,
        labels: Sequence[str] | None = None,
        order_by: dict[str, str] | None = None,
        states: Sequence[str] | None = None,
    ) -> Self:
        """Apply the arguments of a field that lists issues."""
        self.by(is_pull=0).with_labels(labels).sort(order_by).in_states(states)
        chosen = filter_by or {}
        self.with_labels(chosen.get("labels")).in_states(chosen.get("states"))
        for name, apply in _ISSUE_FILTERS.items():
            if name in chosen:
                apply(self, chosen[name])
        return self

    def in_states(self, states: Sequence[str] | None) -> Self:
        """Keep those that are open, or closed."""
        if states:
            self.where(f"issues.state IN ({', '.join('?' * len(states))})", *(state.lower() for state in states))
        return self


class PullQuery(_Query[Pull]):
    """Pull requests."""

    model: ClassVar[type[Any]] = Pull
    start: ClassVar[str] = "JOIN issues ON issues.id = pulls.issue_id "

    def filter(
        self,
        *,
        base_ref_name: str | None = None,
        head_ref_name: str | None = None,
        labels: Sequence[str] | None = None,
        order_by: dict[str, str] | None = None,
        states: Sequence[str] | None = None,
    ) -> Self:
        """Apply the arguments of a field that lists pull requests."""
        self.by(is_pull=1)  # true of all of them: it lets SQLite pass over the issues in an index
        if base_ref_name:
            self.where("pulls.base_ref = ?", base_ref_name)
        if head_ref_name:
            self.where("pulls.head_ref = ?", head_ref_name)
        if states:
            self.where(f"({' OR '.join(_PULL_STATES[state] for state in sorted(set(states)))})")
        return self.with_labels(labels).sort(order_by)


_PULL_STATES = {
    "OPEN": "issues.state = 'open'",
    "CLOSED": "(issues.state = 'closed' AND pulls.merged_at IS NULL)",
    "MERGED": "pulls.merged_at IS NOT NULL",
}


def _by_assignee(query: IssueQuery, login: str | None) -> None:
    if login is None:
        query.where("NOT " + _ASSIGNED.format(join="", more=""))
    elif login == "*":
        query.where(_ASSIGNED.format(join="", more=""))
    else:
        query.where(_ASSIGNED.format(join="", more=f" AND assignees.user_id = {_LOGIN}"), login)


def _by_author(query: IssueQuery, login: str | None) -> None:
    if login is not None:
        query.where(f"issues.author_id = {_LOGIN}", login)


def _by_mention(query: IssueQuery, login: str | None) -> None:
    if login is not None:
        events = "SELECT 1 FROM events WHERE events.issue_id = issues.id AND events.event = 'mentioned'"
        query.where(f"EXISTS ({events} AND events.actor_id = {_LOGIN})", login)


def _by_milestone(column: str) -> Callable[[IssueQuery, str | None], None]:
    def apply(query: IssueQuery, value: str | None) -> None:
        if value is None:
            query.where("issues.milestone_id IS NULL")
        elif value == "*":
            query.where("issues.milestone_id IS NOT NULL")
        else:
            number = int(value) if value.isascii() and value.isdigit() and len(value) < 19 else -1  # noqa: PLR2004 - what a column holds
            query.where(_IN_MILESTONE.format(column=column), number)

    return apply


def _by_time(query: IssueQuery, moment: str | None) -> None:
    if moment is not None:
        query.where("issues.updated_at >= ?", moment)


def _by_type(query: IssueQuery, name: str | None) -> None:
    if name is None:
        query.where("issues.issue_type_id IS NULL")
    elif name == "*":
        query.where("issues.issue_type_id IS NOT NULL")
    else:
        query.where("issues.issue_type_id IN (SELECT id FROM issue_types WHERE name = ? COLLATE NOCASE)", name)


def _no_issue(query: IssueQuery) -> None:
    query.where("0")  # a world has no custom fields, so that no issue has a value of one


_ISSUE_FILTERS: dict[str, Callable[[IssueQuery, Any], None]] = {
    "assignee": _by_assignee,
    "created_by": _by_author,
    "issue_field_values": lambda query, wanted: None if not wanted else _no_issue(query),
    "mentioned": _by_mention,
    "milestone": _by_milestone("milestones.id"),
    "milestone_number": _by_milestone("milestones.number"),
    "since": _by_time,
    "type": _by_type,
}


def repositories_of(
    context: Context,
    owner: User,
    *,
    affiliations: Sequence[str | None] | None = None,
    owner_affiliations: Sequence[str | None] | None = None,
    order_by: dict[str, str] | None = None,
    **kept: Any,
) -> list[Repository]:
    """Return the repositories an account has to do with, as far as the viewer may see them.

    `owner_affiliations` say how the account stands to them, `affiliations` how the viewer does.
    """
    repositories = {
        one.id: one
        for way in owner_affiliations or ("OWNER",)
        for one in _repositories_by_affiliation(context, owner, way)
    }
    if affiliations:
        own = {
            one.id for way in affiliations for one in _repositories_by_affiliation(context, context.viewer.user, way)
        }
        repositories = {key: one for key, one in repositories.items() if key in own}
    visible = [one for one in repositories.values() if context.visible(one)]
    return sort_repositories([one for one in visible if _matches_filters(one, **kept)], order_by)


def sort_repositories(repositories: list[Repository], order: dict[str, str] | None) -> list[Repository]:
    """Return repositories in an order; none has any stars."""
    keys: dict[str, Callable[[Repository], Any]] = {
        "CREATED_AT": lambda one: one.created_at,
        "NAME": lambda one: one.name.lower(),
        "PUSHED_AT": lambda one: one.pushed_at,
        "STARGAZERS": lambda _: 0,
        "UPDATED_AT": lambda one: one.updated_at,
    }
    repositories = sorted(repositories, key=lambda one: one.id)
    if order:
        repositories.sort(key=keys[order["field"]], reverse=order["direction"] == "DESC")
    return repositories


def _repositories_by_affiliation(context: Context, account: User, way: str | None) -> list[Repository]:
    match way:
        case "OWNER":
            return context.database.all(Repository, owner_id=account.id)
        case "COLLABORATOR":
            rows = context.database.all(Collaborator, user_id=account.id)
            repositories = (context.repository(row.repository_id) for row in rows)
            return [one for one in repositories if one is not None]
        case "ORGANIZATION_MEMBER":
            owners = tuple(row.organization_id for row in context.database.all(Membership, user_id=account.id))
            return context.database.all(Repository, owner_id=owners) if owners else []
        case _:
            return []


def _matches_filters(
    repository: Repository,
    *,
    has_issues_enabled: bool | None = None,
    is_archived: bool | None = None,
    is_fork: bool | None = None,
    is_locked: bool | None = None,
    privacy: str | None = None,
    visibility: str | None = None,
) -> bool:
    facts = (
        (has_issues_enabled, repository.has_issues),
        (is_archived, repository.archived),
        (is_fork, repository.parent_id is not None),
        (is_locked, False),
        (privacy, "PUBLIC" if repository.visibility == "public" else "PRIVATE"),
        (visibility, repository.visibility.upper()),
    )
    return all(is_match is None or is_match == is_so for is_match, is_so in facts)
