"""Mutations of reviews, threads and comments on diffs."""

import pytest
from graphql_world import Town

from ghx_twin.state.records import Review, ReviewComment, Thread

PULL = "pullRequest { number state isDraft title body baseRefName }"


@pytest.fixture
def pull_id(town: Town) -> str:
    return town.id(town.pull())


def _thread(town: Town) -> Thread:
    return town.world.database.all(Thread)[0]


def test_a_review_is_given_with_threads(town: Town, pull_id: str) -> None:
    payload = town.mutate(
        "addPullRequestReview",
        (
            "reviewEdge { node { id } } pullRequestReview { id state body comments(first: 9) "
            "{ nodes { path line body } } }"
        ),
        by="rev",
        pullRequestId=pull_id,
        event="REQUEST_CHANGES",
        body="Please change",
        commitOID=town.pull().head_sha,
        threads=[{"path": "poem.txt", "line": 16, "body": "Half?"}],
        comments=[{"path": "poem.txt", "position": 5, "body": "Old way"}],
    )

    review = payload["pullRequestReview"]
    assert payload["reviewEdge"]["node"]["id"] == review["id"]
    assert (review["state"], review["body"]) == ("CHANGES_REQUESTED", "Please change")
    assert {(one["path"], one["body"]) for one in review["comments"]["nodes"]} == {
        ("poem.txt", "Old way"),
        ("poem.txt", "Half?"),
    }


def test_nobody_approves_their_own_work(town: Town, pull_id: str) -> None:
    answer = town.try_to("addPullRequestReview", "clientMutationId", pullRequestId=pull_id, event="APPROVE")

    assert answer.errors[0]["type"] == "UNPROCESSABLE"
    assert "approve your own pull request" in answer.errors[0]["message"]


def test_a_review_is_begun_added_to_and_submitted(town: Town, pull_id: str) -> None:
    begun = town.mutate("addPullRequestReview", "pullRequestReview { id state }", by="rev", pullRequestId=pull_id)
    identity = begun["pullRequestReview"]["id"]
    thread = town.mutate(
        "addPullRequestReviewThread",
        "thread { id isResolved path line diffSide subjectType comments(first: 1) { nodes { state body } } }",
        by="rev",
        pullRequestReviewId=identity,
        path="poem.txt",
        line=15,
        side="RIGHT",
        body="Here",
    )["thread"]
    hidden = town.ask("query($id: ID!) { node(id: $id) { id } }", {"id": thread["id"]}, by="octo")
    rewritten = town.mutate(
        "updatePullRequestReview", "pullRequestReview { body }", by="rev", pullRequestReviewId=identity, body="Summary"
    )
    submitted = town.mutate(
        "submitPullRequestReview",
        "pullRequestReview { state submittedAt comments(first: 5) { nodes { state } } }",
        by="rev",
        pullRequestId=pull_id,
        event="APPROVE",
    )["pullRequestReview"]

    assert begun["pullRequestReview"]["state"] == "PENDING"
    assert (thread["line"], thread["diffSide"], thread["subjectType"]) == (15, "RIGHT", "LINE")
    assert thread["comments"]["nodes"] == [{"state": "PENDING", "body": "Here"}]
    assert hidden.errors[0]["type"] == "NOT_FOUND"
    assert rewritten["pullRequestReview"]["body"] == "Summary"
    assert (submitted["state"], submitted["comments"]["nodes"]) == ("APPROVED", [{"state": "SUBMITTED"}])


def test_a_thread_without_a_review_begins_one(town: Town, pull_id: str) -> None:
    town.mutate(
        "addPullRequestReviewThread",
        "thread { id }",
        by="rev",
        pullRequestId=pull_id,
        path="poem.txt",
        body="x",
        subjectType="FILE",
    )

    pending = town.world.database.all(Review, state="PENDING")
    assert [one.author_id for one in pending] == [town.people["rev"].id]


def test_a_begun_review_is_dropped(town: Town, pull_id: str) -> None:
    identity = town.mutate("addPullRequestReview", "pullRequestReview { id }", by="rev", pullRequestId=pull_id)

    payload = town.mutate(
        "deletePullRequestReview",
        "pullRequestReview { id state }",
        by="rev",
        pullRequestReviewId=identity["pullRequestReview"]["id"],
    )

    assert payload["pullRequestReview"]["state"] == "PENDING"
    assert town.world.database.count(Review, state="PENDING") == 0


def test_a_review_is_dismissed(town: Town, pull_id: str) -> None:
    given = town.mutate(
        "addPullRequestReview", "pullRequestReview { id }", by="rev", pullRequestId=pull_id, event="APPROVE"
    )

    payload = town.mutate(
        "dismissPullRequestReview",
        "pullRequestReview { state }",
        pullRequestReviewId=given["pullRequestReview"]["id"],
        message="No longer",
    )

    assert payload["pullRequestReview"]["state"] == "DISMISSED"


def test_a_thread_is_answered_resolved_and_opened_again(town: Town) -> None:
    identity = town.id(_thread(town))

    reply = town.mutate(
        "addPullRequestReviewThreadReply",
        "comment { id databaseId body replyTo { body } pullRequestReview { state } url }",
        pullRequestReviewThreadId=identity,
        body="Done",
    )["comment"]
    resolved = town.mutate("resolveReviewThread", "thread { isResolved resolvedBy { login } }", threadId=identity)
    opened = town.mutate("unresolveReviewThread", "thread { isResolved resolvedBy { login } }", threadId=identity)

    assert (reply["body"], reply["replyTo"], reply["pullRequestReview"]) == (
        "Done",
        {"body": "Why?"},
        {"state": "COMMENTED"},
    )
    assert reply["url"] == f"https://github.com/acme/widgets/pull/7#discussion_r{reply['databaseId']}"
    assert resolved["thread"] == {"isResolved": True, "resolvedBy": {"login": "octo"}}
    assert opened["thread"] == {"isResolved": False, "resolvedBy": None}


def test_comments_are_written_the_older_way(town: Town, pull_id: str) -> None:
    first = town.world.database.all(ReviewComment)[0]

    answered = town.mutate(
        "addPullRequestReviewComment",
        "comment { body replyTo { databaseId } } commentEdge { node { body } }",
        inReplyTo=town.id(first),
        body="Again",
    )
    placed = town.mutate(
        "addPullRequestReviewComment",
        "comment { path position originalPosition state }",
        by="rev",
        pullRequestId=pull_id,
        path="poem.txt",
        position=5,
        body="There",
    )

    assert answered["comment"] == {"body": "Again", "replyTo": {"databaseId": first.id}}
    assert answered["commentEdge"] == {"node": {"body": "Again"}}
    assert placed["comment"] == {"path": "poem.txt", "position": 5, "originalPosition": 5, "state": "PENDING"}


def test_comments_on_a_diff_are_rewritten_and_deleted(town: Town) -> None:
    second = town.world.database.all(ReviewComment)[1]

    changed = town.mutate(
        "updatePullRequestReviewComment",
        "pullRequestReviewComment { body }",
        pullRequestReviewCommentId=town.id(second),
        body="Rewritten",
    )
    town.mutate(
        "deletePullRequestReviewComment",
        "clientMutationId pullRequestReview { id } pullRequestReviewComment { id }",
        id=town.id(second),
    )

    assert changed["pullRequestReviewComment"] == {"body": "Rewritten"}
    assert town.world.database.get(ReviewComment, second.id) is None
