"""Finds records and other subjects by their global ids, as far as the viewer may see them."""

from typing import Any, TypeVar

from ghx_twin.graphql import git_lookup
from ghx_twin.graphql.context import Context
from ghx_twin.graphql.scopes import require_scope
from ghx_twin.graphql.subjects import (
    CommitSubject,
    ComparisonSubject,
    GitSubject,
    RefSubject,
    RollupSubject,
    StatusSubject,
)
from ghx_twin.graphql.suites import find_suite
from ghx_twin.graphql.timeline import EVENT_TYPES
from ghx_twin.nodes import GitNode, find_record, parse_git_node_id, repository_id
from ghx_twin.queries import lookup
from ghx_twin.queries.actions import checks
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.projects import READ_SCOPE
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import (
    Comment,
    DraftIssue,
    Event,
    Issue,
    Project,
    ProjectField,
    ProjectItem,
    ProjectStatusUpdate,
    ProjectView,
    ProjectWorkflow,
    Pull,
    Reaction,
    Record,
    Release,
    ReleaseAsset,
    Review,
    ReviewComment,
    Thread,
)

_T = TypeVar("_T")
_TYPES = {
    "Pull": "PullRequest",
    "Thread": "PullRequestReviewThread",
    "Project": "ProjectV2",
    "ProjectField": "ProjectV2Field",
    "ProjectItem": "ProjectV2Item",
}
_ON_PROJECTS = (Project, ProjectField, ProjectItem, ProjectStatusUpdate, ProjectView, ProjectWorkflow, DraftIssue)
_REACTED: dict[str, type[Record]] = {model.table: model for model in (Issue, Comment, Review, ReviewComment)}


def find(context: Context, identity: str) -> Any:
    """Return the record or other subject with a global id; refuse one that is not there or not visible."""
    git = parse_git_node_id(identity)
    git_subject = _git_subject(context, git) if git else find_record(context.database, identity)
    git_subject = git_subject or find_suite(context, identity)
    if git_subject is None or (isinstance(git_subject, Record) and not _is_visible(context, git_subject)):
        raise NotFoundRefusal(f"Could not resolve to a node with the global id of '{identity}'")
    return git_subject


def find_as(context: Context, identity: str, *models: type[_T]) -> _T:
    """Return the record or subject with a global id; refuse one that is of none of these sorts."""
    record = find(context, identity)
    if not isinstance(record, models):
        raise NotFoundRefusal(f"Could not resolve to {_article(models[0])} node with the global id of '{identity}'")
    return record


def find_conversation(context: Context, identity: str) -> Issue:
    """Return the shared record of the issue or pull request with a global id."""
    conversation = find_as(context, identity, Issue, Pull)
    return lookup.issue_of(context.world, conversation) if isinstance(conversation, Pull) else conversation


def _article(model: type[Any]) -> str:
    name = _TYPES.get(model.__name__, model.__name__)
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _git_subject(
    context: Context, node: GitNode
) -> GitSubject | RefSubject | ComparisonSubject | RollupSubject | StatusSubject | None:
    repository = context.visible(context.repository(node.repository_id))
    if repository is None:
        return None
    match node.kind:
        case "ref":
            # Refs of pull requests are for git alone: GraphQL shows none of them.
            return None if node.name.startswith("refs/pull/") else git_lookup.ref(context, repository, node.name)
        case "comparison":
            base, _, head = node.name.partition("...")
            both = (git_lookup.git_object(context, repository, base), git_lookup.git_object(context, repository, head))
            exist = all(isinstance(one, CommitSubject) for one in both)
            return ComparisonSubject(repository, base, head) if exist else None
        case "rollup" | "status":
            commit_rollup = checks.rollup(context.world, repository, node.name)
            rollup = RollupSubject(repository, node.name, commit_rollup) if commit_rollup else None
            return StatusSubject(rollup) if rollup and node.kind == "status" else rollup
        case kind:
            subject = git_lookup.git_object(context, repository, node.name)
            return subject if subject and type(subject).__name__.lower() == f"{kind}subject" else None


def _is_visible(context: Context, record: Record) -> bool:
    if isinstance(record, _ON_PROJECTS):
        return _is_on_visible_project(context, record)
    if isinstance(record, Issue) and record.is_pull:
        return False  # the shared record of a pull request has no id of its own, though one can be made up
    if isinstance(record, Reaction):
        subject = context.database.get(_REACTED[record.subject_kind], record.subject_id)
        return subject is not None and _is_visible(context, subject)
    if isinstance(record, Event) and record.event not in EVENT_TYPES:
        return False
    home = repository_id(context.database, record)
    if home is not None and context.visible(context.repository(home)) is None:
        return False
    return not _is_unsubmitted(context, record) and not _is_hidden_draft(context, record)


def _is_hidden_draft(context: Context, record: Record) -> bool:
    """Return whether something belongs to a draft release, which only those who can push may see."""
    release = context.database.get(Release, record.release_id) if isinstance(record, ReleaseAsset) else record
    if not isinstance(release, Release) or not release.draft:
        return False
    return not context.may(context.home(release.repository_id), "write")


def _is_on_visible_project(context: Context, record: Record) -> bool:
    """Return whether a record is a project that the viewer may see, or on one; refuse a token without the scope."""
    require_scope(context.viewer, "id", READ_SCOPE)
    if isinstance(record, DraftIssue):
        item = context.database.one(ProjectItem, draft_issue_id=record.id)
        return item is not None and _is_on_visible_project(context, item)
    home = record if isinstance(record, Project) else context.database.get(Project, getattr(record, "project_id", None))
    return home is not None and projects.may(context.world, context.viewer, home, "reader")


def _is_unsubmitted(context: Context, record: Record) -> bool:
    """Return whether something belongs to a review that only its author may see yet."""
    if isinstance(record, ReviewComment):
        review = context.database.get(Review, record.review_id)
    elif isinstance(record, Thread):
        comments = context.database.all(ReviewComment, thread_id=record.id)
        return bool(comments) and all(_is_unsubmitted(context, one) for one in comments)
    else:
        review = record if isinstance(record, Review) else None
    return review is not None and review.state == "PENDING" and review.author_id != context.viewer.id
