"""What follows from a changed branch: heads, bases, trial merges, threads, merged and closed pull requests and issues.

The functions here ask for no permission: they follow from a change that the viewer was allowed to make.
"""

from collections.abc import Iterable, Sequence

from ghx_twin.commands import kernel, timeline
from ghx_twin.commands.actions import starting, workflows
from ghx_twin.commands.issues import mark_closed
from ghx_twin.commands.pulls import placement
from ghx_twin.git.objects import Commit, RefUpdate
from ghx_twin.git.repository import GitRepository
from ghx_twin.queries import lookup, permissions
from ghx_twin.queries.pulls.pulls import closing_issues, referenced_issues
from ghx_twin.queries.pulls.reviews import latest_opinions, pull_request_rules
from ghx_twin.queries.references import Reference, references
from ghx_twin.queries.repositories.comparison import base_tip, git_of
from ghx_twin.queries.repositories.protections import protection_of
from ghx_twin.refusals import Refusal
from ghx_twin.state.records import Event, Issue, Pull, Repository, Review
from ghx_twin.world import Act

BRANCHES = "refs/heads/"


def synchronize(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Bring everything that depends on refs up to date with refs that have changed."""
    changed = [update for update in updates if update.old != update.new]
    for update in changed:
        act.database.note("refs", repository.id, update.ref, update.old, update.new)  # a diff says who moved it
    if any(not update.ref.startswith("refs/pull/") for update in changed):
        current = kernel.reload(act, repository)
        act.database.update(current, pushed_at=max(act.now, current.pushed_at))
    repository = _choose_default_branch(act, kernel.reload(act, repository))
    branches = [update for update in changed if update.ref.startswith(BRANCHES)]
    # Heads before bases: a push of a branch to its own name and to its base at once is a merge. Deletions last: a
    # branch that is merged and deleted in one push leaves a merged pull request, not a closed one.
    for update in branches:
        _move_heads(act, repository, update)
    for update in branches:
        _move_bases(act, repository, update)
    for update in branches:
        if update.new is None:
            _delete_branch(act, repository, update)
        if update.ref == f"{BRANCHES}{repository.default_branch}":
            workflows.discover(act, repository, update.old, update.new)
    starting.start_for_push(act, repository, changed)


def _choose_default_branch(act: Act, repository: Repository) -> Repository:
    """Make the first branch that is pushed to an empty repository its default one, as GitHub does."""
    git = act.git(repository)
    # The world's maker has named the default branch already, and may push it after others.
    if act.viewer is None or git.ref(BRANCHES + repository.default_branch):
        return repository
    pushed = [name.removeprefix(BRANCHES) for name in git.refs(BRANCHES)]
    chosen = next((name for name in ("main", "master", *pushed) if name in pushed), None)
    if chosen is None:
        return repository
    git.set_head(chosen)
    return act.database.update(repository, default_branch=chosen)


def _move_heads(act: Act, repository: Repository, update: RefUpdate) -> None:
    branch = update.ref.removeprefix(BRANCHES)
    if update.new is None:
        return
    if update.old is None:
        _restore_branch(act, repository, branch, update.new)
    for pull in open_pulls_of_head(act, repository, branch):
        move_head(act, pull, update.new)


def _restore_branch(act: Act, repository: Repository, branch: str, sha: str) -> None:
    for pull in act.database.all(Pull, head_repository_id=repository.id, head_ref=branch, head_sha=sha):
        issue = lookup.issue_of(act.world, pull)
        if _last_head_event(act, issue) == "head_ref_deleted":
            timeline.record_event(act, issue, "head_ref_restored")


def _move_bases(act: Act, repository: Repository, update: RefUpdate) -> None:
    branch, new = update.ref.removeprefix(BRANCHES), update.new
    if new is None:
        return
    git = act.git(repository)
    for pull in open_pulls_of_base(act, repository, branch):
        # Whatever brings the head into the base merges the pull request, a push too, as on GitHub.
        if git.is_ancestor(pull.head_sha, new) and not (update.old and git.is_ancestor(pull.head_sha, update.old)):
            mark_pull_merged(act, pull, commit=_find_arrival(git, pull.head_sha, new), base=update.old or new)
        else:
            refresh_trial_merge(act, pull)
    for pull in open_pulls_of_head(act, repository, branch):
        if git_of(act.world, pull).is_ancestor(new, base_tip(act.world, pull)):
            mark_pull_closed(act, pull)  # nothing is left to merge
    # Only the default branch: keywords in commits elsewhere count when they get there. A first push closes nothing.
    if branch == repository.default_branch and update.old:
        for commit in git.commits_between(update.old, new):
            apply_commit_message(act, repository, commit)


def _find_arrival(git: GitRepository, head: str, tip: str) -> str:
    """Return the commit by which a branch got a head: the first, along first parents, that has it."""
    arrival = tip
    while (commit := git.commit(arrival)) and commit.parents and git.is_ancestor(head, commit.parents[0]):
        arrival = commit.parents[0]
    return arrival


def _delete_branch(act: Act, repository: Repository, update: RefUpdate) -> None:
    branch = update.ref.removeprefix(BRANCHES)
    for pull in open_pulls_of_base(act, repository, branch):
        if not retarget_pull(act, repository, pull):
            timeline.record_event(act, lookup.issue_of(act.world, pull), "base_ref_deleted")
            mark_pull_closed(act, act.database.update(pull, base_sha=update.old or pull.base_sha))
    for pull in act.database.all(Pull, head_repository_id=repository.id, head_ref=branch):
        issue = lookup.issue_of(act.world, pull)
        was_shown = _last_head_event(act, issue) == "head_ref_deleted"
        # A closed or merged pull request records the deletion once, and only if the branch was still at its head.
        if issue.state == "open" or (pull.head_sha == update.old and not was_shown):
            mark_pull_closed(act, pull)
            timeline.record_event(act, issue, "head_ref_deleted")
            kernel.touch(act, kernel.reload(act, issue))


def _last_head_event(act: Act, issue: Issue) -> str | None:
    events = act.database.all(Event, issue_id=issue.id, event=("head_ref_deleted", "head_ref_restored"))
    return events[-1].event if events else None


def open_pulls_of_head(act: Act, repository: Repository, branch: str) -> list[Pull]:
    """Return the open pull requests that would merge a branch, wherever they were opened."""
    return _keep_open(act, act.database.all(Pull, head_repository_id=repository.id, head_ref=branch))


def open_pulls_of_base(act: Act, repository: Repository, branch: str) -> list[Pull]:
    """Return the open pull requests into a branch."""
    return _keep_open(act, act.database.all(Pull, repository_id=repository.id, base_ref=branch))


def _keep_open(act: Act, pulls: Iterable[Pull]) -> list[Pull]:
    return [pull for pull in pulls if lookup.issue_of(act.world, pull).state == "open"]


def move_head(act: Act, pull: Pull, sha: str) -> Pull:
    """Make a commit the head of an open pull request, and bring threads, reviews and trial merge up to date."""
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    fetch_head(act, pull, issue, sha)
    moved = act.database.update(pull, head_sha=sha, base_sha=base_tip(act.world, pull))
    if not git.is_ancestor(pull.head_sha, sha):
        timeline.record_event(act, issue, "head_ref_force_pushed", {"before": pull.head_sha, "after": sha})
    kernel.touch(act, issue)
    placement.move_threads(act, moved)
    dismiss_stale_reviews(act, moved)
    refresh_trial_merge(act, moved)
    starting.start_for_pull(act, moved, "synchronize")
    return moved


def fetch_head(act: Act, pull: Pull, issue: Issue, sha: str) -> None:
    """Point `refs/pull/N/head` at a commit, fetching it where the head is in a fork."""
    # The ref keeps the commits in this repository when the branch or the whole fork is deleted.
    git, name = git_of(act.world, pull), f"refs/pull/{issue.number}/head"
    before = git.ref(name)
    if pull.head_repository_id in {None, pull.repository_id}:
        git.set_ref(name, sha)
    else:
        fork = lookup.repository_by_id(act.world, None, pull.head_repository_id or 0)
        git.fetch(act.git(fork), sha, name)
    if before != sha:
        act.database.note("refs", pull.repository_id, name, before, sha)


def dismiss_stale_reviews(act: Act, pull: Pull) -> None:
    """Dismiss approvals of a former head, where a protection or rule of the base branch asks for it."""
    protection = protection_of(act.world, lookup.repository_of(act.world, pull), pull.base_ref)
    by_rule = any(rule.dismiss_stale_reviews_on_push for rule in pull_request_rules(act.world, pull))
    if not by_rule and (protection is None or not protection.dismiss_stale_reviews):
        return
    for review in latest_opinions(act.world, pull):
        if review.state == "APPROVED" and review.commit_sha != pull.head_sha:
            mark_dismissed(act, pull, review, None)


def mark_dismissed(act: Act, pull: Pull, review: Review, message: str | None) -> Review:
    """Dismiss a review and record it in the timeline."""
    issue = lookup.issue_of(act.world, pull)
    timeline.record_event(
        act, issue, "review_dismissed", {"review_id": review.id, "state": review.state.lower(), "message": message}
    )
    kernel.touch(act, issue)
    return act.database.update(review, state="DISMISSED", updated_at=act.now)


def move_base(act: Act, pull: Pull, base: str, *, event: str = "base_ref_changed") -> Pull:
    """Change the base of an open pull request to another branch, which exists and lacks some of its commits."""
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    timeline.record_event(act, issue, event, {"from": pull.base_ref, "to": base})
    tip = git.ref(f"refs/heads/{base}") or pull.base_sha
    moved = act.database.update(pull, base_ref=base, base_sha=tip)
    moved = drop_auto_merge(act, moved)
    kernel.touch(act, issue)
    placement.move_threads(act, moved)
    refresh_trial_merge(act, moved)
    return moved


def retarget_pull(act: Act, repository: Repository, pull: Pull) -> bool:
    """Move a pull request whose base was merged and deleted to the branch that took the base; return whether it can."""
    merged = act.database.select(
        Pull,
        "WHERE repository_id = ? AND head_repository_id = ? AND head_ref = ? AND merged_at IS NOT NULL "
        "ORDER BY merged_at DESC, id DESC LIMIT 1",
        (repository.id, repository.id, pull.base_ref),
    )
    if not merged or find_same_pull(act, pull, merged[0].base_ref):
        return False
    git, base = act.git(repository), merged[0].base_ref
    tip = git.ref(f"refs/heads/{base}")
    if tip is None or git.is_ancestor(pull.head_sha, tip):
        return False
    move_base(act, pull, base, event="automatic_base_change_succeeded")
    return True


def find_same_pull(act: Act, pull: Pull, base: str) -> Pull | None:
    """Return another open pull request of the same head into a base."""
    others = act.database.all(
        Pull,
        repository_id=pull.repository_id,
        head_repository_id=pull.head_repository_id,
        head_ref=pull.head_ref,
        base_ref=base,
    )
    opened = (other for other in others if lookup.issue_of(act.world, other).state == "open")
    return next((other for other in opened if other.id != pull.id), None)


def head_label(act: Act, pull: Pull) -> str:
    """Return the head as `owner:branch`."""
    home = lookup.repository_by_id(act.world, None, pull.head_repository_id or pull.repository_id)
    return f"{lookup.owner(act.world, home).login}:{pull.head_ref}"


def mark_pull_closed(act: Act, pull: Pull) -> Pull:
    """Close an open pull request without merging it, and freeze its base where it is now."""
    issue = lookup.issue_of(act.world, pull)
    if issue.state == "closed":
        return pull
    closed = act.database.update(pull, base_sha=base_tip(act.world, pull))
    closed = drop_auto_merge(act, closed)
    remove_trial_merge(act, closed)
    mark_closed(act, issue)
    starting.start_for_pull(act, closed, "closed")
    return closed


def mark_pull_merged(act: Act, pull: Pull, *, commit: str, base: str) -> Pull:
    """Mark an open pull request as merged by a commit into what was the tip of its base; close what it closes."""
    repository, issue = lookup.repository_of(act.world, pull), lookup.issue_of(act.world, pull)
    promised = closing_issues(act.world, pull, act.viewer)
    merged = act.database.update(
        pull,
        merged_at=act.now,
        merged_by_id=kernel.actor_id(act, repository),
        merge_commit_sha=commit,
        base_sha=base,
    )
    remove_trial_merge(act, merged)
    timeline.record_event(act, issue, "merged", {"commit_sha": commit})
    mark_closed(act, issue)
    for promise in promised:
        _close_issue(act, repository, promise, pull_id=pull.id, commit=commit)
    starting.start_for_pull(act, merged, "closed")
    return merged


def drop_auto_merge(act: Act, pull: Pull) -> Pull:
    """Cancel the auto-merge of a pull request, where it is enabled."""
    if pull.auto_merge is None:
        return pull
    timeline.record_event(act, lookup.issue_of(act.world, pull), "auto_merge_disabled")
    return act.database.update(pull, auto_merge=None)


def apply_commit_message(act: Act, repository: Repository, commit: Commit) -> None:
    """Reference the issues that a commit on the default branch names, and close those that it says it closes."""
    for reference in references(commit.message, lookup.full_name(act.world, repository)):
        _record_commit_reference(act, repository, reference, commit.sha)
    for issue in referenced_issues(act.world, act.viewer, repository, commit.message):
        _close_issue(act, repository, issue, pull_id=None, commit=commit.sha)


def _record_commit_reference(act: Act, repository: Repository, reference: Reference, sha: str) -> None:
    try:
        home = lookup.repository(act.world, act.viewer, reference.owner, reference.name)
        issue = lookup.issue_or_pull(act.world, home, reference.number)
    except Refusal:
        return  # a number of nothing is just text
    events = act.database.all(Event, issue_id=issue.id, event="referenced")
    if all(event.data.get("commit_sha") != sha for event in events):
        data = {"commit_sha": sha, "commit_repository_id": repository.id}
        timeline.record_event(act, issue, "referenced", data, actor=kernel.actor_id(act, repository))


def _close_issue(act: Act, home: Repository, issue: Issue, *, pull_id: int | None, commit: str) -> None:
    target = lookup.repository_of(act.world, issue)
    elsewhere = target.id != home.id
    # A merge closes issues of its own repository; those of another one only with write access there.
    if issue.state == "closed" or (elsewhere and not permissions.may(act.world, act.viewer, target, "write")):
        return
    mark_closed(act, issue, reason="completed", commit_sha=commit, pull_id=pull_id)


def refresh_trial_merge(act: Act, pull: Pull) -> None:
    """Write the trial merge of head and base to `refs/pull/N/merge`; remove it where they conflict."""
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    name, base = f"refs/pull/{issue.number}/merge", git.ref(f"refs/heads/{pull.base_ref}")
    tree = git.merge(base, pull.head_sha) if base else None
    if base is None or tree is None:
        git.set_ref(name, None)
        return
    current = git.ref(name)
    commit = git.commit(current) if current else None
    if commit and commit.parents == (base, pull.head_sha):
        return  # a commit of a later time would be another sha, and look like a change
    author = lookup.user_by_id(act.world, issue.author_id)
    merged = git.write_commit(
        tree=tree,
        parents=(base, pull.head_sha),
        message=f"Merge {pull.head_sha} into {base}",
        author=kernel.user_signature(author, act.now),
        committer=kernel.github_signature(act.now),
    )
    git.set_ref(name, merged)


def remove_trial_merge(act: Act, pull: Pull) -> None:
    """Remove `refs/pull/N/merge`, which only open pull requests have."""
    git_of(act.world, pull).set_ref(f"refs/pull/{lookup.issue_of(act.world, pull).number}/merge", None)
