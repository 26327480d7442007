"""Pull requests, in a list and on their own."""

from ghx_twin.queries.pulls import mergeability
from ghx_twin.queries.repositories import comparison
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.issues import issues, labels
from ghx_twin.rest.render.repositories.repositories import repository as render_repository
from ghx_twin.rest.render.users import optional_user, simple_team, simple_user
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import (
    Comment,
    Issue,
    Milestone,
    Pull,
    Repository,
    ReviewComment,
    ReviewRequest,
    Team,
)

_MERGEABLE = {"MERGEABLE": True, "CONFLICTING": False}


def pull(view: View, pull: Pull) -> JsonObject:
    """Render a pull request in a list."""
    issue = issue_of(view, pull)
    repository = view.repository(pull.repository_id)
    assignees = [simple_user(view, user) for user in issues.assignees_of(view, issue)]
    milestone = view.database.get(Milestone, issue.milestone_id)
    users, teams = requested_reviewers(view, pull)
    return {
        **_addresses(view, repository, issue, pull),
        "number": issue.number,
        "state": issue.state,
        "locked": issue.locked,
        "title": issue.title,
        "user": optional_user(view, issue.author_id),
        "body": issue.body,
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
        "merged_at": pull.merged_at,
        # While it is open this is the trial merge, as GitHub has it.
        "merge_commit_sha": pull.merge_commit_sha
        or (comparison.trial_merge_commit(view.world, pull) if issue.state == "open" else None),
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "requested_reviewers": users,
        "requested_teams": teams,
        "labels": [labels.label(view, label) for label in issues.labels_of(view, issue)],
        "milestone": labels.milestone(view, milestone) if milestone else None,
        "draft": pull.draft,
        "head": _side(view, pull.head_repository_id, pull.head_ref, pull.head_sha),
        "base": _side(view, pull.repository_id, pull.base_ref, comparison.base_tip(view.world, pull)),
        "_links": _links(view, repository, issue, pull),
        "author_association": view.association(repository, view.user(issue.author_id)),
        "auto_merge": _auto_merge(view, pull),
        "active_lock_reason": issue.lock_reason,
    }


def full_pull(view: View, pull_record: Pull) -> JsonObject:
    """Render a pull request's own page, with what git says about it."""
    issue = issue_of(view, pull_record)
    files = comparison.files(view.world, pull_record)
    mergeable = _MERGEABLE.get(mergeability.mergeable(view.world, pull_record))
    return {
        **pull(view, pull_record),
        "merged": pull_record.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": mergeable,
        "mergeable_state": _merge_state(view, pull_record),
        "merged_by": optional_user(view, pull_record.merged_by_id),
        "comments": view.database.count(Comment, issue_id=issue.id),
        "review_comments": _count_review_comments(view, pull_record),
        "maintainer_can_modify": pull_record.maintainer_can_modify,
        "commits": len(comparison.commits(view.world, pull_record)),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def minimal_pull(view: View, pull: Pull) -> JsonObject:
    """Render a pull request next to a check run."""
    issue, repository = issue_of(view, pull), view.repository(pull.repository_id)
    head = view.repository(pull.head_repository_id or pull.repository_id)
    return {
        "url": view.api(repository, f"/pulls/{issue.number}"),
        "id": pull.id,
        "number": issue.number,
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": _tiny(view, head)},
        "base": {"ref": pull.base_ref, "sha": comparison.base_tip(view.world, pull), "repo": _tiny(view, repository)},
    }


def issue_of(view: View, pull: Pull) -> Issue:
    """Return what a pull request shares with issues."""
    issue = view.database.get(Issue, pull.issue_id)
    assert issue is not None  # noqa: S101 - they come and go together
    return issue


def requested_reviewers(view: View, pull: Pull) -> tuple[list[JsonObject], list[JsonObject]]:
    """Render the requested reviewers: users and teams."""
    requests = view.database.all(ReviewRequest, pull_id=pull.id)
    users = [simple_user(view, view.user(one.user_id)) for one in requests if one.user_id is not None]
    teams = [view.database.get(Team, one.team_id) for one in requests if one.team_id is not None]
    return users, [simple_team(view, team) for team in teams if team]


def _addresses(view: View, repository: Repository, issue: Issue, pull: Pull) -> JsonObject:
    page, url = view.issue_page(issue), view.api(repository, f"/pulls/{issue.number}")
    return {
        "url": url,
        "id": pull.id,
        "node_id": view.node(pull),
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": view.api(repository, f"/issues/{issue.number}"),
        "commits_url": f"{url}/commits",
        "review_comments_url": f"{url}/comments",
        "review_comment_url": view.api(repository, "/pulls/comments{/number}"),
        "comments_url": view.api(repository, f"/issues/{issue.number}/comments"),
        "statuses_url": view.api(repository, f"/statuses/{pull.head_sha}"),
    }


def _links(view: View, repository: Repository, issue: Issue, pull: Pull) -> JsonObject:
    addresses = _addresses(view, repository, issue, pull)
    names = {
        "self": "url",
        "html": "html_url",
        "issue": "issue_url",
        "comments": "comments_url",
        "review_comments": "review_comments_url",
        "review_comment": "review_comment_url",
        "commits": "commits_url",
        "statuses": "statuses_url",
    }
    return {name: {"href": addresses[key]} for name, key in names.items()}


def _side(view: View, repository_id: int | None, ref: str, sha: str) -> JsonObject:
    repository = view.database.get(Repository, repository_id)
    if repository is None:
        # The fork was deleted; GitHub keeps the pull request and shows its head without a repository.
        return {"label": f"unknown:{ref}", "ref": ref, "sha": sha, "user": None, "repo": None}
    owner = view.user(repository.owner_id)
    return {
        "label": f"{owner.login}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": simple_user(view, owner),
        "repo": render_repository(view, repository),
    }


def _merge_state(view: View, pull: Pull) -> str:
    state = mergeability.merge_state(view.world, pull).lower()
    # REST tells of a draft, which GraphQL does not.
    return "draft" if pull.draft and state not in {"unknown", "dirty"} else state


def _auto_merge(view: View, pull: Pull) -> JsonObject | None:
    if pull.auto_merge is None:
        return None
    settings = pull.auto_merge
    return {
        "enabled_by": optional_user(view, int(str(settings["enabled_by_id"]))),
        "merge_method": str(settings["merge_method"]).lower(),
        "commit_title": settings.get("commit_title") or "",
        "commit_message": settings.get("commit_message") or "",
    }


def _count_review_comments(view: View, pull: Pull) -> int:
    return view.database.count(
        ReviewComment,
        "JOIN threads ON threads.id = review_comments.thread_id JOIN reviews ON reviews.id = review_comments.review_id "
        "WHERE threads.pull_id = ? AND reviews.state != 'PENDING'",
        (pull.id,),
    )


def _tiny(view: View, repository: Repository) -> JsonObject:
    return {"id": repository.id, "url": view.api(repository), "name": repository.name}
