"""Plants issues and pull requests with their comments, reviews and threads, in the order of their numbers."""

from collections import Counter

from ghx_twin.commands import issues, restoring
from ghx_twin.commands.issues import comments, linked_branches
from ghx_twin.commands.pulls import merges, pulls, reviews, threads
from ghx_twin.commands.pulls.reviews import ReviewEvent
from ghx_twin.commands.restoring import OldThread
from ghx_twin.queries import lookup
from ghx_twin.refusals import InvalidRefusal
from ghx_twin.seed.building.checks import build_check
from ghx_twin.seed.building.repository_build import RepositoryBuild
from ghx_twin.seed.conversations import (
    SeedComment,
    SeedConversation,
    SeedIssue,
    SeedOutcome,
    SeedPull,
    SeedReview,
    SeedThread,
    SeedThreadComment,
)
from ghx_twin.seed.mistakes import error_place
from ghx_twin.state.records import Issue, Milestone, Pull, Review, ReviewComment, Team, Thread, User
from ghx_twin.world import Act


def build_conversations(repo: RepositoryBuild) -> None:
    """Open, discuss and close what the seed says, numbered ones in the order of their numbers."""
    for each in _sort_by_number(repo):
        with error_place(repr(each.title)):
            _skip_to_number(repo, each)
            issue = _open(repo, each)
            _set_labels_and_people(repo, each, issue)
            _add_comments(repo, each, issue)
            _close(repo, each, issue)
            repo.conversations.append((each, issue))


def relate_issues(repo: RepositoryBuild) -> None:
    """Set parents, blockers and the like of issues, which may be built later than the issue that names them."""
    for each, issue in repo.conversations:
        if isinstance(each, SeedIssue):
            with error_place(repr(each.title)), repo.world.acting(None, at=issue.created_at) as act:
                _relate_issue(act, repo, each, issue)


def _relate_issue(act: Act, repo: RepositoryBuild, each: SeedIssue, issue: Issue) -> None:
    if each.parent is not None:
        child = issues.add_child(act, _find_issue(repo, each.parent), issue)
        if each.sub_issue_position is not None:
            act.database.update(child, sub_issue_position=each.sub_issue_position)
    for name in each.blocked_by:
        issues.add_blocking(act, issue, _find_issue(repo, name))
    if each.duplicate_of is not None:
        issues.mark_duplicate(act, issue, _find_issue(repo, each.duplicate_of))
    for name in each.linked_branches:
        home, _, branch = name.rpartition(":")
        repository = lookup.repository(repo.world, None, *home.split("/", 1)) if "/" in home else repo.record
        if not repo.seed.exported and repo.world.git(repository).ref(f"refs/heads/{branch}") is None:
            raise InvalidRefusal(f"there is no branch {name!r}; make it in history")
        linked_branches.link(act, issue, repository, branch)


def date_conversations(repo: RepositoryBuild) -> None:
    """Set when conversations changed last, where the seed says so.

    This comes after all are built: a later one that mentions an earlier one moves its time.
    """
    for each, issue in repo.conversations:
        if each.updated_at is not None:
            with repo.world.acting(None) as act:
                act.database.update(issue, updated_at=each.updated_at)


def _sort_by_number(repo: RepositoryBuild) -> list[SeedIssue | SeedPull]:
    """Return those with a number in that order, then the others in the order they are written."""
    every: list[SeedIssue | SeedPull] = [*repo.seed.issues, *repo.seed.pulls]
    numbers = [*(each.number for each in every if each.number is not None), *repo.seed.gone_numbers]
    twice = next((number for number, times in Counter(numbers).items() if times > 1), None)
    if twice is not None:
        raise InvalidRefusal(f"number {twice} is given twice; issues and pull requests share one row of numbers")
    numbered = sorted((each for each in every if each.number is not None), key=lambda each: each.number or 0)
    return numbered + [each for each in every if each.number is None]


def _skip_to_number(repo: RepositoryBuild, each: SeedConversation) -> None:
    with repo.world.acting(None) as act:
        current, gone = repo.current(act), set(repo.seed.gone_numbers)
        number = current.next_number if each.number is None else each.number
        while number in gone:
            number += 1
        act.database.update(current, next_number=number)


def _open(repo: RepositoryBuild, each: SeedIssue | SeedPull) -> Issue:
    with repo.acting_as(each.author or repo.steward, at=each.at) as act:
        if isinstance(each, SeedPull):
            return lookup.issue_of(repo.world, _open_pull(act, repo, each))
        return issues.create(act, repo.record, title=each.title, body=each.body)


def _set_labels_and_people(repo: RepositoryBuild, each: SeedConversation, issue: Issue) -> None:
    """Set labels, assignees and the milestone, dated as if it had been opened with them."""
    with repo.world.acting(None, at=issue.created_at) as act:
        if each.labels:
            names = issues.find_labels(act, repo.record, each.labels, create_missing=False)
            issues.add_labels(act, issue, names)
        people = [lookup.user(repo.world, login) for login in each.assignees]
        if repo.seed.exported:  # assignees whose access was taken away since stay assigned
            restoring.restore_assignees(act, issue, people)
        elif people:
            issues.set_assignees(act, issue, people)
        if each.milestone is not None:
            issues.update(act, issue, milestone=_find_milestone(act, repo, each.milestone))
        if isinstance(each, SeedIssue) and each.issue_type is not None:
            issues.update(act, issue, issue_type=each.issue_type)


def _add_comments(repo: RepositoryBuild, each: SeedConversation, issue: Issue) -> None:
    repo.react(issue, each.reactions)
    opener = lookup.user_by_id(repo.world, issue.author_id).login
    for index, comment in enumerate(each.comments, 1):
        with error_place(f"comment {index}"):
            _add_comment(repo, comment, issue, opener)


def _add_comment(repo: RepositoryBuild, seed: SeedComment, issue: Issue, opener: str) -> None:
    with repo.acting_as(seed.author or opener, at=seed.at) as act:
        record = comments.create(act, issue, seed.body)
    repo.react(record, seed.reactions)
    with repo.world.acting(None, at=record.created_at) as act:
        if seed.minimized_reason is not None:
            comments.minimize(act, record, seed.minimized_reason)
        if seed.updated_at is not None:
            act.database.update(record, updated_at=seed.updated_at)


def _close(repo: RepositoryBuild, each: SeedIssue | SeedPull, issue: Issue) -> None:
    if isinstance(each, SeedPull):
        _finish_pull(repo, each, lookup.pull(repo.world, repo.record, issue.number))
    elif each.state == "closed" or each.state_reason == "reopened":  # a reopened issue was closed before
        with repo.acting_as(each.closed_by or repo.steward, at=each.closed_at) as act:
            issues.close(act, issue, reason="completed" if each.state == "open" else each.state_reason or "completed")
            if each.state == "open":
                issues.reopen(act, issue)
    with repo.world.acting(None) as act:
        if isinstance(each, SeedIssue) and each.pinned:
            issues.pin(act, issue)
        if each.locked:
            issues.lock(act, issue, each.lock_reason)


def _find_milestone(act: Act, repo: RepositoryBuild, title: str) -> Milestone:
    milestone = act.database.one(Milestone, repository_id=repo.record.id, title=title)
    if milestone is None:
        raise InvalidRefusal(f"there is no milestone {title!r}; list it under milestones")
    return milestone


def _find_issue(repo: RepositoryBuild, name: str) -> Issue:
    """Return the issue that `#1` or `owner/name#1` names."""
    home, _, number = name.rpartition("#")
    repository = lookup.repository(repo.world, None, *home.split("/")) if home else repo.record
    return lookup.issue(repo.world, repository, int(number))


def _open_pull(act: Act, repo: RepositoryBuild, seed: SeedPull) -> Pull:
    """Open a pull request, or put one back whose history came in a bundle."""
    base = seed.base or repo.record.default_branch
    if seed.outcome is not None:
        return _restore_pull(act, repo, seed, seed.outcome, base)
    for branch in (base, seed.head):
        if ":" not in branch and repo.git.ref(f"refs/heads/{branch}") is None:
            raise InvalidRefusal(f"there is no branch {branch!r}; make it in history")
    return pulls.create(
        act, repo.record, title=seed.title, body=seed.body, head=seed.head, base=base, draft=seed.draft,
        maintainer_can_modify=seed.maintainer_can_modify,
    )  # fmt: skip


def _finish_pull(repo: RepositoryBuild, seed: SeedPull, pull: Pull) -> None:
    """Review a pull request and bring it to the state the seed says."""
    for check in seed.checks:  # before a merge, which required checks may refuse
        build_check(repo, check, pull.head_sha, pull.head_ref)
    # A review takes its author off the list of those who are asked. An export lists the requests that were still open
    # after the reviews, a seed by hand lists who was asked in the first place.
    if repo.seed.exported:
        _build_reviews(repo, seed, pull)
    if seed.reviewers:
        with error_place("reviewers"):
            _request_reviews(repo, seed, pull)
    if not repo.seed.exported:
        _build_reviews(repo, seed, pull)
    if seed.state != "open":
        _merge_or_close(repo, seed, pull)
    if seed.outcome is not None and (promise := seed.outcome.auto_merge) is not None:
        with repo.acting_as(promise.by, at=promise.at) as act:
            restoring.restore_auto_merge(act, pull, method=promise.method, title=promise.title, message=promise.message)


def _restore_pull(act: Act, repo: RepositoryBuild, seed: SeedPull, outcome: SeedOutcome, base: str) -> Pull:
    if not repo.seed.exported:
        raise InvalidRefusal("outcome is for exports; leave it out")
    home = outcome.head_repository
    source = None if home is None else lookup.repository(repo.world, None, *home.split("/", 1))
    return restoring.restore_pull(
        act, repo.record, title=seed.title, body=seed.body, draft=seed.draft, base=base,
        head=seed.head.rpartition(":")[2], head_repository=source, head_sha=outcome.head_sha,
        base_sha=outcome.base_sha, maintainer_can_modify=seed.maintainer_can_modify,
    )  # fmt: skip


def _request_reviews(repo: RepositoryBuild, seed: SeedPull, pull: Pull) -> None:
    with repo.world.acting(None) as act:
        people, teams = _find_reviewers(act, seed.reviewers)
        if repo.seed.exported:
            restoring.restore_review_requests(act, pull, people, teams)
        else:
            reviews.request_reviews(act, pull, users=people, teams=teams)


def _find_reviewers(act: Act, names: tuple[str, ...]) -> tuple[list[User], list[Team]]:
    people = [lookup.user(act.world, name) for name in names if "/" not in name]
    teams: list[Team] = []
    for name in names:
        organization, slash, slug = name.partition("/")
        if slash:
            teams.append(lookup.team(act.world, lookup.organization(act.world, organization), slug))
    return people, teams


def _merge_or_close(repo: RepositoryBuild, seed: SeedPull, pull: Pull) -> None:
    with repo.acting_as(seed.merged_by or seed.closed_by or repo.steward, at=seed.closed_at) as act:
        if seed.outcome is not None:
            restoring.restore_outcome(act, pull, merge_commit_sha=seed.outcome.merge_commit_sha)
        elif seed.state == "merged":
            merges.merge(act, pull, method=seed.merge_method)
        else:
            pulls.close(act, pull)


_EVENTS: dict[str, ReviewEvent | None] = {
    "PENDING": None,
    "COMMENTED": "COMMENT",
    "APPROVED": "APPROVE",
    "CHANGES_REQUESTED": "REQUEST_CHANGES",
    "DISMISSED": "APPROVE",  # dismissed again as soon as its threads are there
}


def _build_reviews(repo: RepositoryBuild, seed: SeedPull, pull: Pull) -> None:
    """Plant the reviews and threads of a pull request."""
    if repo.seed.exported:
        _restore_reviews(repo, seed, pull)
        return
    opener = lookup.user_by_id(repo.world, lookup.issue_of(repo.world, pull).author_id).login
    for review in (each for each in seed.reviews if each.state != "PENDING"):
        with error_place(f"review of {review.author}"):
            _build_review(repo, pull, review)
    for thread in seed.threads:
        with error_place(_describe_place(thread)):
            _reply_and_resolve(repo, thread, _start_thread(repo, pull, thread, None, opener), opener)
    # Last: who has a pending review is refused a single comment, and a second review, until it is submitted.
    for review in (each for each in seed.reviews if each.state == "PENDING"):
        with error_place(f"review of {review.author}"):
            _build_review(repo, pull, review)


def _build_review(repo: RepositoryBuild, pull: Pull, seed: SeedReview) -> None:
    with repo.acting_as(seed.author, at=seed.at) as act:
        review = reviews.create(act, pull, event=None, body=seed.body if seed.state == "PENDING" else "")
    started: list[Thread] = []
    for thread in seed.threads:
        with error_place(_describe_place(thread)):
            started.append(_start_thread(repo, pull, thread, review, seed.author, at=seed.at))
    if (event := _EVENTS[seed.state]) is not None:
        with repo.acting_as(seed.author, at=seed.at) as act:
            review = reviews.submit(act, review, event=event, body=seed.body)
    repo.react(review, seed.reactions)
    for thread, record in zip(seed.threads, started, strict=True):
        with error_place(_describe_place(thread)):
            _reply_and_resolve(repo, thread, record, seed.author)
    if seed.state == "DISMISSED":
        with repo.world.acting(None) as act:
            reviews.dismiss(act, review, "Dismissed.")


def _start_thread(
    repo: RepositoryBuild, pull: Pull, seed: SeedThread, review: Review | None, default: str, *, at: str | None = None
) -> Thread:
    first = seed.comments[0]
    if review is not None and first.author not in {None, default}:
        raise InvalidRefusal(f"its first comment is part of the review of {default}, not by {first.author}")
    with repo.acting_as(first.author or default, at=first.at or at) as act:
        record = threads.create(
            act, pull, path=seed.path, body=first.body, line=seed.line, side=seed.side, start_line=seed.start_line,
            start_side=None if seed.start_line is None else seed.side,
            subject_type="file" if seed.line is None else "line", review=review,
        )  # fmt: skip
    _add_reactions_and_edits(repo, first, record)
    thread = repo.world.database.get(Thread, record.thread_id)
    assert thread is not None  # noqa: S101 - it was just made
    return thread


def _reply_and_resolve(repo: RepositoryBuild, seed: SeedThread, thread: Thread, default: str) -> None:
    for reply in seed.comments[1:]:
        with repo.acting_as(reply.author or default, at=reply.at) as act:
            record = threads.reply(act, thread, reply.body)
        _add_reactions_and_edits(repo, reply, record)
    _resolve(repo, seed, thread)


def _resolve(repo: RepositoryBuild, seed: SeedThread, thread: Thread) -> None:
    if seed.resolved_by is not None:
        with repo.acting_as(seed.resolved_by) as act:
            threads.resolve(act, thread)


def _add_reactions_and_edits(repo: RepositoryBuild, seed: SeedThreadComment, comment: ReviewComment) -> None:
    repo.react(comment, seed.reactions)
    if seed.updated_at is not None or seed.minimized_reason is not None:
        with repo.world.acting(None, at=comment.created_at) as act:
            changed = seed.updated_at or comment.updated_at
            act.database.update(comment, updated_at=changed, minimized_reason=seed.minimized_reason)


def _restore_reviews(repo: RepositoryBuild, seed: SeedPull, pull: Pull) -> None:
    """Put back reviews, threads and which comment was submitted with which review."""
    restored: list[Review] = []
    for each in seed.reviews:
        with error_place(f"review of {each.author}"), repo.acting_as(each.author, at=each.at) as act:
            restored.append(
                restoring.restore_review(act, pull, state=each.state, body=each.body, commit_sha=each.commit_sha)
            )
        repo.react(restored[-1], each.reactions)
    for thread in seed.threads:
        with error_place(_describe_place(thread)):
            _restore_thread(repo, thread, pull, restored)


def _restore_thread(repo: RepositoryBuild, seed: SeedThread, pull: Pull, restored: list[Review]) -> None:
    if seed.place is None:
        raise InvalidRefusal("a thread of an export has a place")
    with repo.world.acting(None) as act:
        old = OldThread(
            path=seed.path, side=seed.side, line=seed.line, start_line=seed.start_line, **seed.place.model_dump()
        )
        thread = restoring.restore_thread(act, pull, old)
    for each in seed.comments:
        if each.author is None or each.review is None or each.review > len(restored):
            raise InvalidRefusal("a comment of an export has an author, and the number of a review")
        with repo.acting_as(each.author, at=each.at) as act:
            comment = restoring.restore_comment(act, thread, restored[each.review - 1], each.body)
        _add_reactions_and_edits(repo, each, comment)
    _resolve(repo, seed, thread)


def _describe_place(thread: SeedThread) -> str:
    return f"thread on {thread.path}" + (f":{thread.line}" if thread.line else "")
