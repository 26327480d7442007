"""Mutations of how issues hang together."""

from collections.abc import Sequence

from ghx_bench.twin.commands import issues
from ghx_bench.twin.graphql.changes.change import Change, Mutation, Outcome, refuse_given
from ghx_bench.twin.refusals import InvalidRefusal
from ghx_bench.twin.state.records import Issue


def add_sub_issue(
    change: Change,
    *,
    issue_id: str,
    sub_issue_id: str | None = None,
    sub_issue_url: str | None = None,
    replace_parent: bool | None = None,
) -> Outcome:
    """Make an issue a part of another."""
    refuse_given("AddSubIssueInput", subIssueUrl=sub_issue_url)
    if sub_issue_id is None:
        raise InvalidRefusal("Either subIssueId or subIssueUrl must be provided.")
    parent, child = change.find(issue_id, Issue), change.find(sub_issue_id, Issue)
    issues.add_child(change.act, parent, child, replace_parent=bool(replace_parent))
    return {"issue": parent, "sub_issue": child}


def remove_sub_issue(change: Change, *, issue_id: str, sub_issue_id: str) -> Outcome:
    """Make a part of an issue one of its own."""
    parent, child = change.find(issue_id, Issue), change.find(sub_issue_id, Issue)
    issues.remove_child(change.act, parent, child)
    return {"issue": parent, "sub_issue": child}


def add_blocked_by(change: Change, *, issue_id: str, blocking_issue_id: str) -> Outcome:
    """Let an issue wait for another."""
    issue, blocking = change.find(issue_id, Issue), change.find(blocking_issue_id, Issue)
    issues.add_blocking(change.act, issue, blocking)
    return {"issue": issue, "blocking_issue": blocking}


def remove_blocked_by(change: Change, *, issue_id: str, blocking_issue_id: str) -> Outcome:
    """Let an issue wait for another no more."""
    issue, blocking = change.find(issue_id, Issue), change.find(blocking_issue_id, Issue)
    issues.remove_blocking(change.act, issue, blocking)
    return {"issue": issue, "blocking_issue": blocking}


RELATION_CHANGES: Sequence[Mutation] = (add_sub_issue, remove_sub_issue, add_blocked_by, remove_blocked_by)
