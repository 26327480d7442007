"""Every record of a world, in the order of their tables."""

from ghx_twin.state.records.accounts import App, Installation, Membership, Team, TeamMember, Token, User
from ghx_twin.state.records.base import Record
from ghx_twin.state.records.checks import Annotation, CheckRun, Status
from ghx_twin.state.records.deployments import Deployment, DeploymentReview, DeploymentStatus, Environment
from ghx_twin.state.records.issues import (
    Assignee,
    Comment,
    Dependency,
    Event,
    Issue,
    IssueLabel,
    IssueType,
    LinkedBranch,
    Reaction,
    Tombstone,
)
from ghx_twin.state.records.projects import (
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
from ghx_twin.state.records.pulls import Pull, Review, ReviewComment, ReviewRequest, Thread
from ghx_twin.state.records.releases import Release, ReleaseAsset
from ghx_twin.state.records.repositories import (
    Collaborator,
    CommitComment,
    Label,
    Milestone,
    Protection,
    Redirect,
    Repository,
    TeamRepository,
)
from ghx_twin.state.records.rulesets import Ruleset
from ghx_twin.state.records.variables import ActionsCache, Secret, Variable
from ghx_twin.state.records.workflows import Artifact, RunAttempt, Step, Workflow, WorkflowRun

RECORDS: tuple[type[Record], ...] = (
    User, App, Installation, Token, Membership, Team, TeamMember, Repository, Collaborator, TeamRepository, Redirect,
    Protection, Label,
    Milestone, IssueType, Issue, Dependency, LinkedBranch, Tombstone, Pull, IssueLabel, Assignee, ReviewRequest,
    Comment, Review, Thread,
    ReviewComment, Reaction, Event, Status, Workflow, WorkflowRun, RunAttempt, CheckRun,
    Step, Annotation, Artifact,
    Release, ReleaseAsset, CommitComment,
    Project, ProjectField, DraftIssue, ProjectItem, ProjectItemValue, ProjectView, ProjectWorkflow,
    ProjectRepository, ProjectCollaborator, ProjectStatusUpdate,
    Ruleset, Environment, Deployment, DeploymentStatus, DeploymentReview, Variable, Secret, ActionsCache,
)  # fmt: skip
