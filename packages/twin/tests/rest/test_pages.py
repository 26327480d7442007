"""Pages of long lists: no more is read for one than it shows."""

import json
from collections.abc import Generator
from typing import Any

import pytest
from asgi_client import AsgiClient

from ghx_twin.commands import issues, repositories, users
from ghx_twin.commands.actions import workflow_runs, workflows
from ghx_twin.commands.issues import comments, labels, milestones
from ghx_twin.commands.repositories import contents
from ghx_twin.server.hosting import Hosting
from ghx_twin.state import database
from ghx_twin.state.records import User
from ghx_twin.world import World

pytestmark = pytest.mark.slow

FEW, MANY = 20, 200
HOME = "/repos/ann/home"
LISTS = (
    f"{HOME}/issues",
    f"{HOME}/issues?state=all&sort=updated&direction=asc&page=2",
    f"{HOME}/issues?sort=comments",
    f"{HOME}/issues?labels=bug-like",
    f"{HOME}/issues/comments",
    f"{HOME}/issues/events",
    f"{HOME}/issues/1/comments",
    f"{HOME}/issues/1/events",
    f"{HOME}/labels",
    f"{HOME}/milestones",
    f"{HOME}/milestones?state=all&sort=completeness&direction=desc",
    f"{HOME}/actions/runs",
    f"{HOME}/actions/runs?status=success&actor=ann&event=push&page=2",
    f"{HOME}/pulls?state=all",
    f"{HOME}/pulls/comments",
    "/issues?filter=all",
    "/users",
)
CONNECTIONS = (
    "issues(first: 5) { totalCount nodes { title } }",
    "issues(last: 5, orderBy: {field: UPDATED_AT, direction: ASC}) { nodes { title comments { totalCount } } }",
    "issue(number: 1) { comments(first: 5) { totalCount nodes { body } } }",
    "labels(first: 5) { totalCount nodes { name } }",
    'labels(first: 5, query: "label", orderBy: {field: NAME, direction: DESC}) { totalCount nodes { name } }',
    "milestones(first: 5, states: OPEN, orderBy: {field: DUE_DATE, direction: ASC}) { totalCount nodes { title } }",
    'milestones(last: 5, query: "soon") { nodes { title } }',
    'mentionableUsers(first: 5, query: "user") { totalCount nodes { login } }',
    "owner { ... on User { issues(first: 5) { totalCount nodes { title } } } }",
)


def long_world(length: int) -> World:
    world = World.create()
    with world.acting(None) as act:
        ann = users.create_user(act, login="ann")
        home = repositories.create(act, owner=ann, name="home")
        first = issues.create(act, home, title="first")
        bug = labels.create(act, home, name="bug-like")
        sha = contents.put(act, home, path="a", content=b"a", message="Begin").commit.sha
        workflow = workflows.create_or_update(act, home, name="CI")
        for number in range(length):
            user = users.create_user(act, login=f"user-{number}")
            act.database.update(issues.create(act, home, title=f"by user {number}"), author_id=user.id)
            milestones.create(act, home, title=f"Soon {number}")
            workflow_runs.create(act, workflow, sha=sha, conclusion="success")
            labels.create(act, home, name=f"label {number}")
            made = issues.create(act, home, title=f"issue {number}")
            issues.set_labels(act, made, [bug])
            comments.create(act, made, "same as the first")
            comments.create(act, first, f"comment {number}")
            issues.set_labels(act, first, [bug] if number % 2 else [])
    return world


@pytest.fixture(scope="module")
def worlds() -> Generator[tuple[World, World]]:
    with long_world(FEW) as few, long_world(MANY) as many:
        yield few, many


@pytest.fixture
def read_records(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets every record that is read from a table."""
    found, read = list[Any](), database.row_to_record

    def row_to_record(*arguments: Any) -> Any:
        found.append(read(*arguments))
        return found[-1]

    monkeypatch.setattr(database, "row_to_record", row_to_record)
    return found


def count_reads(world: World, path: str, body: bytes, read: list[Any]) -> int:
    """Return how many records one request reads from a world in which none was read before."""
    hosting = Hosting()
    client = AsgiClient(hosting)
    with world.fork() as fork:
        token = hosting.issue_token(fork, fork.database.all(User, login="ann")[0])
        read.clear()
        target, _, query = path.partition("?")
        query += "&per_page=5" if query else "per_page=5"
        reply = client.ask("POST" if body else "GET", target.encode(), token=token, query=query.encode(), body=body)
    client.close()
    assert reply.status == 200, reply.content
    assert b'"errors"' not in reply.content
    return len(read)


@pytest.mark.parametrize("path", LISTS)
def test_a_page_of_a_list_reads_the_same_from_ten_times_as_many(
    worlds: tuple[World, World], read_records: list[Any], path: str
) -> None:
    few, many = (count_reads(world, path, b"", read_records) for world in worlds)

    assert few == many


@pytest.mark.parametrize("field", CONNECTIONS)
def test_a_page_of_a_connection_reads_the_same_from_ten_times_as_many(
    worlds: tuple[World, World], read_records: list[Any], field: str
) -> None:
    body = json.dumps({"query": f'{{ repository(owner: "ann", name: "home") {{ {field} }} }}'}).encode()
    few, many = (count_reads(world, "/graphql", body, read_records) for world in worlds)

    assert few == many


def test_an_older_file_gets_the_indexes_of_long_lists(tmp_path: Any) -> None:
    with World.create(tmp_path / "kept") as world:
        names = world.database._connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'issues_repo%'")
        made = {name for (name,) in names}
        for name in made - {"issues_repository_id_number"}:
            world.database._connection.execute(f'DROP INDEX "{name}"')
        world.database._connection.execute("DROP INDEX changes_of")
    with World.create(tmp_path / "kept") as world:
        again = world.database._connection.execute("SELECT name FROM sqlite_master")
        assert {name for (name,) in again} >= {*made, "changes_of"}
        assert len(made) == 5
