"""Everything a world holds, one record for each table.

The database derives its tables from these classes, the diff its objects and fields, and both APIs render them. Times
have GitHub's spelling (`2026-01-01T00:00:00Z`), references are ids of other records, tuples and dictionaries are JSON.
"""

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
from ghx_twin.state.records.tables import RECORDS
from ghx_twin.state.records.variables import ActionsCache, Secret, Variable
from ghx_twin.state.records.workflows import Artifact, RunAttempt, Step, Workflow, WorkflowRun

__all__ = [
    "RECORDS",
    "ActionsCache",
    "Annotation",
    "App",
    "Artifact",
    "Assignee",
    "CheckRun",
    "Collaborator",
    "Comment",
    "CommitComment",
    "Dependency",
    "Deployment",
    "DeploymentReview",
    "DeploymentStatus",
    "DraftIssue",
    "Environment",
    "Event",
    "Installation",
    "Issue",
    "IssueLabel",
    "IssueType",
    "Label",
    "LinkedBranch",
    "Membership",
    "Milestone",
    "Project",
    "ProjectCollaborator",
    "ProjectField",
    "ProjectItem",
    "ProjectItemValue",
    "ProjectRepository",
    "ProjectStatusUpdate",
    "ProjectView",
    "ProjectWorkflow",
    "Protection",
    "Pull",
    "Reaction",
    "Record",
    "Redirect",
    "Release",
    "ReleaseAsset",
    "Repository",
    "Review",
    "ReviewComment",
    "ReviewRequest",
    "Ruleset",
    "RunAttempt",
    "Secret",
    "Status",
    "Step",
    "Team",
    "TeamMember",
    "TeamRepository",
    "Thread",
    "Token",
    "Tombstone",
    "User",
    "Variable",
    "Workflow",
    "WorkflowRun",
]
