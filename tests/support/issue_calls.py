"""A call of every capability of the issue domain that goes well in the world of the tests."""

from collections.abc import Mapping
from typing import Any

from capability_calls import NAME, OWNER, Call, Ghx

REPOSITORY = {"owner": OWNER, "name": NAME}
ISSUE = {**REPOSITORY, "issueNumber": 1}


def first_by_third(ghx: Ghx) -> dict[str, Any]:
    """Say that the first issue is blocked by the third."""
    return {"issueId": ghx.on_issue("issue.view")["id"], "blockedByIssueId": ghx.on_issue("issue.view", 3)["id"]}


def first_below_third(ghx: Ghx) -> dict[str, Any]:
    """Say that the third issue is the parent of the first."""
    return {"issueId": ghx.on_issue("issue.view")["id"], "parentIssueId": ghx.on_issue("issue.view", 3)["id"]}


def blocked(ghx: Ghx) -> dict[str, Any]:
    """Block the first issue by the third."""
    given = first_by_third(ghx)
    ghx.data("issue.relations.blocked_by.add", **given)
    return given


def a_child(ghx: Ghx) -> dict[str, Any]:
    """Make the first issue a sub-issue of the third."""
    given = first_below_third(ghx)
    ghx.data("issue.relations.parent.set", **given)
    return {"issueId": given["issueId"]}


ISSUE_CALLS: Mapping[str, Call] = {
    "issue.assignees.add": {**ISSUE, "assignees": ["hubot"]},
    "issue.assignees.remove": {**ISSUE, "assignees": ["octo"]},
    "issue.assignees.set": {**ISSUE, "assignees": ["hubot"]},
    "issue.close": ISSUE,
    "issue.comments.create": {**ISSUE, "body": "Done."},
    "issue.comments.list": ISSUE,
    "issue.create": {**REPOSITORY, "title": "New", "body": "Fresh"},
    "issue.delete": ISSUE,
    "issue.labels.add": {**ISSUE, "labels": ["question"]},
    "issue.labels.list": ISSUE,
    "issue.labels.remove": {**ISSUE, "labels": ["bug"]},
    "issue.labels.set": {**ISSUE, "labels": ["question"]},
    "issue.list": REPOSITORY,
    "issue.milestone.clear": ISSUE,
    "issue.milestone.set": {**ISSUE, "milestoneNumber": 2},
    "issue.relations.blocked_by.add": first_by_third,
    "issue.relations.blocked_by.remove": blocked,
    "issue.relations.parent.remove": a_child,
    "issue.relations.parent.set": first_below_third,
    "issue.relations.prs.list": ISSUE,
    "issue.relations.view": ISSUE,
    "issue.reopen": {**REPOSITORY, "issueNumber": 2},
    "issue.timeline.list": ISSUE,
    "issue.update": {**ISSUE, "title": "Another title"},
    "issue.view": ISSUE,
}
