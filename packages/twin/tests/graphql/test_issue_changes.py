"""Mutations of issues, comments, labels and reactions."""

import pytest
from graphql_world import Town

from ghx_twin.queries import lookup
from ghx_twin.state.records import Comment, Issue, Label

ISSUE = "issue { number title state body }"


def _label(town: Town, name: str = "bug") -> str:
    return town.id(lookup.label(town.world, town.repository, name))


def test_an_issue_is_created_with_everything(town: Town) -> None:
    payload = town.mutate(
        "createIssue",
        "clientMutationId issue { number title body author { login } labels(first: 5) { nodes { name } } "
        "assignees(first: 5) { nodes { login } } milestone { title } url }",
        repositoryId=town.id(town.repository),
        title="New",
        body="Body",
        labelIds=[_label(town)],
        assigneeIds=[town.id(town.people["rev"])],
        milestoneId=town.id(lookup.milestone(town.world, town.repository, 1)),
        projectIds=None,
        clientMutationId="mine",
    )

    assert payload == {
        "clientMutationId": "mine",
        "issue": {
            "number": 8,
            "title": "New",
            "body": "Body",
            "author": {"login": "octo"},
            "labels": {"nodes": [{"name": "bug"}]},
            "assignees": {"nodes": [{"login": "rev"}]},
            "milestone": {"title": "v1"},
            "url": "https://github.com/acme/widgets/issues/8",
        },
    }


def test_what_an_update_does_not_name_stays(town: Town) -> None:
    identity = town.id(town.issue(1))

    unchanged = town.mutate("updateIssue", f"actor {{ login }} {ISSUE}", id=identity)
    changed = town.mutate("updateIssue", ISSUE, id=identity, title="Changed", milestoneId=None, state="CLOSED")

    assert unchanged == {
        "actor": {"login": "octo"},
        "issue": {"number": 1, "title": "It breaks", "state": "OPEN", "body": "**Steps**\n\n- one"},
    }
    assert (changed["issue"]["title"], changed["issue"]["state"]) == ("Changed", "CLOSED")
    assert town.issue(1).milestone_id is None


def test_an_issue_is_closed_with_a_reason_and_opened_again(town: Town) -> None:
    identity = town.id(town.issue(1))

    closed = town.mutate(
        "closeIssue", "issue { state stateReason closed closedAt }", issueId=identity, stateReason="NOT_PLANNED"
    )
    opened = town.mutate("reopenIssue", "issue { state stateReason }", issueId=identity)

    assert (closed["issue"]["state"], closed["issue"]["stateReason"]) == ("CLOSED", "NOT_PLANNED")
    assert closed["issue"]["closedAt"]
    assert opened["issue"] == {"state": "OPEN", "stateReason": "REOPENED"}


def test_a_duplicate_is_told_only_to_those_who_know_of_them(town: Town) -> None:
    payload = town.mutate(
        "closeIssue",
        "issue { stateReason known: stateReason(enableDuplicate: true) }",
        issueId=town.id(town.issue(1)),
        stateReason="DUPLICATE",
    )

    assert payload["issue"] == {"stateReason": "NOT_PLANNED", "known": "DUPLICATE"}


def test_an_issue_is_deleted(town: Town) -> None:
    payload = town.mutate("deleteIssue", "repository { nameWithOwner }", issueId=town.id(town.issue(2)))

    assert payload == {"repository": {"nameWithOwner": "acme/widgets"}}
    assert town.ask('{ repository(owner: "acme", name: "widgets") { issue(number: 2) { id } } }').errors[0][
        "message"
    ] == ("Could not resolve to an Issue with the number of 2.")


def test_an_issue_moves_to_another_repository_and_is_found_by_its_old_number(town: Town) -> None:
    other = lookup.repository(town.world, None, "acme", "other")

    payload = town.mutate("transferIssue", "issue { url }", issueId=town.id(town.issue(2)), repositoryId=town.id(other))
    found = town.ask('{ repository(owner: "acme", name: "widgets") { issue(number: 2) { url } } }')

    assert payload["issue"]["url"].startswith("https://github.com/acme/other/issues/")
    assert found.data["repository"]["issue"] == payload["issue"]


def test_an_issue_is_pinned_and_unpinned(town: Town) -> None:
    identity = town.id(town.issue(1))

    pinned = town.mutate("pinIssue", "issue { isPinned }", issueId=identity)
    listed = town.ask(
        '{ repository(owner: "acme", name: "widgets") { pinnedIssues(first: 3) { nodes { issue { number } } } } }'
    )
    unpinned = town.mutate("unpinIssue", "id issue { isPinned }", issueId=identity)

    assert pinned["issue"]["isPinned"] is True
    assert listed.data["repository"]["pinnedIssues"]["nodes"] == [{"issue": {"number": 1}}]
    assert unpinned == {"id": identity, "issue": {"isPinned": False}}


@pytest.mark.parametrize("number", [1, 7])
def test_a_conversation_is_locked_and_unlocked(town: Town, number: int) -> None:
    record = town.issue(number) if number == 1 else town.pull(number)

    locked = town.mutate(
        "lockLockable",
        "actor { login } lockedRecord { locked activeLockReason }",
        lockableId=town.id(record),
        lockReason="TOO_HEATED",
    )
    unlocked = town.mutate("unlockLockable", "unlockedRecord { locked activeLockReason }", lockableId=town.id(record))

    assert locked == {"actor": {"login": "octo"}, "lockedRecord": {"locked": True, "activeLockReason": "TOO_HEATED"}}
    assert unlocked["unlockedRecord"] == {"locked": False, "activeLockReason": None}


@pytest.mark.parametrize("number", [2, 7])
def test_labels_are_put_on_and_taken_off(town: Town, number: int) -> None:
    identity = town.id(town.issue(number) if number == 2 else town.pull(number))
    shown = "labelable { labels(first: 9) { nodes { name } } }"

    added = town.mutate(
        "addLabelsToLabelable", shown, labelableId=identity, labelIds=[_label(town), _label(town, "invalid")]
    )
    removed = town.mutate(
        "removeLabelsFromLabelable", shown, labelableId=identity, labelIds=[_label(town), _label(town, "wontfix")]
    )
    cleared = town.mutate("clearLabelsFromLabelable", shown, labelableId=identity)

    names = [[one["name"] for one in payload["labelable"]["labels"]["nodes"]] for payload in (added, removed, cleared)]
    assert names == [["bug", "invalid"], ["invalid"], []]


def test_assignees_are_added_removed_and_replaced(town: Town) -> None:
    identity, shown = town.id(town.issue(2)), "assignable { assignees(first: 9) { nodes { login } } }"
    rev, octo = town.id(town.people["rev"]), town.id(town.people["octo"])

    added = town.mutate("addAssigneesToAssignable", shown, assignableId=identity, assigneeIds=[rev, octo])
    removed = town.mutate("removeAssigneesFromAssignable", shown, assignableId=identity, assigneeIds=[rev])
    replaced = town.mutate("replaceActorsForAssignable", shown, assignableId=identity, actorLogins=["rev"])

    logins = [
        [one["login"] for one in payload["assignable"]["assignees"]["nodes"]] for payload in (added, removed, replaced)
    ]
    assert logins == [["rev", "octo"], ["octo"], ["rev"]]


def test_a_comment_is_written_rewritten_hidden_and_deleted(town: Town) -> None:
    issue = town.issue(1)
    added = town.mutate(
        "addComment",
        "subject { id } commentEdge { cursor node { id databaseId body url viewerDidAuthor authorAssociation } }",
        subjectId=town.id(issue),
        body="First",
    )
    node = added["commentEdge"]["node"]

    updated = town.mutate(
        "updateIssueComment", "issueComment { body includesCreatedEdit }", id=node["id"], body="Second"
    )
    hidden = town.mutate(
        "minimizeComment",
        "minimizedComment { isMinimized minimizedReason }",
        subjectId=node["id"],
        classifier="OFF_TOPIC",
    )
    shown = town.mutate("unminimizeComment", "unminimizedComment { isMinimized }", subjectId=node["id"])
    gone = town.mutate("deleteIssueComment", "clientMutationId", id=node["id"])

    assert node["url"] == f"https://github.com/acme/widgets/issues/1#issuecomment-{node['databaseId']}"
    assert (node["viewerDidAuthor"], node["authorAssociation"]) == (True, "MEMBER")
    assert updated == {"issueComment": {"body": "Second", "includesCreatedEdit": True}}
    assert hidden == {"minimizedComment": {"isMinimized": True, "minimizedReason": "off-topic"}}
    assert shown == {"unminimizedComment": {"isMinimized": False}}
    assert gone == {"clientMutationId": None}
    assert town.world.database.get(Comment, node["databaseId"]) is None


def test_reactions_come_and_go(town: Town) -> None:
    identity = town.id(town.issue(2))
    shown = (
        "reaction { content user { login } } subject { id } reactionGroups { content "
        "viewerHasReacted users { totalCount } }"
    )

    added = town.mutate("addReaction", shown, subjectId=identity, content="ROCKET")
    removed = town.mutate("removeReaction", shown, subjectId=identity, content="ROCKET")

    assert added["reaction"] == {"content": "ROCKET", "user": {"login": "octo"}}
    group = {"content": "ROCKET", "viewerHasReacted": True, "users": {"totalCount": 1}}
    assert group in added["reactionGroups"]
    assert [one["content"] for one in added["reactionGroups"]] == [
        "THUMBS_UP", "THUMBS_DOWN", "LAUGH", "HOORAY", "CONFUSED", "HEART", "ROCKET", "EYES",
    ]  # fmt: skip
    assert all(one["users"]["totalCount"] == 0 for one in removed["reactionGroups"])


def test_labels_are_created_changed_and_deleted(town: Town) -> None:
    created = town.mutate(
        "createLabel",
        "label { id name color description isDefault }",
        repositoryId=town.id(town.repository),
        name="ready",
        color="123abc",
        description="Go",
    )["label"]

    changed = town.mutate("updateLabel", "label { name color description }", id=created["id"], name="done")
    town.mutate("deleteLabel", "clientMutationId", id=created["id"])

    assert created | {"id": ""} == {
        "id": "",
        "name": "ready",
        "color": "123abc",
        "description": "Go",
        "isDefault": False,
    }
    assert changed["label"] == {"name": "done", "color": "123abc", "description": "Go"}
    assert town.world.database.one(Label, name="done") is None


def test_a_refused_mutation_is_null_with_an_error_and_changes_nothing(town: Town) -> None:
    before = town.world.database.last_change()

    answer = town.try_to(
        "createLabel", "label { id }", repositoryId=town.id(town.repository), name="bug", color="ffffff"
    )

    assert answer.body["data"] == {"createLabel": None}
    assert answer.errors[0]["type"] == "UNPROCESSABLE"
    assert answer.errors[0]["path"] == ["createLabel"]
    assert town.world.database.last_change() == before


def test_someone_without_a_role_may_not_label(town: Town) -> None:
    answer = town.try_to(
        "addLabelsToLabelable",
        "clientMutationId",
        by="bob",
        labelableId=town.id(town.issue(1)),
        labelIds=[_label(town)],
    )

    assert answer.errors[0]["type"] == "FORBIDDEN"
    assert answer.errors[0]["message"] == (
        "bob does not have the correct permissions to execute `AddLabelsToLabelable`"
    )


def test_a_mutation_under_another_name_is_refused_by_its_own(town: Town) -> None:
    given = f'{{pullRequestId: "{town.id(town.pull())}"}}'
    answer = town.ask(f"mutation {{ m: mergePullRequest(input: {given}) {{ clientMutationId }} }}", by="bob")

    assert answer.errors[0]["path"] == ["m"]
    assert answer.errors[0]["message"] == "bob does not have the correct permissions to execute `MergePullRequest`"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("createIssue", {"title": " "}, "Title can't be blank"),
        ("createIssue", {"title": "x" * 257}, "Title is too long (maximum is 256 characters)"),
        ("createLabel", {"name": "bug", "color": "ffffff"}, "Name has already been taken"),
    ],
)
def test_what_is_wrong_with_a_value_is_said_in_a_sentence(
    town: Town, name: str, given: dict[str, str], message: str
) -> None:
    answer = town.try_to(name, "clientMutationId", repositoryId=town.id(town.repository), **given)

    assert answer.errors[0]["message"] == message


def test_the_name_of_another_repository_is_taken(town: Town) -> None:
    owner = town.id(town.people["acme"])
    answer = town.try_to("createRepository", "clientMutationId", name="widgets", visibility="PUBLIC", ownerId=owner)

    assert answer.errors[0]["message"] == "Name already exists on this account"


def test_an_id_of_something_else_is_not_found(town: Town) -> None:
    answer = town.try_to("addComment", "clientMutationId", subjectId=_label(town), body="x")

    assert answer.errors[0]["type"] == "NOT_FOUND"


def test_mutations_happen_in_order_and_each_for_itself(town: Town) -> None:
    identity = town.id(town.issue(2))
    query = (
        "mutation($id: ID!) { "
        'a: addComment(input: {subjectId: $id, body: "one"}) { commentEdge { node { body } } } '
        'b: addComment(input: {subjectId: "I_none", body: "two"}) { commentEdge { node { body } } } '
        'c: addComment(input: {subjectId: $id, body: "three"}) { commentEdge { node { body } } } '
        "d: closeIssue(input: {issueId: $id}) { issue { state comments(first: 9) { nodes { body } } } } }"
    )

    answer = town.ask(query, {"id": identity})

    assert answer.body["data"]["b"] is None
    assert [error["path"] for error in answer.errors] == [["b"]]
    assert answer.body["data"]["d"]["issue"] == {
        "state": "CLOSED",
        "comments": {"nodes": [{"body": "one"}, {"body": "three"}]},
    }


def test_projects_are_not_pretended(town: Town) -> None:
    answer = town.try_to(
        "createIssue", "clientMutationId", repositoryId=town.id(town.repository), title="x", projectIds=["PVT_1"]
    )

    assert (answer.status, answer.body["message"]) == (
        501,
        "CreateIssueInput.projectIds is not implemented by the twin",
    )
    assert town.world.database.count(Issue, title="x") == 0
