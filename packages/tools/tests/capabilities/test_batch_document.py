"""Several GraphQL documents as one."""

import importlib
import re

import pytest
from graphql import OperationDefinitionNode, parse

from ghx_tools.capabilities.chain.batching import Document, NotMergeableError, extract, merge
from ghx_tools.capabilities.client import GraphQLResponse
from ghx_tools.capabilities.index import ENTRIES

ISSUE = """
query Issue($number: Int!) { repository(name: "a {$x} b") { issue(number: $number) { ...Parts } } viewer { login } }
fragment Parts on Issue { id ... on Node { id } }
"""
PULL = 'query Pull { found: node(id: "x") { id } }'


def test_documents_keep_their_fields_variables_and_fragments_apart() -> None:
    whole = merge([Document(text=ISSUE, variables={"number": number}) for number in (1, 2)])

    assert whole.variables == {"s0_number": 1, "s1_number": 2}
    (operation, *fragments) = parse(whole.text).definitions
    assert isinstance(operation, OperationDefinitionNode)
    aliases = [field.alias.value for field in operation.selection_set.selections]  # type: ignore[union-attr]
    assert aliases == ["s0_repository", "s0_viewer", "s1_repository", "s1_viewer"]
    assert [fragment.name.value for fragment in fragments] == ["s0_Parts", "s1_Parts"]  # type: ignore[union-attr]
    assert '"a {$x} b"' in whole.text


def test_what_comes_back_is_told_in_the_names_of_each_document() -> None:
    merge([Document(text=ISSUE, variables={}), Document(text=PULL, variables={})])
    answer = GraphQLResponse(
        data={"s0_repository": None, "s0_viewer": {"login": "octo"}, "s1_found": {"id": "x"}},
        errors=[{"message": "gone", "type": "NOT_FOUND", "path": ["s0_repository", "issue"]}],
    )

    first, second = extract(0, answer), extract(1, answer)

    assert first.data == {"repository": None, "viewer": {"login": "octo"}}
    assert first.errors == [{"message": "gone", "type": "NOT_FOUND", "path": ["repository", "issue"]}]
    assert (second.data, second.errors) == ({"found": {"id": "x"}}, [])


def test_an_error_about_nothing_in_particular_is_told_to_all_without_data() -> None:
    answer = GraphQLResponse(data={"s0_a": None, "s1_a": {}}, errors=[{"message": "odd"}])

    assert extract(0, answer).errors == [{"message": "odd"}]
    assert extract(1, answer).errors == []
    assert extract(0, GraphQLResponse(data=None, errors=[{"message": "odd"}])).errors == [{"message": "odd"}]


@pytest.mark.parametrize(
    "text",
    [
        "{ viewer { login } }",
        "query A @cached { viewer { login } }",
        "query A { ...Root } fragment Root on Query { viewer { login } }",
        "query A { viewer @skip(if: true) { login } }",
        "query A { # a remark\n viewer { login } }",
        'query A { node(id: """x""") { id } }',
        "query A { viewer { login }",
        "query A",
    ],
)
def test_a_document_of_another_make_is_not_merge(text: str) -> None:
    with pytest.raises(NotMergeableError):
        merge([Document(text=text, variables={}), Document(text=PULL, variables={})])


def test_every_document_of_a_capability_can_be_merge() -> None:
    documents = [
        Document(text=value, variables={})
        for module in {f"{entry.domain}.{entry.module}" for entry in ENTRIES.values()}
        for value in vars(importlib.import_module(f"ghx_tools.capabilities.domains.{module}")).values()
        if isinstance(value, str) and re.match(r"\s*(query|mutation) \w", value)
    ]

    for document in documents:
        parse(merge([document, document]).text)
    assert len(documents) > 50
