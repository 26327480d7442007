"""Which records are deleted together with an issue, a comment, a run, a release, a project or a repository."""

import json
from collections.abc import Iterable, Iterator

from ghx_twin.state.database import Database
from ghx_twin.state.records import (
    ActionsCache,
    Annotation,
    Artifact,
    Assignee,
    CheckRun,
    Collaborator,
    Comment,
    CommitComment,
    Dependency,
    Deployment,
    DeploymentReview,
    DeploymentStatus,
    DraftIssue,
    Environment,
    Event,
    Installation,
    Issue,
    IssueLabel,
    Label,
    LinkedBranch,
    Milestone,
    Project,
    ProjectCollaborator,
    ProjectField,
    ProjectItem,
    ProjectItemValue,
    ProjectRepository,
    ProjectStatusUpdate,
    ProjectView,
    ProjectWorkflow,
    Protection,
    Pull,
    Reaction,
    Record,
    Redirect,
    Release,
    ReleaseAsset,
    Repository,
    Review,
    ReviewComment,
    ReviewRequest,
    Ruleset,
    RunAttempt,
    Secret,
    Status,
    Step,
    TeamRepository,
    Thread,
    Tombstone,
    Variable,
    Workflow,
    WorkflowRun,
)


def delete_all(database: Database, records: Iterable[Record]) -> None:
    """Delete records, each once, though it may belong to several others."""
    for record in list({(record.table, record.id): record for record in records}.values()):
        database.delete(record)


def clear_links_to_issues(database: Database, ids: Iterable[int]) -> None:
    """Let the issues that are parts or duplicates of deleted ones stand for themselves."""
    deleted = json.dumps(sorted(ids))
    for child in database.select(Issue, "WHERE parent_id IN (SELECT value FROM json_each(?))", (deleted,)):
        database.update(child, parent_id=None, sub_issue_position=None)
    for duplicate in database.select(Issue, "WHERE duplicate_of_id IN (SELECT value FROM json_each(?))", (deleted,)):
        database.update(duplicate, duplicate_of_id=None)


def clear_links_to_run(database: Database, run: WorkflowRun) -> None:
    """Let the deployments of a deleted run stand for themselves."""
    for deployment in database.all(Deployment, repository_id=run.repository_id, run_id=run.id):
        database.update(deployment, run_id=None)


def clear_links_to_repository(database: Database, repository: Repository) -> None:
    """Take a deleted repository out of all that names it and stays."""
    for pull in database.all(Pull, head_repository_id=repository.id):
        database.update(pull, head_repository_id=None)
    for child in database.all(Repository, parent_id=repository.id):
        database.update(child, parent_id=repository.parent_id)
    for model in (Variable, Secret):
        for record in database.all(model, organization_id=repository.owner_id):
            if repository.id in record.selected_repository_ids:
                remaining_ids = tuple(one for one in record.selected_repository_ids if one != repository.id)
                database.update(record, selected_repository_ids=remaining_ids)
    for installation in database.all(Installation, account_id=repository.owner_id):
        if repository.id in (installation.repository_ids or ()):
            remaining_ids = tuple(one for one in installation.repository_ids or () if one != repository.id)
            database.update(installation, repository_ids=remaining_ids)


def under_issue(database: Database, issue: Issue) -> Iterator[Record]:
    """Yield the records that belong to an issue or pull request, not itself."""
    yield from _reactions(database, issue)
    for comment in database.all(Comment, issue_id=issue.id):
        yield from _reactions(database, comment)
        yield comment
    for model in (IssueLabel, Assignee, Dependency, LinkedBranch, Event):
        yield from database.all(model, issue_id=issue.id)
    yield from database.all(Dependency, blocking_id=issue.id)
    for item in database.all(ProjectItem, issue_id=issue.id):
        yield from database.all(ProjectItemValue, item_id=item.id)
        yield item
    yield from _references(database, "source_issue_id", issue.id)
    yield from _references(database, "subject_id", issue.id)
    for pull in database.all(Pull, issue_id=issue.id):
        yield from _under_pull(database, pull)
        yield pull


def under_comment(database: Database, comment: Comment | ReviewComment) -> Iterator[Record]:
    """Yield the records that belong to a comment, not itself."""
    yield from _reactions(database, comment)
    if isinstance(comment, Comment):
        yield from _references(database, "comment_id", comment.id)


def under_run(database: Database, run: WorkflowRun) -> Iterator[Record]:
    """Yield the attempts at a workflow run, their jobs, and its artifacts, not the run itself."""
    for attempt in database.all(RunAttempt, run_id=run.id):
        for job in database.all(CheckRun, attempt_id=attempt.id):
            yield from _under_check_run(database, job)
            yield job
        yield attempt
    yield from database.all(Artifact, run_id=run.id)
    yield from database.all(DeploymentReview, run_id=run.id)


def under_environment(database: Database, environment: Environment) -> Iterator[Record]:
    """Yield the variables, secrets and reviews of an environment, not itself."""
    for model in (Variable, Secret, DeploymentReview):
        yield from database.all(model, environment_id=environment.id)


def under_release(database: Database, release: Release) -> Iterator[Record]:
    """Yield the files of a release, not itself."""
    yield from database.all(ReleaseAsset, release_id=release.id)


def under_project(database: Database, project: Project) -> Iterator[Record]:
    """Yield the records that belong to a project, not itself; issues on it stay."""
    for item in database.all(ProjectItem, project_id=project.id):
        yield from database.all(ProjectItemValue, item_id=item.id)
        if draft := database.get(DraftIssue, item.draft_issue_id):
            yield draft
        yield item
    parts = (ProjectField, ProjectView, ProjectWorkflow, ProjectRepository, ProjectCollaborator, ProjectStatusUpdate)
    for model in parts:
        yield from database.all(model, project_id=project.id)


def under_repository(database: Database, repository: Repository) -> Iterator[Record]:
    """Yield the records that belong to a repository, not itself."""
    for issue in database.all(Issue, repository_id=repository.id):
        yield from under_issue(database, issue)
        yield from database.all(Tombstone, moved_to_id=issue.id)
        yield issue
    for run in database.all(WorkflowRun, repository_id=repository.id):
        yield from under_run(database, run)
        yield run
    for release in database.all(Release, repository_id=repository.id):
        yield from under_release(database, release)
        yield release
    for check_run in database.all(CheckRun, repository_id=repository.id, attempt_id=None):
        yield from _under_check_run(database, check_run)
        yield check_run
    owned = (
        CommitComment, Label, LinkedBranch, Milestone, Status, Workflow, Protection, Collaborator, TeamRepository,
        Redirect, ProjectRepository,
        Ruleset, Environment, Deployment, DeploymentStatus, DeploymentReview, Variable, Secret, ActionsCache,
    )  # fmt: skip
    for model in owned:
        yield from database.all(model, repository_id=repository.id)
    for tombstone in database.all(Tombstone, repository_id=repository.id):
        home = database.get(Issue, tombstone.moved_to_id)
        if home is None or home.repository_id != repository.id:  # else it went with that issue
            yield tombstone


def _under_check_run(database: Database, check_run: CheckRun) -> Iterator[Record]:
    yield from database.all(Step, job_id=check_run.id)
    yield from database.all(Annotation, check_run_id=check_run.id)


def _under_pull(database: Database, pull: Pull) -> Iterator[Record]:
    for thread in database.all(Thread, pull_id=pull.id):
        for comment in database.all(ReviewComment, thread_id=thread.id):
            yield from under_comment(database, comment)
            yield comment
        yield thread
    for review in database.all(Review, pull_id=pull.id):
        yield from _reactions(database, review)
        yield review
    yield from database.all(ReviewRequest, pull_id=pull.id)


def _references(database: Database, name: str, identity: int) -> list[Event]:
    """Return the events elsewhere that say nothing without an issue or comment."""
    kinds = "event IN ('connected', 'cross-referenced')"
    return database.select(Event, f"WHERE {kinds} AND json_extract(data, '$.{name}') = ? ORDER BY id", (identity,))


def _reactions(database: Database, subject: Record) -> Iterator[Record]:
    yield from database.all(Reaction, subject_kind=subject.table, subject_id=subject.id)
