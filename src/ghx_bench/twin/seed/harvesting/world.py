"""Harvests a whole world: accounts, apps, repositories and projects.

Kept: people, settings, history to the commit, checks, workflow runs, releases with their files, conversations with
their states, authors and times. Not kept: the entries of timelines (planting writes new ones), database ids (but those
of workflow runs), former names of repositories, where moved issues went, and the world's clock.
"""

from ghx_bench.twin.queries import lookup
from ghx_bench.twin.seed.document import (
    SeedApp,
    SeedInstallation,
    SeedIssueType,
    SeedOrganization,
    SeedTeam,
    SeedToken,
    SeedUser,
    WorldSeed,
)
from ghx_bench.twin.seed.harvesting.deployments import harvest_organization_variables
from ghx_bench.twin.seed.harvesting.projects import harvest_projects
from ghx_bench.twin.seed.harvesting.repository import harvest_repository
from ghx_bench.twin.seed.harvesting.rulesets import harvest_rulesets
from ghx_bench.twin.state.records import (
    App,
    Installation,
    IssueType,
    Membership,
    Repository,
    Team,
    TeamMember,
    Token,
    User,
)
from ghx_bench.twin.world import World


def harvest(world: World) -> WorldSeed:
    """Return the seed of a world."""
    with world.database.held():  # or a request between two tables would tear the seed apart
        accounts = world.database.all(User)
        people = tuple(_user(world, account) for account in accounts if account.type != "Organization")
        groups = tuple(_organization(world, account) for account in accounts if account.type == "Organization")
        homes = tuple(harvest_repository(world, repository) for repository in world.database.all(Repository))
        apps = tuple(_app(world, app) for app in world.database.all(App))
        boards = tuple(harvest_projects(world))
    return WorldSeed(users=people, organizations=groups, apps=apps, repositories=homes, projects=boards)


def _user(world: World, user: User) -> SeedUser:
    tokens = world.database.all(Token, user_id=user.id, installation_id=None)
    profile = ("login", "type", "name", "email", "bio", "company", "location", "blog", "site_admin")
    return SeedUser.model_validate(
        {
            **{name: getattr(user, name) for name in profile},
            "tokens": tuple(SeedToken(token=token.token, scopes=token.scopes) for token in tokens),
            "next_project_number": _next_project_number(user),
            "at": user.created_at,
        }
    )


def _app(world: World, app: App) -> SeedApp:
    same = ("id", "slug", "name", "description", "client_id", "public_key", "permissions", "events")
    found = world.database.all(Installation, app_id=app.id)
    return SeedApp.model_validate(
        {
            **{name: getattr(app, name) for name in same},
            "owner": lookup.user_by_id(world, app.owner_id).login,
            "installations": tuple(_installation(world, one) for one in found),
            "at": app.created_at,
        }
    )


def _installation(world: World, installation: Installation) -> SeedInstallation:
    # Tokens that were asked for expire within the hour: only those without an end are of the world.
    tokens = world.database.all(Token, installation_id=installation.id, expires_at=None)
    homes = (world.database.get(Repository, identity) for identity in installation.repository_ids or ())
    names = tuple(lookup.full_name(world, home) for home in homes if home is not None)
    return SeedInstallation.model_validate(
        {
            "id": installation.id,
            "account": lookup.user_by_id(world, installation.account_id).login,
            "permissions": dict(installation.permissions),
            "repositories": None if installation.repository_ids is None else names,
            "tokens": tuple(token.token for token in tokens),
            "at": installation.created_at,
        }
    )


def _organization(world: World, organization: User) -> SeedOrganization:
    members = world.database.all(Membership, organization_id=organization.id)
    return SeedOrganization.model_validate(
        {
            **{name: getattr(organization, name) for name in ("login", "name", "email", "bio", "location", "blog")},
            "members": {lookup.user_by_id(world, member.user_id).login: member.role for member in members},
            "teams": tuple(_team(world, team) for team in world.database.all(Team, organization_id=organization.id)),
            "issue_types": tuple(
                SeedIssueType(**{name: getattr(one, name) for name in SeedIssueType.model_fields})
                for one in world.database.all(IssueType, organization_id=organization.id)
            ),
            "next_project_number": _next_project_number(organization),
            "rulesets": harvest_rulesets(world, organization_id=organization.id),
            **harvest_organization_variables(world, organization),
            "at": organization.created_at,
        }
    )


def _next_project_number(account: User) -> int | None:
    return account.next_project_number if account.next_project_number > 1 else None


def _team(world: World, team: Team) -> SeedTeam:
    members = world.database.all(TeamMember, team_id=team.id)
    return SeedTeam.model_validate(
        {
            **{name: getattr(team, name) for name in ("name", "slug", "description", "privacy")},
            "members": tuple(lookup.user_by_id(world, member.user_id).login for member in members),
        }
    )
