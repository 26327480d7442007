"""Harvests a whole world: accounts, apps, repositories and projects.

Exported: people, settings, history to the commit, checks, workflow runs, releases with their files, and conversations
with their states, authors and times. Not exported: entries of timelines (building a world writes new ones), database
ids except those of workflow runs, former names of repositories, targets of moved issues, and the world's clock.
"""

from typing import Any

from ghx_twin.queries import lookup
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.projects import STATUS, iterations_of
from ghx_twin.seed.document import (
    SeedApp,
    SeedInstallation,
    SeedIssueType,
    SeedOrganization,
    SeedTeam,
    SeedToken,
    SeedUser,
    WorldSeed,
)
from ghx_twin.seed.exporting.deployments import export_organization_variables
from ghx_twin.seed.exporting.repository import export_repository
from ghx_twin.seed.exporting.rulesets import export_rulesets
from ghx_twin.seed.projects import SeedField, SeedItem, SeedIteration, SeedIterations, SeedProject, SeedView
from ghx_twin.state.names import object_name
from ghx_twin.state.records import (
    App,
    DraftIssue,
    Installation,
    Issue,
    IssueType,
    Membership,
    Project,
    ProjectCollaborator,
    ProjectField,
    ProjectItem,
    ProjectItemValue,
    ProjectRepository,
    ProjectStatusUpdate,
    ProjectView,
    ProjectWorkflow,
    Repository,
    Team,
    TeamMember,
    Token,
    User,
)
from ghx_twin.world import World


def export_seed(world: World) -> WorldSeed:
    """Return the seed of a world."""
    with world.database.locked():  # or a request between two tables would tear the seed apart
        accounts = world.database.all(User)
        people = tuple(_user(world, account) for account in accounts if account.type != "Organization")
        groups = tuple(_organization(world, account) for account in accounts if account.type == "Organization")
        homes = tuple(export_repository(world, repository) for repository in world.database.all(Repository))
        apps = tuple(_app(world, app) for app in world.database.all(App))
        boards = tuple(_project(world, each) for each in world.database.all(Project, order="owner_id, number"))
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
    installations = world.database.all(Installation, app_id=app.id)
    return SeedApp.model_validate(
        {
            **{name: getattr(app, name) for name in same},
            "owner": lookup.user_by_id(world, app.owner_id).login,
            "installations": tuple(_installation(world, one) for one in installations),
            "at": app.created_at,
        }
    )


def _installation(world: World, installation: Installation) -> SeedInstallation:
    # Requested tokens expire within the hour: only those without an end are of the world.
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
            "rulesets": export_rulesets(world, organization_id=organization.id),
            **export_organization_variables(world, organization),
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


def _project(world: World, project: Project) -> SeedProject:
    database = world.database
    same = ("number", "title", "short_description", "readme", "public", "template", "updated_at", "closed_at")
    links = database.all(ProjectRepository, project_id=project.id)
    homes = (database.get(Repository, each.repository_id) for each in links)
    roles = database.all(ProjectCollaborator, project_id=project.id)
    columns = {field.id: field for field in projects.fields_of(database, project)}
    return SeedProject.model_validate(
        {
            **{name: getattr(project, name) for name in same},
            "owner": lookup.user_by_id(world, project.owner_id).login,
            "closed": project.closed_at is not None,
            "creator": lookup.user_by_id(world, project.creator_id).login,
            "collaborators": {lookup.user_by_id(world, each.user_id).login: each.role for each in roles},
            "repositories": tuple(lookup.full_name(world, home) for home in homes if home),
            "fields": tuple(
                _project_field(each) for each in columns.values() if not each.built_in or each.name == STATUS
            ),
            "views": tuple(_project_view(each, columns) for each in database.all(ProjectView, project_id=project.id)),
            "workflows": {each.name: each.enabled for each in database.all(ProjectWorkflow, project_id=project.id)},
            "items": tuple(
                _project_item(world, each, columns) for each in projects.items_of(database, project, archived=None)
            ),
            "status_updates": tuple(
                {
                    **{name: getattr(each, name) for name in ("status", "body", "start_date", "target_date")},
                    "creator": lookup.user_by_id(world, each.creator_id).login,
                    "at": each.created_at,
                }
                for each in database.all(ProjectStatusUpdate, project_id=project.id)
            ),
            "at": project.created_at,
        }
    )


def _project_field(field: ProjectField) -> SeedField:
    configuration = None
    if field.configuration is not None:
        listed = tuple(
            SeedIteration(id=each.id, title=each.title, start_date=each.start_date, duration=each.duration)
            for each in iterations_of(field)
        )
        settings: Any = {name: field.configuration[name] for name in ("duration", "start_day")}
        configuration = SeedIterations(iterations=listed, **settings)
    return SeedField.model_validate(
        {
            "name": field.name,
            "data_type": field.data_type,
            "options": field.options,
            "configuration": configuration,
        }
    )


def _project_view(view: ProjectView, columns: dict[int, ProjectField]) -> SeedView:
    sorts = (each.split(" ") for each in view.sort_by)
    lists = ("visible_fields", "group_by", "vertical_group_by")
    return SeedView.model_validate(
        {
            **{name: getattr(view, name) for name in ("name", "layout", "filter")},
            **{name: tuple(columns[identity].name for identity in getattr(view, name)) for name in lists},
            "sort_by": {columns[int(identity)].name: way for identity, way in sorts},
        }
    )


def _project_item(world: World, item: ProjectItem, columns: dict[int, ProjectField]) -> SeedItem:
    database = world.database
    issue, draft = database.get(Issue, item.issue_id), database.get(DraftIssue, item.draft_issue_id)
    project_item_values = database.all(ProjectItemValue, order="field_id", item_id=item.id)
    return SeedItem.model_validate(
        {
            "content": object_name(database, issue) if issue else None,
            "title": draft.title if draft else None,
            "body": draft.body if draft else None,
            "assignees": tuple(lookup.user_by_id(world, each).login for each in draft.assignee_ids) if draft else (),
            "values": {
                columns[each.field_id].name: _project_value(columns[each.field_id], each.value)
                for each in project_item_values
            },
            "creator": lookup.user_by_id(world, item.creator_id).login,
            "archived": item.archived_at is not None,
            "at": item.created_at,
            "updated_at": item.updated_at,
            "archived_at": item.archived_at,
        }
    )


def _project_value(field: ProjectField, written: str) -> str | int | float:
    """Return a value as people write it: an option by its name, an iteration by its title if no other has that."""
    match field.data_type:
        case "number":
            return float(written) if any(mark in written for mark in ".en") else int(written)
        case "single_select":
            return next(option["name"] for option in field.options if option["id"] == written)
        case "iteration":
            titles = [each.title for each in iterations_of(field)]
            title = next(each.title for each in iterations_of(field) if each.id == written)
            return title if titles.count(title) == 1 else written
        case _:
            return written
