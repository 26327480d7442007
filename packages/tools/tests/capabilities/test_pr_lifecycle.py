"""A pull request from its opening to its end."""

import pytest
from capability_calls import OWNER, Ghx

TOOLS = {"owner": OWNER, "name": "tools"}
FIX, DRAFT, MERGED, GUARDED = ({**TOOLS, "prNumber": number} for number in (1, 2, 3, 4))


def branches(ghx: Ghx) -> set[str]:
    return {each["name"] for each in ghx.data("repo.branches.list", **TOOLS)["items"]}


def test_a_pull_request_is_opened(ghx: Ghx) -> None:
    new = {"title": "Spare", "body": "Fixes #1", "head": "spare", "base": "main", "draft": True}

    pull = ghx.data("pr.create", **TOOLS, **new)

    assert (pull["title"], pull["state"], pull["draft"]) == ("Spare", "OPEN", True)
    viewed = ghx.data("pr.view", **TOOLS, prNumber=pull["number"])
    assert (viewed["body"], viewed["url"]) == ("Fixes #1", pull["url"])


@pytest.mark.parametrize("change", [{"head": "nowhere"}, {"base": "nowhere"}, {"head": "main"}, {"head": "fix"}])
def test_a_pull_request_that_cannot_be_is_refused(ghx: Ghx, change: dict) -> None:
    new = {"title": "Spare", "head": "spare", "base": "main", **change}

    assert ghx.error("pr.create", **TOOLS, **new) == "VALIDATION"


def test_a_body_can_be_left_out(ghx: Ghx) -> None:
    assert ghx.data("pr.view", **FIX)["body"] == "As one does"
    assert "body" not in ghx.data("pr.view", **FIX, exclude=["body"])
    assert ghx.error("pr.view", **FIX, exclude=["title"]) == "VALIDATION"


@pytest.mark.parametrize(
    ("state", "numbers"), [("open", [4, 2, 1]), ("closed", [3]), ("MERGED", [3]), ("all", [4, 3, 2, 1])]
)
def test_pull_requests_are_listed_by_state(ghx: Ghx, state: str, numbers: list[int]) -> None:
    assert [each["number"] for each in ghx.data("pr.list", **TOOLS, state=state)["items"]] == numbers


def test_open_ones_are_listed_unless_told_otherwise_page_by_page(ghx: Ghx) -> None:
    first = ghx.data("pr.list", **TOOLS, first=2)
    second = ghx.data("pr.list", **TOOLS, first=2, after=first["pageInfo"]["endCursor"])

    assert [each["number"] for each in (*first["items"], *second["items"])] == [4, 2, 1]
    assert second["pageInfo"]["hasNextPage"] is False


def test_title_body_and_draft_are_changed_each_alone(ghx: Ghx) -> None:
    assert ghx.data("pr.update", **FIX, title="Zero")["title"] == "Zero"
    assert ghx.data("pr.update", **FIX, body="")["title"] == "Zero"
    assert ghx.data("pr.view", **FIX)["body"] == ""
    assert ghx.data("pr.update", **FIX, draft=True)["draft"] is True
    assert ghx.data("pr.update", **FIX, draft=True, title="Nought")["draft"] is True
    assert ghx.data("pr.update", **FIX, draft=False)["draft"] is False
    assert ghx.error("pr.update", **FIX) == "VALIDATION"


def test_a_draft_becomes_ready_and_stays_so(ghx: Ghx) -> None:
    assert ghx.data("pr.ready", **DRAFT)["draft"] is False
    assert ghx.data("pr.ready", **DRAFT)["draft"] is False


def test_closing_comments_first_and_deletes_the_branch_last(ghx: Ghx) -> None:
    closed = ghx.data("pr.close", **FIX, comment="No", deleteBranch=True)

    assert closed == {"prNumber": 1, "state": "CLOSED", "closed": True, "deleteBranch": True}
    assert ghx.data("pr.comments.list", **FIX)["items"][-1]["body"] == "No"
    assert "fix" not in branches(ghx)
    assert ghx.error("pr.reopen", **FIX) == "VALIDATION"


def test_a_closed_pull_request_is_opened_again(ghx: Ghx) -> None:
    assert ghx.data("pr.close", **FIX) == {"prNumber": 1, "state": "CLOSED", "closed": True}
    assert ghx.data("pr.reopen", **FIX) == {"prNumber": 1, "state": "OPEN", "reopened": True}


@pytest.mark.parametrize(("method", "commits"), [("merge", 4), ("SQUASH", 2), ("rebase", 3)])
def test_it_is_merged_by_every_method(ghx: Ghx, method: str, commits: int) -> None:
    before = len(ghx.data("repo.commits.list", **TOOLS)["items"])
    merge = ghx.data("pr.merge", **FIX, method=method, deleteBranch=True)

    assert merge == {
        "prNumber": 1,
        "method": method.lower(),
        "isMethodAssumed": False,
        "queued": False,
        "deleteBranch": True,
    }
    assert ghx.data("pr.merge.status", **FIX)["state"] == "MERGED"
    assert "fix" not in branches(ghx)
    assert len(ghx.data("repo.commits.list", **TOOLS)["items"]) == before + commits - 1


def test_a_merge_commit_is_made_unless_told_otherwise(ghx: Ghx) -> None:
    merge = ghx.data("pr.merge", **FIX)

    assert (merge["method"], merge["isMethodAssumed"], merge["deleteBranch"]) == ("merge", True, False)
    assert "fix" in branches(ghx)


@pytest.mark.parametrize("pull", [DRAFT, MERGED])
def test_what_cannot_be_merged_is_refused(ghx: Ghx, pull: dict) -> None:
    assert ghx.error("pr.merge", **pull) == "VALIDATION"


def test_rules_of_a_branch_are_not_overridden_by_accident(ghx: Ghx) -> None:
    assert ghx.data("pr.merge.status", **GUARDED)["mergeStateStatus"] == "BLOCKED"
    assert ghx.error("pr.merge", **GUARDED) == "VALIDATION"
    assert ghx.data("pr.merge.status", **GUARDED)["state"] == "OPEN"

    assert ghx.data("pr.merge", **GUARDED, admin=True)["admin"] is True
    assert ghx.data("pr.merge.status", **GUARDED)["state"] == "MERGED"


def test_what_may_not_be_merged_yet_is_merged_when_it_may(ghx: Ghx) -> None:
    merge = ghx.data("pr.merge", **GUARDED, auto=True, deleteBranch=True)

    assert (merge["queued"], merge["auto"], merge["deleteBranch"]) == (True, True, False)
    ghx.data("pr.reviews.submit", **GUARDED, event="approve")
    assert ghx.data("pr.merge.status", **GUARDED)["state"] == "MERGED"


def test_what_can_be_merged_is_merged_at_once_even_if_later_would_do(ghx: Ghx) -> None:
    assert ghx.data("pr.merge", **FIX, auto=True)["queued"] is False
    assert ghx.data("pr.merge.status", **FIX)["state"] == "MERGED"


def test_a_branch_is_brought_up_to_date_once(ghx: Ghx) -> None:
    ghx.data("repo.contents.put", **TOOLS, path="new.md", content="New", message="News")

    assert ghx.data("pr.branch.update", **FIX) == {"prNumber": 1, "updated": True}
    assert len(ghx.data("pr.commits.list", **FIX)["items"]) == 3
    assert ghx.error("pr.branch.update", **FIX) == "VALIDATION"


def test_people_are_assigned_and_taken_off(ghx: Ghx) -> None:
    assert ghx.data("pr.assignees.add", **FIX, assignees=["HUBOT", "octo"]) == {
        "prNumber": 1,
        "added": ["hubot", "octo"],
    }
    assert ghx.data("pr.assignees.remove", **FIX, assignees=["octo"]) == {"prNumber": 1, "removed": ["octo"]}
    assert ghx.data("pr.assignees.remove", **FIX, assignees=["octo"])["removed"] == []
    assert ghx.error("pr.assignees.add", **FIX, assignees=["hubott"]) == "NOT_FOUND"
    assert ghx.error("pr.assignees.add", **FIX, assignees=[]) == "VALIDATION"
