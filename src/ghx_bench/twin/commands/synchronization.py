"""What a changed branch does to pull requests and issues."""

from collections.abc import Iterable, Sequence

from ghx_bench.twin.commands import bases, kernel, placement, timeline, trial
from ghx_bench.twin.commands.conclusion import apply_commit_message, mark_pull_closed, mark_pull_merged
from ghx_bench.twin.commands.dismissal import dismiss_stale_reviews
from ghx_bench.twin.git.repository import GitRepository, RefUpdate
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.comparison import base_tip, git_of
from ghx_bench.twin.state.records import Event, Issue, Pull, Repository
from ghx_bench.twin.world import Act

BRANCHES = "refs/heads/"


def synchronize(act: Act, repository: Repository, updates: Sequence[RefUpdate]) -> None:
    """Bring everything that depends on refs up to date with refs that have changed.

    Heads first, then bases: a push of a branch to its own name and to its base at once is a merge. Deletions last,
    since a branch that was merged and deleted in one push leaves a merged pull request, not a closed one.
    """
    changed = [update for update in updates if update.old != update.new]
    for update in changed:
        act.database.note("refs", repository.id, update.ref, update.old, update.new)
    if any(not update.ref.startswith("refs/pull/") for update in changed):
        current = kernel.reload(act, repository)
        act.database.update(current, pushed_at=max(act.now, current.pushed_at))
    repository = _choose_default_branch(act, kernel.reload(act, repository))
    branches = [update for update in changed if update.ref.startswith(BRANCHES)]
    for update in branches:
        _move_heads(act, repository, update)
    for update in branches:
        _move_bases(act, repository, update)
    for update in branches:
        if update.new is None:
            _delete_branch(act, repository, update)


def _choose_default_branch(act: Act, repository: Repository) -> Repository:
    """Make the first branch that people push to an empty repository its default one."""
    git = act.git(repository)
    if act.viewer is None or git.ref(BRANCHES + repository.default_branch):
        return repository
    pushed = [name.removeprefix(BRANCHES) for name in git.refs(BRANCHES)]
    chosen = next((name for name in ("main", "master", *pushed) if name in pushed), None)
    if chosen is None:
        return repository
    git.set_head(chosen)
    return act.database.update(repository, default_branch=chosen)


def open_pulls_of_head(act: Act, repository: Repository, branch: str) -> list[Pull]:
    """Return the open pull requests that would merge a branch, wherever they were opened."""
    return _keep_open(act, act.database.all(Pull, head_repository_id=repository.id, head_ref=branch))


def open_pulls_of_base(act: Act, repository: Repository, branch: str) -> list[Pull]:
    """Return the open pull requests into a branch."""
    return _keep_open(act, act.database.all(Pull, repository_id=repository.id, base_ref=branch))


def move_head(act: Act, pull: Pull, sha: str) -> Pull:
    """Make a commit the head of an open pull request and follow with all that stands on it."""
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    fetch_head(act, pull, issue, sha)
    moved = act.database.update(pull, head_sha=sha, base_sha=base_tip(act.world, pull))
    if not git.is_ancestor(pull.head_sha, sha):
        timeline.record_event(act, issue, "head_ref_force_pushed", {"before": pull.head_sha, "after": sha})
    kernel.touch(act, issue)
    placement.move_threads(act, moved)
    dismiss_stale_reviews(act, moved)
    trial.refresh_trial_merge(act, moved)
    return moved


def fetch_head(act: Act, pull: Pull, issue: Issue, sha: str) -> None:
    """Point `refs/pull/N/head` at a commit, bringing it over from a fork where the head is one."""
    git, name = git_of(act.world, pull), f"refs/pull/{issue.number}/head"
    before = git.ref(name)
    if pull.head_repository_id in {None, pull.repository_id}:
        git.set_ref(name, sha)
    else:
        fork = lookup.repository_by_id(act.world, None, pull.head_repository_id or 0)
        git.fetch(act.git(fork), sha, name)
    if before != sha:
        act.database.note("refs", pull.repository_id, name, before, sha)


def _move_heads(act: Act, repository: Repository, update: RefUpdate) -> None:
    branch = update.ref.removeprefix(BRANCHES)
    if update.new is None:
        return
    if update.old is None:
        _restore_branch(act, repository, branch, update.new)
    for pull in open_pulls_of_head(act, repository, branch):
        move_head(act, pull, update.new)


def _move_bases(act: Act, repository: Repository, update: RefUpdate) -> None:
    branch, new = update.ref.removeprefix(BRANCHES), update.new
    if new is None:
        return
    git = act.git(repository)
    for pull in open_pulls_of_base(act, repository, branch):
        if git.is_ancestor(pull.head_sha, new) and not (update.old and git.is_ancestor(pull.head_sha, update.old)):
            mark_pull_merged(act, pull, commit=_arrival(git, pull.head_sha, new), base=update.old or new)
        else:
            trial.refresh_trial_merge(act, pull)
    for pull in open_pulls_of_head(act, repository, branch):
        if git_of(act.world, pull).is_ancestor(new, base_tip(act.world, pull)):
            mark_pull_closed(act, pull)  # nothing is left to merge
    if branch == repository.default_branch and update.old:
        for commit in git.commits_between(update.old, new):
            apply_commit_message(act, repository, commit)


def _arrival(git: GitRepository, head: str, tip: str) -> str:
    """Return the commit by which a branch got a head: the first, along first parents, that has it."""
    arrival = tip
    while (commit := git.commit(arrival)) and commit.parents and git.is_ancestor(head, commit.parents[0]):
        arrival = commit.parents[0]
    return arrival


def _delete_branch(act: Act, repository: Repository, update: RefUpdate) -> None:
    branch = update.ref.removeprefix(BRANCHES)
    for pull in open_pulls_of_base(act, repository, branch):
        if not bases.retarget_pull(act, repository, pull):
            timeline.record_event(act, lookup.issue_of(act.world, pull), "base_ref_deleted")
            mark_pull_closed(act, act.database.update(pull, base_sha=update.old or pull.base_sha))
    for pull in act.database.all(Pull, head_repository_id=repository.id, head_ref=branch):
        issue = lookup.issue_of(act.world, pull)
        if issue.state == "open" or (
            pull.head_sha == update.old and _last_head_event(act, issue) != "head_ref_deleted"
        ):
            mark_pull_closed(act, pull)
            timeline.record_event(act, issue, "head_ref_deleted")
            kernel.touch(act, kernel.reload(act, issue))


def _restore_branch(act: Act, repository: Repository, branch: str, sha: str) -> None:
    for pull in act.database.all(Pull, head_repository_id=repository.id, head_ref=branch, head_sha=sha):
        issue = lookup.issue_of(act.world, pull)
        if _last_head_event(act, issue) == "head_ref_deleted":
            timeline.record_event(act, issue, "head_ref_restored")


def _last_head_event(act: Act, issue: Issue) -> str | None:
    found = act.database.all(Event, issue_id=issue.id, event=("head_ref_deleted", "head_ref_restored"))
    return found[-1].event if found else None


def _keep_open(act: Act, pulls: Iterable[Pull]) -> list[Pull]:
    return [pull for pull in pulls if lookup.issue_of(act.world, pull).state == "open"]
