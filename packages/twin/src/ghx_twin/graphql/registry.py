"""Which class is the view of what: by the names of GraphQL types, and by the types of records and other subjects."""

from collections.abc import Mapping
from typing import Any

from ghx_twin.graphql import community as files
from ghx_twin.graphql import subjects
from ghx_twin.graphql.connections import Connection, Edge, PageInfo
from ghx_twin.graphql.context import Context, ViewMaker
from ghx_twin.graphql.timeline import TimelineConnection
from ghx_twin.graphql.views import people
from ghx_twin.graphql.views.actions import checks, deployments, workflows
from ghx_twin.graphql.views.events import EVENT_VIEWS, event_view
from ghx_twin.graphql.views.issues import labels
from ghx_twin.graphql.views.issues.comments import IssueCommentView
from ghx_twin.graphql.views.issues.issues import (
    DependenciesSummaryView,
    IssueTypeView,
    IssueView,
    LinkedBranchView,
    SubIssuesSummaryView,
)
from ghx_twin.graphql.views.issues.reactions import (
    ReactedEdge,
    ReactionConnection,
    ReactionGroupView,
    ReactionView,
    ReactorConnection,
)
from ghx_twin.graphql.views.projects import fields, items, project
from ghx_twin.graphql.views.pulls import pulls, reviews
from ghx_twin.graphql.views.repositories import (
    commit_comments,
    community,
    git,
    refs,
    releases,
    repository_parts,
    rulesets,
)
from ghx_twin.graphql.views.repositories.repositories import RepositoryView
from ghx_twin.graphql.views.root import QueryView, RateLimitView, SearchConnection
from ghx_twin.queries import lookup
from ghx_twin.queries.projects.projects import Iteration
from ghx_twin.state import records

# In the schema because clients select them (`gh` asks for cards of projects); no world has one, so they need no view.
EMPTY_TYPES = frozenset({
    "IssueFieldDate", "IssueFieldDateValue", "IssueFieldNumber", "IssueFieldNumberValue", "IssueFieldSingleSelect",
    "IssueFieldSingleSelectOption", "IssueFieldSingleSelectValue", "IssueFieldText", "IssueFieldTextValue",
    "Mannequin", "Project", "ProjectCard", "ProjectColumn",
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


VIEWS: Mapping[str, type[Any]] = {
    **{view.typename: view for view in (
        QueryView, RateLimitView, PageInfo, people.UserView, people.BotView, people.OrganizationView, people.TeamView,
        RepositoryView, repository_parts.RepositoryTopicView, repository_parts.TopicView,
        repository_parts.PinnedIssueView, repository_parts.BranchProtectionRuleView, labels.LabelView,
        labels.MilestoneView, git.CommitView, git.TreeView, git.TreeEntryView, git.BlobView, git.TagView, refs.RefView,
        refs.ComparisonView, refs.GitActorView, IssueView, IssueTypeView, SubIssuesSummaryView,
        DependenciesSummaryView, LinkedBranchView, IssueCommentView,
        ReactionView, ReactionGroupView, pulls.PullRequestView, pulls.ReviewRequestView,
        pulls.PullRequestCommitView, pulls.PullRequestFileView, pulls.AutoMergeRequestView,
        reviews.PullRequestReviewView,
        reviews.PullRequestReviewThreadView, reviews.PullRequestReviewCommentView, checks.StatusCheckRollupView,
        checks.CommitStatusView, checks.StatusContextView, checks.CheckRunView, workflows.CheckSuiteView,
        checks.CheckAnnotationView, checks.AnnotationSpan, checks.AnnotationPosition, checks.CheckStepView,
        community.LanguageView, community.LicenseView, community.CodeOfConductView, community.IssueTemplateView,
        community.PullRequestTemplateView, community.ContactLinkView, community.FundingLinkView,
        workflows.WorkflowRunView, workflows.WorkflowView, releases.ReleaseView, releases.ReleaseAssetView,
        commit_comments.CommitCommentView, git.BlameView, git.BlameRangeView,
        project.ProjectV2View, project.ProjectV2ViewView,
        project.ProjectV2SortByFieldView, project.ProjectV2WorkflowView, fields.ProjectV2FieldView,
        fields.ProjectV2SingleSelectFieldView, fields.ProjectV2IterationFieldView, fields.IterationConfigurationView,
        fields.IterationView, fields.OptionView, items.ProjectV2ItemView, items.DraftIssueView,
        *items.VALUE_VIEWS.values(), project.ProjectV2StatusUpdateView,
        deployments.DeploymentView, deployments.DeploymentStatusView, deployments.EnvironmentView,
        rulesets.RulesetView, rulesets.RuleView, rulesets.RuleConditionsView, rulesets.NameConditionView,
    )},
    "RepositoryNameConditionTarget": rulesets.NameConditionView,
    **EVENT_VIEWS,
    "CheckRunStateCount": checks.StateCount,
    "StatusContextStateCount": checks.StateCount,
}  # fmt: skip


def _issue_or_pull_view(context: Context, issue: records.Issue) -> object:
    pull = lookup.pull_of(context.world, issue)
    return pulls.PullRequestView(context, pull) if pull else IssueView(context, issue)


VIEW_MAKERS: Mapping[type, ViewMaker] = {
    records.User: people.account_view,
    records.Team: people.TeamView,
    records.Repository: RepositoryView,
    records.Protection: repository_parts.BranchProtectionRuleView,
    records.Label: labels.LabelView,
    records.Milestone: labels.MilestoneView,
    records.Issue: _issue_or_pull_view,
    records.IssueType: IssueTypeView,
    records.LinkedBranch: LinkedBranchView,
    records.Pull: pulls.PullRequestView,
    records.Comment: IssueCommentView,
    records.Review: reviews.PullRequestReviewView,
    records.Thread: reviews.PullRequestReviewThreadView,
    records.ReviewComment: reviews.PullRequestReviewCommentView,
    records.ReviewRequest: pulls.ReviewRequestView,
    records.Reaction: ReactionView,
    records.Event: event_view,
    records.Status: checks.StatusContextView,
    records.CheckRun: checks.CheckRunView,
    records.Annotation: checks.CheckAnnotationView,
    records.Step: checks.CheckStepView,
    records.Workflow: workflows.WorkflowView,
    records.WorkflowRun: workflows.WorkflowRunView,
    records.CommitComment: commit_comments.CommitCommentView,
    records.Release: releases.ReleaseView,
    records.ReleaseAsset: releases.ReleaseAssetView,
    records.Project: project.ProjectV2View,
    records.ProjectField: fields.field_view,
    records.ProjectItem: items.ProjectV2ItemView,
    records.DraftIssue: items.DraftIssueView,
    records.ProjectView: project.ProjectV2ViewView,
    records.ProjectStatusUpdate: project.ProjectV2StatusUpdateView,
    records.ProjectWorkflow: project.ProjectV2WorkflowView,
    records.Ruleset: rulesets.RulesetView,
    records.Deployment: deployments.DeploymentView,
    records.DeploymentStatus: deployments.DeploymentStatusView,
    records.Environment: deployments.EnvironmentView,
    rulesets.RuleOf: rulesets.RuleView,
    subjects.CommitSubject: git.CommitView,
    subjects.TreeSubject: git.TreeView,
    subjects.BlobSubject: git.BlobView,
    subjects.TagSubject: git.TagView,
    subjects.BlameSubject: git.BlameView,
    subjects.BlameRange: git.BlameRangeView,
    subjects.EntrySubject: git.TreeEntryView,
    subjects.RefSubject: refs.RefView,
    subjects.ActorSubject: refs.GitActorView,
    subjects.ComparisonSubject: refs.ComparisonView,
    subjects.PullCommit: pulls.PullRequestCommitView,
    subjects.PullFile: pulls.PullRequestFileView,
    subjects.AutoMerge: pulls.AutoMergeRequestView,
    subjects.RollupSubject: checks.StatusCheckRollupView,
    subjects.StatusSubject: checks.CommitStatusView,
    subjects.SuiteSubject: workflows.CheckSuiteView,
    subjects.ReactionsSubject: ReactionGroupView,
    subjects.PinnedIssue: repository_parts.PinnedIssueView,
    subjects.TopicSubject: repository_parts.RepositoryTopicView,
    subjects.IssueSubject: lambda context, subject: IssueView(context, subject.issue),
    Iteration: fields.IterationView,
    subjects.FieldValueSubject: items.value_view,
    subjects.OptionSubject: fields.OptionView,
    subjects.SortBy: project.ProjectV2SortByFieldView,
    subjects.Member: lambda context, member: people.account_view(context, member.user),
    subjects.LanguageSubject: community.LanguageView,
    subjects.LicenseSubject: community.LicenseView,
    subjects.ConductSubject: community.CodeOfConductView,
    files.IssueForm: community.IssueTemplateView,
    files.PullTemplate: community.PullRequestTemplateView,
    files.Contact: community.ContactLinkView,
    files.Funding: community.FundingLinkView,
}
