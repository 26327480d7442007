"""Everything a world holds, one record for each table.

The database derives its tables from these classes, the diff its objects and fields, and both APIs render them. Times
have GitHub's spelling (`2026-01-01T00:00:00Z`), references are ids of other records, tuples and dictionaries are JSON.
"""

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
from ghx_bench.twin.state.records.tables import RECORDS
from ghx_bench.twin.state.records.workflows import RunAttempt, Workflow, WorkflowRun

__all__ = [
    "RECORDS",
    "Assignee",
    "CheckRun",
    "Collaborator",
    "Comment",
    "Dependency",
    "DraftIssue",
    "Event",
    "Issue",
    "IssueLabel",
    "Label",
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
    "Repository",
    "Review",
    "ReviewComment",
    "ReviewRequest",
    "RunAttempt",
    "Status",
    "Team",
    "TeamMember",
    "TeamRepository",
    "Thread",
    "Token",
    "Tombstone",
    "User",
    "Workflow",
    "WorkflowRun",
]
