"""What the capabilities of issues do to issues, and what they refuse."""

import pytest
from capability_calls import NAME, OWNER, Ghx
from issue_calls import first_below_third, first_by_third

REPOSITORY = {"owner": OWNER, "name": NAME}
ISSUE = {**REPOSITORY, "issueNumber": 1}


def labels_of(ghx: Ghx, number: int = 1) -> list[str]:
    return ghx.on_issue("issue.view", number)["labels"]


def test_an_issue_is_read_with_its_labels(ghx: Ghx) -> None:
    issue = ghx.on_issue("issue.view", 3)

    assert (issue["number"], issue["title"], issue["state"], issue["body"]) == (3, "A wish", "OPEN", "Please")
    assert sorted(issue["labels"]) == ["enhancement", "question"]
    assert issue["url"].endswith("/acme/widgets/issues/3")


def test_an_issue_is_read_with_its_people_and_its_milestone(ghx: Ghx) -> None:
    ghx.on_issue("issue.milestone.set", milestoneNumber=2)

    first, third = ghx.on_issue("issue.view"), ghx.on_issue("issue.view", 3)

    assert (first["assignees"], first["milestone"]) == (["octo"], "Second")
    assert (third["assignees"], third["milestone"]) == ([], None)


def test_a_pull_request_is_no_issue(ghx: Ghx) -> None:
    assert ghx.error("issue.view", **REPOSITORY, issueNumber=7) == "NOT_FOUND"


def test_a_private_repository_is_not_there_for_strangers(ghx: Ghx) -> None:
    assert ghx.as_user("reader").error("issue.list", owner=OWNER, name="secret") == "NOT_FOUND"
    assert ghx.data("issue.list", owner=OWNER, name="secret")["items"] == []


@pytest.mark.parametrize(("state", "numbers"), [(None, [3, 1]), ("open", [3, 1]), ("CLOSED", [2]), ("All", [3, 2, 1])])
def test_issues_are_listed_by_state_newest_first(ghx: Ghx, state: str | None, numbers: list[int]) -> None:
    given = {} if state is None else {"state": state}

    assert [issue["number"] for issue in ghx.on_repo("issue.list", **given)["items"]] == numbers


def test_an_unknown_state_is_refused_with_the_known_ones(ghx: Ghx) -> None:
    envelope = ghx.run("issue.list", **REPOSITORY, state="opened")

    assert envelope.error is not None
    assert envelope.error.code == "VALIDATION"
    assert "open" in envelope.error.message


def test_a_list_is_read_page_by_page(ghx: Ghx) -> None:
    first = ghx.on_repo("issue.list", state="all", first=2)
    second = ghx.on_repo("issue.list", state="all", first=2, after=first["pageInfo"]["endCursor"])

    assert [issue["number"] for issue in first["items"] + second["items"]] == [3, 2, 1]
    assert (first["pageInfo"]["hasNextPage"], second["pageInfo"]["hasNextPage"]) == (True, False)


@pytest.mark.parametrize("first", [0, 101, "many"])
def test_a_page_has_bounds(ghx: Ghx, first: object) -> None:
    assert ghx.error("issue.list", **REPOSITORY, first=first) == "VALIDATION"


def test_an_issue_is_opened_changed_closed_and_opened_again(ghx: Ghx) -> None:
    made = ghx.on_repo("issue.create", title="New", body="Fresh")
    number = made["number"]

    changed = ghx.on_issue("issue.update", number, body="")
    closed = ghx.on_issue("issue.close", number)
    again = ghx.on_issue("issue.reopen", number)

    assert (made["title"], made["state"], changed["title"]) == ("New", "OPEN", "New")
    assert ghx.on_issue("issue.view", number)["body"] == ""
    assert closed == {"id": made["id"], "number": number, "state": "CLOSED", "closed": True}
    assert again == {"id": made["id"], "number": number, "state": "OPEN", "reopened": True}


def test_an_update_must_change_something(ghx: Ghx) -> None:
    envelope = ghx.run("issue.update", **ISSUE)

    assert envelope.error is not None
    assert envelope.error.code == "VALIDATION"
    assert "a title, a body or both" in envelope.error.message


def test_an_empty_title_is_refused_by_github(ghx: Ghx) -> None:
    assert ghx.error("issue.update", **ISSUE, title="") == "VALIDATION"


def test_only_administrators_delete_issues(ghx: Ghx) -> None:
    assert ghx.as_user("hubot").error("issue.delete", **ISSUE) == "AUTH"

    deleted = ghx.on_issue("issue.delete")

    assert (deleted["number"], deleted["deleted"]) == (1, True)
    assert ghx.error("issue.view", **ISSUE) == "NOT_FOUND"


def test_comments_are_written_and_read_oldest_first(ghx: Ghx) -> None:
    written = ghx.on_issue("issue.comments.create", body="A list:\n- ä")
    listed = ghx.on_issue("issue.comments.list")["items"]

    assert [comment["body"] for comment in listed] == ["Where?", "Here.", "A list:\n- ä"]
    assert [comment["authorLogin"] for comment in listed] == ["octo", "hubot", "octo"]
    assert listed[-1]["id"] == written["id"]


def test_an_empty_comment_is_refused(ghx: Ghx) -> None:
    assert ghx.error("issue.comments.create", **ISSUE, body="") == "VALIDATION"


def test_labels_are_added_set_and_taken_off(ghx: Ghx) -> None:
    assert ghx.on_issue("issue.labels.add", labels=["Question", "bug"])["labels"] == ["bug", "question"]
    assert ghx.on_issue("issue.labels.set", labels=["wontfix"])["labels"] == ["wontfix"]
    assert ghx.on_issue("issue.labels.remove", labels=["wontfix", "bug"])["removed"] == ["wontfix"]
    assert labels_of(ghx) == []
    assert ghx.on_issue("issue.labels.set", 3, labels=[])["labels"] == []


def test_an_unknown_label_is_refused_with_the_nearest_and_nothing_changes(ghx: Ghx) -> None:
    for task in ("issue.labels.add", "issue.labels.set", "issue.labels.remove"):
        envelope = ghx.run(task, **ISSUE, labels=["question", "enhancment"])

        assert envelope.error is not None
        assert envelope.error.code == "NOT_FOUND"
        assert "did you mean 'enhancement'?" in envelope.error.message
    assert labels_of(ghx) == ["bug"]


def test_labels_beyond_the_first_page_of_a_repository_are_found(ghx: Ghx) -> None:
    from ghx_twin.commands.issues import labels
    from ghx_twin.queries import lookup

    with ghx.twin.world.acting(None) as act:
        repository = lookup.repository(act.world, None, OWNER, NAME)
        for number in range(120):
            labels.create(act, repository, name=f"area {number:03}", color="ededed")

    assert ghx.on_issue("issue.labels.add", labels=["area 119", "area 000"])["labels"] == [
        "bug",
        "area 119",
        "area 000",
    ]


def test_the_labels_of_an_issue_are_described(ghx: Ghx) -> None:
    listed = ghx.on_issue("issue.labels.list", 3, first=1)

    assert listed["items"][0].keys() == {"id", "name", "description", "color"}
    assert listed["pageInfo"]["hasNextPage"]


def test_people_are_assigned_set_and_taken_off(ghx: Ghx) -> None:
    assert ghx.on_issue("issue.assignees.add", assignees=["HUBOT", "octo"])["added"] == ["octo", "hubot"]
    assert ghx.on_issue("issue.assignees.set", assignees=["hubot"])["assignees"] == ["hubot"]
    assert ghx.on_issue("issue.assignees.remove", assignees=["hubot", "octo"])["removed"] == ["hubot"]
    assert ghx.on_issue("issue.assignees.set", assignees=[])["assignees"] == []


def test_nobody_is_assigned_who_cannot_be(ghx: Ghx) -> None:
    envelope = ghx.run("issue.assignees.add", **ISSUE, assignees=["hubot", "nobody-at-all"])

    assert envelope.error is not None
    assert envelope.error.code == "NOT_FOUND"
    assert "'nobody-at-all'" in envelope.error.message
    assert ghx.on_issue("issue.assignees.remove", assignees=["octo", "hubot"])["removed"] == ["octo"]


def test_who_may_not_assign_is_told_so(ghx: Ghx) -> None:
    assert ghx.as_user("reader").error("issue.labels.add", **ISSUE, labels=["bug"]) == "AUTH"


def test_a_milestone_is_set_and_cleared(ghx: Ghx) -> None:
    assert ghx.on_issue("issue.milestone.set", milestoneNumber="2")["milestoneNumber"] == 2
    assert ghx.on_issue("issue.milestone.clear") == {"issueNumber": 1, "cleared": True}
    assert ghx.error("issue.milestone.set", **ISSUE, milestoneNumber=9) == "NOT_FOUND"


def test_issues_are_related(ghx: Ghx) -> None:
    ghx.data("issue.relations.parent.set", **first_below_third(ghx))
    ghx.data("issue.relations.blocked_by.add", **first_by_third(ghx))

    first, third = ghx.on_issue("issue.relations.view"), ghx.on_issue("issue.relations.view", 3)

    assert first["parent"] == third["issue"]
    assert first["blockedBy"] == [third["issue"]]
    assert third["children"] == [first["issue"]]
    assert (third["parent"], third["blockedBy"], first["children"]) == (None, [], [])


def test_relations_are_taken_back(ghx: Ghx) -> None:
    ghx.data("issue.relations.parent.set", **first_below_third(ghx))
    ghx.data("issue.relations.blocked_by.add", **first_by_third(ghx))
    issue_id = first_below_third(ghx)["issueId"]

    assert ghx.data("issue.relations.parent.remove", issueId=issue_id)["parentRemoved"]
    assert ghx.data("issue.relations.blocked_by.remove", **first_by_third(ghx))["removed"]
    assert ghx.error("issue.relations.parent.remove", issueId=issue_id) == "NOT_FOUND"
    assert ghx.error("issue.relations.blocked_by.remove", **first_by_third(ghx)) == "VALIDATION"
    relations = ghx.on_issue("issue.relations.view")
    assert (relations["parent"], relations["blockedBy"]) == (None, [])


def test_a_sub_issue_moves_to_its_new_parent(ghx: Ghx) -> None:
    given = first_below_third(ghx)
    ghx.data("issue.relations.parent.set", **given)
    other = ghx.on_issue("issue.view", 2)["id"]

    moved = ghx.data("issue.relations.parent.set", issueId=given["issueId"], parentIssueId=other)

    assert moved == {"issueId": given["issueId"], "parentIssueId": other, "updated": True}
    assert ghx.on_issue("issue.relations.view", 3)["children"] == []


def test_an_id_of_nothing_is_not_found(ghx: Ghx) -> None:
    known = ghx.on_issue("issue.view")["id"]

    assert ghx.error("issue.relations.parent.set", issueId=known, parentIssueId="I_nothing") == "NOT_FOUND"
    assert ghx.error("issue.relations.parent.remove", issueId="I_nothing") == "NOT_FOUND"
    assert ghx.error("issue.relations.blocked_by.add", issueId="I_nothing", blockedByIssueId=known) == "NOT_FOUND"


def test_the_pull_requests_of_an_issue_are_listed_once(ghx: Ghx) -> None:
    ghx.on_issue("issue.comments.create", 3, body="See #1")  # an issue that mentions it is no pull request

    assert [pull["number"] for pull in ghx.on_issue("issue.relations.prs.list")["items"]] == [7]
    assert ghx.on_issue("issue.relations.prs.list", 2)["items"] == []


def test_the_timeline_tells_what_happened(ghx: Ghx) -> None:
    ghx.on_issue("issue.labels.add", 2, labels=["bug"])
    ghx.on_issue("issue.assignees.add", 2, assignees=["hubot"])
    ghx.on_issue("issue.milestone.set", 2, milestoneNumber=1)
    ghx.on_issue("issue.update", 2, title="Undone")
    ghx.on_issue("issue.comments.create", 2, body="Again")
    ghx.on_issue("issue.comments.create", 3, body="Like #2")

    events = {item["event"]: item for item in ghx.on_issue("issue.timeline.list", 2)["items"]}

    assert events["labeled"]["label"] == "bug"
    assert events["assigned"]["assigneeLogin"] == "hubot"
    assert events["milestoned"]["milestone"] == "First"
    assert (events["renamed"]["renamedFrom"], events["renamed"]["renamedTo"]) == ("Done", "Undone")
    assert (events["commented"]["body"], events["commented"]["actorLogin"]) == ("Again", "octo")
    assert events["cross-referenced"]["sourceNumber"] == 3


def test_the_timeline_of_a_pull_request_tells_who_was_asked_to_review(ghx: Ghx) -> None:
    pull = {"owner": "acme", "name": "tools"}
    ghx.data("pr.reviews.request", **pull, prNumber=1, reviewers=["reader", "acme/core-team"])

    items = ghx.data("issue.timeline.list", **pull, issueNumber=1, first=100)["items"]

    asked = [item for item in items if item["event"] == "review_requested"]
    assert {item.get("reviewerLogin") for item in asked} == {"reader", None}
    assert {item.get("reviewerTeam") for item in asked} == {"core-team", None}


def test_the_timeline_is_read_page_by_page(ghx: Ghx) -> None:
    whole = ghx.on_issue("issue.timeline.list")["items"]
    read, after = [], None
    while True:
        page = ghx.on_issue("issue.timeline.list", first=1, after=after)
        read += page["items"]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break

    assert len(whole) > 2
    assert read == whole
    assert after is None
    assert ghx.error("issue.timeline.list", **ISSUE, after="Y3Vyc29y") == "VALIDATION"
