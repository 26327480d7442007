"""Review threads: which are listed, in which order, page by page; replies and their settling."""

import pytest
from capability_calls import OWNER, Ghx

from ghx_tools.capabilities.domains.pr import scanning

PULL = {"owner": OWNER, "name": "tools", "prNumber": 1}
UNRESOLVED = ["First", "Third", "Sixth"]
ALL = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"]


def titles(threads: dict) -> list[str]:
    return [thread["comments"][0]["body"] for thread in threads["items"]]


def test_unresolved_threads_are_listed_in_their_order_unless_told_otherwise(ghx: Ghx) -> None:
    threads = ghx.data("pr.threads.list", **PULL)

    assert titles(threads) == UNRESOLVED
    assert threads["filterApplied"] == {"unresolvedOnly": True, "includeOutdated": True}
    assert threads["scan"] == {"pagesScanned": 1, "sourceItemsScanned": 6, "scanTruncated": False}
    assert threads["pageInfo"]["hasNextPage"] is False
    assert titles(ghx.data("pr.threads.list", **PULL, unresolvedOnly=False)) == ALL


def test_a_thread_tells_where_it_is_and_what_was_said(ghx: Ghx) -> None:
    _, third, _ = ghx.data("pr.threads.list", **PULL)["items"]

    assert (third["path"], third["startLine"], third["line"], third["diffSide"]) == ("hammer.py", 3, 4, "RIGHT")
    assert [(each["authorLogin"], each["body"]) for each in third["comments"]] == [("octo", "Third"), ("hubot", "Why?")]
    assert third["resolvedByLogin"] is None


def test_a_reply_keeps_the_order_of_threads(ghx: Ghx) -> None:
    last = ghx.data("pr.threads.list", **PULL)["items"][-1]

    reply = ghx.data("pr.threads.reply", threadId=last["id"], body="Done")

    threads = ghx.data("pr.threads.list", **PULL)
    assert titles(threads) == UNRESOLVED
    assert threads["items"][-1]["comments"][-1]["id"] == reply["commentId"]
    assert (reply["id"], reply["isResolved"]) == (last["id"], False)


def test_settling_a_thread_and_taking_it_back(ghx: Ghx) -> None:
    first = ghx.data("pr.threads.list", **PULL)["items"][0]["id"]

    assert ghx.data("pr.threads.resolve", threadId=first) == {"id": first, "isResolved": True}
    assert titles(ghx.data("pr.threads.list", **PULL)) == UNRESOLVED[1:]
    assert ghx.data("pr.threads.unresolve", threadId=first) == {"id": first, "isResolved": False}
    assert titles(ghx.data("pr.threads.list", **PULL)) == UNRESOLVED


@pytest.mark.parametrize("task", ["pr.threads.reply", "pr.threads.resolve", "pr.threads.unresolve"])
def test_what_is_no_thread_is_not_found_and_nothing_is_written(ghx: Ghx, task: str) -> None:
    pull = ghx.data("pr.view", **PULL)["id"]
    more = {"body": "x"} if task == "pr.threads.reply" else {}

    for id_ in (pull, "nonsense"):
        assert ghx.error(task, threadId=id_, **more) == "NOT_FOUND"
    assert not any(entry.mutation for entry in ghx.twin.world.journal)


@pytest.mark.parametrize(("unresolved_only", "expected"), [(True, UNRESOLVED), (False, ALL)])
@pytest.mark.parametrize("first", [1, 2, 3, 5])
def test_pages_hold_every_thread_once(ghx: Ghx, first: int, unresolved_only: bool, expected: list[str]) -> None:
    found: list[str] = []
    page_info = {"hasNextPage": True, "endCursor": None}
    while page_info["hasNextPage"]:
        after = page_info["endCursor"]
        threads = ghx.data("pr.threads.list", **PULL, first=first, after=after, unresolvedOnly=unresolved_only)
        assert 0 < len(threads["items"]) <= first
        found += titles(threads)
        page_info = threads["pageInfo"]

    assert found == expected


def test_a_scan_that_takes_too_long_says_where_to_go_on(ghx: Ghx, monkeypatch: pytest.MonkeyPatch) -> None:
    from ghx_tools.capabilities.domains.pr import threads

    monkeypatch.setattr(threads, "_PAGE", 1)
    monkeypatch.setattr(scanning, "MOST_PAGES", 2)
    for thread in ghx.data("pr.threads.list", **PULL)["items"][:1]:
        ghx.data("pr.threads.resolve", threadId=thread["id"])

    start = ghx.data("pr.threads.list", **PULL, first=1)
    rest = ghx.data("pr.threads.list", **PULL, first=1, after=start["pageInfo"]["endCursor"])

    assert (start["items"], start["scan"]["scanTruncated"], start["pageInfo"]["hasNextPage"]) == ([], True, True)
    assert titles(rest) == ["Third"]


def test_a_thread_with_very_many_comments_is_whole(ghx: Ghx) -> None:
    first = ghx.data("pr.threads.list", **PULL)["items"][0]["id"]
    reply = ("pr.threads.reply", {"threadId": first, "body": "Again"})
    assert ghx.chain(*[reply] * 60).status == "success"

    assert len(ghx.data("pr.threads.list", **PULL)["items"][0]["comments"]) == 61


def test_outdated_threads_can_be_left_out(ghx: Ghx) -> None:
    change = {"path": "hammer.py", "branch": "fix", "message": "Start over", "content": "none = None\n"}
    ghx.data("repo.contents.put", owner=OWNER, name="tools", **change)

    every = ghx.data("pr.threads.list", **PULL)
    current = ghx.data("pr.threads.list", **PULL, includeOutdated=False)

    assert titles(every) == UNRESOLVED
    assert titles(current) == ["Sixth"]
