"""Users, bots, organisations and teams."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ghx_twin.graphql.connections import Edge
from ghx_twin.graphql.lists import IssueQuery, PullQuery, repositories_of
from ghx_twin.graphql.scopes import require_scope
from ghx_twin.graphql.subjects import Member
from ghx_twin.graphql.views.base import Linked, RecordView
from ghx_twin.graphql.views.issues.issues import order_types
from ghx_twin.graphql.views.projects.owners import ClassicProjectOwner
from ghx_twin.graphql.views.repositories.rulesets import keep_targets
from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.state import records
from ghx_twin.state.records import (
    Issue,
    IssueType,
    Membership,
    Project,
    Pull,
    Repository,
    Ruleset,
    Team,
    TeamMember,
    User,
)


class AccountView(Linked, RecordView[User]):
    """What every account shows."""

    sources: ClassVar = {"subject": User}
    __slots__ = ()

    def avatar_url(self, size: int | None = None) -> str:
        """Return the address of the picture."""
        scaled = f"&s={size}" if size else ""
        kind = "in" if self.subject.type == "Bot" else "u"  # the picture of a bot is that of its app
        return f"https://avatars.githubusercontent.com/{kind}/{self.subject.id}?v=4{scaled}"

    def resource_path(self) -> str:
        """Return the path of the profile."""
        return f"/{self.subject.login}"

    def website_url(self) -> str | None:
        """Return the address the profile names."""
        return self.subject.blog


class OwnerView(ClassicProjectOwner, AccountView):
    """An account that can own repositories and projects."""

    __slots__ = ()

    @property
    def visible_projects(self) -> Sequence[Project]:
        """Return the projects of this account that the viewer may see."""
        return projects.visible_projects(self.context.world, self.context.viewer, self.subject)

    def repositories(self, **filters: Any) -> Sequence[Repository]:
        """Return the repositories of this account that the viewer may see."""
        return repositories_of(self.context, self.subject, **filters)

    def repository(self, name: str, follow_renames: bool | None = True) -> Any:
        """Return a repository of this account."""
        repository = lookup.repository(self.context.world, self.context.viewer, self.subject.login, name)
        renamed = repository.name.lower() != name.lower()
        return None if renamed and not follow_renames else self.context.view_of(repository)


class UserView(OwnerView):
    """A person."""

    typename: ClassVar[str] = "User"
    __slots__ = ()

    def email(self) -> str:
        """Return the public address; empty where there is none."""
        return self.subject.email or ""

    def is_site_admin(self) -> bool:
        """Return whether the user runs this GitHub."""
        return self.subject.site_admin

    def is_viewer(self) -> bool:
        """Return whether this is who asks."""
        return self.subject.id == self.context.viewer.id

    def issues(self, **filters: Any) -> Sequence[Issue]:
        """Return the issues this user wrote."""
        return IssueQuery(self.context).by(author_id=self.subject.id).filter(**filters).visible()

    def pull_requests(self, **filters: Any) -> Sequence[Pull]:
        """Return the pull requests this user wrote."""
        return PullQuery(self.context).by(author_id=self.subject.id).filter(**filters).visible()

    def organization(self, login: str) -> Any:
        """Return an organisation this user belongs to."""
        return next(
            (self.context.view_of(one) for one in self.organizations() if one.login.lower() == login.lower()), None
        )

    def organizations(self) -> list[User]:
        """Return the organisations this user belongs to."""
        memberships = self.context.database.all(Membership, user_id=self.subject.id)
        users = (self.context.user(one.organization_id) for one in memberships)
        return [one for one in users if one is not None]


class BotView(AccountView):
    """A program that acts."""

    typename: ClassVar[str] = "Bot"
    __slots__ = ()

    def login(self) -> str:
        """Return the login; REST puts `[bot]` behind it, GraphQL does not."""
        return self.subject.login.removesuffix("[bot]")

    def resource_path(self) -> str:
        """Return the path of the app's page."""
        return f"/apps/{self.login()}"


class OrganizationView(OwnerView):
    """An organisation."""

    typename: ClassVar[str] = "Organization"
    __slots__ = ()

    def description(self) -> str | None:
        """Return what the organisation says of itself."""
        return self.subject.bio

    def issue_types(self, order_by: dict[str, str] | None = None) -> list[IssueType]:
        """Return the types that issues in its repositories can have."""
        return order_types(self.context.database.all(IssueType, organization_id=self.subject.id), order_by)

    def issue_fields(self) -> list[object]:
        """Return the custom fields of its issues: a world has none."""
        return []

    def members_with_role(self) -> list[Member]:
        """Return the members, each with their role."""
        memberships = self.context.database.all(Membership, organization_id=self.subject.id)
        members = ((self.context.user(one.user_id), one.role) for one in memberships)
        return [Member(user, role.upper()) for user, role in members if user is not None]

    def team(self, slug: str) -> Any:
        """Return a team by its slug."""
        require_scope(self.context.viewer, "team", "read:org")
        return self.context.view_of(self.context.database.one(Team, organization_id=self.subject.id, slug=slug))

    def teams(
        self, order_by: dict[str, str] | None = None, query: str | None = None, user_logins: list[str] | None = None
    ) -> list[Team]:
        """Return the teams."""
        require_scope(self.context.viewer, "teams", "read:org")
        teams = self.context.database.all(Team, organization_id=self.subject.id)
        if query:
            teams = [one for one in teams if query.lower() in one.name.lower() or query.lower() in one.slug.lower()]
        if user_logins:
            logins = {login.lower() for login in user_logins}
            teams = [one for one in teams if logins & {m.user.login.lower() for m in _members(self, one)}]
        if order_by:
            teams.sort(key=lambda one: one.name.lower(), reverse=order_by["direction"] == "DESC")
        return teams

    def rulesets(
        self,
        include_parents: bool = True,  # noqa: ARG002 - as in the schema; there is no enterprise above
        targets: list[str] | None = None,
    ) -> list[Ruleset]:
        """Return the rulesets for its repositories; for its owners only."""
        rulesets = self.context.database.all(Ruleset, organization_id=self.subject.id)
        return keep_targets(rulesets, targets) if self.viewer_can_administer() else []

    def viewer_can_administer(self) -> bool:
        """Return whether the viewer runs this organisation."""
        return self._membership(role="admin") is not None

    def viewer_is_a_member(self) -> bool:
        """Return whether the viewer belongs to it."""
        return self._membership() is not None

    def _membership(self, **more: str) -> Membership | None:
        viewer = self.context.viewer.id
        return self.context.database.one(Membership, organization_id=self.subject.id, user_id=viewer, **more)


class TeamView(Linked, RecordView[Team]):
    """A team of an organisation."""

    typename: ClassVar[str] = "Team"
    sources: ClassVar = {"subject": Team}
    __slots__ = ()

    def combined_slug(self) -> str:
        """Return organisation and team in one."""
        return f"{self._organization().login}/{self.subject.slug}"

    def members(self, query: str | None = None) -> list[Member]:
        """Return who is in the team."""
        members = _members(self, self.subject)
        return [one for one in members if not query or query.lower() in one.user.login.lower()]

    def members_resource_path(self) -> str:
        """Return the path of the list of members."""
        return f"{self.resource_path()}/members"

    def members_url(self) -> str:
        """Return the address of the list of members."""
        return f"{self.url()}/members"

    def organization(self) -> Any:
        """Return whose team it is."""
        return self.context.view_of(self._organization())

    def privacy(self) -> str:
        """Return who can see the team."""
        return "SECRET" if self.subject.privacy == "secret" else "VISIBLE"

    def resource_path(self) -> str:
        """Return the path of the team's page."""
        return f"/orgs/{self._organization().login}/teams/{self.subject.slug}"

    def _organization(self) -> User:
        return lookup.user_by_id(self.context.world, self.subject.organization_id)


class MemberEdge(Edge):
    """A member with the role that made them one."""

    __slots__ = ()
    subject: Member

    def role(self) -> str:
        """Return the role in the organisation or team."""
        return self.subject.role


def account_view(context: Any, user: User) -> AccountView:
    """Return an account as what it is."""
    return {"Organization": OrganizationView, "Bot": BotView}.get(user.type, UserView)(context, user)


def _members(view: RecordView[Any], team: records.Team) -> list[Member]:
    rows = view.context.database.all(TeamMember, team_id=team.id)
    users = (view.context.user(row.user_id) for row in rows)
    return [Member(user, "MEMBER") for user in users if user is not None]
