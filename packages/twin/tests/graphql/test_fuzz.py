"""Whatever a client sends is answered; what fits the schema never meets a fault of ours."""

import json
from typing import Any

import pytest
from authors import changes_without_author
from graphql_documents import Documents
from graphql_world import Town, typed_nodes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import nodes, queries

from ghx_twin.graphql.execution import execute
from ghx_twin.graphql.schema import schema, sdl
from ghx_twin.urls import GITHUB_URLS

pytestmark = pytest.mark.slow

TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=10)
BODIES = st.one_of(
    st.binary(max_size=200),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["query", "variables", "a"]), inner)
        ),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode()),
)
VALUES = {
    "owner": st.sampled_from(["acme", "octo", "nobody"]),
    "name": st.sampled_from(["widgets", "other", "secret", "bug", "refs/heads/new", "poem.txt"]),
    "login": st.sampled_from(["acme", "octo", "rev", "robot[bot]"]),
    "query": st.sampled_from(["repo:acme/widgets is:open", "is:pr author:@me", "poem", "user:acme", "("]),
    "expression": st.sampled_from(["main", "HEAD:poem.txt", "feature~1", "v0.1", "main:", "zz:"]),
    "qualifiedName": st.sampled_from(["main", "refs/heads/feature", "v0.1", "..", ""]),
    "refPrefix": st.sampled_from(["refs/heads/", "refs/tags", "refs/", ""]),
    "headRef": st.sampled_from(["feature", "acme:feature", "octo:feature", "no"]),
    "baseRefName": st.sampled_from(["main", "feature", "no"]),
    "headRefName": st.sampled_from(["main", "feature", "acme:feature", "octo:no"]),
    "path": st.sampled_from(["poem.txt", "a/b.txt", "../x", "", "poem.txt/x"]),
    "url": st.sampled_from(
        ["https://github.com/acme/widgets/pull/7", "https://github.com/octo", "::", "/a/b/issues/x"]
    ),
    "base": st.sampled_from(["main", "feature"]),
    "head": st.sampled_from(["main", "feature", "no"]),
    "contents": st.sampled_from(["", "aGk="]),
    "Base64String": st.just("aGk="),
    "Date": st.sampled_from(["2026-01-01", "2024-02-29"]),
    "DateTime": st.sampled_from(["2026-01-01T00:00:00Z", "2030-01-01", "2026-01-01T00:00:00+02:00"]),
    "GitTimestamp": st.just("2026-01-01T00:00:00Z"),
    "String": TEXT,
    "URI": st.just("https://example.com"),
}
SETTINGS = settings(
    max_examples=settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    deadline=None,
)


@pytest.fixture(scope="session")
def documents(lived: Town) -> Documents:
    shas = st.sampled_from([lived.tip("main"), lived.tip("feature"), "0" * 40])
    return Documents(schema(), {**VALUES, "GitObjectID": shas}, typed_nodes(lived))


@given(body=BODIES)
@SETTINGS
def test_any_bytes_get_an_answer(seeded: Town, body: bytes) -> None:
    answer = execute(seeded.world, seeded.viewer("octo"), body, GITHUB_URLS)

    assert answer.status in {200, 400, 501}
    assert answer.failed
    json.loads(answer.content)


@given(data=st.data())
@SETTINGS
def test_a_query_that_fits_the_schema_never_meets_a_fault_of_ours(
    lived: Town, documents: Documents, data: st.DataObject
) -> None:
    query = documents.query(data.draw)

    answer = lived.ask(query, by=data.draw(st.sampled_from(["octo", "ann", "bob"])))

    assert answer.status == 200, (query, answer.body)
    assert all("type" in error for error in answer.body.get("errors", ())), (query, answer.errors)


@given(data=st.data())
@SETTINGS
def test_a_mutation_that_fits_the_schema_never_meets_a_fault_of_ours(
    lived: Town, documents: Documents, data: st.DataObject
) -> None:
    query = documents.mutation(data.draw)
    town = Town(lived.world.fork(), lived.people)
    town.world.seal()

    answer = town.ask(query, by=data.draw(st.sampled_from(["octo", "rev", "bob"])))

    assert changes_without_author(town.world, after=lived.world.database.last_change()) == []

    assert answer.status in {200, 501}, (query, answer.body)
    assert all("type" in error for error in answer.body.get("errors", ())), (query, answer.errors)
    if "errors" in answer.body and answer.body.get("data") and not next(iter(answer.body["data"].values())):
        assert town.world.database.last_change() == lived.world.database.last_change()
    town.world.close()


def _scalars() -> dict[str, Any]:
    return {name: strategy.map(nodes.String) for name, strategy in VALUES.items() if name in CUSTOM}


CUSTOM = {"Base64String", "Date", "DateTime", "GitTimestamp", "URI", "GitObjectID"}


def _any_query() -> st.SearchStrategy[str]:
    return queries(sdl(), custom_scalars={**_scalars(), "GitObjectID": st.just("0" * 40).map(nodes.String)})


@given(query=st.deferred(_any_query))  # reading GitHub's whole schema takes seconds: not while tests are collected
@settings(
    SETTINGS, max_examples=settings.default.max_examples // 3
)  # to draw one takes this library ten times as long as `documents`
def test_a_query_with_random_arguments_never_meets_a_fault_of_ours(seeded: Town, query: str) -> None:
    answer = seeded.ask(query)

    assert answer.status == 200, (query, answer.body)
