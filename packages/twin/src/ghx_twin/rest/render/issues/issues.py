"""Issues and comments."""

from dataclasses import asdict

from ghx_twin.queries.issues import issue_relations
from ghx_twin.reply import JsonObject
from ghx_twin.rest.render.issues import labels, reactions
from ghx_twin.rest.render.repositories.repositories import bare_repository
from ghx_twin.rest.render.users import optional_user, simple_user
from ghx_twin.rest.render.view import View
from ghx_twin.state.records import (
    Assignee,
    Comment,
    Issue,
    IssueType,
    Label,
    Milestone,
    Pull,
    Repository,
    User,
)


def labels_of(view: View, issue: Issue) -> list[Label]:
    """Return the labels of an issue in the order in which they were put on it."""
    rest = 'JOIN issue_labels ON issue_labels.label_id = "labels".id WHERE issue_labels.issue_id = ?'
    return view.database.select(Label, f"{rest} ORDER BY issue_labels.id", (issue.id,))


def assignees_of(view: View, issue: Issue) -> list[User]:
    """Return the users an issue is assigned to, first assigned first."""
    return [view.user(one.user_id) for one in view.database.all(Assignee, issue_id=issue.id)]


def issue(view: View, issue: Issue) -> JsonObject:
    """Render an issue, or a pull request among issues."""
    repository = view.repository(issue.repository_id)
    url = view.api(repository, f"/issues/{issue.number}")
    pull = view.database.one(Pull, issue_id=issue.id) if issue.is_pull else None
    assignees = [simple_user(view, user) for user in assignees_of(view, issue)]
    milestone = view.database.get(Milestone, issue.milestone_id)
    body: JsonObject = {
        "url": url,
        "repository_url": view.api(repository),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": view.issue_page(issue),
        "id": issue.id,
        "node_id": view.node(pull or issue),  # a pull request among issues has the pull request's global id
        "number": issue.number,
        "title": issue.title,
        "user": optional_user(view, issue.author_id),
        "labels": [labels.label(view, label) for label in labels_of(view, issue)],
        "state": issue.state,
        "locked": issue.locked,
        "assignees": assignees,
        "milestone": labels.milestone(view, milestone) if milestone else None,
        "comments": view.database.count(Comment, issue_id=issue.id),
        "created_at": issue.created_at,
        "updated_at": issue.updated_at,
        "closed_at": issue.closed_at,
        "assignee": assignees[0] if assignees else None,
        "author_association": view.association(repository, view.user(issue.author_id)),
        "type": issue_type(view, kind) if (kind := view.database.get(IssueType, issue.issue_type_id)) else None,
        "active_lock_reason": issue.lock_reason,
    }
    body |= _pull_marks(view, repository, issue, pull) if pull else _issue_marks(view, issue)
    return {
        **body,
        "body": issue.body,
        "closed_by": optional_user(view, issue.closed_by_id),
        "reactions": reactions.rollup(view, issue, url),
        "timeline_url": f"{url}/timeline",
        "performed_via_github_app": None,
        "state_reason": issue.state_reason,
    }


def comment(view: View, comment: Comment) -> JsonObject:
    """Render a comment of a conversation."""
    subject = view.database.get(Issue, comment.issue_id)
    assert subject is not None  # noqa: S101 - a comment goes with its issue
    repository = view.repository(subject.repository_id)
    url = view.api(repository, f"/issues/comments/{comment.id}")
    return {
        "url": url,
        "html_url": f"{view.issue_page(subject)}#issuecomment-{comment.id}",
        "issue_url": view.api(repository, f"/issues/{subject.number}"),
        "id": comment.id,
        "node_id": view.node(comment),
        "user": optional_user(view, comment.author_id),
        "created_at": comment.created_at,
        "updated_at": comment.updated_at,
        "body": comment.body,
        "author_association": view.association(repository, view.user(comment.author_id)),
        "pin": None,
        "reactions": reactions.rollup(view, comment, url),
        "performed_via_github_app": None,
    }


def issue_type(view: View, issue_type: IssueType) -> JsonObject:
    """Render a type of issues."""
    names = ("name", "description", "color", "created_at", "updated_at", "is_enabled")
    same = {name: getattr(issue_type, name) for name in names}
    return {"id": issue_type.id, "node_id": view.node(issue_type), **same}


def issue_reference(view: View, issue: Issue) -> JsonObject:
    """Render an issue as an event shows one that it is about."""
    record = view.database.get(IssueType, issue.issue_type_id)
    kind = (
        {"id": record.id, "node_id": view.node(record), "name": record.name, "color": record.color} if record else None
    )
    return {
        **{name: getattr(issue, name) for name in ("number", "title", "state", "state_reason")},
        "repository": bare_repository(view, view.repository(issue.repository_id)),
        "issue_type": kind,
    }


def _pull_marks(view: View, repository: Repository, issue: Issue, pull: Pull) -> JsonObject:
    page = view.issue_page(issue)
    return {
        "draft": pull.draft,
        "pull_request": {
            "url": view.api(repository, f"/pulls/{issue.number}"),
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "merged_at": pull.merged_at,
        },
    }


def _issue_marks(view: View, issue: Issue) -> JsonObject:
    about = (view.world, view.viewer, issue)
    body: JsonObject = {
        "sub_issues_summary": asdict(issue_relations.summarize_sub_issues(*about)),
        "issue_dependencies_summary": asdict(issue_relations.summarize_dependencies(*about)),
    }
    if parent := issue_relations.parent_of(*about):
        home = view.repository(parent.repository_id)
        body["parent_issue_url"] = view.api(home, f"/issues/{parent.number}")
    return body
