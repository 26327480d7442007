"""Names of records, as a person would say them."""

from typing import Any

from ghx_twin.state import records
from ghx_twin.state.database import Database
from ghx_twin.state.records import Record

_REFERENCED: dict[str, type[Record]] = {
    "author_id": records.User,
    "user_id": records.User,
    "actor_id": records.User,
    "creator_id": records.User,
    "closed_by_id": records.User,
    "merged_by_id": records.User,
    "resolved_by_id": records.User,
    "owner_id": records.User,
    "organization_id": records.User,
    "account_id": records.User,
    "app_id": records.App,
    "installation_id": records.Installation,
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
    "duplicate_of_id": records.Issue,
    "issue_type_id": records.IssueType,
    "workflow_id": records.Workflow,
    "run_id": records.WorkflowRun,
    "attempt_id": records.RunAttempt,
    "job_id": records.CheckRun,
    "check_run_id": records.CheckRun,
    "release_id": records.Release,
    "uploader_id": records.User,
    "project_id": records.Project,
    "item_id": records.ProjectItem,
    "draft_issue_id": records.DraftIssue,
    "field_id": records.ProjectField,
    "environment_id": records.Environment,
    "deployment_id": records.Deployment,
}
_HOME, _HOMES = "home", ("environment_id", "repository_id", "organization_id")
# A field in braces stands for its value, or for the name of the record that it refers to; `home` for the first of
# `_HOMES` that a record has.
_TEMPLATES: dict[type[Record], str] = {
    records.User: "{login}",
    records.Token: "token {id} of {user_id}",
    records.App: "app {slug}",
    records.Installation: "{app_id} on {account_id}",
    records.Team: "{organization_id}/{slug}",
    records.TeamMember: "{team_id} member {user_id}",
    records.Membership: "{organization_id} member {user_id}",
    records.Repository: "{owner_id}/{name}",
    records.TeamRepository: "{repository_id} team {team_id}",
    records.Redirect: "{owner_id}/{name} (former name)",
    records.Tombstone: "{repository_id}#{number} (gone)",
    records.Collaborator: "{repository_id} collaborator {user_id}",
    records.Protection: "{repository_id} protection {pattern}",
    records.Label: "{repository_id} label {name}",
    records.Milestone: "{repository_id} milestone {title}",
    records.Issue: "{repository_id}#{number}",
    records.Dependency: "{issue_id} blocked by {blocking_id}",
    records.IssueType: "{organization_id} issue type {name}",
    records.LinkedBranch: "{issue_id} branch {name} in {repository_id}",
    records.Pull: "{issue_id}",
    records.Assignee: "{issue_id} assignee {user_id}",
    records.Comment: "{issue_id} comment {id}",
    records.Review: "{pull_id} review {id}",
    records.ReviewComment: "{thread_id} comment {id}",
    records.Event: "{issue_id} event {event}",
    records.Status: "{repository_id} status {context}",
    records.Workflow: "{repository_id} workflow {name}",
    records.WorkflowRun: "{repository_id} run {id}",
    records.RunAttempt: "{run_id} attempt {number}",
    records.CheckRun: "{repository_id} check {name}",
    records.Step: "{job_id} step {name}",
    records.Annotation: "{check_run_id} annotation {id}",
    records.Artifact: "{run_id} artifact {name}",
    records.Release: "{repository_id} release {tag_name}",
    records.CommitComment: "{repository_id} commit comment {id}",
    records.ReleaseAsset: "{release_id} asset {name}",
    records.Project: "{owner_id} project {number}",
    records.ProjectField: "{project_id} field {name}",
    records.DraftIssue: "draft issue {title}",
    records.ProjectView: "{project_id} view {number}",
    records.ProjectWorkflow: "{project_id} workflow {name}",
    records.ProjectRepository: "{project_id} repository {repository_id}",
    records.ProjectStatusUpdate: "{project_id} status update {id}",
    records.ProjectCollaborator: "{project_id} collaborator {user_id}",
    records.Ruleset: "{home} ruleset {name}",
    records.Variable: "{home} variable {name}",
    records.Secret: "{home} secret {name}",
    records.Environment: "{repository_id} environment {name}",
    records.Deployment: "{repository_id} deployment {id}",
    records.DeploymentStatus: "{deployment_id} status {state}",
    records.DeploymentReview: "{run_id} deployment to {environment_id} {state}",
    records.ActionsCache: "{repository_id} cache {key}",
}


def display_value(database: Database, record: Record, field: str) -> Any:
    """Return the value of a field, or the name of the record that it refers to."""
    value = getattr(record, field)
    if isinstance(record, records.ProjectItemValue) and field == "value":
        return _choice_name(database, record)
    model = type(record) if field == "parent_id" else _REFERENCED.get(field)
    target = None if model is None or value is None else database.get(model, value)
    return value if target is None else object_name(database, target)


def object_name(database: Database, record: Record) -> str:  # noqa: PLR0911 - a table of shapes
    """Return a name by which a reader finds a record: `octocat`, `acme/widgets#7`, `acme/widgets#7 review 3`."""
    values = _Values(database, record)
    match record:
        case records.ReviewRequest():
            return f"{values['pull_id']} review request {values['user_id'] or values['team_id']}"
        case records.Reaction():
            model = next((model for model in records.RECORDS if model.table == record.subject_kind), None)
            subject = database.get(model, record.subject_id) if model else None
            name = object_name(database, subject) if subject else f"{record.subject_kind} {record.subject_id}"
            return f"{name} reaction {record.content} of {values['user_id']}"
        case records.IssueLabel():  # the label's full name would repeat the repository
            label = database.get(records.Label, record.label_id)
            return f"{values['issue_id']} label {label.name if label else record.label_id}"
        case records.ProjectItem():
            return f"{values['project_id']} item {values['issue_id'] or values['draft_issue_id']}"
        case records.ProjectItemValue():  # the field's full name would repeat the project
            column = database.get(records.ProjectField, record.field_id)
            return f"{values['item_id']} {column.name if column else record.field_id}"
        case records.Thread():
            line = record.line or record.original_line
            return f"{values['pull_id']} thread {record.path}" + (f":{line}" if line else "")
        case _:
            template = _TEMPLATES.get(type(record))
            return f"{record.table} {record.id}" if template is None else template.format_map(values)


def _choice_name(database: Database, record: records.ProjectItemValue) -> str:
    """Return the value of an item in a field; for an option or iteration, what people call it."""
    column = database.get(records.ProjectField, record.field_id)
    options = column.options if column else ()
    return next((option["name"] for option in options if option["id"] == record.value), record.value)


class _Values(dict[str, Any]):
    """The display values of a record's fields, looked up when they are requested."""

    def __init__(self, database: Database, record: Record) -> None:
        super().__init__()
        self._database, self._record = database, record

    def __missing__(self, field: str) -> Any:
        if field == _HOME:
            tables = (name for name in _HOMES if getattr(self._record, name, None) is not None)
            return self[next(tables, "id")]
        return display_value(self._database, self._record, field)
