"""Requests that GitHub refuses are refused in its words, cheaply, and never with a fault."""

import json
from typing import Any

import pytest
from graphql import get_introspection_query
from graphql_world import Town

from ghx_twin.graphql.schema import schema

WIDGETS = 'repository(owner: "acme", name: "widgets")'


def test_a_body_that_is_no_json_is_refused(town: Town) -> None:
    answer = town.post(b'{"query": ')

    assert (answer.status, answer.body["message"]) == (400, "Problems parsing JSON")


@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b'"x"', b'{"query": 7}', b'{"query": ""}', b'{"query": "  "}'])
def test_a_body_without_a_query_is_refused(town: Town, body: bytes) -> None:
    answer = town.post(body)

    assert answer.errors == [{"message": "A query attribute must be specified and must be a string."}]
    assert "data" not in answer.body


def test_a_document_that_is_no_graphql_has_errors_and_no_data(town: Town) -> None:
    answer = town.ask("{ viewer { login }")

    assert answer.status == 200
    assert "data" not in answer.body
    assert answer.errors[0]["message"] == 'Expected NAME, actual: (none) ("") at [1, 19]'
    assert answer.errors[0]["locations"] == [{"line": 1, "column": 19}]


def test_a_field_that_github_lacks_is_undefined(town: Town) -> None:
    answer = town.ask("query Mine { viewer { lgin } }")

    assert answer.errors == [
        {
            "path": ["query Mine", "viewer", "lgin"],
            "extensions": {"code": "undefinedField", "typeName": "User", "fieldName": "lgin"},
            "locations": [{"line": 1, "column": 23}],
            "message": "Field 'lgin' doesn't exist on type 'User'",
        }
    ]
    assert "data" not in answer.body


@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("{ viewer { sponsorsListing { id } } }", "User.sponsorsListing"),
        ("{ securityAdvisory(ghsaId: 1) { id } }", "Query.securityAdvisory"),
        ("mutation { followUser(input: {}) { clientMutationId } }", "Mutation.followUser"),
        (
            f"{{ {WIDGETS} {{ issues(first: 1, filterBy: {{viewerSubscribed: true}}) {{ totalCount }} }} }}",
            "IssueFilters.viewerSubscribed",
        ),
        ('{ search(query: "x", type: DISCUSSION, first: 1) { discussionCount } }', "SearchType.DISCUSSION"),
        ('{ node(id: "x") { ... on Discussion { title } } }', "Discussion"),
        (f"{{ {WIDGETS} {{ forks(first: 1, isLocked: true) {{ totalCount }} }} }}", "Repository.forks(isLocked:)"),
    ],
)
def test_what_github_has_and_the_twin_lacks_is_named(town: Town, query: str, missing: str) -> None:
    answer = town.ask(query)

    assert answer.status == 501
    assert answer.body["message"] == f"{missing} is not implemented by the twin"
    assert answer.raw.failed


def test_a_value_in_a_variable_that_the_twin_lacks_is_named(town: Town) -> None:
    query = 'query($kind: SearchType!) { search(query: "x", type: $kind, first: 1) { issueCount } }'

    answer = town.ask(query, {"kind": "DISCUSSION"})

    assert (answer.status, answer.body["message"]) == (501, "SearchType.DISCUSSION is not implemented by the twin")


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            "{ viewer }",
            "selectionMismatch",
            (
                "Field must have selections (field 'viewer' returns User but has no selections. "
                "Did you mean 'viewer { ... }'?)"
            ),
        ),
        (
            "{ viewer { login { x } } }",
            "selectionMismatch",
            ("Selections can't be made on scalars (field 'login' returns String! but has selections [\"x\"])"),
        ),
        ("{ viewer(x: 1) { login } }", "argumentNotAccepted", "Field 'viewer' doesn't accept argument 'x'"),
        (
            "{ repository(owner: 1) { id } }",
            "missingRequiredArguments",
            "Field 'repository' is missing required arguments: name",
        ),
        (
            f'{{ {WIDGETS} {{ issue(number: "1") {{ id }} }} }}',
            "argumentLiteralsIncompatible",
            ("Argument 'number' on Field 'issue' has an invalid value (\"1\"). Expected type 'Int!'."),
        ),
        (
            'mutation { createIssue(input: {repositoryId: "R_x"}) { clientMutationId } }',
            "missingRequiredInputObjectAttribute",
            "Argument 'title' on InputObject 'CreateIssueInput' is required. Expected type String!",
        ),
        ("query Q { user(login: $x) { id } }", "variableNotDefined", "Variable $x is used by Q but not declared"),
        ("query Q($x: Int) { viewer { id } }", "variableNotUsed", "Variable $x is declared by Q but not used"),
        ("{ ...f }", "useAndDefineFragment", "Fragment f was used, but not defined"),
        ("{ viewer { id } } fragment f on User { id }", "useAndDefineFragment", "Fragment f was defined, but not used"),
        (
            "{ viewer { ... on Nothing { id } } }",
            "undefinedType",
            "No such type Nothing, so it can't be a fragment condition",
        ),
        ("{ viewer { ...f } } fragment f on User { ...f }", "infiniteLoop", "Fragment f contains an infinite loop"),
    ],
)
def test_mistakes_are_told_in_githubs_words(town: Town, query: str, code: str, message: str) -> None:
    answer = town.ask(query)

    assert answer.status == 200
    assert (code, message) in [
        (one["extensions"]["code"], one["message"]) for one in answer.errors if "extensions" in one
    ]


def test_everything_that_an_input_lacks_is_told_and_where(town: Town) -> None:
    answer = town.ask("mutation { createIssue(input: {}) { clientMutationId } }")

    assert [(one["extensions"]["argumentName"], one["path"]) for one in answer.errors] == [
        ("repositoryId", ["mutation", "createIssue", "input", "repositoryId"]),
        ("title", ["mutation", "createIssue", "input", "title"]),
    ]


def test_a_variable_of_the_wrong_type_is_told_in_githubs_words(town: Town) -> None:
    query = (
        'query($owner: String!, $n: Int!) { repository(owner: $owner, name: "widgets") { issue(number: $n) { id } } }'
    )

    wrong = town.ask(query, {"owner": "acme", "n": "1"})
    absent = town.ask(query, {"n": 1})

    assert wrong.errors[0]["message"] == "Variable $n of type Int! was provided invalid value"
    assert wrong.errors[0]["extensions"]["value"] == "1"
    assert absent.errors[0]["message"] == "Variable $owner of type String! was provided invalid value"
    assert absent.errors[0]["extensions"]["problems"] == [{"path": [], "explanation": "Expected value to not be null"}]
    assert "data" not in wrong.body


def test_what_is_not_there_is_null_with_an_error(town: Town) -> None:
    answer = town.ask(f"{{ viewer {{ login }} {WIDGETS} {{ name pullRequest(number: 99) {{ id }} }} }}")

    assert answer.body["data"] == {"viewer": {"login": "octo"}, "repository": {"name": "widgets", "pullRequest": None}}
    assert answer.errors == [
        {
            "type": "NOT_FOUND",
            "path": ["repository", "pullRequest"],
            "locations": [{"line": 1, "column": 70}],
            "message": "Could not resolve to a PullRequest with the number of 99.",
        }
    ]


def test_user_and_organization_are_told_apart(town: Town) -> None:
    query = "query($l: String!) { user(login: $l) { login } organization(login: $l) { login } }"

    person, group = town.ask(query, {"l": "octo"}), town.ask(query, {"l": "acme"})

    assert (person.body["data"], person.errors[0]["path"]) == (
        {"user": {"login": "octo"}, "organization": None},
        ["organization"],
    )
    assert (group.body["data"], group.errors[0]["path"]) == (
        {"user": None, "organization": {"login": "acme"}},
        ["user"],
    )


def test_a_private_repository_is_not_there_for_others(town: Town) -> None:
    query = '{ repository(owner: "octo", name: "secret") { name } }'

    assert town.ask(query, by="octo").data == {"repository": {"name": "secret"}}
    assert town.ask(query, by="bob").errors[0]["message"] == (
        "Could not resolve to a Repository with the name 'octo/secret'."
    )


def test_nodes_gives_each_what_it_is_or_an_error(town: Town) -> None:
    ids = [town.id(town.pull()), "I_nothing", town.id(town.people["robot[bot]"])]

    answer = town.ask("query($ids: [ID!]!) { nodes(ids: $ids) { __typename } }", {"ids": ids})

    assert answer.body["data"]["nodes"] == [{"__typename": "PullRequest"}, None, {"__typename": "Bot"}]
    assert answer.errors[0]["path"] == ["nodes", 1]
    assert answer.errors[0]["message"] == "Could not resolve to a node with the global id of 'I_nothing'"


def test_the_operation_is_named_for_the_journal(town: Town) -> None:
    read = town.ask("query PullRequestByNumber { viewer { login } " + WIDGETS + " { id } }").raw
    write = town.try_to("addComment", "clientMutationId", subjectId=town.id(town.issue(1)), body="x").raw

    assert (read.operation, read.failed) == ("query PullRequestByNumber viewer repository", False)
    assert write.operation == "mutation addComment"


def test_of_several_operations_the_named_one_is_executed(town: Town) -> None:
    query = "query A { viewer { login } } query B { viewer { name } }"

    assert town.ask(query, operationName="B").data == {"viewer": {"name": "Octo"}}
    assert town.ask(query).errors == [{"message": "An operation name is required"}]
    assert town.ask(query, operationName="C").errors == [{"message": 'No operation named "C"'}]


def test_introspection_steers_gh(town: Town) -> None:
    answer = town.ask(
        '{ PullRequest: __type(name: "PullRequest") { fields(includeDeprecated: true) { name } } '
        'SearchType: __type(name: "SearchType") { enumValues { name } } '
        'WorkflowRun: __type(name: "WorkflowRun") { fields { name } } '
        'Contexts: __type(name: "StatusCheckRollupContextConnection") { fields { name } } }'
    )

    names = {
        key: {one["name"] for one in (kind.get("fields") or kind["enumValues"])} for key, kind in answer.data.items()
    }
    assert {"isInMergeQueue", "isMergeQueueEnabled"} <= names["PullRequest"]
    assert "ISSUE_ADVANCED" in names["SearchType"]
    assert "event" in names["WorkflowRun"]
    assert "checkRunCount" in names["Contexts"]


def test_the_whole_schema_can_be_introspected(town: Town) -> None:
    answer = town.ask(get_introspection_query())

    assert {kind["name"] for kind in answer.data["__schema"]["types"]} == set(schema().type_map)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{" + "viewer{" * 3000 + "id" + "}" * 3000 + "}", "nested too deeply"),
        ("{" + "a" * 2_000_000 + "}", "more than 1000000 code points"),
        ("{" + "a " * 30_000 + "}", "tokens"),
        (
            "{ viewer { organizations(first: 1) { nodes "
            + "{ repositories(first: 1) { nodes { owner " * 12
            + "{ id }"
            + "}}}" * 12
            + "} } }",
            "max depth",
        ),
        (
            "{"
            + " ".join(f"a{n}: viewer {{ ...f }}" for n in range(2000))
            + "} fragment f on User { id login name bio url }",
            "max complexity",
        ),
        (
            ("{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }"),
            "introspection",
        ),
    ],
    ids=["nesting", "length", "tokens", "depth", "aliases", "introspection"],
)
def test_abuse_is_refused_before_anything_is_executed(town: Town, query: str, message: str) -> None:
    answer = town.ask(query)

    assert answer.status == 200
    assert "data" not in answer.body
    assert any(message in error["message"] for error in answer.errors), answer.errors[:1]


def test_fragments_that_multiply_are_counted_wherever_they_are_spread(town: Town) -> None:
    bomb = "{ viewer { ...x0 } } " + " ".join(
        f"fragment x{n} on Repository {{ p: parent {{ ...x{n + 1} }} q: parent {{ ...x{n + 1} }} }}" for n in range(20)
    )
    query = bomb.replace("{ viewer { ...x0 } }", f"{{ {WIDGETS} {{ ...x0 }} }}") + " fragment x20 on Repository { id }"

    answer = town.ask(query)

    assert "max complexity" in answer.errors[0]["message"]
    assert "data" not in answer.body


def test_a_query_for_too_many_nodes_is_refused(town: Town) -> None:
    query = (
        "query($n: Int!) { " + WIDGETS + " { issues(first: $n) { nodes { comments(first: 100) { nodes { "
        "reactions(first: 100) { totalCount } } } } } } }"
    )

    many, few = town.ask(query, {"n": 100}), town.ask(query, {"n": 10})

    assert many.errors == [
        {
            "type": "MAX_NODE_LIMIT_EXCEEDED",
            "message": "This query requests up to 1,010,100 possible nodes which exceeds the maximum limit of 500,000.",
        }
    ]
    assert "errors" not in few.body


def test_an_answer_that_grows_too_large_is_cut_off(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghx_twin.graphql.context.MAX_RETURNED_NODES", 3)

    answer = town.ask(f"{{ {WIDGETS} {{ issues(first: 100) {{ nodes {{ id }} }} }} }}")

    assert answer.errors[0]["type"] == "RESOURCE_LIMITS_EXCEEDED"


def test_half_a_character_is_replaced(town: Town) -> None:
    body = json.dumps(
        {
            "query": (
                "mutation($input: AddCommentInput!) { addComment(input: $input) { commentEdge { node { body } } } }"
            ),
            "variables": {"input": {"subjectId": town.id(town.issue(1)), "body": "a\ud800b"}},
        }
    )

    answer = town.post(body.encode())

    assert answer.data["addComment"]["commentEdge"]["node"]["body"] == "a\ufffdb"


def test_variables_may_come_as_text(town: Town) -> None:
    query: dict[str, Any] = {"query": "query($l: String!) { user(login: $l) { id } }", "variables": '{"l": "octo"}'}

    assert town.post(json.dumps(query).encode()).data["user"]["id"].startswith("U_")
    assert "errors" in town.post(json.dumps({**query, "variables": "["}).encode()).body


def test_rate_limit_says_what_the_query_costs(town: Town) -> None:
    answer = town.ask(
        f"{{ rateLimit {{ limit cost remaining used nodeCount resetAt }} {WIDGETS} {{ "
        f"issues(first: 50) {{ totalCount }} }} }}"
    )

    assert answer.data["rateLimit"] | {"resetAt": ""} == {
        "limit": 5000,
        "cost": 1,
        "remaining": 4999,
        "used": 1,
        "nodeCount": 50,
        "resetAt": "",
    }
