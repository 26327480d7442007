"""What queries show of pull requests, reviews, checks and timelines."""

from dataclasses import replace
from typing import Any

import pytest
from graphql_world import Town

from ghx_twin.commands import repositories
from ghx_twin.commands.actions import checks
from ghx_twin.commands.issues import comments
from ghx_twin.commands.pulls import pulls, reviews, threads
from ghx_twin.commands.repositories import contents, refs
from ghx_twin.queries import lookup
from ghx_twin.state.records import Thread


def _widgets(
    town: Town, selection: str, variables: dict[str, Any] | None = None, *, declared: str = "", by: str = "octo"
) -> Any:
    query = f'query Q{declared} {{ repository(owner: "acme", name: "widgets") {{ {selection} }} }}'
    return town.ask(query, variables, by=by).data["repository"]


def _pull(town: Town, selection: str, *, by: str = "octo") -> Any:
    return _widgets(town, f"pullRequest(number: 7) {{ {selection} }}", by=by)["pullRequest"]


def test_review_threads_show_what_agents_ask_for(town: Town) -> None:
    found = _pull(
        town,
        "reviewThreads(first: 9) { totalCount nodes { isResolved isOutdated path line originalLine startLine diffSide "
        "viewerCanResolve viewerCanReply comments(first: 9) { nodes { databaseId fullDatabaseId author { login } body "
        "path line originalLine diffHunk outdated state replyTo { databaseId } "
        "pullRequestReview { state author { login } } "
        "commit { oid } originalCommit { oid } url } } } }",
    )["reviewThreads"]

    (thread,) = found["nodes"]
    first, second = thread["comments"]["nodes"]
    assert (thread["path"], thread["line"], thread["diffSide"]) == ("poem.txt", 15, "RIGHT")
    assert (first["author"], first["replyTo"], first["state"]) == ({"login": "rev"}, None, "SUBMITTED")
    assert second["replyTo"] == {"databaseId": first["databaseId"]}
    assert first["fullDatabaseId"] == str(first["databaseId"])
    assert first["diffHunk"].startswith("@@ ")
    assert first["diffHunk"].endswith("+line fifteen")
    assert first["originalCommit"]["oid"] == town.pull().head_sha
    assert first["pullRequestReview"] == {"state": "COMMENTED", "author": {"login": "rev"}}


def test_a_thread_is_outdated_when_its_line_is_rewritten(town: Town) -> None:
    town.put("poem.txt", "all new\n", "feature")

    thread = _pull(town, "reviewThreads(first: 1) { nodes { isOutdated line originalLine } }")["reviewThreads"][
        "nodes"
    ][0]

    assert thread == {"isOutdated": True, "line": None, "originalLine": 15}


def test_a_pull_request_shows_its_state(town: Town) -> None:
    found = _pull(
        town,
        "state mergeable mergeStateStatus reviewDecision additions deletions changedFiles headRefOid baseRefOid "
        "isCrossRepository closed merged isDraft potentialMergeCommit { oid } totalCommentsCount "
        "commits(last: 1) { nodes { commit { oid messageHeadline messageBody "
        "authors(first: 3) { nodes { name email user { login } } } } } } "
        "closingIssuesReferences(first: 3) { nodes { number } }",
    )

    assert (found["state"], found["mergeable"], found["mergeStateStatus"]) == ("OPEN", "MERGEABLE", "CLEAN")
    assert (found["additions"], found["deletions"], found["changedFiles"]) == (2, 1, 1)
    assert found["headRefOid"] == town.tip("feature")
    assert found["baseRefOid"] == town.tip("main")
    assert found["potentialMergeCommit"]["oid"]
    assert found["totalCommentsCount"] == 3
    (commit,) = [one["commit"] for one in found["commits"]["nodes"]]
    assert (commit["messageHeadline"], commit["messageBody"]) == ("Edit the poem", "At 15.")
    assert commit["authors"]["nodes"] == [{"name": "Octo", "email": "octo@example.com", "user": {"login": "octo"}}]
    assert found["closingIssuesReferences"]["nodes"] == [{"number": 1}]


def test_checks_are_rolled_up(town: Town) -> None:
    selection = (
        "commits(last: 1) { nodes { commit { status { state contexts { context } } statusCheckRollup { state "
        "contexts(first: 9) { totalCount checkRunCount statusContextCount "
        "checkRunCountsByState { state count } nodes { __typename "
        "... on CheckRun { name status conclusion checkSuite { workflowRun { event "
        "workflow { name } } } isRequired(pullRequestNumber: 7) } "
        "... on StatusContext { context state isRequired(pullRequestNumber: 7) } } } } } } }"
    )
    with town.acting(None) as act:
        repositories.protect(act, town.repository, pattern="main", required_checks=("build",))

    rollup = _pull(town, selection)["commits"]["nodes"][0]["commit"]["statusCheckRollup"]
    with town.acting() as act:
        checks.create_status(act, town.repository, sha=town.pull().head_sha, state="failure", context="ci/lint")
    after = _pull(town, selection)["commits"]["nodes"][0]["commit"]

    assert rollup["state"] == "SUCCESS"
    assert (rollup["contexts"]["checkRunCount"], rollup["contexts"]["statusContextCount"]) == (1, 1)
    assert rollup["contexts"]["checkRunCountsByState"] == [{"state": "SUCCESS", "count": 1}]
    assert rollup["contexts"]["nodes"] == [
        {
            "__typename": "CheckRun",
            "name": "build",
            "status": "COMPLETED",
            "conclusion": "SUCCESS",
            "checkSuite": {"workflowRun": {"event": "pull_request", "workflow": {"name": "CI"}}},
            "isRequired": True,
        },
        {"__typename": "StatusContext", "context": "ci/lint", "state": "SUCCESS", "isRequired": False},
    ]
    assert after["statusCheckRollup"]["state"] == "FAILURE"
    assert after["status"] == {"state": "FAILURE", "contexts": [{"context": "ci/lint"}]}


def test_a_commit_without_checks_has_no_rollup(town: Town) -> None:
    found = _widgets(
        town, "defaultBranchRef { target { ... on Commit { statusCheckRollup { state } status { state } } } }"
    )

    assert found["defaultBranchRef"]["target"] == {"statusCheckRollup": None, "status": None}


def test_reactions_are_listed_with_who_reacted(town: Town) -> None:
    found = _widgets(
        town,
        (
            "issue(number: 1) { reactionGroups { content viewerHasReacted reactors(first: 3) "
            "{ totalCount nodes { ... on User { login } } "
            "edges { reactedAt } } } reactions(first: 3) { totalCount viewerHasReacted nodes "
            "{ content user { login } } } }"
        ),
        by="bob",
    )["issue"]

    thumbs = next(one for one in found["reactionGroups"] if one["content"] == "THUMBS_UP")
    assert thumbs["viewerHasReacted"] is True
    assert thumbs["reactors"]["nodes"] == [{"login": "bob"}]
    assert thumbs["reactors"]["edges"][0]["reactedAt"]
    assert found["reactions"] == {
        "totalCount": 1,
        "viewerHasReacted": True,
        "nodes": [{"content": "THUMBS_UP", "user": {"login": "bob"}}],
    }


@pytest.mark.parametrize(
    ("arguments", "count"),
    [("states: OPEN", 1), ("states: [MERGED, CLOSED]", 0), ('headRefName: "feature"', 1), ('baseRefName: "no"', 0)],
)
def test_pull_requests_are_filtered(town: Town, arguments: str, count: int) -> None:
    assert (
        _widgets(town, f"pullRequests(first: 9, {arguments}) {{ totalCount }}")["pullRequests"]["totalCount"] == count
    )


def test_a_timeline_is_filtered(town: Town) -> None:
    found = _widgets(
        town,
        (
            "issue(number: 1) { timelineItems(first: 20, itemTypes: [ISSUE_COMMENT, "
            "LABELED_EVENT, CROSS_REFERENCED_EVENT]) "
            "{ totalCount filteredCount pageCount updatedAt nodes { __typename ... on "
            "LabeledEvent { label { name } actor { login } } "
            "... on CrossReferencedEvent { willCloseTarget source { ... on PullRequest { "
            "number } } } ... on IssueComment { body } } } }"
        ),
    )["issue"]["timelineItems"]

    assert found["nodes"] == [
        {"__typename": "LabeledEvent", "label": {"name": "bug"}, "actor": {"login": "octo"}},
        {"__typename": "IssueComment", "body": "Same here, @octo"},
        {"__typename": "CrossReferencedEvent", "willCloseTarget": True, "source": {"number": 7}},
    ]
    assert (found["filteredCount"], found["pageCount"]) == (3, 3)
    assert found["totalCount"] > 3


def test_the_timeline_of_a_pull_request_has_commits_and_reviews(town: Town) -> None:
    kinds = "PULL_REQUEST_COMMIT, PULL_REQUEST_REVIEW, REVIEW_REQUESTED_EVENT"
    found = _pull(town, f"timelineItems(first: 20, itemTypes: [{kinds}]) {{ nodes {{ __typename }} }}")

    assert [one["__typename"] for one in found["timelineItems"]["nodes"]] == [
        "PullRequestCommit",
        "ReviewRequestedEvent",
        "PullRequestReview",
        "PullRequestReview",
        "PullRequestReview",
    ]


def test_commits_stand_in_a_timeline_where_they_were_pushed(town: Town) -> None:
    with town.acting("octo") as act:
        comments.create(act, town.issue(7), "Before")
    rewritten = town.put("late.txt", "Late\n", "feature", "Late")
    with town.acting("octo") as act:
        comments.create(act, town.issue(7), "After")
    with town.acting("octo") as act:
        late = town.world.git(town.repository).commit(rewritten)
        assert late is not None
        signature = replace(late.committer, at="2001-01-01T00:00:00Z")
        again = act.git(town.repository).write_commit(
            tree=late.tree, parents=late.parents, message="Later", author=late.author, committer=signature
        )
        refs.update(act, town.repository, ref="refs/heads/feature", sha=again, force=True)

    kinds = "PULL_REQUEST_COMMIT, ISSUE_COMMENT, HEAD_REF_FORCE_PUSHED_EVENT"
    shown = "... on PullRequestCommit { commit { message } } ... on IssueComment { body }"
    found = _pull(town, f"timelineItems(last: 6, itemTypes: [{kinds}]) {{ nodes {{ __typename {shown} }} }}")

    told = [
        one.get("body") or one.get("commit", {}).get("message") or one["__typename"]
        for one in found["timelineItems"]["nodes"]
    ]
    assert told[-4:] == ["Before", "After", "Later", "HeadRefForcePushedEvent"]


def test_a_pull_request_from_a_private_fork_hides_the_fork(town: Town) -> None:
    with town.acting("bob") as act:
        fork = repositories.fork(act, town.repository, owner=town.people["bob"])
    with town.acting("bob") as act:
        refs.create(act, fork, ref="refs/heads/idea", sha=town.tip())
        contents.put(act, fork, path="idea.txt", content=b"Idea\n", message="Idea", branch="idea")
        pulls.create(act, town.repository, title="Idea", head="bob:idea", base="main")

    shown = (
        "pullRequest(number: 8) { isCrossRepository headRepository { nameWithOwner } "
        "headRepositoryOwner { login } headRef { name } }"
    )
    seen = _widgets(town, shown)["pullRequest"]
    with town.acting("bob") as act:
        act.database.update(fork, visibility="private")
    hidden = _widgets(town, shown)["pullRequest"]

    assert seen == {
        "isCrossRepository": True,
        "headRepository": {"nameWithOwner": "bob/widgets"},
        "headRepositoryOwner": {"login": "bob"},
        "headRef": {"name": "idea"},
    }
    assert hidden == {"isCrossRepository": True, "headRepository": None, "headRepositoryOwner": None, "headRef": None}


def test_a_pending_comment_is_counted_for_its_author_only(town: Town) -> None:
    from ghx_twin.commands.pulls import reviews

    with town.acting("rev") as act:
        review = reviews.create(act, town.pull(), event=None)
        threads.create(act, town.pull(), path="poem.txt", body="Secret", line=16, review=review)

    shown = "reviewThreads(first: 9) { totalCount } reviews(first: 9, states: [PENDING]) { totalCount }"
    assert _pull(town, shown, by="rev") == {"reviewThreads": {"totalCount": 2}, "reviews": {"totalCount": 1}}
    assert _pull(town, shown, by="octo") == {"reviewThreads": {"totalCount": 1}, "reviews": {"totalCount": 0}}
    assert town.world.database.count(Thread) == 2


def test_latest_reviews_leave_out_those_who_were_asked_again(town: Town) -> None:
    shown = "latestReviews(first: 9) { nodes { author { login } state } }"

    before = _pull(town, shown)
    with town.acting() as act:
        reviews.request_reviews(act, town.pull(), users=[town.people["rev"]])
    after = _pull(town, shown)

    assert {"author": {"login": "rev"}, "state": "COMMENTED"} in before["latestReviews"]["nodes"]
    assert all(one["author"]["login"] != "rev" for one in after["latestReviews"]["nodes"])


def test_a_deleted_label_is_still_named_by_the_timeline(town: Town) -> None:
    from ghx_twin.commands.issues import labels

    with town.acting() as act:
        labels.delete(act, lookup.label(town.world, town.repository, "bug"))

    found = _widgets(
        town,
        "issue(number: 1) { labels(first: 3) { totalCount } timelineItems(first: 9, itemTypes: [LABELED_EVENT]) "
        "{ nodes { ... on LabeledEvent { label { name color } } } } }",
    )["issue"]

    assert found["labels"]["totalCount"] == 0
    assert found["timelineItems"]["nodes"][0]["label"]["name"] == "bug"
