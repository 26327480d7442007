"""What refers to a private repository: strangers do not see it, and nothing of it stays when the repository goes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from rest_world import Client
from seeds import rich_world, world_of

from ghx_twin.graphql.execution import execute
from ghx_twin.seed.exporting import export_seed
from ghx_twin.state.records import (
    Deployment,
    Installation,
    Issue,
    ProjectField,
    ReleaseAsset,
    Repository,
    Secret,
    User,
    Variable,
)
from ghx_twin.urls import GITHUB_URLS
from ghx_twin.viewer import Viewer
from ghx_twin.world import World

SEED = """
version: 1
users: [{login: octo}, {login: eve}]
organizations:
  - login: acme
    members: {octo: admin}
    variables: [{name: REGION, value: eu, visibility: selected, selected_repositories: [acme/pub, acme/secret]}]
    secrets: [{name: KEY, visibility: selected, selected_repositories: [acme/secret]}]
apps:
  - {slug: fixer, owner: acme, installations: [{account: acme, repositories: [acme/pub, acme/secret]}]}
repositories:
  - name: acme/secret
    visibility: private
    files: {a.txt: a}
    issues: [{number: 1, title: Hidden plan}, {number: 2, title: Hidden part}]
  - name: acme/pub
    files: {a.txt: a}
    releases:
      - {tag_name: v2, draft: true, assets: [{name: b.txt, content: not yet}, {name: c.txt, content: a}]}
    issues:
      - {number: 1, title: Open one, parent: "acme/secret#1", blocked_by: ["acme/secret#1"]}
      - {number: 2, title: Same, state: closed, state_reason: duplicate, duplicate_of: "acme/secret#1"}
projects:
  - {owner: acme, title: Pub, public: true, items: [{content: "acme/pub#1"}, {content: "acme/secret#1"}]}
"""
ISSUE = "/repos/acme/pub/issues/1"


@pytest.fixture
def world() -> Iterator[World]:
    with world_of(SEED) as made:
        yield made


def person(world: World, login: str) -> User:
    found = world.database.one(User, login=login)
    assert found is not None
    return found


def client(world: World, login: str) -> Client:
    return Client(world, person(world, login))


def ask(world: World, login: str, query: str, **variables: Any) -> Any:
    body = json.dumps({"query": query, "variables": variables}).encode()
    answer = json.loads(execute(world, Viewer(user=person(world, login)), body, GITHUB_URLS).content)
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


def connect_hidden_pull(world: World) -> None:
    """Open a pull request in the private repository from a branch made for the public issue."""
    octo, secret = client(world, "octo"), world.database.one(Repository, name="secret")
    assert secret is not None
    wanted = {
        "issueId": octo.get(ISSUE).json()["node_id"],
        "repositoryId": octo.get("/repos/acme/secret").json()["node_id"],
        "oid": world.git(secret).ref("refs/heads/main"),
        "name": "fix",
    }
    ask(
        world,
        "octo",
        "mutation($i: CreateLinkedBranchInput!) { createLinkedBranch(input: $i) { linkedBranch { id } } }",
        i=wanted,
    )
    change = {"message": "Fix", "content": "eg==", "branch": "fix"}
    assert octo.ask("PUT", "/repos/acme/secret/contents/z.txt", change).status == 201
    opened = octo.ask("POST", "/repos/acme/secret/pulls", {"title": "Hush", "head": "fix", "base": "main"})
    assert opened.status == 201


CLOSING = '{ repository(owner: "acme", name: "pub") { issue(number: 1) { closedByPullRequestsReferences(first: 3) { \
nodes { title } } } } }'
LINKED = '{ organization(login: "acme") { projectV2(number: 1) { items(first: 1) { nodes { \
fieldValueByName(name: "Linked pull requests") { ... on ProjectV2ItemFieldPullRequestValue { \
pullRequests(first: 3) { nodes { title } } } } } } } } }'
CONNECTED = '{ repository(owner: "acme", name: "pub") { issue(number: 1) { \
timelineItems(first: 9, itemTypes: CONNECTED_EVENT) { nodes { ... on ConnectedEvent { \
subject { ... on PullRequest { title } } } } } } } }'


@pytest.mark.parametrize(("login", "seen"), [("octo", True), ("eve", False)])
def test_a_pull_request_that_closes_an_issue_is_shown_to_who_sees_its_repository(
    world: World, login: str, seen: bool
) -> None:
    connect_hidden_pull(world)
    field = world.database.one(ProjectField, name="Linked pull requests")
    assert field is not None

    closing = ask(world, login, CLOSING)["repository"]["issue"]["closedByPullRequestsReferences"]["nodes"]
    linked = ask(world, login, LINKED)["organization"]["projectV2"]["items"]["nodes"][0]["fieldValueByName"]
    item = client(world, login).get(f"/orgs/acme/projectsV2/1/items?fields={field.id}").json()[0]

    assert closing == ([{"title": "Hush"}] if seen else [])
    assert linked == ({"pullRequests": {"nodes": closing}} if seen else None)
    assert [one["title"] for one in item["fields"][0]["value"]] == (["Hush"] if seen else [])


def test_a_connection_is_in_the_timeline_while_the_viewer_sees_the_pull_request(world: World) -> None:
    connect_hidden_pull(world)

    def connections(login: str) -> list[Any]:
        found = ask(world, login, CONNECTED)["repository"]["issue"]["timelineItems"]["nodes"]
        events = client(world, login).get(f"{ISSUE}/timeline").json()
        assert len(found) == sum(one["event"] == "connected" for one in events)
        return found

    assert connections("octo") == [{"subject": {"title": "Hush"}}]
    assert connections("eve") == []
    assert client(world, "octo").ask("DELETE", "/repos/acme/secret").status == 204
    assert connections("octo") == []


SUMMARIES = '{ repository(owner: "acme", name: "pub") { issue(number: 1) { parent { title } \
subIssuesSummary { total completed percentCompleted } \
issueDependenciesSummary { blockedBy totalBlockedBy blocking totalBlocking } } } }'


@pytest.mark.parametrize(("login", "seen"), [("octo", 1), ("eve", 0)])
def test_parents_parts_and_dependencies_count_where_the_viewer_sees_them(world: World, login: str, seen: int) -> None:
    octo, asker = client(world, "octo"), client(world, login)
    part = octo.get("/repos/acme/secret/issues/2").json()["id"]
    assert octo.ask("POST", f"{ISSUE}/sub_issues", {"sub_issue_id": part}).status == 201

    rest = asker.get(ISSUE).json()
    graphql = ask(world, login, SUMMARIES)["repository"]["issue"]

    assert rest.get("parent_issue_url", "").endswith("/repos/acme/secret/issues/1") == bool(seen)
    assert (graphql["parent"] is not None) == bool(seen)
    assert rest["sub_issues_summary"] == {"total": seen, "completed": 0, "percent_completed": 0}
    assert list(graphql["subIssuesSummary"].values()) == [seen, 0, 0]
    assert list(rest["issue_dependencies_summary"].values()) == [seen, seen, 0, 0]
    assert list(graphql["issueDependenciesSummary"].values()) == [seen, seen, 0, 0]
    for word in ("has:parent-issue", "has:sub-issue", "is:blocked"):
        found = asker.get(f"/search/issues?q=repo:acme/pub+is:issue+{word}").json()
        assert found["total_count"] == seen, word


def test_a_deleted_repository_stays_in_nothing_that_named_it(world: World) -> None:
    octo, database = client(world, "octo"), world.database
    kept = octo.get("/repos/acme/pub").json()["id"]

    assert octo.ask("DELETE", "/repos/acme/secret").status == 204

    assert [(one.parent_id, one.duplicate_of_id) for one in database.all(Issue)] == [(None, None), (None, None)]
    assert [one.selected_repository_ids for one in database.all(Variable)] == [(kept,)]
    assert [one.selected_repository_ids for one in database.all(Secret)] == [()]
    assert [one.repository_ids for one in database.all(Installation)] == [(kept,)]
    assert octo.get("/search/issues?q=is:issue+has:parent-issue").json()["total_count"] == 0
    exported = export_seed(world)
    with world_of(exported) as again:
        assert export_seed(again) == exported


def test_a_deployment_outlives_the_run_that_made_it() -> None:
    with rich_world() as world:
        deployment = next(one for one in world.database.all(Deployment) if one.run_id is not None)
        path = f"/repos/acme/widgets/actions/runs/{deployment.run_id}"

        assert client(world, "octo").ask("POST", f"{path}/force-cancel").status == 202
        assert client(world, "octo").ask("DELETE", path).status == 204

        assert [one.run_id for one in world.database.all(Deployment, id=deployment.id)] == [None]


def test_a_file_of_a_release_is_no_object_of_its_repository(world: World) -> None:
    eve = client(world, "eve")
    query = 'query($oid: GitObjectID) { repository(owner: "acme", name: "pub") { object(oid: $oid) { oid } } }'

    def is_found(name: str) -> bool:
        asset = world.database.one(ReleaseAsset, name=name)
        assert asset is not None
        found = eve.get(f"/repos/acme/pub/git/blobs/{asset.blob_sha}").status == 200
        shown = ask(world, "eve", query, oid=asset.blob_sha)["repository"]["object"]
        assert (shown is not None) == found
        return found

    assert not is_found("b.txt")
    assert is_found("c.txt")  # the same content is in a file of the repository
