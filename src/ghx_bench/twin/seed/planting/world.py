"""Plants a whole seed: accounts, apps, repositories, projects and faults."""

from ghx_bench.twin.commands import apps, issue_types, users
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.seed.document import SeedApp, SeedIssueType, SeedOrganization, SeedUser, WorldSeed
from ghx_bench.twin.seed.faults import script_faults
from ghx_bench.twin.seed.mistakes import within
from ghx_bench.twin.seed.planting.checks import plant_scripts
from ghx_bench.twin.seed.planting.conversations import plant_conversations, relate_issues
from ghx_bench.twin.seed.planting.deployments import plant_organization_variables
from ghx_bench.twin.seed.planting.planted_repository import PlantedRepository
from ghx_bench.twin.seed.planting.projects import plant_project
from ghx_bench.twin.seed.planting.repository import (
    apply_settings,
    plant_releases,
    plant_repository,
    set_times_and_numbers,
)
from ghx_bench.twin.seed.planting.rulesets import plant_rulesets
from ghx_bench.twin.state.records import App, IssueType, User
from ghx_bench.twin.world import Act, World


def plant(world: World, seed: WorldSeed) -> None:
    """Fill a world; users first, then repositories with their history, what people said, and projects.

    Raises `SeedError` for what GitHub would refuse; what was planted before that stays, so use a new world.
    """
    for user in seed.users:
        with within(f"users: {user.login}"):
            _plant_user(world, user)
    for organization in seed.organizations:
        with within(f"organizations: {organization.login}"):
            _plant_organization(world, organization)
    for app in seed.apps:  # before anything that their bots have done
        with within(f"apps: {app.slug}"):
            _plant_app(world, app)
    planted: list[PlantedRepository] = []
    for repository in seed.repositories:
        with within(f"repositories: {repository.name}"):
            planted.append(plant_repository(world, repository))
    for app in seed.apps:  # once the repositories are there that it is for
        with within(f"apps: {app.slug}"):
            _plant_installations(world, app)
    # Each step is done in every repository before the next one begins: parents, blockers and mentions cross
    # repositories, settings such as `archived` would refuse the conversations, and everything before moves the times.
    for step in (
        plant_conversations, relate_issues, plant_releases, apply_settings, plant_scripts, set_times_and_numbers,
    ):  # fmt: skip
        for repo in planted:
            with within(f"repositories: {repo.seed.name}"):
                step(repo)
    _plant_across_repositories(world, seed)
    script_faults(world, seed.faults)


def _plant_across_repositories(world: World, seed: WorldSeed) -> None:
    """Add what belongs to accounts, and needs their repositories or what is in them."""
    for organization in seed.organizations:
        with within(f"organizations: {organization.login}"):
            owner = lookup.organization(world, organization.login)
            plant_rulesets(world, owner, organization.rulesets)
            plant_organization_variables(world, owner, organization)
    for project in seed.projects:
        with within(f"projects: {project.owner} {project.title!r}"):
            plant_project(world, project)
    for account in (*seed.users, *seed.organizations):
        with within(f"{account.login}: next_project_number"):
            _set_next_project_number(world, account)


def _plant_user(world: World, user: SeedUser) -> None:
    with world.acting(None, at=user.at) as act:
        record = users.create_user(act, **user.model_dump(exclude={"tokens", "next_project_number", "at"}))
        for token in user.tokens:
            users.create_token(act, record, token=token.token, scopes=token.scopes)


def _plant_organization(world: World, seed: SeedOrganization) -> None:
    with world.acting(None, at=seed.at) as act:
        profile = seed.model_dump(include={"login", "name", "bio", "location", "blog"})
        record = users.create_organization(act, **profile)
        if seed.issue_types is not None:
            _plant_issue_types(act, record, seed.issue_types)
        if seed.email is not None:
            users.update_user(act, record, email=seed.email)
        for login, role in seed.members.items():
            with within(f"members: {login}"):
                users.add_member(act, record, lookup.user(world, login), role)
        for team in seed.teams:
            with within(f"teams: {team.name}"):
                made = users.create_team(act, record, **team.model_dump(exclude={"members"}))
                for login in team.members:
                    users.add_team_member(act, made, lookup.user(world, login))


def _plant_app(world: World, seed: SeedApp) -> None:
    left = {"id", "owner", "installations", "at"}
    with world.acting(None, at=seed.at) as act:
        owner = lookup.account(world, seed.owner)
        apps.create(act, owner=owner, identity=seed.id, **seed.model_dump(exclude=left))


def _plant_installations(world: World, seed: SeedApp) -> None:
    app = world.database.one(App, slug=seed.slug)
    assert app is not None  # noqa: S101 - it was planted before
    for each in seed.installations:
        with within(f"installations: {each.account}"), world.acting(None, at=each.at) as act:
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


def _plant_issue_types(act: Act, organization: User, seeds: tuple[SeedIssueType, ...]) -> None:
    for first in act.database.all(IssueType, organization_id=organization.id):
        issue_types.delete(act, first)
    for seed in seeds:
        with within(f"issue_types: {seed.name!r}"):
            issue_types.create(act, organization, **seed.model_dump())


def _set_next_project_number(world: World, seed: SeedUser | SeedOrganization) -> None:
    if seed.next_project_number is None:
        return
    with world.acting(None) as act:
        account = lookup.account(world, seed.login)
        if seed.next_project_number < account.next_project_number:
            taken = f"{seed.next_project_number} is taken; the first free one is {account.next_project_number}"
            raise InvalidRefusal(taken)
        act.database.update(account, next_project_number=seed.next_project_number)
