"""Pull requests: opened, changed, closed, reopened, and brought up to date with their base."""

from dataclasses import dataclass
from typing import Literal

from ghx_twin.commands import issues, kernel, timeline
from ghx_twin.commands.actions import starting
from ghx_twin.commands.issues import linked_branches
from ghx_twin.commands.issues.creation import require_author_or
from ghx_twin.commands.kernel import UNSET, Unset
from ghx_twin.commands.pulls import placement, synchronization
from ghx_twin.commands.pulls.merges import attempt_auto_merge
from ghx_twin.commands.pulls.synchronization import fetch_head, mark_pull_closed, move_head
from ghx_twin.commands.repositories import refs
from ghx_twin.git.objects import RefUpdate
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.repositories.comparison import base_tip, git_of
from ghx_twin.refusals import FieldError, InvalidRefusal, NotFoundRefusal, RoleRefusal
from ghx_twin.state.records import Issue, Pull, Repository
from ghx_twin.world import Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A branch to merge, where it is, and the tip of the branch it would go into."""

    repository: Repository
    branch: str
    sha: str
    base_sha: str


def create(
    act: Act,
    repository: Repository,
    *,
    head: str,
    base: str,
    title: str = "",
    issue: Issue | None = None,
    body: str | None = None,
    draft: bool = False,
    maintainer_can_modify: bool = False,
    head_repository: Repository | None = None,
) -> Pull:
    """Open a pull request for a branch of this repository or of a fork (`owner:branch`).

    An issue becomes the pull request with its number, text and conversation, instead of a new one with a title.
    """
    permissions.require(act, repository, "read")
    head_branch = find_head(act, repository, head, base, head_repository)
    if issue is None:
        issue = issues.insert(act, repository, title=title, body=body, is_pull=True)
    else:
        issue = issues.convert_to_pull(act, issue)
    across = head_branch.repository.id != repository.id
    pull = act.database.insert(
        Pull,
        issue_id=issue.id,
        repository_id=repository.id,
        head_repository_id=head_branch.repository.id,
        head_ref=head_branch.branch,
        head_sha=head_branch.sha,
        base_ref=base,
        base_sha=head_branch.base_sha,
        draft=draft,
        maintainer_can_modify=maintainer_can_modify and across,
    )
    # Compared only now: the commits of a fork are in this repository once the head is fetched. A refusal undoes it all.
    fetch_head(act, pull, issue, head_branch.sha)
    check_new_commits(act, repository, head_branch, base)
    synchronization.refresh_trial_merge(act, pull)
    linked_branches.connect(act, pull, issue)
    starting.start_for_pull(act, pull, "opened")
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
    """Change the text, the base, or whether maintainers may push; the author and writers may."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    require_author_or(act, issue, "write")
    issues.update(act, issue, title=title, body=body)
    if base is not UNSET and base != current.base_ref:
        current = _change_base(act, current, base)
    if maintainer_can_modify is not UNSET and current.head_repository_id != current.repository_id:
        current = act.database.update(current, maintainer_can_modify=maintainer_can_modify)
    return current


def update_branch(
    act: Act, pull: Pull, *, expected_head: str | None = None, method: Literal["merge", "rebase"] = "merge"
) -> Pull:
    """Bring the branch of a pull request up to date with its base, by a merge commit or by a rebase."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    home = _writable_head(act, current)
    if issue.state != "open":
        raise InvalidRefusal("Pull request is closed")
    if expected_head is not None and expected_head.lower() != current.head_sha:
        raise InvalidRefusal("expected head sha didn\u2019t match current head ref.")
    base = base_tip(act.world, current)
    if git_of(act.world, current).is_ancestor(base, current.head_sha):
        raise InvalidRefusal("There are no new commits on the base branch.")
    tip = _merge_base_into_head(act, current, base) if method == "merge" else _rebase_head_onto_base(act, current, base)
    if tip is None:
        raise InvalidRefusal("merge conflict between base and head")
    name = f"refs/heads/{current.head_ref}"
    # The new commits were written where the pull request is; the branch may be in a fork.
    act.git(home).fetch(git_of(act.world, current), tip, name)
    refs.record_push(act, home, [RefUpdate(name, current.head_sha, tip)])
    return kernel.reload(act, current)


def close(act: Act, pull: Pull) -> Pull:
    """Close a pull request without merging it; its author and triagers may. A closed one stays as it is."""
    current, issue = kernel.reload(act, pull), lookup.issue_of(act.world, pull)
    require_author_or(act, issue, "triage")
    return mark_pull_closed(act, current)


def reopen(act: Act, pull: Pull) -> Pull:
    """Reopen a closed pull request at the present tip of its branch."""
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
    synchronization.refresh_trial_merge(act, current)
    starting.start_for_pull(act, current, "reopened")
    return current


def mark_ready(act: Act, pull: Pull) -> Pull:
    """Mark a draft as ready for review; its author and writers may."""
    return _set_draft(act, pull, draft=False, event="ready_for_review")


def convert_to_draft(act: Act, pull: Pull) -> Pull:
    """Make a pull request a draft again; its author and writers may."""
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
    starting.start_for_pull(act, current, "converted_to_draft" if draft else "ready_for_review")
    attempt_auto_merge(act, current)
    return kernel.reload(act, current)


def find_head(act: Act, repository: Repository, head: str, base: str, head_repository: Repository | None) -> Head:
    """Return the head of a new pull request, which the viewer must be able to push to, and the tip of its base."""
    owner, _, name = head.rpartition(":")
    home = head_repository or (_fork_of(act, repository, owner) if owner else repository)
    sha = act.git(home).ref(f"refs/heads/{name}") if home and name else None
    base_sha = act.git(repository).ref(f"refs/heads/{base}") if base else None
    if home is None or sha is None or base_sha is None:
        raise _unknown_branches(head, base, head_found=sha is not None, base_found=base_sha is not None)
    if not permissions.may(act.world, act.viewer, home, "write"):
        raise _creation_refusal("must be a collaborator")
    _refuse_second(act, repository, home, name, base)
    return Head(repository=home, branch=name, sha=sha, base_sha=base_sha)


def check_new_commits(act: Act, repository: Repository, head: Head, base: str) -> None:
    """Refuse a head without new commits, or without history in common with its base."""
    git, label = act.git(repository), head.branch
    if head.repository.id != repository.id:
        mine, theirs = lookup.owner(act.world, repository).login, lookup.owner(act.world, head.repository).login
        base, label = f"{mine}:{base}", f"{theirs}:{label}"
    if git.is_ancestor(head.sha, head.base_sha):
        raise _creation_refusal(f"No commits between {base} and {label}")
    if git.merge_base(head.base_sha, head.sha) is None:
        raise _creation_refusal(f"The {label} branch has no history in common with {base}")


def _fork_of(act: Act, repository: Repository, login: str) -> Repository | None:
    """Return the repository that an owner has in the same network of forks."""
    try:
        owner = lookup.account(act.world, login)
    except NotFoundRefusal:
        return None
    if owner.id == repository.owner_id:
        return repository
    root = _root(act, repository)
    owned = act.database.all(Repository, owner_id=owner.id)
    related = (one for one in owned if _root(act, one).id == root.id)
    return next((one for one in related if permissions.is_visible(act.world, act.viewer, one)), None)


def _root(act: Act, repository: Repository) -> Repository:
    current = repository
    while (parent := act.database.get(Repository, current.parent_id)) is not None:
        current = parent
    return current


def _refuse_second(act: Act, repository: Repository, home: Repository, branch: str, base: str) -> None:
    same = act.database.all(
        Pull, repository_id=repository.id, head_repository_id=home.id, head_ref=branch, base_ref=base
    )
    if any(lookup.issue_of(act.world, pull).state == "open" for pull in same):
        raise _creation_refusal(f"A pull request already exists for {lookup.owner(act.world, home).login}:{branch}.")


def _unknown_branches(head: str, base: str, *, head_found: bool, base_found: bool) -> InvalidRefusal:
    missing = [field for field, result in (("base", base_found), ("head", head_found)) if not result]
    # GraphQL lists all of this whichever of the two is missing; REST names only the fields.
    reasons = ["Head sha can't be blank", "Base sha can't be blank", f"No commits between {base} and {head}"]
    reasons += [f"{field.capitalize()} ref must be a branch" for field in reversed(missing)]
    errors = tuple(FieldError(resource="PullRequest", field=field, code="invalid") for field in missing)
    return InvalidRefusal(errors=errors, graphql=", ".join(reasons))


def _creation_refusal(message: str) -> InvalidRefusal:
    return InvalidRefusal(errors=(FieldError(resource="PullRequest", code="custom", message=message),))


def _change_base(act: Act, pull: Pull, base: str) -> Pull:
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    tip = git.ref(f"refs/heads/{base}")
    if issue.state != "open":
        raise _invalid_field("base", "Cannot change the base branch of a closed pull request.")
    if tip is None:
        raise _invalid_field("base", f"Proposed base branch '{base}' was not found")
    if synchronization.find_same_pull(act, pull, base):
        raise _invalid_field(
            "base", f"A pull request already exists for base branch '{base}' and head branch '{pull.head_ref}'"
        )
    if git.is_ancestor(pull.head_sha, tip):
        raise _invalid_field(
            "base", f"There are no new commits between base branch '{base}' and head branch '{pull.head_ref}'"
        )
    return synchronization.move_base(act, pull, base)


def _find_reopening_head(act: Act, pull: Pull) -> str:
    """Return the head that a reopened pull request would have; refuse where it cannot be reopened."""
    git = git_of(act.world, pull)
    base = git.ref(f"refs/heads/{pull.base_ref}")
    home = act.database.get(Repository, pull.head_repository_id)
    tip = act.git(home).ref(f"refs/heads/{pull.head_ref}") if home else None
    if pull.merged_at:
        raise _reopening_refusal("The pull request has been merged.")
    if home is None:
        raise _reopening_refusal("The repository that submitted this pull request has been deleted.")
    if tip is None:
        raise _reopening_refusal(f"The {pull.head_ref} branch has been deleted.")
    if base is None:
        raise _reopening_refusal(f"The {pull.base_ref} branch has been deleted.")
    if not act.git(home).is_ancestor(pull.head_sha, tip):
        raise _reopening_refusal(f"The {pull.head_ref} branch was force-pushed or recreated.")
    label = synchronization.head_label(act, pull)
    if synchronization.find_same_pull(act, pull, pull.base_ref):
        raise _reopening_refusal(f"A pull request already exists for {label}.")
    if git.kind(tip) and git.is_ancestor(tip, base):
        raise _reopening_refusal(f"There are no new commits on the {label} branch.")
    return tip


def _reopening_refusal(reason: str) -> InvalidRefusal:
    error = FieldError(
        resource="PullRequest", field="state", code="invalid", message=f"state cannot be changed. {reason}"
    )
    return InvalidRefusal(errors=(error,), graphql="Could not open the pull request.")


def _invalid_field(field: str, message: str) -> InvalidRefusal:
    return InvalidRefusal(
        errors=(FieldError(resource="PullRequest", field=field, code="invalid", message=message),), graphql=message
    )


def _writable_head(act: Act, pull: Pull) -> Repository:
    repository = lookup.repository_of(act.world, pull)
    permissions.require(act, repository, "read")
    home = act.database.get(Repository, pull.head_repository_id)
    if home is None:
        raise InvalidRefusal("The repository of the head branch has been deleted.")
    maintains = pull.maintainer_can_modify and permissions.may(act.world, act.viewer, repository, "write")
    if not maintains and not permissions.may(act.world, act.viewer, home, "write"):
        raise RoleRefusal(permissions.NEEDS_ADMIN)
    return home


def _merge_base_into_head(act: Act, pull: Pull, base: str) -> str | None:
    repository, git = lookup.repository_of(act.world, pull), git_of(act.world, pull)
    tree = git.merge(pull.head_sha, base)
    user = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    return tree and git.write_commit(
        tree=tree,
        parents=(pull.head_sha, base),
        message=f"Merge branch '{pull.base_ref}' into {pull.head_ref}",
        author=kernel.user_signature(user, act.now),
        committer=kernel.github_signature(act.now),
    )


def _rebase_head_onto_base(act: Act, pull: Pull, base: str) -> str | None:
    repository, git = lookup.repository_of(act.world, pull), git_of(act.world, pull)
    user = lookup.user_by_id(act.world, kernel.actor_id(act, repository))
    start = git.merge_base(base, pull.head_sha)
    return start and git.rebase(base, start, pull.head_sha, kernel.user_signature(user, act.now))
