"""What GitHub's newest descriptions have and the twin lacks is 501 and named; what GitHub lacks is its own error."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from catalogue_script import catalogue_script
from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLInterfaceType, GraphQLObjectType, get_named_type
from rest_world import Client, seeded

from ghx_twin.graphql.documents import Rejected, prepare, published_names
from ghx_twin.graphql.schema import schema
from ghx_twin.rest.catalogue import UNDESCRIBED, documentation_url, known_operations
from ghx_twin.rest.operations import OPERATIONS

LACKED = sorted(set(known_operations()) - {operation.name for operation in OPERATIONS})
VALUES = {"owner": "acme", "repo": "widgets", "org": "acme", "username": "ann", "pull_number": "3", "issue_number": "1"}


@pytest.fixture(scope="module")
def admin() -> Iterator[Client]:
    made = seeded()
    with made.world:
        yield made.client()


def test_every_operation_that_github_has_and_the_twin_lacks_is_named(admin: Client) -> None:
    wrong: list[object] = []
    for operation in LACKED:
        method, _, template = operation.partition(" ")
        path = re.sub(r"\{(\w+)\}", lambda found: VALUES.get(found[1], "1"), template)
        reply = admin.ask(method, path)
        if (reply.status, reply.text and reply.json().get("message")) != (
            501,
            f"{operation} is not implemented by the twin.",
        ):
            wrong.append((operation, reply.status, reply.text[:200]))

    assert len(LACKED) > 500
    assert wrong == []


def test_the_twin_serves_what_github_describes_and_a_little_more() -> None:
    assert {operation.name for operation in OPERATIONS} - set(known_operations()) == set(UNDESCRIBED)


def test_an_operation_that_github_lacks_is_not_found(admin: Client) -> None:
    made_up = ("GET /repos/acme/widgets/made-up", "POST /user/made-up", "GET /enterprises/acme/made-up", "PUT /made-up")

    assert {admin.ask(*each.split(" ")).status for each in made_up} == {404}


def test_an_operation_for_enterprises_leads_to_its_own_page() -> None:
    page = documentation_url("GET /enterprises/{enterprise}/actions/cache/usage")

    assert page.startswith("https://docs.github.com/enterprise-cloud@latest/rest/actions/cache#")


def refused(query: str) -> str | None:
    """Return what of GitHub a document asks for and the twin lacks."""
    found = prepare(query)
    assert isinstance(found, Rejected), query
    return None if found.lacks is None else found.lacks.removesuffix(" is not implemented by the twin")


def objects() -> dict[str, Any]:
    kinds = (GraphQLObjectType, GraphQLInterfaceType)
    return {name: kind for name, kind in schema().type_map.items() if isinstance(kind, kinds) and name[:2] != "__"}


def part(kind: str, selection: str) -> str:
    return f"query {{ viewer {{ login }} }} fragment f on {kind} {{ {selection} }}"


def lacked_fields() -> Iterator[tuple[str, str]]:
    for name, kind in objects().items():
        for field in sorted(set(published_names()["fields"].get(name, {})) - set(kind.fields)):
            if name not in {"Query", "Mutation"}:
                yield part(name, field), f"{name}.{field}"
            else:
                yield f"{name.lower()} {{ {field} }}", f"{name}.{field}"


def lacked_arguments() -> Iterator[tuple[str, str]]:
    for name, kind in objects().items():
        for field, taken in published_names()["fields"].get(name, {}).items():
            for argument in sorted(set(taken) - set(kind.fields[field].args)) if field in kind.fields else ():
                yield part(name, f"{field}({argument}: 1)"), f"{name}.{field}({argument}:)"


def lacked_types() -> Iterator[tuple[str, str]]:
    for name in sorted(set(published_names()["types"]) - set(schema().type_map)):
        is_input = name in published_names()["values"]
        query = f"query($x: {name}) {{ viewer {{ login }} }}" if is_input else part(name, "__typename")
        yield query, name


def lacked_values() -> Iterator[tuple[str, str]]:
    """Yield documents with each missing value of enums and field of inputs, by a field of ours that takes one."""
    done: set[str] = set()
    for name, kind in objects().items():
        for field, entry in kind.fields.items():
            for argument, given in entry.args.items():
                taken = get_named_type(given.type)
                if taken.name in done or not isinstance(taken, GraphQLEnumType | GraphQLInputObjectType):
                    continue
                done.add(taken.name)
                is_enum = isinstance(taken, GraphQLEnumType)
                for value in sorted(
                    set(published_names()["values"].get(taken.name, ()))
                    - set(taken.values if is_enum else taken.fields)
                ):
                    literal = value if is_enum else f"{{{value}: 1}}"
                    yield part(name, f"{field}({argument}: {literal})"), f"{taken.name}.{value}"


@pytest.mark.parametrize("lacked", [lacked_fields, lacked_arguments, lacked_types, lacked_values])
def test_every_name_of_the_schema_that_the_twin_lacks_is_named(lacked: Any) -> None:
    every = list(lacked())
    sample = every[:: max(1, len(every) // 300)]  # a document takes a millisecond
    wrong = [(query, expected, found) for query, expected in sample if (found := refused(query)) != expected]

    assert sample
    assert wrong == []


@pytest.mark.parametrize(
    "query",
    [
        "{ madeUp }",
        part("Issue", "madeUp"),
        part("MadeUp", "__typename"),
        part("Issue", "comments(first: 1, madeUp: 1) { totalCount }"),
        "query($x: MadeUpInput) { viewer { login } }",
        '{ search(query: "x", type: MADE_UP, first: 1) { issueCount } }',
        "mutation { addComment(input: {madeUp: 1}) { clientMutationId } }",
    ],
)
def test_a_name_that_github_lacks_is_its_own_error(query: str) -> None:
    assert refused(query) is None


def test_a_newer_description_is_taken_in_and_what_changed_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = catalogue_script()
    for name in ("OPERATIONS", "NAMES"):
        copy = tmp_path / getattr(script, name).name
        copy.write_bytes(getattr(script, name).read_bytes())
        monkeypatch.setattr(script, name, copy)
    rest, graphql = tmp_path / "rest.json", tmp_path / "new.graphql"
    page = {"externalDocs": {"url": "https://docs.github.com/rest/new#page"}}
    rest.write_text(json.dumps({"paths": {"/new": {"get": page}, "/zen": {"get": page}}}), encoding="utf-8")
    graphql.write_text("type Query { brandNew(one: Int): String }", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["", "--rest", str(rest), "--graphql", str(graphql)])

    assert script.main() == 0

    told = capsys.readouterr().out.splitlines()
    assert {"+ # rest.json", "+ GET /new", "- GET /versions", "+ Query.brandNew(one:)", "- Issue.title"} <= set(told)
    assert "- GET /zen" not in told
    assert script.OPERATIONS.read_text(encoding="utf-8").splitlines() == [
        "# rest.json",
        "GET /new new#page",
        "GET /zen new#page",
    ]
    assert json.loads(script.NAMES.read_text(encoding="utf-8"))["fields"] == {"Query": {"brandNew": ["one"]}}

    monkeypatch.setattr(sys, "argv", [*sys.argv, "--check"])
    assert script.main() == 0
    rest.write_text(json.dumps({"paths": {}}), encoding="utf-8")
    assert script.main() == 1


def test_a_description_that_is_not_there_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["", "--rest", str(tmp_path / "none.json")])

    with pytest.raises(SystemExit) as caught:
        catalogue_script().main()

    assert re.match(r"npm is not installed|@octokit/openapi: npm has no version /", str(caught.value))
