"""Mutations of pull requests, reviews, repositories and refs."""

import base64
from typing import Any

import pytest
from graphql_world import Town

from ghx_twin.commands import repositories
from ghx_twin.commands.repositories import refs
from ghx_twin.nodes import git_node_id
from ghx_twin.queries import lookup

PULL = "pullRequest { number state isDraft title body baseRefName }"


@pytest.fixture
def pull_id(town: Town) -> str:
    return town.id(town.pull())


def _branch(town: Town, name: str, path: str = "new.txt") -> None:
    with town.acting() as act:
        refs.create(act, town.repository, ref=f"refs/heads/{name}", sha=town.tip())
    town.put(path, "New\n", name, f"Add {path}")


def test_a_pull_request_is_opened(town: Town) -> None:
    _branch(town, "topic")

    payload = town.mutate(
        "createPullRequest",
        "clientMutationId pullRequest { number title body isDraft isCrossRepository headRefName url state "
        "headRepositoryOwner { login } commits(first: 9) { totalCount } files(first: 9) "
        "{ nodes { path changeType } } }",
        repositoryId=town.id(town.repository),
        title="New",
        body="Body",
        baseRefName="main",
        headRefName="acme:topic",
        draft=True,
        maintainerCanModify=True,
    )

    assert payload["pullRequest"] == {
        "number": 8,
        "title": "New",
        "body": "Body",
        "isDraft": True,
        "isCrossRepository": False,
        "headRefName": "topic",
        "url": "https://github.com/acme/widgets/pull/8",
        "state": "OPEN",
        "headRepositoryOwner": {"login": "acme"},
        "commits": {"totalCount": 1},
        "files": {"nodes": [{"path": "new.txt", "changeType": "ADDED"}]},
    }


def test_what_an_update_does_not_name_stays(town: Town, pull_id: str) -> None:
    unchanged = town.mutate("updatePullRequest", f"actor {{ login }} {PULL}", pullRequestId=pull_id)
    changed = town.mutate(
        "updatePullRequest",
        f"{PULL[:-1]} labels(first: 9) {{ nodes {{ name }} }} }}",
        pullRequestId=pull_id,
        title="Other",
        labelIds=[town.id(lookup.label(town.world, town.repository, "bug"))],
        assigneeIds=[town.id(town.people["octo"])],
        milestoneId=town.id(lookup.milestone(town.world, town.repository, 1)),
        state="CLOSED",
    )

    assert (unchanged["pullRequest"]["title"], unchanged["actor"]) == ("A title", {"login": "octo"})
    assert changed["pullRequest"]["title"] == "Other"
    assert changed["pullRequest"]["body"] == "Fixes #1"
    assert changed["pullRequest"]["state"] == "CLOSED"
    assert changed["pullRequest"]["labels"]["nodes"] == [{"name": "bug"}]


def test_a_pull_request_is_closed_and_opened_again(town: Town, pull_id: str) -> None:
    closed = town.mutate("closePullRequest", PULL, pullRequestId=pull_id)
    opened = town.mutate("reopenPullRequest", PULL, pullRequestId=pull_id)

    assert (closed["pullRequest"]["state"], opened["pullRequest"]["state"]) == ("CLOSED", "OPEN")


def test_a_pull_request_becomes_a_draft_and_ready_again(town: Town, pull_id: str) -> None:
    draft = town.mutate("convertPullRequestToDraft", PULL, pullRequestId=pull_id)
    refused = town.try_to("mergePullRequest", PULL, pullRequestId=pull_id)
    ready = town.mutate("markPullRequestReadyForReview", PULL, pullRequestId=pull_id)

    assert (draft["pullRequest"]["isDraft"], ready["pullRequest"]["isDraft"]) == (True, False)
    assert refused.errors[0]["type"] == "UNPROCESSABLE"


@pytest.mark.parametrize("method", ["MERGE", "SQUASH", "REBASE"])
def test_a_pull_request_is_merged(town: Town, pull_id: str, method: str) -> None:
    payload = town.mutate(
        "mergePullRequest",
        "actor { login } pullRequest { state merged mergedBy { login } mergeCommit { oid messageHeadline } "
        "closingIssuesReferences(first: 5) { nodes { number state } } }",
        pullRequestId=pull_id,
        mergeMethod=method,
        commitHeadline="Merged by hand",
        expectedHeadOid=town.pull().head_sha,
    )

    merged = payload["pullRequest"]
    assert (merged["state"], merged["merged"], merged["mergedBy"]) == ("MERGED", True, {"login": "octo"})
    assert merged["mergeCommit"]["oid"] == town.tip("main")
    assert merged["mergeCommit"]["messageHeadline"] == ("Edit the poem" if method == "REBASE" else "Merged by hand")
    assert merged["closingIssuesReferences"]["nodes"] == [{"number": 1, "state": "CLOSED"}]


def test_a_merge_of_another_head_is_refused(town: Town, pull_id: str) -> None:
    answer = town.try_to("mergePullRequest", PULL, pullRequestId=pull_id, expectedHeadOid=town.tip("main"))

    assert answer.body["data"] == {"mergePullRequest": None}
    assert answer.errors[0]["message"] == "Head branch was modified. Review and try the merge again."
    assert town.pull().merged_at is None


def test_auto_merge_is_asked_for_and_taken_back(town: Town, pull_id: str) -> None:
    with town.acting(None) as act:
        repositories.update(act, town.repository, allow_auto_merge=True)
        repositories.protect(act, town.repository, pattern="main", required_approvals=1)
    shown = (
        "actor { login } pullRequest { autoMergeRequest { mergeMethod enabledBy { login } "
        "commitHeadline } mergeStateStatus }"
    )

    enabled = town.mutate(
        "enablePullRequestAutoMerge", shown, pullRequestId=pull_id, mergeMethod="SQUASH", commitHeadline="One"
    )
    disabled = town.mutate("disablePullRequestAutoMerge", shown, pullRequestId=pull_id)

    assert enabled["pullRequest"] == {
        "autoMergeRequest": {"mergeMethod": "SQUASH", "enabledBy": {"login": "octo"}, "commitHeadline": "One"},
        "mergeStateStatus": "BLOCKED",
    }
    assert disabled["pullRequest"]["autoMergeRequest"] is None


def test_a_branch_is_brought_up_to_date(town: Town, pull_id: str) -> None:
    town.put("news.txt", "News\n", "main")

    payload = town.mutate(
        "updatePullRequestBranch", "pullRequest { headRefOid }", pullRequestId=pull_id, updateMethod="MERGE"
    )

    assert payload["pullRequest"]["headRefOid"] == town.tip("feature")
    assert town.world.git(town.repository).is_ancestor(town.tip("main"), town.tip("feature"))


def test_reviews_are_requested_by_id_and_by_login(town: Town, pull_id: str) -> None:
    shown = (
        "actor { login } requestedReviewersEdge { node { login } } pullRequest { "
        "reviewRequests(first: 9) { nodes { requestedReviewer { ... on User { login } ... on "
        "Team { slug } } } } }"
    )
    with town.acting(None) as act:
        repositories.add_collaborator(act, town.repository, town.people["bob"], "write")

    for login in ("bob", "rev"):
        people = [town.id(town.people[login])]
        added = town.mutate("requestReviews", shown, pullRequestId=pull_id, userIds=people, union=True)
    replaced = town.mutate(
        "requestReviewsByLogin", shown, pullRequestId=pull_id, userLogins=["ann"], botLogins=[], teamSlugs=[]
    )

    def logins(payload: Any) -> list[str]:
        return [one["requestedReviewer"]["login"] for one in payload["pullRequest"]["reviewRequests"]["nodes"]]

    assert (logins(added), added["requestedReviewersEdge"]) == (["bob", "rev"], {"node": {"login": "rev"}})
    assert logins(replaced) == ["ann"]


def test_a_repository_is_created_changed_archived_and_unarchived(town: Town) -> None:
    created = town.mutate(
        "createRepository",
        "repository { id nameWithOwner isPrivate hasWikiEnabled isEmpty defaultBranchRef { name } }",
        name="fresh",
        visibility="PRIVATE",
        ownerId=town.id(town.people["acme"]),
        hasIssuesEnabled=True,
        hasWikiEnabled=False,
    )["repository"]
    changed = town.mutate(
        "updateRepository",
        "repository { name description homepageUrl hasIssuesEnabled }",
        repositoryId=created["id"],
        name="fresher",
        description="New",
        homepageUrl="https://example.com",
        hasIssuesEnabled=False,
    )
    archived = town.mutate("archiveRepository", "repository { isArchived }", repositoryId=created["id"])
    unarchived = town.mutate("unarchiveRepository", "repository { isArchived }", repositoryId=created["id"])

    assert created | {"id": ""} == {
        "id": "",
        "nameWithOwner": "acme/fresh",
        "isPrivate": True,
        "hasWikiEnabled": False,
        "isEmpty": True,
        "defaultBranchRef": None,
    }
    assert changed["repository"] == {
        "name": "fresher",
        "description": "New",
        "homepageUrl": "https://example.com",
        "hasIssuesEnabled": False,
    }
    assert (archived["repository"], unarchived["repository"]) == ({"isArchived": True}, {"isArchived": False})


def test_a_repository_without_an_owner_is_the_viewers(town: Town) -> None:
    payload = town.mutate("createRepository", "repository { nameWithOwner }", name="own", visibility="PUBLIC")

    assert payload["repository"]["nameWithOwner"] == "octo/own"


def test_refs_are_created_moved_and_deleted(town: Town) -> None:
    home = town.repository
    created = town.mutate(
        "createRef",
        "ref { id name prefix target { oid } }",
        repositoryId=town.id(home),
        name="refs/heads/new",
        oid=town.tip(),
    )["ref"]
    moved = town.mutate("updateRef", "ref { target { oid } }", refId=created["id"], oid=town.tip("feature"))
    refused = town.try_to("updateRef", "ref { id }", refId=created["id"], oid=town.tip("main"))
    forced = town.mutate("updateRef", "ref { target { oid } }", refId=created["id"], oid=town.tip("main"), force=True)
    town.mutate("deleteRef", "clientMutationId", refId=created["id"])

    assert created == {
        "id": git_node_id("ref", home.id, "refs/heads/new"),
        "name": "new",
        "prefix": "refs/heads/",
        "target": {"oid": town.tip()},
    }
    assert moved["ref"]["target"]["oid"] == town.tip("feature")
    assert refused.errors[0]["type"] == "UNPROCESSABLE"
    assert forced["ref"]["target"]["oid"] == town.tip("main")
    assert town.world.git(home).ref("refs/heads/new") is None


def test_files_are_committed_to_a_branch(town: Town, pull_id: str) -> None:
    payload = town.mutate(
        "createCommitOnBranch",
        "commit { oid messageHeadline messageBody additions parents(first: 2) { nodes { "
        "oid } } author { user { login } } } "
        "ref { name target { oid } }",
        branch={"repositoryNameWithOwner": "acme/widgets", "branchName": "feature"},
        expectedHeadOid=(before := town.tip("feature")),
        message={"headline": "Add and remove", "body": "Both"},
        fileChanges={
            "additions": [{"path": "a/b.txt", "contents": base64.b64encode(b"hi\n").decode()}],
            "deletions": [{"path": "README.md"}],
        },
    )

    commit = payload["commit"]
    assert (commit["messageHeadline"], commit["messageBody"]) == ("Add and remove", "Both")
    assert commit["parents"]["nodes"] == [{"oid": before}]
    assert commit["author"]["user"] == {"login": "octo"}
    assert payload["ref"] == {"name": "feature", "target": {"oid": commit["oid"]}}
    seen = town.ask(
        "query($id: ID!) { node(id: $id) { ... on PullRequest { headRefOid changedFiles } } }", {"id": pull_id}
    )
    assert seen.data["node"] == {"headRefOid": commit["oid"], "changedFiles": 3}


def test_a_commit_on_a_branch_that_moved_is_refused(town: Town) -> None:
    answer = town.try_to(
        "createCommitOnBranch",
        "commit { oid }",
        branch={"id": git_node_id("ref", town.repository.id, "refs/heads/feature")},
        expectedHeadOid=town.tip("main"),
        message={"headline": "x"},
    )

    assert answer.errors[0]["type"] == "STALE_DATA"


def test_a_branch_is_merged_into_another(town: Town) -> None:
    _branch(town, "side")

    merged = town.mutate(
        "mergeBranch",
        "mergeCommit { oid message parents(first: 3) { totalCount } }",
        repositoryId=town.id(town.repository),
        base="feature",
        head="side",
    )
    again = town.try_to(
        "mergeBranch", "mergeCommit { oid }", repositoryId=town.id(town.repository), base="feature", head="side"
    )

    assert merged["mergeCommit"]["oid"] == town.tip("feature")
    assert merged["mergeCommit"]["parents"]["totalCount"] == 2
    assert "Already merged" in again.errors[0]["message"]
