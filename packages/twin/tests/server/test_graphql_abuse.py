"""GraphQL that asks for too much, or is none: an answer with errors, soon, and the server goes on serving."""

import json
from typing import Any

import httpx2
import pytest

pytestmark = pytest.mark.slow


def ask(client: httpx2.Client, query: str, **variables: object) -> dict[str, Any]:
    reply = client.post("/graphql", json={"query": query, "variables": variables})
    assert reply.status_code == 200
    return reply.json()


def refused(client: httpx2.Client, query: str, **variables: object) -> list[dict[str, Any]]:
    """Return the errors of a query that is not executed."""
    answer = ask(client, query, **variables)
    assert "data" not in answer
    assert all(error["message"] for error in answer["errors"])
    assert client.get("/user").status_code == 200
    return answer["errors"]


@pytest.mark.parametrize("depth", [30, 200, 5000, 100_000])
def test_a_query_that_is_too_deep_is_refused(client: httpx2.Client, depth: int) -> None:
    query = '{ repository(owner: "acme", name: "widgets") ' + "{ parent " * depth + "{ id }" + " }" * depth + " }"

    refused(client, query)


def test_introspection_in_circles_is_refused(client: httpx2.Client) -> None:
    circle = "{ fields { type " * 20 + "{ name }" + " } }" * 20

    refused(client, f'{{ __type(name: "Query") {circle} }}')


def test_a_whole_introspection_is_answered(client: httpx2.Client) -> None:
    answer = ask(client, "{ __schema { types { name fields { name type { name } args { name } } } } }")

    assert "errors" not in answer
    assert "PullRequest" in {one["name"] for one in answer["data"]["__schema"]["types"]}


@pytest.mark.slow
def test_thousands_of_aliases_are_refused(client: httpx2.Client) -> None:
    aliases = " ".join(f"a{number}: viewer {{ login }}" for number in range(6000))

    refused(client, f"{{ {aliases} }}")


def test_hundreds_of_aliases_are_answered(client: httpx2.Client) -> None:
    aliases = " ".join(f"a{number}: viewer {{ login }}" for number in range(300))

    assert len(ask(client, f"{{ {aliases} }}")["data"]) == 300


@pytest.mark.parametrize("first", [101, 10**6, 2**31 - 1, -1])
def test_a_page_that_is_too_large_is_refused(client: httpx2.Client, first: int) -> None:
    query = "query($n: Int) { viewer { repositories(first: $n) { nodes { name } } } }"

    answer = ask(client, query, n=first)

    assert answer["errors"]
    assert answer.get("data") in ({"viewer": None}, {"viewer": {"repositories": None}}, None)


@pytest.mark.parametrize("first", [2**31, 2**63, 10**400, 1.5, "1", [1], {"a": 1}, True])
def test_a_page_size_that_is_no_int_is_refused(client: httpx2.Client, first: object) -> None:
    refused(client, "query($n: Int!) { viewer { repositories(first: $n) { nodes { name } } } }", n=first)


def test_pages_inside_pages_that_make_too_many_nodes_are_refused(client: httpx2.Client) -> None:
    inner = "issues(first: 100) { nodes { comments(first: 100) { nodes { reactions(first: 100) { nodes { id } } } } } }"

    errors = refused(client, f"{{ viewer {{ repositories(first: 100) {{ nodes {{ {inner} }} }} }} }}")

    assert errors[0]["type"] == "MAX_NODE_LIMIT_EXCEEDED"


def test_a_bomb_of_fragments_is_refused(client: httpx2.Client) -> None:
    fragments = [f"fragment f{n} on User {{ ...f{n + 1} ...f{n + 1} }}" for n in range(60)]
    fragments.append("fragment f60 on User { login }")

    refused(client, "{ viewer { ...f0 } } " + " ".join(fragments))


def test_fragments_in_a_circle_are_refused(client: httpx2.Client) -> None:
    refused(client, "{ viewer { ...a } } fragment a on User { ...b } fragment b on User { ...a }")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "{",
        "}",
        "{ viewer { login }",
        "{ nothing }",
        "\0",
        "#" * 10_000,
        "{ viewer { login } }" * 2000,
        "query " * 1000,
        '{ user(login: "' + "a" * 2_000_000 + '") { id } }',
        "{ viewer { login @skip(if: 7) } }",
        "{ viewer { login @no_such_directive } }",
        "subscription { x }",
        "mutation { }",
        "{ viewer(x: " + "[" * 5000 + "]" * 5000 + ") { id } }",
        "query(" + " ".join(f"$v{n}: Int" for n in range(5000)) + ") { viewer { id } }",
        "\N{SNOWMAN}",
        "type A { b: Int }",
    ],
)
def test_what_is_no_query_is_refused(client: httpx2.Client, query: str) -> None:
    refused(client, query)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"query": "\\ud800"}', b"[" * 100_000, b"{}", b"[]", b"7"])
def test_what_is_no_request_is_refused(client: httpx2.Client, content: bytes) -> None:
    reply = client.post("/graphql", content=content)

    assert reply.status_code in {200, 400}
    assert reply.json().get("errors") or reply.json()["message"]


@pytest.mark.parametrize("depth", [100, 900, 990, 5000])
def test_deep_json_in_variables_is_answered(client: httpx2.Client, depth: int) -> None:
    nested = "[" * depth + '"\\u00e9"' + "]" * depth
    content = f'{{"query": "query($v: [Int]) {{ viewer {{ login }} }}", "variables": {{"v": {nested}}}}}'.encode()

    reply = client.post("/graphql", content=content)

    assert reply.status_code in {200, 400}
    assert client.get("/user").status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/graphql", "/api/graphql"])
def test_graphql_is_for_post_only(client: httpx2.Client, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 404


@pytest.mark.parametrize("text", ["'; DROP TABLE users; --", "../../etc/passwd", "\0", "%", "_", "a" * 200])
def test_an_injection_in_a_variable_finds_nothing(client: httpx2.Client, text: str) -> None:
    query = """query($s: String!, $id: ID!) {
      user(login: $s) { id } repository(owner: $s, name: $s) { id } node(id: $id) { id }
      mine: repository(owner: "acme", name: "widgets") { label(name: $s) { id } ref(qualifiedName: $s) { id }
        object(expression: $s) { id } }
      search(query: $s, type: ISSUE, first: 5) { issueCount }
    }"""

    answer = ask(client, query, s=text, id=text)

    assert answer["data"]["user"] is None
    assert answer["data"]["repository"] is None
    assert answer["data"]["node"] is None
    assert answer["data"]["mine"] == {"label": None, "ref": None, "object": None}


def test_a_mutation_of_many_fields_is_done_in_order(client: httpx2.Client) -> None:
    home = ask(client, '{ repository(owner: "acme", name: "widgets") { id } }')["data"]["repository"]["id"]
    fields = " ".join(
        f'm{n}: createIssue(input: {{repositoryId: $id, title: "{n}"}}) {{ issue {{ number }} }}' for n in range(50)
    )

    answer = ask(client, f"mutation($id: ID!) {{ {fields} }}", id=home)

    numbers = [answer["data"][f"m{n}"]["issue"]["number"] for n in range(50)]
    assert numbers == list(range(numbers[0], numbers[0] + 50))


def test_json_in_a_query_string_is_not_taken_for_a_request(client: httpx2.Client) -> None:
    query = json.dumps({"query": "{ viewer { login } }"})

    assert client.post("/graphql", params={"query": query}).status_code == 400
