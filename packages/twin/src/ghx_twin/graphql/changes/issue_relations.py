"""Mutations of what issues are to each other, of their types, and of the branches made for them."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from ghx_twin.commands import issues
from ghx_twin.commands.issues import issue_types, linked_branches
from ghx_twin.commands.kernel import UNSET
from ghx_twin.graphql.changes.change import Change, Mutation, Outcome
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal, NotFoundRefusal
from ghx_twin.state.records import Dependency, Issue, IssueType, LinkedBranch, Repository, User

_ISSUE_PATH = re.compile(r"/([^/]+)/([^/]+)/issues/(\d{1,18})/?")


def add_sub_issue(
    change: Change,
    *,
    issue_id: str,
    sub_issue_id: str | None = None,
    sub_issue_url: str | None = None,
    replace_parent: bool | None = None,
) -> Outcome:
    """Make an issue a part of another."""
    if sub_issue_id is None and sub_issue_url is None:
        raise InvalidRefusal("Either subIssueId or subIssueUrl must be provided.")
    parent = change.find(issue_id, Issue)
    child = change.find(sub_issue_id, Issue) if sub_issue_id else _issue_at(change, sub_issue_url or "")
    issues.add_child(change.act, parent, child, replace_parent=bool(replace_parent))
    return {"issue": parent, "sub_issue": child}


def remove_sub_issue(change: Change, *, issue_id: str, sub_issue_id: str) -> Outcome:
    """Make a part of an issue one of its own."""
    parent, child = change.find(issue_id, Issue), change.find(sub_issue_id, Issue)
    issues.remove_child(change.act, parent, child)
    return {"issue": parent, "sub_issue": child}


def reprioritize_sub_issue(
    change: Change, *, issue_id: str, sub_issue_id: str, after_id: str | None = None, before_id: str | None = None
) -> Outcome:
    """Move a part of an issue behind or in front of another part."""
    parent, child = change.find(issue_id, Issue), change.find(sub_issue_id, Issue)
    after = change.find(after_id, Issue) if after_id else None
    before = change.find(before_id, Issue) if before_id else None
    issues.reprioritize_child(change.act, parent, child, after=after, before=before)
    return {"issue": parent}


def add_blocked_by(change: Change, *, issue_id: str, blocking_issue_id: str) -> Outcome:
    """Mark an issue as blocked by another."""
    issue, blocking = change.find(issue_id, Issue), change.find(blocking_issue_id, Issue)
    issues.add_blocking(change.act, issue, blocking)
    return {"issue": issue, "blocking_issue": blocking}


def remove_blocked_by(change: Change, *, issue_id: str, blocking_issue_id: str) -> Outcome:
    """Remove the mark that an issue is blocked by another."""
    issue, blocking = change.find(issue_id, Issue), change.find(blocking_issue_id, Issue)
    if not change.act.database.count(Dependency, issue_id=issue.id, blocking_id=blocking.id):
        raise InvalidRefusal("This dependency does not exist")
    issues.remove_blocking(change.act, issue, blocking)
    return {"issue": issue, "blocking_issue": blocking}


def unmark_issue_as_duplicate(change: Change, *, canonical_id: str, duplicate_id: str) -> Outcome:
    """Remove the mark that an issue is a duplicate of another."""
    canonical, duplicate = change.find(canonical_id, Issue), change.find(duplicate_id, Issue)
    if duplicate.duplicate_of_id != canonical.id:
        raise InvalidRefusal("The issue is not marked as a duplicate of the canonical issue.")
    return {"duplicate": issues.unmark_duplicate(change.act, duplicate)}


def create_issue_type(
    change: Change,
    *,
    owner_id: str,
    name: str,
    is_enabled: bool,
    description: str | None = None,
    color: str | None = None,
) -> Outcome:
    """Add a type to an organization."""
    owner = change.find(owner_id, User)
    if owner.type != "Organization":
        raise NotFoundRefusal(f"Could not resolve to an Organization node with the global id of '{owner_id}'")
    issue_type = issue_types.create(
        change.act,
        owner,
        name=name,
        description=description,
        color=color.lower() if color else None,
        is_enabled=is_enabled,
    )
    return {"issue_type": issue_type}


def update_issue_type(
    change: Change,
    *,
    issue_type_id: str,
    name: str | None = None,
    description: str | None = None,
    color: str | None = None,
    is_enabled: bool | None = None,
) -> Outcome:
    """Change a type of an organization; what is not given stays."""
    changed = issue_types.update(
        change.act,
        change.find(issue_type_id, IssueType),
        name=UNSET if name is None else name,
        description=UNSET if description is None else description,
        color=UNSET if color is None else color.lower(),
        is_enabled=UNSET if is_enabled is None else is_enabled,
    )
    return {"issue_type": changed}


def delete_issue_type(change: Change, *, issue_type_id: str) -> Outcome:
    """Delete a type of an organization."""
    issue_types.delete(change.act, change.find(issue_type_id, IssueType))
    return {"deleted_issue_type_id": issue_type_id}


def create_linked_branch(
    change: Change, *, issue_id: str, oid: str, name: str | None = None, repository_id: str | None = None
) -> Outcome:
    """Create a branch for an issue."""
    issue = change.find(issue_id, Issue)
    home = change.find(repository_id, Repository) if repository_id else None
    return {
        "issue": issue,
        "linked_branch": linked_branches.create(change.act, issue, sha=oid, name=name, repository=home),
    }


def delete_linked_branch(change: Change, *, linked_branch_id: str) -> Outcome:
    """Unlink a branch from its issue."""
    return {"issue": linked_branches.delete(change.act, change.find(linked_branch_id, LinkedBranch))}


def _issue_at(change: Change, url: str) -> Issue:
    """Return the issue with an address; only the path counts, for a world may be served under any host."""
    parsed = _ISSUE_PATH.fullmatch(urlsplit(url).path)
    if parsed is None:
        raise NotFoundRefusal(f"Could not resolve to an issue with the URL of '{url}'.")
    home = change.context.lookup_repository(parsed[1], parsed[2])
    return lookup.issue(change.context.world, home, int(parsed[3]))


RELATION_CHANGES: Sequence[Mutation] = (
    add_sub_issue, remove_sub_issue, reprioritize_sub_issue, add_blocked_by, remove_blocked_by,
    unmark_issue_as_duplicate, create_issue_type, update_issue_type, delete_issue_type, create_linked_branch,
    delete_linked_branch,
)  # fmt: skip
