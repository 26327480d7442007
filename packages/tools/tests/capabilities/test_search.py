"""Searching issues, pull requests and code."""

from capability_calls import NAME, OWNER, Ghx

HERE = f"repo:{OWNER}/{NAME}"


def test_issues_are_found_and_pull_requests_are_none(ghx: Ghx) -> None:
    found = ghx.data("search.issues", query=f"{HERE} crash")

    (issue,) = found["items"]
    assert (issue["number"], issue["repository"], issue["authorLogin"]) == (1, "acme/widgets", "hubot")
    assert issue["labels"] == ["bug"]
    assert found["totalCount"] == 1
    assert {each["number"] for each in ghx.data("search.issues", query=HERE)["items"]} == {1, 2, 3}


def test_pull_requests_are_found_by_qualifiers(ghx: Ghx) -> None:
    everywhere = f"org:{OWNER}"

    assert [each["number"] for each in ghx.data("search.prs", query=f"{everywhere} is:merged")["items"]] == [3]
    assert {each["title"] for each in ghx.data("search.prs", query=f"{everywhere} author:hubot")["items"]} == {
        "Add b",
        "Count from zero",
        "Sneak",
    }


def test_results_come_page_by_page(ghx: Ghx) -> None:
    first = ghx.data("search.issues", query=f"{HERE} sort:created-asc", first=2)
    second = ghx.data("search.issues", query=f"{HERE} sort:created-asc", first=2, after=first["pageInfo"]["endCursor"])

    assert [each["number"] for each in (*first["items"], *second["items"])] == [1, 2, 3]
    assert second["pageInfo"]["hasNextPage"] is False


def test_code_is_found_with_the_lines_around_it(ghx: Ghx) -> None:
    found = ghx.data("search.code", query=f"hammer three repo:{OWNER}/tools")
    by_text = ghx.data("search.code", query=f"three repo:{OWNER}/tools")

    assert found["incompleteResults"] is False
    (file,) = by_text["items"]
    assert (file["repository"], file["path"]) == ("acme/tools", "hammer.py")
    assert any("three = 3" in fragment for fragment in file["fragments"])


def test_what_others_may_not_see_is_not_found(ghx: Ghx) -> None:
    secret = f"hush repo:{OWNER}/secret"

    assert ghx.data("search.code", query=secret)["totalCount"] == 1
    outsider = ghx.as_user("reader").run("search.code", query=secret)
    assert not outsider.ok or outsider.data["totalCount"] == 0  # type: ignore[index,call-overload]


def test_a_search_for_nothing_is_refused(ghx: Ghx) -> None:
    for task in ("search.issues", "search.prs", "search.code"):
        assert ghx.error(task, query="") == "VALIDATION"
