"""The requests that MCP servers make are answered, save for those that the table says are not."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphql import parse
from graphql_world import Town, build_town, live_through
from rest_cases import CASES
from rest_world import Seeded, seeded

from ghx_twin.commands import issues
from ghx_twin.commands.pulls import pulls, reviews
from ghx_twin.commands.repositories import refs
from ghx_twin.queries.repositories import comparison
from ghx_twin.rest.catalogue import known_operation
from ghx_twin.rest.operations import OPERATIONS
from ghx_twin.state.records import Label, Project, ProjectStatusUpdate, Thread

TABLE = yaml.safe_load((Path(__file__).parents[3] / "tests" / "data" / "mcp_requests.yaml").read_text(encoding="utf-8"))
NPM = {request for requests in TABLE["npm"].values() for request in requests}
GO = {request for tools in TABLE["go"].values() for requests in tools.values() for request in requests}
REST = sorted(request for request in NPM | GO if " " in request)
SERVED = {operation.name for operation in OPERATIONS}


def spelled_out(request: str) -> str:
    return re.sub(r" R\b", " /repos/{owner}/{repo}", request)


@pytest.fixture(scope="module")
def rest_world() -> Iterator[Seeded]:
    made = seeded()
    with made.world:
        yield made


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    town = build_town()
    live_through(town)
    with town.world:
        yield town


@pytest.mark.parametrize("request_", REST)
def test_a_request_of_rest_is_granted_or_on_the_list_of_what_is_missing(request_: str, rest_world: Seeded) -> None:
    name = spelled_out(request_)
    method, _, template = name.partition(" ")
    if request_ in TABLE["missing"]:
        assert name not in SERVED, "it is served now: take it off the list"
        path = re.sub(r"\{[^}]*\}", "1", template.replace("{owner}/{repo}", "acme/widgets").replace("{org}", "acme"))
        assert rest_world.client().ask(method, path).status == 501
        return
    call = CASES[name][0]
    with rest_world.world.fork() as world:
        client = Seeded(world, rest_world.people, rest_world.ids, rest_world.shas).client(call.user)
        names = {**rest_world.ids, **rest_world.shas}
        path = call.path.replace("R", "/repos/acme/widgets", 1) if call.path.startswith("R") else call.path
        reply = client.ask(method, path.format_map(names), fill(call.body, names), accept=call.accept)
    assert 200 <= reply.status < 400, reply.text[:500]  # logs are behind a redirect


@pytest.mark.parametrize("name", sorted(TABLE["documents"]))
def test_a_document_is_answered_or_on_the_list_of_what_is_missing(name: str, town: Town) -> None:
    document = TABLE["documents"][name]
    with town.world.fork() as world:
        here = Town(world, town.people)
        update = world.database.all(ProjectStatusUpdate)[0]
        values = {**VARIABLES, "ids": [here.id(here.issue(1))], "status_update": here.id(update)}
        if name in TABLE["inputs"]:
            values["input"] = fill(TABLE["inputs"][name], ids_of(here))
        answer = here.ask(document, {key: values[key] for key in declared(document)})

    if name in TABLE["missing"]:
        assert answer.status == 501, ("it is answered now: take it off the list", answer.body)
    else:
        assert answer.data


def test_every_document_is_used_and_every_name_on_the_list_of_missing_things_is_known() -> None:
    assert {request for request in GO if " " not in request} == set(TABLE["documents"])
    assert set(TABLE["inputs"]) == {name for name, text in TABLE["documents"].items() if text.startswith("mutation")}
    assert set(TABLE["missing"]) <= NPM | GO
    for request in set(REST) - {"GET R/git/refs/{ref}"}:  # an old form, which GitHub still serves
        method, _, template = spelled_out(request).partition(" ")
        assert known_operation(method, re.sub(r"\{[^}]*\}", "1", template)) is not None, request


VARIABLES: dict[str, Any] = {
    "owner": "acme", "repo": "widgets", "org": "acme", "team": "core-team", "login": "octo", "label": "bug",
    "number": 1, "other": 2, "pull": 7, "path": "poem.txt", "states": ["OPEN", "CLOSED"], "labels": ["bug"],
    "since": "2020-01-01T00:00:00Z", "filters": [], "project": 1,
}  # fmt: skip


def declared(document: str) -> list[str]:
    """Return the variables that a document declares."""
    operation: Any = parse(document).definitions[0]
    return [each.variable.name.value for each in operation.variable_definitions or ()]


def ids_of(town: Town) -> dict[str, str]:
    """Return the node ids of what the inputs of mutations name; some of it is made for that."""
    home, pull, issue = town.repository, town.pull(), town.issue(1)
    with town.acting() as act:
        closed = issues.close(act, issues.create(act, home, title="Closed"))
        pending = reviews.create(act, pull, event=None, body="Still reading")
        refs.create(act, home, ref="refs/heads/sketch", sha=pull.head_sha)
        draft = pulls.create(act, home, title="Sketch", head="sketch", base="main", draft=True)
    thread = town.world.database.all(Thread, pull_id=pull.id)[0]
    label = town.world.database.all(Label, repository_id=home.id, name="bug")[0]
    project = town.world.database.all(Project, owner_id=town.people["acme"].id)[0]
    records = {
        "repository": home, "pull": pull, "issue": issue, "closed_issue": closed, "pending": pending, "thread": thread,
        "label": label, "draft": draft, "organization": town.people["acme"], "project": project,
    }  # fmt: skip
    changed = comparison.files(town.world, pull)[0].path
    return {**{name: town.id(record) for name, record in records.items()}, "path": changed}


def fill(body: Any, names: dict[str, Any]) -> Any:
    if isinstance(body, str) and body.startswith("{"):
        return names[body[1:-1]]
    if isinstance(body, dict):
        return {key: fill(value, names) for key, value in body.items()}
    return [fill(value, names) for value in body] if isinstance(body, list) else body
