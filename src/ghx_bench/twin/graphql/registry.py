"""Which class shows what: GraphQL types by name on one side, records and other subjects on the other."""

from collections.abc import Mapping
from typing import Any

from ghx_bench.twin.graphql import community as files
from ghx_bench.twin.graphql import subjects
from ghx_bench.twin.graphql.connections import Connection, Edge, PageInfo
from ghx_bench.twin.graphql.context import Context, Shower
from ghx_bench.twin.graphql.timeline import TimelineConnection
from ghx_bench.twin.graphql.views import (
    checks,
    community,
    git,
    labels,
    people,
    pull_parts,
    refs,
    repository_parts,
    reviews,
    workflows,
)
from ghx_bench.twin.graphql.views.comments import IssueCommentView
from ghx_bench.twin.graphql.views.issues import IssueTypeView, IssueView, SubIssuesSummaryView
from ghx_bench.twin.graphql.views.pull_events import EVENT_VIEWS, show_event
from ghx_bench.twin.graphql.views.reactions import (
    ReactedEdge,
    ReactionConnection,
    ReactionGroupView,
    ReactionView,
    ReactorConnection,
)
from ghx_bench.twin.graphql.views.repositories import RepositoryView
from ghx_bench.twin.graphql.views.root import QueryView, RateLimitView, SearchConnection
from ghx_bench.twin.queries import lookup
from ghx_bench.twin.state import records

# In the schema because clients select them; no world has one yet, so nothing shows them.
EMPTY_TYPES = frozenset({
    "CheckAnnotation", "CheckAnnotationPosition", "CheckAnnotationSpan", "ConnectedEvent", "LinkedBranch", "Mannequin",
    "Project", "ProjectCard", "ProjectColumn", "ProjectV2",
    "ProjectV2Item", "ProjectV2ItemFieldSingleSelectValue",
})  # fmt: skip


class MemberConnection(Connection[Any]):
    """Members, each with their role."""

    edge = people.MemberEdge
    __slots__ = ()


class CollaboratorConnection(Connection[Any]):
    """People with a role in a repository."""

    edge = repository_parts.CollaboratorEdge
    __slots__ = ()


CONNECTIONS: Mapping[str, type[Any]] = {
    "IssueTimelineItemsConnection": TimelineConnection,
    "LanguageConnection": community.LanguageConnection,
    "OrganizationMemberConnection": MemberConnection,
    "PullRequestTimelineItemsConnection": TimelineConnection,
    "ReactingUserConnection": ReactorConnection,
    "ReactionConnection": ReactionConnection,
    "ReactorConnection": ReactorConnection,
    "RepositoryCollaboratorConnection": CollaboratorConnection,
    "SearchResultItemConnection": SearchConnection,
    "StatusCheckRollupContextConnection": checks.CheckContexts,
    "TeamMemberConnection": MemberConnection,
}
EDGES: Mapping[str, type[Edge]] = {
    "LanguageEdge": community.LanguageEdge,
    "OrganizationMemberEdge": people.MemberEdge,
    "ReactingUserEdge": ReactedEdge,
    "ReactorEdge": ReactedEdge,
    "RepositoryCollaboratorEdge": repository_parts.CollaboratorEdge,
    "TeamMemberEdge": people.MemberEdge,
}


def _by_typename(*views: type[Any]) -> dict[str, type[Any]]:
    return {view.typename: view for view in views}


VIEWS: Mapping[str, type[Any]] = {
    **_by_typename(
        QueryView, RateLimitView, PageInfo, people.UserView, people.BotView, people.OrganizationView, people.TeamView,
        RepositoryView, repository_parts.RepositoryTopicView, repository_parts.TopicView,
        repository_parts.PinnedIssueView, repository_parts.BranchProtectionRuleView, labels.LabelView,
        labels.MilestoneView, git.CommitView, git.TreeView, git.TreeEntryView, git.BlobView, git.TagView, refs.RefView,
        refs.ComparisonView, refs.GitActorView, IssueView, IssueTypeView, SubIssuesSummaryView, IssueCommentView,
        ReactionView, ReactionGroupView, pull_parts.PullRequestView, pull_parts.ReviewRequestView,
        pull_parts.PullRequestCommitView, pull_parts.PullRequestFileView, pull_parts.AutoMergeRequestView,
        reviews.PullRequestReviewView,
        reviews.PullRequestReviewThreadView, reviews.PullRequestReviewCommentView, checks.StatusCheckRollupView,
        checks.CommitStatusView, checks.StatusContextView, checks.CheckRunView, workflows.CheckSuiteView,
        community.LanguageView, community.LicenseView, community.CodeOfConductView, community.IssueTemplateView,
        community.PullRequestTemplateView, community.ContactLinkView, community.FundingLinkView,
        workflows.WorkflowRunView, workflows.WorkflowView,
    ),
    **EVENT_VIEWS,
    "CheckRunStateCount": checks.StateCount,
    "StatusContextStateCount": checks.StateCount,
}  # fmt: skip


def _show_issue(context: Context, issue: records.Issue) -> object:
    pull = lookup.pull_of(context.world, issue)
    return pull_parts.PullRequestView(context, pull) if pull else IssueView(context, issue)


def _show_as_issue(context: Context, subject: subjects.IssueOf) -> object:
    return IssueView(context, subject.issue)


def _show_member(context: Context, member: subjects.Member) -> object:
    return people.show_account(context, member.user)


SHOWERS: Mapping[type, Shower] = {
    records.User: people.show_account,
    records.Team: people.TeamView,
    records.Repository: RepositoryView,
    records.Protection: repository_parts.BranchProtectionRuleView,
    records.Label: labels.LabelView,
    records.Milestone: labels.MilestoneView,
    records.Issue: _show_issue,
    records.Pull: pull_parts.PullRequestView,
    records.Comment: IssueCommentView,
    records.Review: reviews.PullRequestReviewView,
    records.Thread: reviews.PullRequestReviewThreadView,
    records.ReviewComment: reviews.PullRequestReviewCommentView,
    records.ReviewRequest: pull_parts.ReviewRequestView,
    records.Reaction: ReactionView,
    records.Event: show_event,
    records.Status: checks.StatusContextView,
    records.CheckRun: checks.CheckRunView,
    records.Workflow: workflows.WorkflowView,
    records.WorkflowRun: workflows.WorkflowRunView,
    subjects.CommitThing: git.CommitView,
    subjects.TreeThing: git.TreeView,
    subjects.BlobThing: git.BlobView,
    subjects.TagThing: git.TagView,
    subjects.EntryThing: git.TreeEntryView,
    subjects.RefThing: refs.RefView,
    subjects.ActorThing: refs.GitActorView,
    subjects.ComparisonThing: refs.ComparisonView,
    subjects.PullCommit: pull_parts.PullRequestCommitView,
    subjects.PullFile: pull_parts.PullRequestFileView,
    subjects.AutoMerge: pull_parts.AutoMergeRequestView,
    subjects.RollupOf: checks.StatusCheckRollupView,
    subjects.StatusOf: checks.CommitStatusView,
    subjects.SuiteOf: workflows.CheckSuiteView,
    subjects.ReactionsOf: ReactionGroupView,
    subjects.Pinned: repository_parts.PinnedIssueView,
    subjects.TopicOf: repository_parts.RepositoryTopicView,
    subjects.IssueOf: _show_as_issue,
    subjects.TypeOfIssues: IssueTypeView,
    subjects.Member: _show_member,
    subjects.LanguageOf: community.LanguageView,
    subjects.LicenseOf: community.LicenseView,
    subjects.ConductOf: community.CodeOfConductView,
    files.IssueForm: community.IssueTemplateView,
    files.PullTemplate: community.PullRequestTemplateView,
    files.Contact: community.ContactLinkView,
    files.Funding: community.FundingLinkView,
}
