"""Reviews, who is asked for them, what they look at: files, commits, checks, reactions."""

import json
from collections.abc import Mapping
from functools import partial

import anyio
import pytest
from capability_calls import OWNER, Ghx

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.execution import execute_task
from ghx_bench.capabilities.transports.exchange import Request, Response

PULL = {"owner": OWNER, "name": "tools", "prNumber": 1}
HEAD = "0" * 40


def test_a_review_has_a_verdict_a_body_and_comments_on_lines(ghx: Ghx) -> None:
    comments = [
        {"path": "hammer.py", "line": 6, "body": "One line"},
        {"path": "hammer.py", "line": 3, "startLine": 1, "body": "Several"},
        {"path": "hammer.py", "line": 2, "side": "left", "body": "What was there"},
    ]

    review = ghx.data("pr.reviews.submit", **PULL, event="request_changes", body="Not yet", comments=comments)

    assert (review["state"], review["body"]) == ("CHANGES_REQUESTED", "Not yet")
    *_, listed = ghx.data("pr.reviews.list", **PULL)["items"]
    assert (listed["id"], listed["authorLogin"], listed["state"]) == (review["id"], "octo", "CHANGES_REQUESTED")
    assert listed["commitOid"] == ghx.data("pr.commits.list", **PULL)["items"][-1]["sha"]
    threads = {each["comments"][0]["body"]: each for each in ghx.data("pr.threads.list", **PULL)["items"]}
    assert threads["One line"]["line"] == 6
    assert (threads["Several"]["startLine"], threads["Several"]["line"]) == (1, 3)
    assert threads["What was there"]["diffSide"] == "LEFT"
    assert ghx.data("pr.merge.status", **PULL)["reviewDecision"] == "CHANGES_REQUESTED"


@pytest.mark.parametrize(
    "review",
    [
        {"event": "COMMENT"},
        {"event": "REQUEST_CHANGES"},
        {"event": "REJECT", "body": "No"},
        {"event": "APPROVE", "comments": [{"path": "hammer.py", "body": "Where?"}]},
        {"event": "APPROVE", "comments": [{"path": "hammer.py", "line": 1, "body": "x", "lines": 2}]},
    ],
)
def test_a_review_that_says_too_little_is_refused_before_it_is_sent(ghx: Ghx, review: dict) -> None:
    assert ghx.error("pr.reviews.submit", **PULL, **review) == "VALIDATION"
    assert len(ghx.twin.world.journal) == 0


def test_a_comment_beside_the_diff_is_refused_whole(ghx: Ghx) -> None:
    comments = [{"path": "hammer.py", "line": 600, "body": "Where?"}]
    before = ghx.data("pr.reviews.list", **PULL)

    assert ghx.error("pr.reviews.submit", **PULL, event="COMMENT", body="x", comments=comments) == "VALIDATION"
    assert ghx.data("pr.reviews.list", **PULL) == before


def test_nobody_approves_their_own(ghx: Ghx) -> None:
    assert ghx.as_user("hubot").error("pr.reviews.submit", **PULL, event="APPROVE") == "VALIDATION"


def test_people_and_teams_are_asked_to_review(ghx: Ghx) -> None:
    first = ghx.data("pr.reviews.request", **PULL, reviewers=["reader"])
    second = ghx.data("pr.reviews.request", **PULL, reviewers=["acme/core-team"])

    assert first == {"prNumber": 1, "reviewers": ["reader"], "updated": True}
    assert second == {"prNumber": 1, "reviewers": ["reader", "acme/core-team"], "updated": True}
    assert ghx.error("pr.reviews.request", **PULL, reviewers=["nobody"]) == "VALIDATION"


def test_files_are_listed_briefly_or_with_their_patches(ghx: Ghx) -> None:
    brief = ghx.data("pr.diff.files", **PULL)["items"]
    whole = {each["path"]: each for each in ghx.data("pr.files.list", **PULL)["items"]}

    assert {each["path"]: (each["additions"], each["deletions"]) for each in brief} == {
        "NEWS.md": (1, 0),
        "READ.me": (0, 0),
        "hammer.py": (6, 6),
    }
    assert whole["hammer.py"]["patch"].startswith("@@ -1,6 +1,6 @@\n-one = 1\n")
    assert (whole["READ.me"]["status"], whole["READ.me"]["previousPath"]) == ("renamed", "README.md")
    assert "patch" not in whole["READ.me"]
    assert whole["NEWS.md"]["status"] == "added"


def test_files_with_patches_come_page_by_page(ghx: Ghx) -> None:
    first = ghx.data("pr.files.list", **PULL, first=2)
    second = ghx.data("pr.files.list", **PULL, first=2, after=first["pageInfo"]["endCursor"])

    assert len({each["path"] for each in (*first["items"], *second["items"])}) == 3
    assert second["pageInfo"] == {"hasNextPage": False, "endCursor": None}
    assert ghx.error("pr.files.list", **PULL, after="elsewhere") == "VALIDATION"


def test_the_diff_is_what_git_would_print(ghx: Ghx) -> None:
    diff = ghx.data("pr.diff.view", **PULL)["diff"]

    assert diff.startswith("diff --git a/NEWS.md b/NEWS.md\n")
    assert "\n-six = 6\n" in diff
    assert "\n+six = 5\n" in diff


def test_commits_are_listed_oldest_first(ghx: Ghx) -> None:
    commits = ghx.data("pr.commits.list", **PULL)["items"]

    assert [each["message"] for each in commits] == ["Count from zero", "Say so"]
    assert {each["authorLogin"] for each in commits} == {"hubot"}


def test_checks_are_counted_by_how_they_came_out(ghx: Ghx) -> None:
    checks = ghx.data("pr.checks.list", **PULL)

    assert checks["summary"] == {"total": 5, "failed": 1, "pending": 2, "passed": 2}
    assert {each["name"]: each["state"] for each in checks["items"]} == {
        "build": "SUCCESS",
        "test": "FAILURE",
        "lint": "SKIPPED",
        "slow": "IN_PROGRESS",
        "old/ci": "PENDING",
    }


@pytest.mark.parametrize(
    ("state", "names"), [("failed", ["test"]), ("pending", ["slow", "old/ci"]), ("passed", ["build", "lint"])]
)
def test_some_checks_are_listed_and_all_are_counted(ghx: Ghx, state: str, names: list[str]) -> None:
    checks = ghx.data("pr.checks.list", **PULL, state=state)

    assert sorted(each["name"] for each in checks["items"]) == sorted(names)
    assert checks["summary"]["total"] == 5


def test_a_pull_request_without_checks_has_none(ghx: Ghx) -> None:
    checks = ghx.data("pr.checks.list", owner=OWNER, name="tools", prNumber=2)

    assert checks == {"items": [], "summary": {"total": 0, "failed": 0, "pending": 0, "passed": 0}}


def test_reactions_to_a_pull_request(ghx: Ghx) -> None:
    reactions = ghx.data("pr.reactions.list", **PULL)

    assert reactions["subject"]["type"] == "PullRequest"
    assert {each["content"]: each["reactorLogins"] for each in reactions["items"]} == {
        "THUMBS_UP": ["octo", "reader"],
        "HEART": ["octo"],
    }
    assert all(each["viewerHasReacted"] and not each["reactorsTruncated"] for each in reactions["items"])
    assert [each["content"] for each in ghx.data("pr.reactions.list", **PULL, reactorLogin="Reader")["items"]] == [
        "THUMBS_UP"
    ]
    assert ghx.data("pr.reactions.list", **PULL, content="ROCKET")["items"] == []


def reacted(reactions: Mapping) -> list[tuple[str, list[str]]]:
    return [(each["subjectType"], [group["content"] for group in each["groups"]]) for each in reactions["items"]]


EVERY_REACTION = [
    ("IssueComment", ["EYES"]),
    ("IssueComment", ["THUMBS_UP", "HEART"]),
    ("PullRequestReviewComment", ["ROCKET"]),
    ("PullRequestReviewComment", ["CONFUSED"]),
]


def test_reactions_to_comments_of_both_kinds(ghx: Ghx) -> None:
    reactions = ghx.data("pr.comments.reactions.list", **PULL)

    assert reacted(reactions) == EVERY_REACTION
    assert reactions["scan"] == {"pagesScanned": 2, "sourceItemsScanned": 10, "scanTruncated": False}
    assert reacted(ghx.data("pr.comments.reactions.list", **PULL, reactorLogin="octo")) == [
        EVERY_REACTION[1],
        EVERY_REACTION[3],
    ]
    assert reacted(ghx.data("pr.comments.reactions.list", **PULL, content="HEART")) == [("IssueComment", ["HEART"])]


@pytest.mark.parametrize("first", [1, 2, 3])
def test_reactions_to_comments_come_page_by_page_each_once(ghx: Ghx, first: int) -> None:
    found: list[tuple[str, list[str]]] = []
    page_info = {"hasNextPage": True, "endCursor": None}
    while page_info["hasNextPage"]:
        reactions = ghx.data("pr.comments.reactions.list", **PULL, first=first, after=page_info["endCursor"])
        found += reacted(reactions)
        page_info = reactions["pageInfo"]

    assert found == EVERY_REACTION


@pytest.mark.parametrize("cursor", ["x", "[]", '["comments", 1, 0]', '["comments", null, -1]', '["other", null, 0]'])
def test_a_cursor_of_another_list_is_refused(ghx: Ghx, cursor: str) -> None:
    assert ghx.error("pr.comments.reactions.list", **PULL, after=cursor) == "VALIDATION"


class Runs:
    """A GitHub with one pull request and one workflow run, which notes what it is asked to do."""

    def __init__(self, ran_for: str) -> None:
        self.ran_for = ran_for
        self.posted: list[str] = []

    async def send(self, request: Request) -> Response:
        body: object = {"data": {"repository": {"pullRequest": {"headRefOid": HEAD}}}}
        if request.url.endswith("/actions/runs/5"):
            body = {"id": 5, "head_sha": self.ran_for}
        elif "/actions/runs/5/" in request.url:
            self.posted.append(f"{request.method} {request.url}")
            return Response(status=201, headers={}, body=b"{}")
        return Response(status=200, headers={}, body=json.dumps(body).encode())

    async def aclose(self) -> None:
        pass


def rerun(runs: Runs, task: str) -> dict:
    async def run() -> dict:
        async with GitHubClient("https://github.test", None, transport=runs) as client:
            return (await execute_task(client, task, {**PULL, "runId": 5})).to_compact()

    return anyio.run(partial(run))


@pytest.mark.parametrize(
    ("task", "action"), [("pr.checks.rerun.all", "rerun"), ("pr.checks.rerun.failed", "rerun-failed-jobs")]
)
def test_a_workflow_run_starts_over(task: str, action: str) -> None:
    runs = Runs(HEAD)

    assert rerun(runs, task) == {"ok": True, "data": {"runId": 5, "queued": True}}
    assert runs.posted == [f"POST https://github.test/repos/acme/tools/actions/runs/5/{action}"]


def test_a_workflow_run_of_another_commit_is_not_started() -> None:
    runs = Runs("1" * 40)

    answer = rerun(runs, "pr.checks.rerun.all")

    assert (answer["ok"], answer["error"]["code"]) == (False, "VALIDATION")
    assert runs.posted == []
