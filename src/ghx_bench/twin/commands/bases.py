"""The branch a pull request goes into, and how it changes."""

from typing import Any

from ghx_bench.twin.commands import kernel, placement, timeline, trial
from ghx_bench.twin.commands.conclusion import drop_auto_merge
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.queries.comparison import git_of
from ghx_bench.twin.state.records import Pull, Repository
from ghx_bench.twin.world import Act


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


def move_base(act: Act, pull: Pull, base: str, *, event: str = "base_ref_changed") -> Pull:
    """Send an open pull request into another branch, which is there and which has not all its commits."""
    git, issue = git_of(act.world, pull), lookup.issue_of(act.world, pull)
    change: dict[str, Any] = {"from": pull.base_ref, "to": base}
    timeline.record_event(act, issue, event, change)
    tip = git.ref(f"refs/heads/{base}") or pull.base_sha
    moved = act.database.update(pull, base_ref=base, base_sha=tip)
    moved = drop_auto_merge(act, moved)
    kernel.touch(act, issue)
    placement.move_threads(act, moved)
    trial.refresh_trial_merge(act, moved)
    return moved


def retarget_pull(act: Act, repository: Repository, pull: Pull) -> bool:
    """Send a pull request whose base was merged and deleted to where that was merged; tell whether it could be."""
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


def head_label(act: Act, pull: Pull) -> str:
    """Return the head as `owner:branch`."""
    home = lookup.repository_by_id(act.world, None, pull.head_repository_id or pull.repository_id)
    return f"{lookup.owner(act.world, home).login}:{pull.head_ref}"
