"""Plants a whole seed: accounts, apps, repositories, projects and faults."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ghx_twin.commands import apps, projects, users
from ghx_twin.commands.issues import issue_types
from ghx_twin.commands.kernel import reload
from ghx_twin.queries import lookup
from ghx_twin.queries.projects.projects import field_by_name, fields_of, iterations_of
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.seed.building.checks import build_scripts
from ghx_twin.seed.building.conversations import build_conversations, relate_issues
from ghx_twin.seed.building.deployments import build_organization_variables
from ghx_twin.seed.building.repository import (
    apply_settings,
    build_releases,
    build_repository,
    set_times_and_numbers,
)
from ghx_twin.seed.building.repository_build import RepositoryBuild
from ghx_twin.seed.building.rulesets import build_rulesets
from ghx_twin.seed.document import SeedApp, SeedIssueType, SeedOrganization, SeedUser, WorldSeed
from ghx_twin.seed.faults import script_faults
from ghx_twin.seed.mistakes import error_place
from ghx_twin.seed.projects import SeedField, SeedItem, SeedProject, SeedView
from ghx_twin.state.records import (
    App,
    DraftIssue,
    Issue,
    IssueType,
    Project,
    ProjectField,
    ProjectItem,
    ProjectView,
    ProjectWorkflow,
    User,
)
from ghx_twin.viewer import Viewer
from ghx_twin.world import Act, World


def build_world(world: World, seed: WorldSeed) -> None:
    """Fill a world; users first, then repositories with their history, what people said, and projects.

    Raises `SeedError` for what GitHub would refuse; what was built before that stays, so use a new world.
    """
    seed = seed.written_out()
    for user in seed.users:
        with error_place(f"users: {user.login}"):
            _build_user(world, user)
    for organization in seed.organizations:
        with error_place(f"organizations: {organization.login}"):
            _build_organization(world, organization)
    for app in seed.apps:  # before anything that their bots have done
        with error_place(f"apps: {app.slug}"):
            _build_app(world, app)
    builds: list[RepositoryBuild] = []
    for repository in seed.repositories:
        with error_place(f"repositories: {repository.name}"):
            builds.append(build_repository(world, repository))
    for app in seed.apps:  # once the repositories are there that it is for
        with error_place(f"apps: {app.slug}"):
            _build_installations(world, app)
    # Each step is done in every repository before the next one begins: parents, blockers and mentions cross
    # repositories, settings such as `archived` would refuse the conversations, and everything before moves the times.
    for step in (
        build_conversations, relate_issues, build_releases, apply_settings, build_scripts, set_times_and_numbers,
    ):  # fmt: skip
        for repo in builds:
            with error_place(f"repositories: {repo.seed.name}"):
                step(repo)
    _build_across_repositories(world, seed)
    script_faults(world, seed.faults)


def _build_across_repositories(world: World, seed: WorldSeed) -> None:
    """Add what belongs to accounts, and needs their repositories or what is in them."""
    for organization in seed.organizations:
        with error_place(f"organizations: {organization.login}"):
            owner = lookup.organization(world, organization.login)
            build_rulesets(world, owner, organization.rulesets)
            build_organization_variables(world, owner, organization)
    for project in seed.projects:
        with error_place(f"projects: {project.owner} {project.title!r}"):
            _ProjectBuild(world, project).build_world()
    for account in (*seed.users, *seed.organizations):
        with error_place(f"{account.login}: next_project_number"):
            _set_next_project_number(world, account)


def _build_user(world: World, user: SeedUser) -> None:
    with world.acting(None, at=user.at) as act:
        record = users.create_user(act, **user.model_dump(exclude={"tokens", "next_project_number", "at"}))
        for token in user.tokens:
            users.create_token(act, record, token=token.token, scopes=token.scopes)


def _build_organization(world: World, seed: SeedOrganization) -> None:
    with world.acting(None, at=seed.at) as act:
        profile = seed.model_dump(include={"login", "name", "bio", "location", "blog"})
        record = users.create_organization(act, **profile)
        if seed.issue_types is not None:
            _build_issue_types(act, record, seed.issue_types)
        if seed.email is not None:
            users.update_user(act, record, email=seed.email)
        for login, role in seed.members.items():
            with error_place(f"members: {login}"):
                users.add_member(act, record, lookup.user(world, login), role)
        for team in seed.teams:
            with error_place(f"teams: {team.name}"):
                team_record = users.create_team(act, record, **team.model_dump(exclude={"members"}))
                for login in team.members:
                    users.add_team_member(act, team_record, lookup.user(world, login))


def _build_app(world: World, seed: SeedApp) -> None:
    skipped_fields = {"id", "owner", "installations", "at"}
    with world.acting(None, at=seed.at) as act:
        owner = lookup.account(world, seed.owner)
        apps.create(act, owner=owner, identity=seed.id, **seed.model_dump(exclude=skipped_fields))


def _build_installations(world: World, seed: SeedApp) -> None:
    app = world.database.one(App, slug=seed.slug)
    assert app is not None  # noqa: S101 - it was built before
    for each in seed.installations:
        with error_place(f"installations: {each.account}"), world.acting(None, at=each.at) as act:
            account = lookup.account(world, each.account)
            names = [name.split("/", 1) for name in each.repositories or ()]
            homes = [lookup.repository(world, None, owner, name) for owner, name in names]
            installation = apps.install(
                act,
                app,
                account,
                permissions=each.permissions,
                repositories=None if each.repositories is None else homes,
                identity=each.id,
            )
            for token in each.tokens:
                apps.create_token(act, app, installation, token=token)


def _build_issue_types(act: Act, organization: User, seeds: tuple[SeedIssueType, ...]) -> None:
    for first in act.database.all(IssueType, organization_id=organization.id):
        issue_types.delete(act, first)
    for seed in seeds:
        with error_place(f"issue_types: {seed.name!r}"):
            issue_types.create(act, organization, **seed.model_dump())


def _set_next_project_number(world: World, seed: SeedUser | SeedOrganization) -> None:
    if seed.next_project_number is None:
        return
    with world.acting(None) as act:
        account = lookup.account(world, seed.login)
        if seed.next_project_number < account.next_project_number:
            problem = f"{seed.next_project_number} is taken; the first free one is {account.next_project_number}"
            raise InvalidRefusal(problem)
        act.database.update(account, next_project_number=seed.next_project_number)


@dataclass(frozen=True, slots=True)
class _ProjectBuild:
    """A project of a seed while it is planted: after all conversations, since these are what is on it."""

    world: World
    seed: SeedProject

    def build_world(self) -> None:
        owner = lookup.account(self.world, self.seed.owner)
        if self.seed.number is not None:
            self._take_number(owner, self.seed.number)
        with self._acting(self.seed.creator, at=self.seed.at) as act:
            project = projects.create(act, owner, title=self.seed.title)
            for name in ("short_description", "readme", "public", "template"):
                changes: Any = {name: getattr(self.seed, name)}
                project = projects.update(act, project, **changes)
            for field in self.seed.fields:
                with error_place(f"fields: {field.name!r}"):
                    _build_project_field(act, project, field)
            self._build_views(act, project)
            self._build_surroundings(act, project)
        for number, item in enumerate(self.seed.items, 1):
            with error_place(f"items: {item.content or item.title or number}"):
                self._build_item(project, item)
        for update in self.seed.status_updates:
            with error_place("status_updates"), self._acting(update.creator or self.seed.creator, at=update.at) as act:
                projects.create_status_update(act, project, **update.model_dump(exclude={"creator", "at"}))
        with self.world.acting(None, at=self.seed.closed_at) as act:
            if self.seed.closed:
                projects.update(act, project, closed=True)
        if self.seed.updated_at is not None:
            with self.world.acting(None) as act:
                act.database.update(reload(act, project), updated_at=self.seed.updated_at)

    def _acting(self, login: str | None, *, at: str | None = None) -> AbstractContextManager[Act]:
        owner = lookup.account(self.world, self.seed.owner)
        user = lookup.user(self.world, login) if login else lookup.default_account_actor(self.world, owner)
        return self.world.acting(Viewer(user=user, unrestricted=True), at=at)

    def _take_number(self, owner: User, number: int) -> None:
        with self.world.acting(None) as act:
            current = reload(act, owner)
            if number < current.next_project_number:
                raise InvalidRefusal(f"number {number} is taken; list projects in the order of their numbers")
            act.database.update(current, next_project_number=number)

    def _build_views(self, act: Act, project: Project) -> None:
        for number, view in enumerate(self.seed.views, 1):
            with error_place(f"views: {view.name!r}"):
                settings = _project_view_settings(act, project, view)
                project_view = act.database.one(ProjectView, project_id=project.id, number=number)
                if project_view:  # the one that every project begins with
                    act.database.update(project_view, name=view.name, layout=view.layout, **settings)
                else:
                    projects.create_view(act, project, name=view.name, layout=view.layout, **settings)

    def _build_surroundings(self, act: Act, project: Project) -> None:
        for name, enabled in self.seed.workflows.items():
            if workflow := act.database.one(ProjectWorkflow, project_id=project.id, name=name):
                act.database.update(workflow, enabled=enabled)
        for login, role in self.seed.collaborators.items():
            with error_place(f"collaborators: {login}"):
                projects.set_collaborator(act, project, lookup.user(self.world, login), role)
        for name in self.seed.repositories:
            with error_place(f"repositories: {name}"):
                projects.link(act, project, lookup.repository(self.world, None, *name.split("/")))

    def _build_item(self, project: Project, seed: SeedItem) -> None:
        with self._acting(seed.creator or self.seed.creator, at=seed.at) as act:
            if seed.content is not None:
                item = projects.add_item(act, project, _find_issue(self.world, seed.content))
            else:
                people = [lookup.user(self.world, login) for login in seed.assignees]
                item = projects.add_draft(act, project, title=seed.title or "", body=seed.body, assignees=people)
        with self._acting(seed.creator or self.seed.creator, at=seed.updated_at) as act:
            for name, value in seed.values.items():
                with error_place(f"values: {name}"):
                    field = field_by_name(act.database, project, name)
                    if field is None:
                        raise InvalidRefusal(f"the project has no field {name!r}")
                    item = projects.set_value(act, item, field, _find_choice(field, value))
        with self.world.acting(None, at=seed.archived_at) as act:
            if seed.archived:
                item = projects.archive_item(act, item)
        _set_item_times(self.world, item, seed)


def _set_item_times(world: World, item: ProjectItem, seed: SeedItem) -> None:
    with world.acting(None) as act:
        current = reload(act, item)
        updated_at = seed.updated_at or current.created_at
        act.database.update(current, updated_at=updated_at)
        if draft := act.database.get(DraftIssue, current.draft_issue_id):
            act.database.update(draft, updated_at=updated_at)


def _build_project_field(act: Act, project: Project, seed: SeedField) -> ProjectField:
    options = [option.model_dump() for option in seed.options]
    configuration = seed.configuration
    settings = None if configuration is None else configuration.model_dump(exclude_none=True)
    project_field = field_by_name(act.database, project, seed.name)
    if project_field is None:
        return projects.create_field(
            act, project, name=seed.name, data_type=seed.data_type, options=options, configuration=settings
        )
    if project_field.data_type != seed.data_type:
        raise InvalidRefusal(f"every project has a field {project_field.name!r} of another type")
    return projects.update_field(act, project_field, options=options)


def _project_view_settings(act: Act, project: Project, seed: SeedView) -> dict[str, Any]:
    ids = {field.name: field.id for field in fields_of(act.database, project)}

    def find(name: str) -> int:
        if name not in ids:
            raise InvalidRefusal(f"the project has no field {name!r}")
        return ids[name]

    return {
        "filter": seed.filter,
        "visible_fields": tuple(find(name) for name in seed.visible_fields),
        "sort_by": tuple(f"{find(name)} {way}" for name, way in seed.sort_by.items()),
        "group_by": tuple(find(name) for name in seed.group_by),
        "vertical_group_by": tuple(find(name) for name in seed.vertical_group_by),
    }


def _find_issue(world: World, name: str) -> Issue:
    home, _, number = name.partition("#")
    return lookup.issue_or_pull(world, lookup.repository(world, None, *home.split("/")), int(number))


def _find_choice(field: ProjectField, value: object) -> object:
    """Return the id of an option or iteration that a seed names; other values as they are."""
    choices = {option["name"]: option["id"] for option in field.options}
    choices |= {each.title: each.id for each in iterations_of(field)}
    if choices and value not in choices and value not in choices.values():
        raise InvalidRefusal(f"{value!r} is not one of {', '.join(choices)}")
    return choices.get(str(value), value) if choices else value
