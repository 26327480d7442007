"""What issues and pull requests share: the number of either will do."""

import pytest
from capability_calls import NAME, OWNER, Ghx

REPOSITORY = {"owner": OWNER, "name": NAME}


def test_what_issues_and_pull_requests_share_is_changed_by_the_number_of_either(ghx: Ghx) -> None:
    assert ghx.on_issue("issue.labels.add", 7, labels=["bug"])["labels"] == ["enhancement", "bug"]
    assert ghx.on_issue("issue.labels.remove", 7, labels=["enhancement"]) == {
        "issueNumber": 7,
        "removed": ["enhancement"],
    }
    assert [label["name"] for label in ghx.on_issue("issue.labels.list", 7)["items"]] == ["bug"]
    changed = ghx.on_issue("issue.labels.set", 7, labels=["wontfix"])
    ghx.on_issue("issue.assignees.add", 7, assignees=["octo"])
    ghx.on_issue("issue.assignees.set", 7, assignees=["hubot", "octo"])
    ghx.on_issue("issue.assignees.remove", 7, assignees=["octo"])
    assert ghx.on_issue("issue.milestone.set", 7, milestoneNumber=1)["id"] == changed["id"]
    ghx.on_issue("issue.comments.create", 7, body="As asked")

    pull = ghx.on_pull("pr.view")

    assert (pull["id"], pull["labels"]) == (changed["id"], ["wontfix"])
    assert (pull["assignees"], pull["milestone"]) == (["hubot"], "First")
    assert [each["body"] for each in ghx.on_issue("issue.comments.list", 7)["items"]] == ["Thanks", "As asked"]
    assert ghx.on_issue("issue.milestone.clear", 7)["cleared"]
    assert ghx.on_pull("pr.view")["milestone"] is None


@pytest.mark.parametrize(
    ("task", "given"),
    [
        ("issue.labels.add", {"labels": ["bug"]}),
        ("issue.labels.list", {}),
        ("issue.assignees.set", {"assignees": []}),
        ("issue.milestone.clear", {}),
        ("issue.comments.list", {}),
    ],
)
def test_a_number_of_neither_is_not_found(ghx: Ghx, task: str, given: dict[str, list[str]]) -> None:
    assert ghx.error(task, **REPOSITORY, issueNumber=99, **given) == "NOT_FOUND"


def test_pull_requests_and_issues_are_labelled_in_one_chain(ghx: Ghx) -> None:
    steps = [("issue.labels.set", {**REPOSITORY, "issueNumber": number, "labels": ["bug"]}) for number in (3, 7)]

    done = ghx.chain(*steps)

    assert done.status == "success"
    assert (ghx.on_issue("issue.view", 3)["labels"], ghx.on_pull("pr.view")["labels"]) == (["bug"], ["bug"])
