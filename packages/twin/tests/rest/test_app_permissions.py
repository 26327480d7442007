"""What a token of an installation may do, by the permissions that it holds."""

import json
from collections.abc import Iterator

import pytest
from rest_world import Client
from seeds import world_of

from ghx_twin.graphql.execution import execute
from ghx_twin.queries.apps import app_access
from ghx_twin.state.records import Project, Token, User
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import AppAccess, Viewer
from ghx_twin.world import World

SEED = """
version: 1
users: [{login: octo}]
organizations: [{login: acme, members: {octo: admin}}]
apps:
  - {slug: fixer, owner: acme, installations: [{account: acme, repositories: [acme/pub], tokens: [ghs_x]}]}
repositories:
  - name: acme/pub
    files: {a.txt: a}
    variables: [{name: V, value: hidden}]
    secrets: [{name: KEY}]
    environments: [{name: prod}]
  - {name: acme/other, files: {a.txt: a}, variables: [{name: V, value: hidden}]}
projects: [{owner: acme, title: Plan}]
"""
R = "/repos/acme/pub"
EVERYTHING_ELSE = {"issues": "write", "pull_requests": "write", "checks": "write", "actions": "write"}
CREATE_PROJECT = "mutation($i: CreateProjectV2Input!) { createProjectV2(input: $i) { projectV2 { title } } }"


@pytest.fixture
def world() -> Iterator[World]:
    with world_of(SEED) as made:
        yield made


def bot(world: World, permissions: dict[str, str]) -> Viewer:
    token = world.database.one(Token, token="ghs_x")
    assert token is not None
    known, user = app_access(world, token), world.database.get(User, token.user_id)
    assert known is not None
    assert user is not None
    access = AppAccess(
        app_id=known.app_id,
        installation_id=known.installation_id,
        account_id=known.account_id,
        repository_ids=known.repository_ids,
        permissions=permissions,
    )
    return Viewer(user=user, app=access)


def ask(world: World, permissions: dict[str, str], method: str, path: str, body: object) -> int:
    viewer = bot(world, permissions)
    return Client(world, viewer.user, app=viewer.app).ask(method, path, body).status


@pytest.mark.parametrize(
    ("held", "method", "path", "body"),
    [
        ({"actions_variables": "read"}, "GET", f"{R}/actions/variables", None),
        ({"variables": "read"}, "GET", f"{R}/actions/variables/V", None),
        ({"actions_variables": "write"}, "POST", f"{R}/actions/variables", {"name": "X", "value": "1"}),
        ({"secrets": "read"}, "GET", f"{R}/actions/secrets", None),
        ({"secrets": "write"}, "DELETE", f"{R}/actions/secrets/KEY", None),
        ({"environments": "write"}, "POST", f"{R}/environments/prod/variables", {"name": "X", "value": "1"}),
        ({"environments": "read"}, "GET", f"{R}/environments/prod/variables", None),
        ({"administration": "write"}, "PUT", f"{R}/environments/next", {}),
        ({"administration": "write"}, "POST", f"{R}/rulesets", {"name": "R", "enforcement": "active"}),
        ({"contents": "write"}, "POST", f"{R}/commits/{{sha}}/comments", {"body": "Hello"}),
        ({"deployments": "write"}, "POST", f"{R}/deployments", {"ref": "main"}),
        ({"organization_projects": "read"}, "GET", "/orgs/acme/projectsV2/1", None),
        ({"organization_projects": "write"}, "POST", "/orgs/acme/projectsV2/1/drafts", {"title": "T"}),
    ],
)
def test_an_operation_takes_its_permission(
    world: World, held: dict[str, str], method: str, path: str, body: object
) -> None:
    octo = world.database.one(User, login="octo")
    assert octo is not None
    where = path.replace("{sha}", Client(world, octo).get(f"{R}/commits/main").json()["sha"])

    assert ask(world, EVERYTHING_ELSE, method, where, body) in {403, 404}
    assert ask(world, held, method, where, body) in {200, 201, 204}


def test_a_level_of_read_changes_nothing_and_reads_nothing_elsewhere(world: World) -> None:
    held = {"actions_variables": "read"}

    assert ask(world, held, "POST", f"{R}/actions/variables", {"name": "X", "value": "1"}) == 403
    assert ask(world, held, "GET", "/repos/acme/other/actions/variables", None) == 403


def test_a_project_is_made_by_an_app_for_projects(world: World) -> None:
    owner = Client(world, bot(world, {}).user).get("/orgs/acme").json()["node_id"]
    body = json.dumps({"query": CREATE_PROJECT, "variables": {"i": {"ownerId": owner, "title": "New"}}}).encode()

    refused = execute(world, bot(world, EVERYTHING_ELSE), body, GITHUB_URLS)
    assert "Resource not accessible by integration" in refused.content.decode()
    execute(world, bot(world, {"organization_projects": "write"}), body, GITHUB_URLS)

    assert [one.title for one in world.database.all(Project)] == ["Plan", "New"]
