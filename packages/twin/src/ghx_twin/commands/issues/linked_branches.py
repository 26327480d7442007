"""Branches made for an issue: a pull request from one of them closes the issue."""

import re

from ghx_twin.commands import kernel, timeline
from ghx_twin.commands.repositories import refs
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup
from ghx_twin.queries.permissions import require
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.state.records import Issue, LinkedBranch, Pull, Repository
from ghx_twin.world import Act

_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


def create(
    act: Act, issue: Issue, *, sha: str, name: str | None = None, repository: Repository | None = None
) -> LinkedBranch:
    """Create a branch at a commit and link it to an issue; its name follows from the issue if none is given."""
    current = kernel.reload(act, issue)
    home = repository or lookup.repository_of(act.world, current)
    if current.is_pull:
        raise InvalidRefusal("Branches can only be linked to issues.")
    require(act, lookup.repository_of(act.world, current), "read")
    branch = (name or "").removeprefix("refs/heads/") or _default_name(act.git(home), current)
    refs.create(act, home, ref=f"refs/heads/{branch}", sha=sha)
    kernel.touch(act, current)
    return link(act, current, home, branch)


def link(act: Act, issue: Issue, repository: Repository, name: str) -> LinkedBranch:
    """Link a branch to an issue without a permission check."""
    linked_branch = act.database.one(LinkedBranch, issue_id=issue.id, repository_id=repository.id, name=name)
    return linked_branch or act.database.insert(LinkedBranch, issue_id=issue.id, repository_id=repository.id, name=name)


def delete(act: Act, linked: LinkedBranch) -> Issue:
    """Unlink a branch from its issue; the branch stays."""
    current = kernel.reload(act, linked)
    issue = act.database.get(Issue, current.issue_id)
    assert issue is not None  # noqa: S101 - a link goes with its issue
    require(act, lookup.repository_of(act.world, issue), "write")
    act.database.delete(current)
    return kernel.touch(act, issue)


def connect(act: Act, pull: Pull, pull_issue: Issue) -> None:
    """Record that a new pull request is connected to the issues that its branch was made for."""
    linked = act.database.all(LinkedBranch, repository_id=pull.head_repository_id, name=pull.head_ref)
    for issue in (act.database.get(Issue, one.issue_id) for one in linked):
        if issue is not None:
            timeline.record_event(act, issue, "connected", {"subject_id": pull_issue.id})
            timeline.record_event(act, pull_issue, "connected", {"subject_id": issue.id})


def _default_name(git: GitRepository, issue: Issue) -> str:
    name = f"{issue.number}-{_NOT_IN_A_NAME.sub('-', issue.title.lower()).strip('-')}".strip("-")
    names = (name, *(f"{name}-{number}" for number in range(1, 100)))
    return next((one for one in names if git.ref(f"refs/heads/{one}") is None), name)
