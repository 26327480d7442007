"""How pull requests end: closed or merged, by a command or by a push; and the issues that end with them."""

from typing import Any

from ghx_bench.twin.commands import kernel, timeline, trial
from ghx_bench.twin.commands.issues import mark_closed
from ghx_bench.twin.git.repository import Commit
from ghx_bench.twin.queries import lookup, permissions
from ghx_bench.twin.queries.comparison import base_tip
from ghx_bench.twin.queries.pulls import closing_issues, referenced_issues
from ghx_bench.twin.queries.references import Reference, references
from ghx_bench.twin.refusals import Refusal
from ghx_bench.twin.state.records import Event, Issue, Pull, Repository
from ghx_bench.twin.world import Act


def mark_pull_closed(act: Act, pull: Pull) -> Pull:
    """Close an open pull request without merging it; its base stays the one it has now."""
    issue = lookup.issue_of(act.world, pull)
    if issue.state == "closed":
        return pull
    closed = act.database.update(pull, base_sha=base_tip(act.world, pull))
    closed = drop_auto_merge(act, closed)
    trial.remove_trial_merge(act, closed)
    mark_closed(act, issue)
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
        auto_merge=None,
    )
    trial.remove_trial_merge(act, merged)
    timeline.record_event(act, issue, "merged", {"commit_sha": commit})
    mark_closed(act, issue)
    for promise in promised:
        _close_issue(act, repository, promise, pull_id=pull.id, commit=commit)
    return merged


def apply_commit_message(act: Act, repository: Repository, commit: Commit) -> None:
    """Let a commit that the default branch has got point at the issues it names, and close those it promises to."""
    for reference in references(commit.message, lookup.full_name(act.world, repository)):
        _record_commit_reference(act, repository, reference, commit.sha)
    for issue in referenced_issues(act.world, act.viewer, repository, commit.message):
        _close_issue(act, repository, issue, pull_id=None, commit=commit.sha)


def drop_auto_merge(act: Act, pull: Pull) -> Pull:
    """Take back the promise to merge as soon as possible, where there is one."""
    if pull.auto_merge is None:
        return pull
    timeline.record_event(act, lookup.issue_of(act.world, pull), "auto_merge_disabled")
    return act.database.update(pull, auto_merge=None)


def _record_commit_reference(act: Act, repository: Repository, reference: Reference, sha: str) -> None:
    try:
        home = lookup.repository(act.world, act.viewer, reference.owner, reference.name)
        issue = lookup.issue_or_pull(act.world, home, reference.number)
    except Refusal:
        return  # a number of nothing is just text
    known = act.database.all(Event, issue_id=issue.id, event="referenced")
    if all(event.data.get("commit_sha") != sha for event in known):
        data: dict[str, Any] = {"commit_sha": sha, "commit_repository_id": repository.id}
        timeline.record_event(act, issue, "referenced", data, actor=kernel.actor_id(act, repository))


def _close_issue(act: Act, home: Repository, issue: Issue, *, pull_id: int | None, commit: str) -> None:
    target = lookup.repository_of(act.world, issue)
    elsewhere = target.id != home.id
    if issue.state == "closed" or (elsewhere and not permissions.may(act.world, act.viewer, target, "write")):
        return
    mark_closed(act, issue, reason="completed", commit_sha=commit, pull_id=pull_id)
