"""Pull requests: opened, changed, closed, opened again."""

from ghx_bench.twin.commands import bases, heads, issues, kernel, placement, timeline, trial
from ghx_bench.twin.commands.automerge import attempt_auto_merge, disable_auto_merge, enable_auto_merge
from ghx_bench.twin.commands.branch_updates import update_branch
from ghx_bench.twin.commands.conclusion import mark_pull_closed
from ghx_bench.twin.commands.issues.creation import require_author_or
from ghx_bench.twin.commands.kernel import UNSET, Unset
from ghx_bench.twin.commands.review_requests import remove_review_requests, request_reviews
from ghx_bench.twin.commands.synchronization import fetch_head, move_head
from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.queries.comparison import git_of
from ghx_bench.twin.refusals import FieldError, InvalidRefusal
from ghx_bench.twin.state.records import Pull, Repository
from ghx_bench.twin.world import Act

__all__ = [
    "close",
    "convert_to_draft",
    "create",
    "disable_auto_merge",
    "enable_auto_merge",
    "mark_ready",
    "remove_review_requests",
    "reopen",
    "request_reviews",
    "update",
    "update_branch",
]


def create(
    act: Act,
    repository: Repository,
    *,
    title: str,
    head: str,
    base: str,
    body: str | None = None,
    draft: bool = False,
    maintainer_can_modify: bool = False,
    head_repository: Repository | None = None,
) -> Pull:
    """Ask to merge a branch, of this repository or of a fork (`owner:branch`), into another."""
    permissions.require(act, repository, "read")
    found = heads.find_head(act, repository, head, base, head_repository)
    issue = issues.insert(act, repository, title=title, body=body, is_pull=True)
    across = found.repository.id != repository.id
    pull = act.database.insert(
        Pull,
        issue_id=issue.id,
        repository_id=repository.id,
        head_repository_id=found.repository.id,
        head_ref=found.branch,
        head_sha=found.sha,
        base_ref=base,
        base_sha=found.base_sha,
        draft=draft,
        maintainer_can_modify=maintainer_can_modify and across,
    )
    fetch_head(act, pull, issue, found.sha)
    heads.check_new_commits(act, repository, found, base)
    trial.refresh_trial_merge(act, pull)
    return pull


def update(
    act: Act,
    pull: Pull,
    *,
    title: str | Unset = UNSET,
    body: str | Unset | None = UNSET,
    base: str | Unset = UNSET,
    maintainer_can_modify: bool | Unset = UNSET,
) -> Pull:
    """Change the text, the base or what maintainers may do; the author and writers may."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    require_author_or(act, issue, "write")
    issues.update(act, issue, title=title, body=body)
    if base is not UNSET and base != current.base_ref:
        current = _change_base(act, current, base)
    if maintainer_can_modify is not UNSET and current.head_repository_id != current.repository_id:
        current = act.database.update(current, maintainer_can_modify=maintainer_can_modify)
    return current


def close(act: Act, pull: Pull) -> Pull:
    """Close a pull request without merging it; its author and triagers may. A closed one stays as it is."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    require_author_or(act, issue, "triage")
    return mark_pull_closed(act, current)


def reopen(act: Act, pull: Pull) -> Pull:
    """Open a closed pull request again, at the present tip of its branch."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    require_author_or(act, issue, "triage")
    if issue.state == "open":
        return current
    if act.viewer is not None and issue.closed_by_id != act.viewer.id:
        permissions.require(act, lookup.repository_of(act.world, current), "triage")
    tip = _find_reopening_head(act, current)
    timeline.record_event(act, issue, "reopened")
    kernel.touch(act, issue, state="open", closed_at=None, closed_by_id=None)
    if tip != current.head_sha:
        return move_head(act, current, tip)
    base = git_of(act.world, current).ref(f"refs/heads/{current.base_ref}") or current.base_sha
    current = act.database.update(current, base_sha=base)
    placement.move_threads(act, current)
    trial.refresh_trial_merge(act, current)
    return current


def mark_ready(act: Act, pull: Pull) -> Pull:
    """Say that a draft is ready for review; its author and writers may."""
    return _set_draft(act, pull, draft=False, event="ready_for_review")


def convert_to_draft(act: Act, pull: Pull) -> Pull:
    """Say that a pull request is not ready for review after all."""
    return _set_draft(act, pull, draft=True, event="convert_to_draft")


def _set_draft(act: Act, pull: Pull, *, draft: bool, event: str) -> Pull:
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    require_author_or(act, issue, "write")
    if issue.state != "open":
        raise InvalidRefusal("Pull request is closed")
    if current.draft == draft:
        return current
    timeline.record_event(act, issue, event)
    kernel.touch(act, issue)
    current = act.database.update(current, draft=draft)
    attempt_auto_merge(act, current)
    return kernel.reload(act, current)


def _change_base(act: Act, pull: Pull, base: str) -> Pull:
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    tip = git.ref(f"refs/heads/{base}")
    if issue.state != "open":
        raise _invalid_field("base", "Cannot change the base branch of a closed pull request.")
    if tip is None:
        raise _invalid_field("base", f"Proposed base branch '{base}' was not found")
    if bases.find_same_pull(act, pull, base):
        raise _invalid_field(
            "base", f"A pull request already exists for base branch '{base}' and head branch '{pull.head_ref}'"
        )
    if git.is_ancestor(pull.head_sha, tip):
        raise _invalid_field(
            "base", f"There are no new commits between base branch '{base}' and head branch '{pull.head_ref}'"
        )
    return bases.move_base(act, pull, base)


def _find_reopening_head(act: Act, pull: Pull) -> str:
    """Return the head that a closed pull request would have if it were opened again, or say why it cannot be."""
    git = git_of(act.world, pull)
    base = git.ref(f"refs/heads/{pull.base_ref}")
    home = act.database.get(Repository, pull.head_repository_id)
    tip = act.git(home).ref(f"refs/heads/{pull.head_ref}") if home else None
    if pull.merged_at:
        raise _refuse_reopening("The pull request has been merged.")
    if home is None:
        raise _refuse_reopening("The repository that submitted this pull request has been deleted.")
    if tip is None:
        raise _refuse_reopening(f"The {pull.head_ref} branch has been deleted.")
    if base is None:
        raise _refuse_reopening(f"The {pull.base_ref} branch has been deleted.")
    if not act.git(home).is_ancestor(pull.head_sha, tip):
        raise _refuse_reopening(f"The {pull.head_ref} branch was force-pushed or recreated.")
    label = bases.head_label(act, pull)
    if bases.find_same_pull(act, pull, pull.base_ref):
        raise _refuse_reopening(f"A pull request already exists for {label}.")
    if git.kind(tip) and git.is_ancestor(tip, base):
        raise _refuse_reopening(f"There are no new commits on the {label} branch.")
    return tip


def _refuse_reopening(reason: str) -> InvalidRefusal:
    error = FieldError(
        resource="PullRequest", field="state", code="invalid", message=f"state cannot be changed. {reason}"
    )
    return InvalidRefusal(errors=(error,), graphql="Could not open the pull request.")


def _invalid_field(field: str, message: str) -> InvalidRefusal:
    return InvalidRefusal(
        errors=(FieldError(resource="PullRequest", field=field, code="invalid", message=message),), graphql=message
    )
