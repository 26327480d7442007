"""Records of an exported world, put back without permission checks.

The rules of GitHub would refuse many of them now: roles and branches may have changed since they were made.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ghx_twin.commands import issues, kernel, texts, timeline
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.state.records import (
    Assignee,
    Issue,
    Pull,
    Release,
    Repository,
    Review,
    ReviewComment,
    ReviewRequest,
    Team,
    Thread,
    User,
)
from ghx_twin.world import Act


@dataclass(frozen=True, slots=True, kw_only=True)
class OldThread:
    """Where a thread stands, and where it was written."""

    path: str
    subject_type: str
    side: str
    start_side: str | None
    line: int | None
    start_line: int | None
    original_line: int | None
    original_start_line: int | None
    original_position: int | None
    commit_sha: str
    original_commit_sha: str
    outdated: bool
    diff_hunk: str


def restore_assignees(act: Act, issue: Issue, users: Sequence[User]) -> None:
    """Assign users, who need not be assignable any more."""
    for user in users:
        act.database.insert(Assignee, issue_id=issue.id, user_id=user.id)
        timeline.record_event(act, issue, "assigned", {"assignee_id": user.id})


def restore_pull(
    act: Act,
    repository: Repository,
    *,
    title: str,
    body: str | None,
    head: str,
    head_repository: Repository | None,
    base: str,
    draft: bool,
    head_sha: str,
    base_sha: str,
    maintainer_can_modify: bool,
) -> Pull:
    """Add an open pull request whose branches may be gone; its commits must be in the repository."""
    _require_commits(act, repository, head_sha, base_sha)
    issue = issues.insert(act, repository, title=title, body=body, is_pull=True)
    pull = act.database.insert(
        Pull,
        issue_id=issue.id,
        repository_id=repository.id,
        head_repository_id=None if head_repository is None else head_repository.id,
        head_ref=head,
        head_sha=head_sha,
        base_ref=base,
        base_sha=base_sha,
        draft=draft,
        maintainer_can_modify=maintainer_can_modify,
    )
    name = f"refs/pull/{issue.number}/head"
    act.git(repository).set_ref(name, head_sha)
    act.database.note("refs", repository.id, name, None, head_sha)
    return pull


def restore_outcome(act: Act, pull: Pull, *, merge_commit_sha: str | None) -> None:
    """Close a pull request as it was closed: merged by this commit, or not merged."""
    issue = lookup.issue_of(act.world, pull)
    if merge_commit_sha is not None:
        repository = lookup.repository_of(act.world, pull)
        _require_commits(act, repository, merge_commit_sha)
        act.database.update(
            pull,
            merged_at=act.now,
            merged_by_id=kernel.actor_id(act, repository),
            merge_commit_sha=merge_commit_sha,
        )
        timeline.record_event(act, issue, "merged", {"commit_sha": merge_commit_sha})
    issues.mark_closed(act, issue)


def restore_auto_merge(act: Act, pull: Pull, *, method: str, title: str | None, message: str | None) -> None:
    """Enable auto-merge as it was, without an event or an attempt to merge."""
    who = kernel.actor_id(act, lookup.repository_of(act.world, pull))
    request: dict[str, object] = {"enabled_at": act.now, "enabled_by_id": who, "merge_method": method}
    act.database.update(pull, auto_merge=request | {"commit_title": title, "commit_message": message})


def restore_review_requests(act: Act, pull: Pull, users: Sequence[User], teams: Sequence[Team]) -> None:
    """Request reviews of users and teams, who need not be collaborators any more."""
    issue = lookup.issue_of(act.world, pull)
    for user in users:
        act.database.insert(ReviewRequest, pull_id=pull.id, user_id=user.id)
        timeline.record_event(act, issue, "review_requested", {"reviewer_id": user.id})
    for team in teams:
        act.database.insert(ReviewRequest, pull_id=pull.id, team_id=team.id)
        timeline.record_event(act, issue, "review_requested", {"team_id": team.id})


def restore_review(act: Act, pull: Pull, *, state: str, body: str, commit_sha: str | None) -> Review:
    """Add a review in the state it had."""
    repository = lookup.repository_of(act.world, pull)
    reviewed = commit_sha or pull.head_sha
    _require_commits(act, repository, reviewed)
    return act.database.insert(
        Review,
        pull_id=pull.id,
        author_id=kernel.actor_id(act, repository),
        state=state,
        body=texts.check_body(body, resource="PullRequestReview") or "",
        commit_sha=reviewed,
        created_at=act.now,
        updated_at=act.now,
        submitted_at=None if state == "PENDING" else act.now,
    )


def restore_thread(act: Act, pull: Pull, place: OldThread) -> Thread:
    """Add a thread without comments, whose lines may no longer be in the diff."""
    _require_commits(act, lookup.repository_of(act.world, pull), place.commit_sha, place.original_commit_sha)
    return act.database.insert(Thread, pull_id=pull.id, **asdict(place))


def restore_comment(act: Act, thread: Thread, review: Review, body: str) -> ReviewComment:
    """Add a comment to a thread, as part of a review."""
    first = act.database.one(ReviewComment, thread_id=thread.id)
    return act.database.insert(
        ReviewComment,
        thread_id=thread.id,
        review_id=review.id,
        author_id=review.author_id,
        body=texts.check_comment(body, resource="PullRequestReviewComment"),
        in_reply_to_id=None if first is None else first.id,
        commit_sha=thread.original_commit_sha,
        created_at=act.now,
        updated_at=act.now,
    )


def _require_commits(act: Act, repository: Repository, *shas: str) -> None:
    for sha in shas:
        if act.git(repository).kind(sha) != "commit":
            raise InvalidRefusal(f"commit {sha} is not in the bundle")


def add_release(
    act: Act,
    repository: Repository,
    *,
    tag_name: str,
    target_commitish: str,
    name: str | None,
    body: str | None,
    draft: bool,
    prerelease: bool,
    is_latest: bool,
) -> Release:
    """Add a release whose tag, if it has one, is there already."""
    return act.database.insert(
        Release,
        repository_id=repository.id,
        tag_name=tag_name,
        target_commitish=target_commitish,
        name=name,
        body=body,
        draft=draft,
        prerelease=prerelease,
        is_latest=is_latest,
        author_id=kernel.actor_id(act, repository),
        created_at=act.now,
        published_at=None if draft else act.now,
        updated_at=act.now,
    )
