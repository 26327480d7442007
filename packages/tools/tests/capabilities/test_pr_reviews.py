"""Reviews, who is asked for them, what they look at: files, commits, checks, reactions."""

from collections.abc import Mapping

import pytest
from capability_calls import OWNER, Ghx

from ghx_twin.faults import Fault

PULL = {"owner": OWNER, "name": "tools", "prNumber": 1}


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


RUN = {"owner": OWNER, "name": "tools", "prNumber": 4, "runId": 601}


def outcomes(ghx: Ghx) -> dict[str, str]:
    """Return the checks of the pull request behind `RUN` that its own event set off."""
    checks = ghx.data("pr.checks.list", **{name: RUN[name] for name in ("owner", "name", "prNumber")})["items"]
    return {each["name"]: each["state"] for each in checks if each["state"] != "IN_PROGRESS"}


def asked(ghx: Ghx) -> list[str]:
    """Return what was asked of workflow runs, granted or not."""
    posted = [entry.operation for entry in ghx.twin.world.journal if entry.method == "POST"]
    return [operation.rpartition("/")[2] for operation in posted if "/actions/runs/" in operation]


def test_every_job_of_a_workflow_run_runs_again(ghx: Ghx) -> None:
    assert outcomes(ghx) == {"unit": "SUCCESS", "web": "FAILURE", "slow": "CANCELLED"}

    assert ghx.data("pr.checks.rerun.all", **RUN) == {"runId": 601, "queued": True}

    assert outcomes(ghx) == {"unit": "QUEUED", "web": "QUEUED", "slow": "QUEUED"}


def test_failed_jobs_of_a_workflow_run_run_again(ghx: Ghx) -> None:
    assert ghx.data("pr.checks.rerun.failed", **RUN) == {"runId": 601, "queued": True}

    assert outcomes(ghx) == {"unit": "SUCCESS", "web": "QUEUED", "slow": "QUEUED"}
    assert asked(ghx) == ["rerun-failed-jobs"]


def test_where_no_job_can_be_retried_all_run_again(ghx: Ghx) -> None:
    pull = {"owner": OWNER, "name": "widgets", "prNumber": 7}

    assert ghx.data("pr.checks.rerun.failed", **pull, runId=501) == {"runId": 501, "queued": True}

    assert [each["state"] for each in ghx.data("pr.checks.list", **pull)["items"]] == ["QUEUED"]
    assert asked(ghx) == ["rerun-failed-jobs", "rerun"]


@pytest.mark.parametrize("task", ["pr.checks.rerun.all", "pr.checks.rerun.failed"])
def test_a_workflow_run_that_runs_is_not_ready(ghx: Ghx, task: str) -> None:
    envelope = ghx.run(task, **{**RUN, "runId": 602})

    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retryable) == ("NOT_READY", True)
    assert "already running" in envelope.error.message
    assert len(asked(ghx)) == 1


@pytest.mark.parametrize("task", ["pr.checks.rerun.all", "pr.checks.rerun.failed"])
def test_a_workflow_run_is_started_for_its_pull_request_by_who_may_write(ghx: Ghx, task: str) -> None:
    assert ghx.error(task, **{**RUN, "prNumber": 1}) == "VALIDATION"  # it was for the last commit of another one
    assert ghx.error(task, **{**RUN, "runId": 699}) == "NOT_FOUND"
    assert ghx.error(task, **{**RUN, "prNumber": 99}) == "NOT_FOUND"
    assert ghx.as_user("reader").error(task, **RUN) == "AUTH"
    assert outcomes(ghx) == {"unit": "SUCCESS", "web": "FAILURE", "slow": "CANCELLED"}


@pytest.mark.parametrize("task", ["pr.checks.rerun.all", "pr.checks.rerun.failed"])
def test_a_start_that_may_have_happened_is_not_sent_twice(ghx: Ghx, task: str) -> None:
    ghx.twin.world.faults.add(Fault(status=502, times=1, method="POST", path="/repos/*/rerun*"))

    assert ghx.error(task, **RUN) == "SERVER"

    assert ghx.data(task, **RUN)["queued"]
