"""`gh api`: REST and GraphQL as scripts and agents use them, and how refusals look."""

import json
from typing import Any

import pytest
from gh_client import GhClient

REPOSITORY = "repos/acme/widgets"
THREADS = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 2, after: $after) {
        totalCount
        pageInfo { hasNextPage endCursor }
        edges { cursor node { id } }
        nodes {
          id isResolved isOutdated isCollapsed path line startLine originalLine originalStartLine diffSide
          startDiffSide subjectType viewerCanReply viewerCanResolve viewerCanUnresolve resolvedBy { login }
          comments(first: 10) {
            totalCount
            nodes {
              id databaseId fullDatabaseId body bodyText path line diffHunk outdated url createdAt updatedAt
              authorAssociation viewerDidAuthor isMinimized state replyTo { id } author { login __typename }
              pullRequestReview { id state } commit { oid } originalCommit { oid }
              reactionGroups { content reactors(first: 1) { totalCount } }
            }
          }
        }
      }
    }
  }
}
"""


def threads(gh: GhClient) -> list[dict[str, Any]]:
    """Read every thread of the pull request, page by page as a script would."""
    found: list[dict[str, Any]] = []
    after: list[str] = []
    while True:
        query = ["-f", f"query={THREADS}", "-f", "owner=acme", "-f", "name=widgets", "-F", "number=7"]
        answer = gh.json("api", "graphql", *query, *after)
        page = answer["data"]["repository"]["pullRequest"]["reviewThreads"]
        found += page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            assert page["totalCount"] == len(found)
            return found
        after = ["-f", f"after={page['pageInfo']['endCursor']}"]


def test_review_threads_have_the_values_of_the_seed(gh: GhClient) -> None:
    first, second, third = threads(gh)

    assert (first["path"], first["line"], first["isResolved"]) == ("src/b.py", 2, True)
    assert first["resolvedBy"] == {"login": "hubot"}
    assert [each["body"] for each in first["comments"]["nodes"]] == ["Why one?", "It is more than none."]
    assert (second["line"], second["isResolved"], second["viewerCanResolve"]) == (4, False, True)
    assert (third["startLine"], third["line"]) == (1, 2)


def test_a_thread_is_answered_and_resolved(gh: GhClient) -> None:
    thread = threads(gh)[1]
    reply = (
        "mutation($id: ID!, $body: String!) { addPullRequestReviewThreadReply("
        "input: {pullRequestReviewThreadId: $id, body: $body}) { comment { id body replyTo { id } } } }"
    )
    resolve = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"

    said = gh.json("api", "graphql", "-f", f"query={reply}", "-f", f"id={thread['id']}", "-f", "body=Gone.")
    done = gh.json("api", "graphql", "-f", f"query={resolve}", "-f", f"id={thread['id']}")

    assert said["data"]["addPullRequestReviewThreadReply"]["comment"]["body"] == "Gone."
    assert done["data"]["resolveReviewThread"]["thread"] == {"isResolved": True}
    after = threads(gh)[1]
    assert after["isResolved"]
    assert [each["body"] for each in after["comments"]["nodes"]] == ["No print here.", "Gone."]


def test_a_reply_over_rest_lands_in_the_thread(gh: GhClient) -> None:
    first = gh.json("api", f"{REPOSITORY}/pulls/7/comments")[0]

    said = gh.json("api", f"{REPOSITORY}/pulls/7/comments/{first['id']}/replies", "-f", "body=Sure")

    assert said["in_reply_to_id"] == first["id"]
    assert [each["body"] for each in threads(gh)[0]["comments"]["nodes"]][-1] == "Sure"


def test_a_review_with_inline_comments_from_a_file(gh: GhClient) -> None:
    review = {
        "event": "REQUEST_CHANGES",
        "body": "See below.",
        "comments": [{"path": "src/b.py", "line": 1, "side": "RIGHT", "body": "A name, please."}],
    }

    made = gh.json("api", f"{REPOSITORY}/pulls/7/reviews", "--input", "-", given=json.dumps(review))

    assert made["state"] == "CHANGES_REQUESTED"
    assert threads(gh)[-1]["comments"]["nodes"][0]["body"] == "A name, please."


def test_paginate_follows_the_links(gh: GhClient) -> None:
    for number in range(5):
        gh.do("api", f"{REPOSITORY}/issues/3/comments", "-f", f"body=comment {number}")
    before = len(gh.twin.world.journal)

    listed = gh.do("api", "--paginate", f"{REPOSITORY}/issues/3/comments?per_page=2", "--jq", ".[].body")

    assert listed.out.splitlines() == [f"comment {number}" for number in range(5)]
    assert len(gh.twin.world.journal) - before == 3


def test_paginate_of_graphql_follows_the_cursor(gh: GhClient) -> None:
    query = (
        'query($endCursor: String) {repository(owner: "acme", name: "widgets") {labels(first: 4, after: $endCursor)'
        "{nodes {name} pageInfo {hasNextPage endCursor}}}}"
    )

    listed = gh.do(
        "api", "graphql", "--paginate", "-f", f"query={query}", "--jq", ".data.repository.labels.nodes[].name"
    )

    assert len(listed.out.splitlines()) == 9
    assert len(listed.requests) == 3


def test_fields_have_types_and_lists(gh: GhClient) -> None:
    made = gh.json(
        "api", f"{REPOSITORY}/issues", "-f", "title=T", "-F", "milestone=1", "-f", "labels[]=bug", "-f", "labels[]=new",
        "-f", "assignees[]=octo",
    )  # fmt: skip

    assert [each["name"] for each in made["labels"]] == ["bug", "new"]
    assert made["milestone"]["number"] == 1
    assert [each["login"] for each in made["assignees"]] == ["octo"]


def test_methods_are_named_by_a_flag(gh: GhClient) -> None:
    gh.do("api", "-X", "PATCH", f"{REPOSITORY}/issues/1", "-f", "state=closed")
    gh.do("api", "-X", "DELETE", f"{REPOSITORY}/issues/1/labels/bug")
    seen = gh.json("api", "-X", "GET", f"{REPOSITORY}/issues/1")

    assert (seen["state"], seen["labels"]) == ("closed", [])


def test_placeholders_are_the_repository_one_stands_in(gh: GhClient) -> None:
    assert gh.json("api", "repos/{owner}/{repo}")["full_name"] == "acme/widgets"


def test_headers_are_shown(gh: GhClient) -> None:
    shown = gh.do("api", "-i", "user").out.lower()

    assert "http/1.1 200 ok" in shown
    assert "x-oauth-scopes:" in shown
    assert "x-ratelimit-remaining:" in shown


@pytest.mark.parametrize(
    "path",
    [
        "repos/acme/nothing",
        "repos/acme/widgets/pulls/99",
        "repos/acme/widgets/pulls/1",
        "repos/acme/widgets/pulls/comments/1/replies",
        "nothing/at/all",
        "repos/acme/widgets/contents/nothing.md",
    ],
)
def test_what_is_not_there_is_404(gh: GhClient, path: str) -> None:
    missing = gh.run("api", path)

    assert missing.code == 1
    assert "gh: Not Found (HTTP 404)" in missing.err or "HTTP 404" in missing.err
    assert missing.json["status"] == "404"
    assert missing.json["message"]


def test_bad_input_is_422_and_says_which_field(gh: GhClient) -> None:
    refused = gh.run("api", f"{REPOSITORY}/labels", "-f", "name=x", "-f", "color=nothing")

    assert refused.code == 1
    assert "(HTTP 422)" in refused.err
    assert refused.json["message"] == "Validation Failed"
    assert refused.json["errors"] == [{"resource": "Label", "code": "invalid", "field": "color"}]


def test_a_line_outside_of_the_diff_is_422(gh: GhClient) -> None:
    head = gh.json("api", f"{REPOSITORY}/pulls/7")["head"]["sha"]

    refused = gh.run(
        "api", f"{REPOSITORY}/pulls/7/comments", "-f", "body=x", "-f", f"commit_id={head}", "-f", "path=src/b.py",
        "-F", "line=400", "-f", "side=RIGHT",
    )  # fmt: skip

    assert refused.code == 1
    assert refused.requests[-1].status == 422
    assert "pull_request_review_thread.line" in refused.out


def test_an_unknown_field_of_graphql_is_an_error(gh: GhClient) -> None:
    refused = gh.run("api", "graphql", "-f", "query={viewer {nothing}}")

    assert refused.code == 1
    assert "Field 'nothing' doesn't exist on type 'User'" in refused.err


def test_a_missing_thing_of_graphql_is_null_and_an_error(gh: GhClient) -> None:
    query = 'query {repository(owner: "acme", name: "widgets") {pullRequest(number: 99) {id}}}'

    refused = gh.run("api", "graphql", "-f", f"query={query}")

    assert refused.code == 1
    assert refused.json["data"] == {"repository": {"pullRequest": None}}
    assert refused.json["errors"][0]["type"] == "NOT_FOUND"
    assert refused.json["errors"][0]["path"] == ["repository", "pullRequest"]


def test_a_bad_token_is_401(gh: GhClient) -> None:
    refused = gh.run("api", "user", GH_TOKEN="ghp_nobody")

    assert refused.code == 1
    assert refused.json["message"] == "Bad credentials"
    assert "(HTTP 401)" in refused.err


def test_a_private_repository_is_not_there_for_strangers(gh: GhClient) -> None:
    assert gh.json("api", "repos/acme/secret")["private"] is True
    assert "(HTTP 404)" in gh.acting_as("stranger").run("api", "repos/acme/secret").err
