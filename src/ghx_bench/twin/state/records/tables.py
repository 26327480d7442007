"""Every record of a world, in the order of their tables."""

from ghx_bench.twin.state.records.accounts import Membership, Team, TeamMember, Token, User
from ghx_bench.twin.state.records.base import Record
from ghx_bench.twin.state.records.checks import CheckRun, Status
from ghx_bench.twin.state.records.issues import (
    Assignee,
    Comment,
    Dependency,
    Event,
    Issue,
    IssueLabel,
    Reaction,
    Tombstone,
)
from ghx_bench.twin.state.records.projects import (
    DraftIssue,
    Project,
    ProjectCollaborator,
    ProjectField,
    ProjectItem,
    ProjectItemValue,
    ProjectRepository,
    ProjectStatusUpdate,
    ProjectView,
    ProjectWorkflow,
)
from ghx_bench.twin.state.records.pulls import Pull, Review, ReviewComment, ReviewRequest, Thread
from ghx_bench.twin.state.records.repositories import (
    Collaborator,
    Label,
    Milestone,
    Protection,
    Redirect,
    Repository,
    TeamRepository,
)
from ghx_bench.twin.state.records.workflows import RunAttempt, Workflow, WorkflowRun

RECORDS: tuple[type[Record], ...] = (
    User, Token, Membership, Team, TeamMember, Repository, Collaborator, TeamRepository, Redirect, Protection, Label,
    Milestone, Issue, Dependency, Tombstone, Pull, IssueLabel, Assignee, ReviewRequest, Comment, Review, Thread,
    ReviewComment, Reaction, Event, Status, Workflow, WorkflowRun, RunAttempt, CheckRun,
    Project, ProjectField, DraftIssue, ProjectItem, ProjectItemValue, ProjectView, ProjectWorkflow,
    ProjectRepository, ProjectCollaborator, ProjectStatusUpdate,
)  # fmt: skip
