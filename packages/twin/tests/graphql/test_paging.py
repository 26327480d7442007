"""Connections are paged as GitHub pages them."""

import pytest
from graphql_world import Town
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghx_twin.commands import issues

ISSUES = (
    "query($first: Int, $last: Int, $after: String, $before: String) { repository(owner: "
    '"acme", name: "widgets") { issues(first: $first, last: $last, after: $after, before: '
    "$before) { totalCount nodes { number } edges { cursor } pageInfo { hasNextPage "
    "hasPreviousPage startCursor endCursor } } } }"
)


def _issues(town: Town, **page: object) -> dict:
    return town.ask(ISSUES, page).data["repository"]["issues"]


def _numbers(found: dict) -> list[int]:
    return [one["number"] for one in found["nodes"]]


def test_pages_follow_each_other_until_the_end(town: Town) -> None:
    seen, cursor = [], None
    while True:
        page = _issues(town, first=4, after=cursor)
        seen += _numbers(page)
        cursor = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break

    assert seen == [1, 2, 3, 4, 5, 6]
    assert page["totalCount"] == 6
    assert page["pageInfo"]["hasPreviousPage"]


def test_pages_can_be_read_from_the_end(town: Town) -> None:
    last = _issues(town, last=2)
    before = _issues(town, last=3, before=last["pageInfo"]["startCursor"])

    assert (_numbers(last), _numbers(before)) == ([5, 6], [2, 3, 4])
    assert (last["pageInfo"]["hasNextPage"], last["pageInfo"]["hasPreviousPage"]) == (False, True)


def test_a_new_item_in_front_does_not_repeat_what_was_read(town: Town) -> None:
    query = (
        'query($after: String) { repository(owner: "acme", name: "widgets") { issues(first: '
        "3, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) { nodes { number } "
        "pageInfo { endCursor } } } }"
    )
    first = town.ask(query).data["repository"]["issues"]
    with town.acting() as act:
        issues.create(act, town.repository, title="In between")

    second = town.ask(query, {"after": first["pageInfo"]["endCursor"]}).data["repository"]["issues"]

    assert (_numbers(first), _numbers(second)) == ([6, 5, 4], [3, 2, 1])


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), forwards=st.booleans())
@settings(
    max_examples=settings.default.max_examples // 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
def test_any_sizes_of_pages_read_everything_once(seeded: Town, sizes: list[int], forwards: bool) -> None:
    seen: list[int] = []
    cursor, more, turn = None, True, 0
    while more:
        size = sizes[turn % len(sizes)]
        turn += 1
        page = _issues(seeded, first=size, after=cursor) if forwards else _issues(seeded, last=size, before=cursor)
        seen = seen + _numbers(page) if forwards else _numbers(page) + seen
        cursor = page["pageInfo"]["endCursor" if forwards else "startCursor"]
        more = page["pageInfo"]["hasNextPage" if forwards else "hasPreviousPage"]

    assert seen == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("page", "kind", "message"),
    [
        (
            {"first": 101},
            "EXCESSIVE_PAGINATION",
            ("Requesting 101 records on the `issues` connection exceeds the `first` limit of 100 records."),
        ),
        (
            {"last": 1000},
            "EXCESSIVE_PAGINATION",
            ("Requesting 1000 records on the `issues` connection exceeds the `last` limit of 100 records."),
        ),
        (
            {},
            "MISSING_PAGINATION_BOUNDARIES",
            ("You must provide a `first` or `last` value to properly paginate the `issues` connection."),
        ),
        (
            {"first": 1, "last": 1},
            "INVALID_PAGINATION_BOUNDARIES",
            ("Passing both `first` and `last` to paginate the `issues` connection is not supported."),
        ),
        (
            {"first": -1},
            "INVALID_PAGINATION_BOUNDARIES",
            "`first` on the `issues` connection cannot be less than zero.",
        ),
        ({"first": 1, "after": "x"}, "INVALID_CURSOR_ARGUMENTS", "`x` does not appear to be a valid cursor."),
    ],
)
def test_pages_that_github_does_not_serve_are_refused(
    town: Town, page: dict[str, object], kind: str, message: str
) -> None:
    error = town.ask(ISSUES, page).errors[0]

    assert (error["type"], error["message"]) == (kind, message)
    assert error["path"][:2] == ["repository", "issues"]


def test_a_count_needs_no_size(town: Town) -> None:
    answer = town.ask(
        '{ repository(owner: "acme", name: "widgets") { issues { totalCount } pullRequests { totalCount } } }'
    )

    assert answer.data["repository"] == {"issues": {"totalCount": 6}, "pullRequests": {"totalCount": 1}}


def test_last_is_the_size_of_a_page_of_search_results(town: Town) -> None:
    query = (
        'query($after: String) { search(query: "repo:acme/widgets is:issue '
        'sort:created-asc", type: ISSUE, last: 4, after: $after) { issueCount nodes { ... on '
        "Issue { number } } pageInfo { hasNextPage endCursor } } }"
    )

    first = town.ask(query).data["search"]
    second = town.ask(query, {"after": first["pageInfo"]["endCursor"]}).data["search"]

    assert (_numbers(first), first["pageInfo"]["hasNextPage"]) == ([1, 2, 3, 4], True)
    assert (_numbers(second), second["pageInfo"]["hasNextPage"]) == ([5, 6], False)
    assert first["issueCount"] == 6
