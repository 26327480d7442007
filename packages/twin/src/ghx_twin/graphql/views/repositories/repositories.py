"""Repositories: what is in them."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.lists import IssueQuery, PullQuery, sort_repositories
from ghx_twin.graphql.subjects import Member, PinnedIssue, RefSubject, TopicSubject
from ghx_twin.graphql.views.issues.issues import order_types
from ghx_twin.graphql.views.issues.labels import LABEL_ORDERS
from ghx_twin.graphql.views.projects.owners import ClassicProjectOwner
from ghx_twin.graphql.views.repositories.community import CommunityFields
from ghx_twin.graphql.views.repositories.rulesets import keep_targets
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.issues.issue_types import issue_types_of
from ghx_twin.queries.projects import projects
from ghx_twin.queries.repositories.releases import latest_release
from ghx_twin.queries.rulesets import rulesets_of
from ghx_twin.refusals import GoneRefusal, MovedRefusal, NotFoundRefusal
from ghx_twin.state.records import (
    Collaborator,
    CommitComment,
    Deployment,
    Environment,
    Issue,
    IssueType,
    Label,
    Milestone,
    Project,
    Protection,
    Pull,
    Release,
    Repository,
    Ruleset,
    User,
)
from ghx_twin.state.rows import Rows


class RepositoryView(ClassicProjectOwner, CommunityFields):
    """A repository: what is in it."""

    typename: ClassVar[str] = "Repository"
    __slots__ = ()

    @property
    def visible_projects(self) -> Sequence[Project]:
        """Return the projects that are linked to it, as far as the viewer may see them."""
        return projects.linked_projects(self.context.world, self.context.viewer, self.subject)

    def owner(self) -> Any:
        """Return whose it is."""
        return self.context.view_of(self.context.owner(self.subject))

    def name_with_owner(self) -> str:
        """Return `owner/name`."""
        return self.context.full_name(self.subject)

    def ssh_url(self) -> str:
        """Return where git finds it over ssh."""
        return f"git@github.com:{self.context.full_name(self.subject)}.git"

    def parent(self) -> Any:
        """Return what it was forked from."""
        return self.context.view_of(self.context.visible(self.context.repository(self.subject.parent_id)))

    def forks(self, order_by: dict[str, str] | None = None, privacy: str | None = None) -> list[Repository]:
        """Return its forks."""
        forks = [one for one in self._forks() if self.context.visible(one)]
        if privacy:
            forks = [one for one in forks if (one.visibility == "public") == (privacy == "PUBLIC")]
        return sort_repositories(forks, order_by)

    def fork_count(self) -> int:
        """Return how many forks there are."""
        return len(self._forks())

    def issue(self, number: int) -> Any:
        """Return an issue by its number."""
        return self._find_by_number(lookup.issue, number, "an Issue")

    def issue_fields(self) -> list[object]:
        """Return the custom fields of its issues: a world has none."""
        return []

    def issue_or_pull_request(self, number: int) -> Any:
        """Return an issue or pull request by its number."""
        return self._find_by_number(lookup.issue_or_pull, number, "an issue or pull request")

    def issues(self, **filters: Any) -> Sequence[Issue]:
        """Return its issues."""
        return IssueQuery(self.context).by(repository_id=self.subject.id).filter(**filters).rows()

    def issue_types(self, order_by: dict[str, str] | None = None) -> list[IssueType] | None:
        """Return the types its issues can have; only organizations have any."""
        return order_types(issue_types_of(self.context.world, self.subject), order_by) or None

    def pinned_issues(self) -> list[PinnedIssue]:
        """Return the issues on top of its list."""
        issues = self.context.database.all(Issue, repository_id=self.subject.id, pinned=True)
        return [PinnedIssue(issue) for issue in issues]

    def pull_request(self, number: int) -> Any:
        """Return a pull request by its number."""
        return self.context.view_of(lookup.pull(self.context.world, self.subject, number))

    def pull_requests(self, **filters: Any) -> Sequence[Pull]:
        """Return its pull requests."""
        return PullQuery(self.context).by(repository_id=self.subject.id).filter(**filters).rows()

    def label(self, name: str) -> Any:
        """Return a label by its name."""
        return self.context.view_of(self.context.database.one(Label, repository_id=self.subject.id, name=name))

    def labels(self, order_by: dict[str, str] | None = None, query: str | None = None) -> Sequence[Label]:
        """Return its labels."""
        where, values = "repository_id = ?", list[object]([self.subject.id])
        if query:
            where += " AND (instr(unicode_lower(name), ?) OR instr(unicode_lower(description), ?))"
            values += [query.lower()] * 2
        order = "id"
        if order_by:
            key = LABEL_ORDERS[order_by["field"]]
            order = f"{key} {'DESC' if order_by['direction'] == 'DESC' else 'ASC'}, id"
        return Rows(self.context.database, Label, f"WHERE {where} ORDER BY {order}", values)

    def milestone(self, number: int) -> Any:
        """Return a milestone by its number."""
        return self.context.view_of(lookup.milestone(self.context.world, self.subject, number))

    def milestones(
        self,
        order_by: dict[str, str] | None = None,
        query: str | None = None,
        states: Sequence[str] | None = None,
    ) -> Sequence[Milestone]:
        """Return its milestones."""
        where, values = "repository_id = ?", list[object]([self.subject.id])
        if states:
            where += f" AND state IN ({', '.join('?' * len(states))})"
            values += [state.lower() for state in states]
        if query:
            where += " AND instr(unicode_lower(title), ?)"
            values.append(query.lower())
        order = "number"
        if order_by:
            keys = {"CREATED_AT": "created_at", "DUE_DATE": "due_on", "NUMBER": "number", "UPDATED_AT": "updated_at"}
            key, direction = keys[order_by["field"]], "DESC" if order_by["direction"] == "DESC" else "ASC"
            order = f"{key} IS NULL {direction}, {key} {direction}, number {direction}"
        return Rows(self.context.database, Milestone, f"WHERE {where} ORDER BY {order}", values)

    def commit_comments(self) -> Sequence[CommitComment]:
        """Return the comments on its commits."""
        rest = "WHERE repository_id = ? ORDER BY id"
        return Rows(self.context.database, CommitComment, rest, (self.subject.id,))

    def latest_release(self) -> Any:
        """Return its latest release, where it has one."""
        return self.context.view_of(latest_release(self.context.world, self.subject))

    def release(self, tag_name: str) -> Any:
        """Return the release of a tag; a draft only to those who can push."""
        releases = self.context.database.all(Release, order="draft", repository_id=self.subject.id, tag_name=tag_name)
        visible = (one for one in releases if not one.draft or self.context.may(self.subject, "write"))
        return self.context.view_of(next(visible, None))

    def releases(self, order_by: dict[str, str] | None = None) -> Sequence[Release]:
        """Return its releases; drafts only to those who can push."""
        drafts = "" if self.context.may(self.subject, "write") else " AND draft = 0"
        order = "id"
        if order_by:
            way = "DESC" if order_by["direction"] == "DESC" else "ASC"
            order = f"{'name' if order_by['field'] == 'NAME' else 'created_at'} {way}, id {way}"
        rest = f"WHERE repository_id = ?{drafts} ORDER BY {order}"
        return Rows(self.context.database, Release, rest, (self.subject.id,))

    def default_branch_ref(self) -> Any:
        """Return the branch that clones start on."""
        return self.context.view_of(
            git_lookup.ref(self.context, self.subject, f"refs/heads/{self.subject.default_branch}")
        )

    def ref(self, qualified_name: str) -> Any:
        """Return a branch or tag by its full or short name."""
        return self.context.view_of(git_lookup.ref_by_name(self.context, self.subject, qualified_name))

    def refs(
        self,
        ref_prefix: str,
        query: str | None = None,
        direction: str | None = None,
        order_by: dict[str, str] | None = None,
    ) -> list[RefSubject] | None:
        """Return its branches or tags."""
        return git_lookup.refs(self.context, self.subject, ref_prefix, query=query, direction=direction, order=order_by)

    def object(self, expression: str | None = None, oid: str | None = None) -> Any:
        """Return what an expression such as `main:README.md` names, or the object with an id."""
        git_object = git_lookup.git_object(self.context, self.subject, oid) if oid else None
        if git_object is None and expression:
            git_object = git_lookup.expression(self.context, self.subject, expression)
        return self.context.view_of(git_object)

    def is_empty(self) -> bool:
        """Return whether nothing was pushed yet."""
        return not self.context.world.git(self.subject).refs("refs/heads/")

    def repository_topics(self) -> list[TopicSubject]:
        """Return its topics."""
        return [TopicSubject(self.subject, name) for name in self.subject.topics]

    def branch_protection_rules(self) -> list[Protection]:
        """Return the rules of its branches."""
        return self.context.database.all(Protection, repository_id=self.subject.id)

    def deployments(
        self, environments: list[str] | None = None, order_by: dict[str, str] | None = None
    ) -> list[Deployment]:
        """Return its deployments, all or those to some environments."""
        order = "id DESC" if order_by and order_by["direction"] == "DESC" else "id"
        deployments = self.context.database.all(Deployment, order=order, repository_id=self.subject.id)
        return [one for one in deployments if not environments or one.environment in environments]

    def environments(self, names: list[str] | None = None) -> list[Environment]:
        """Return where it is deployed to, by name."""
        environments = self.context.database.all(Environment, order="name", repository_id=self.subject.id)
        return [one for one in environments if not names or one.name in names]

    def ruleset(self, database_id: int, include_parents: bool = True) -> Any:
        """Return one of its rulesets."""
        rulesets = self.rulesets(include_parents=include_parents)
        return self.context.view_of(next((one for one in rulesets if one.id == database_id), None))

    def rulesets(
        self,
        include_parents: bool = True,
        targets: list[str] | None = None,
    ) -> list[Ruleset]:
        """Return its rulesets, and those of its organization that are for it."""
        return keep_targets(rulesets_of(self.context.world, self.subject, with_parents=include_parents), targets)

    def assignable_users(self, query: str | None = None) -> list[User]:
        """Return who can be given work."""
        assignable_users = permissions.assignable_users(self.context.world, self.subject)
        return [one for one in assignable_users if one.type == "User" and _matches(one, query)]

    def suggested_actors(
        self, capabilities: list[str], login_names: str | None = None, query: str | None = None
    ) -> list[User]:
        """Return who can be given work or write something, bots included."""
        if "CAN_BE_ASSIGNED" in capabilities:
            suggested_actors = permissions.assignable_users(self.context.world, self.subject)
        else:
            suggested_actors = list(self.mentionable_users())
        names = {name.strip().casefold() for name in login_names.split(",")} if login_names else None
        return [
            one for one in suggested_actors if _matches(one, query) and (names is None or one.login.casefold() in names)
        ]

    def mentionable_users(self, query: str | None = None) -> Sequence[User]:
        """Return who can be mentioned: those who can be assigned, and those who wrote something."""
        assignable = [one.id for one in permissions.assignable_users(self.context.world, self.subject)]
        where = (
            "type = 'User' AND (id IN (SELECT value FROM json_each(?)) "
            "OR id IN (SELECT author_id FROM issues WHERE repository_id = ?))"
        )
        values: list[object] = [json.dumps(assignable), self.subject.id]
        if query:
            where += " AND (instr(unicode_lower(login), ?) OR instr(unicode_lower(name), ?))"
            values += [query.lower()] * 2
        return Rows(self.context.database, User, f"WHERE {where} ORDER BY login COLLATE NOCASE", values)

    def collaborators(
        self, affiliation: str | None = None, login: str | None = None, query: str | None = None
    ) -> list[Member]:
        """Return who has a role in it; those who can push may know."""
        if not self.context.may(self.subject, "write"):
            raise NotFoundRefusal("Must have push access to view repository collaborators.")
        collaborators = [one for one in _collaborators(self.context, self.subject, affiliation) if _matches(one, query)]
        collaborators = [one for one in collaborators if login is None or one.login.lower() == login.lower()]
        world = self.context.world
        return [Member(one, permissions.user_role(world, one, self.subject).upper()) for one in collaborators]

    def watchers(self) -> list[User]:
        """Return who watches it: a world does not know."""
        return []

    def _forks(self) -> list[Repository]:
        return self.context.database.all(Repository, parent_id=self.subject.id)

    def _find_by_number(self, find: Any, number: int, what: str) -> Any:
        try:
            issue = find(self.context.world, self.subject, number)
        except MovedRefusal as moved:  # GraphQL follows a transferred issue, where REST redirects
            issue = self.context.database.get(Issue, moved.issue_id)
            if issue is None or not self.context.visible(self.context.repository(issue.repository_id)):
                raise NotFoundRefusal(f"Could not resolve to {what} with the number of {number}.") from None
        except GoneRefusal:
            raise NotFoundRefusal(f"Could not resolve to {what} with the number of {number}.") from None
        return self.context.view_of(issue)


def _matches(user: User, query: str | None) -> bool:
    return not query or query.lower() in user.login.lower() or query.lower() in (user.name or "").lower()


def _collaborators(context: Context, repository: Repository, affiliation: str | None) -> list[User]:
    rows = context.database.all(Collaborator, repository_id=repository.id)
    direct = {row.user_id for row in rows}
    owner = context.owner(repository)
    collaborators = [one for one in permissions.assignable_users(context.world, repository) if one.type == "User"]
    if affiliation == "OUTSIDE":
        return [one for one in collaborators if one.id in direct]
    if affiliation == "DIRECT":
        return [one for one in collaborators if one.id in direct or one.id == owner.id]
    return collaborators
