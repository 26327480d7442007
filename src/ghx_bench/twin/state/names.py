"""What a person would call a record."""

from collections.abc import Callable
from typing import Any

from ghx_bench.twin.state import records
from ghx_bench.twin.state.database import Database
from ghx_bench.twin.state.records import Record

_TARGETS: dict[str, type[Record]] = {
    "author_id": records.User,
    "user_id": records.User,
    "actor_id": records.User,
    "creator_id": records.User,
    "closed_by_id": records.User,
    "merged_by_id": records.User,
    "resolved_by_id": records.User,
    "owner_id": records.User,
    "organization_id": records.User,
    "team_id": records.Team,
    "repository_id": records.Repository,
    "head_repository_id": records.Repository,
    "label_id": records.Label,
    "milestone_id": records.Milestone,
    "issue_id": records.Issue,
    "pull_id": records.Pull,
    "thread_id": records.Thread,
    "review_id": records.Review,
    "in_reply_to_id": records.ReviewComment,
    "moved_to_id": records.Issue,
    "blocking_id": records.Issue,
    "workflow_id": records.Workflow,
    "run_id": records.WorkflowRun,
    "attempt_id": records.RunAttempt,
}


def display_value(database: Database, record: Record, field: str) -> Any:
    """Return the value of a field, the name of what it refers to where it refers to another record."""
    value = getattr(record, field)
    model = _target(record, field)
    if model is None or value is None:
        return value
    target = database.get(model, value)
    return value if target is None else object_name(database, target)


def object_name(database: Database, record: Record) -> str:
    """Name a record so that its reader finds it: `octocat`, `acme/widgets#7`, `acme/widgets#7 review 3`."""
    naming = _NAMES.get(type(record))
    return naming(database, record) if naming else f"{record.table} {record.id}"


def _target(record: Record, field: str) -> type[Record] | None:
    if field == "parent_id":
        return type(record)
    return _TARGETS.get(field)


def _login(_database: Database, user: Any) -> str:
    return user.login


def _token(database: Database, token: Any) -> str:
    return f"token {token.id} of {display_value(database, token, 'user_id')}"


def _team(database: Database, team: Any) -> str:
    return f"{display_value(database, team, 'organization_id')}/{team.slug}"


def _repository(database: Database, repository: Any) -> str:
    return f"{display_value(database, repository, 'owner_id')}/{repository.name}"


def _issue(database: Database, issue: Any) -> str:
    return f"{display_value(database, issue, 'repository_id')}#{issue.number}"


def _pull(database: Database, pull: Any) -> str:
    return display_value(database, pull, "issue_id")


def _within(parent: str, kind: str, own: str) -> Callable[[Database, Any], str]:
    def name(database: Database, record: Any) -> str:
        return f"{display_value(database, record, parent)} {kind} {display_value(database, record, own)}"

    return name


def _review_request(database: Database, request: Any) -> str:
    asked = display_value(database, request, "user_id") or display_value(database, request, "team_id")
    return f"{display_value(database, request, 'pull_id')} review request {asked}"


def _reaction(database: Database, reaction: Any) -> str:
    return (
        f"{_subject(database, reaction)} reaction {reaction.content} of {display_value(database, reaction, 'user_id')}"
    )


def _subject(database: Database, reaction: Any) -> str:
    model = next((model for model in records.RECORDS if model.table == reaction.subject_kind), None)
    subject = database.get(model, reaction.subject_id) if model else None
    return object_name(database, subject) if subject else f"{reaction.subject_kind} {reaction.subject_id}"


def _team_role(database: Database, given: Any) -> str:
    return f"{display_value(database, given, 'repository_id')} team {display_value(database, given, 'team_id')}"


def _redirect(database: Database, redirect: Any) -> str:
    return f"{display_value(database, redirect, 'owner_id')}/{redirect.name} (former name)"


def _tombstone(database: Database, tombstone: Any) -> str:
    return f"{display_value(database, tombstone, 'repository_id')}#{tombstone.number} (gone)"


def _label_on(database: Database, placed: Any) -> str:
    label = database.get(records.Label, placed.label_id)
    return f"{display_value(database, placed, 'issue_id')} label {label.name if label else placed.label_id}"


def _thread(database: Database, thread: Any) -> str:
    line = thread.line or thread.original_line
    return f"{display_value(database, thread, 'pull_id')} thread {thread.path}" + (f":{line}" if line else "")


_NAMES: dict[type[Record], Callable[[Database, Any], str]] = {
    records.User: _login,
    records.Token: _token,
    records.Team: _team,
    records.TeamMember: _within("team_id", "member", "user_id"),
    records.Membership: _within("organization_id", "member", "user_id"),
    records.Repository: _repository,
    records.TeamRepository: _team_role,
    records.Redirect: _redirect,
    records.Tombstone: _tombstone,
    records.Reaction: _reaction,
    records.Collaborator: _within("repository_id", "collaborator", "user_id"),
    records.Protection: _within("repository_id", "protection", "pattern"),
    records.Label: _within("repository_id", "label", "name"),
    records.Milestone: _within("repository_id", "milestone", "title"),
    records.Issue: _issue,
    records.Dependency: _within("issue_id", "blocked by", "blocking_id"),
    records.Pull: _pull,
    records.IssueLabel: _label_on,
    records.Assignee: _within("issue_id", "assignee", "user_id"),
    records.ReviewRequest: _review_request,
    records.Comment: _within("issue_id", "comment", "id"),
    records.Review: _within("pull_id", "review", "id"),
    records.Thread: _thread,
    records.ReviewComment: _within("thread_id", "comment", "id"),
    records.Event: _within("issue_id", "event", "event"),
    records.Status: _within("repository_id", "status", "context"),
    records.Workflow: _within("repository_id", "workflow", "name"),
    records.WorkflowRun: _within("repository_id", "run", "id"),
    records.RunAttempt: _within("run_id", "attempt", "number"),
    records.CheckRun: _within("repository_id", "check", "name"),
}
