"""Paths are split before they are decoded, and names with slashes are found however they are written."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghx_twin.rest.catalogue import known_operation
from ghx_twin.rest.operations import OPERATIONS, router
from ghx_twin.rest.routing import Router

NAMES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4).map("/".join)
RESERVED = {"status", "statuses", "check-runs", "pulls", "branches-where-head"}


@given(owner=st.text(st.characters(exclude_categories=["Cs"]), min_size=1), label=NAMES)
def test_an_encoded_name_comes_back_as_it_was(owner: str, label: str) -> None:
    found = router().find("GET", f"/repos/{quote(owner, safe='')}/r/labels/{quote(label, safe='')}")

    assert found is not None
    assert found.parameters == {"owner": owner, "repo": "r", "name": label}


@given(ref=NAMES.filter(lambda name: not RESERVED & set(name.split("/")) and "" not in name.split("/")))
def test_a_ref_is_found_with_plain_and_with_encoded_slashes(ref: str) -> None:
    for spelled in (quote(ref, safe=""), quote(ref, safe="/")):
        found = router().find("GET", f"/repos/o/r/commits/{spelled}/status")

        assert found is not None
        assert found.target.template.endswith("/commits/{ref}/status")
        assert found.parameters["ref"] == ref


@given(path=st.text(), method=st.sampled_from(["GET", "POST", "BREW"]))
def test_no_path_makes_the_router_fail(path: str, method: str) -> None:
    router().find(method, path)


def test_fixed_segments_win_over_parameters() -> None:
    routes = Router[str]()
    routes.add("GET", "/a/{x}", "parameter")
    routes.add("GET", "/a/fixed", "fixed")
    routes.add("POST", "/a/{x}", "post")

    assert [routes.find(*asked) and routes.find(*asked).target for asked in (("GET", "/a/fixed"), ("GET", "/a/b"))] == [
        "fixed",
        "parameter",
    ]
    found = routes.find("POST", "/a/fixed")
    assert found is not None
    assert found.target == "post"


def test_an_encoded_slash_does_not_make_another_segment() -> None:
    assert router().find("GET", "/repos/o%2Fr") is None
    found = router().find("GET", "/repos/o/r%2Fissues")
    assert found is not None
    assert found.parameters["repo"] == "r/issues"


def test_every_operation_is_found_under_its_own_template() -> None:
    for operation in OPERATIONS:
        found = router().find(operation.method, operation.template)
        assert found is not None
        assert found.target.template.replace("{commit_sha}", "{ref}") == operation.template.replace(
            "{commit_sha}", "{ref}"
        )
        assert operation.summary


@pytest.mark.parametrize(
    ("method", "path", "known"),
    [
        ("GET", "/repos/o/r/actions/runs/7/jobs", "GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs"),
        ("PUT", "/user/starred/o/r", "PUT /user/starred/{owner}/{repo}"),
        ("POST", "/repos/o/r/pulls/comments/7/replies", None),
        ("PUT", "/user", None),
    ],
)
def test_the_catalogue_knows_what_github_has(method: str, path: str, known: str | None) -> None:
    assert known_operation(method, path) == known
