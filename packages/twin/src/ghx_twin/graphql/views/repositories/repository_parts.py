"""What belongs to a repository: settings, topics, pins, rules, and people with a role."""

from typing import Any, ClassVar

from ghx_twin.commands import kernel
from ghx_twin.graphql.connections import Edge
from ghx_twin.graphql.subjects import Member, PinnedIssue, TopicSubject
from ghx_twin.graphql.views.base import Linked, RecordView, View
from ghx_twin.nodes import NodeId
from ghx_twin.queries import permissions
from ghx_twin.state.records import Protection, Repository


class RepositorySettings(Linked, RecordView[Repository]):
    """How a repository is set up, and what the viewer may do with it."""

    sources: ClassVar = {"subject": Repository}
    __slots__ = ()

    def resource_path(self) -> str:
        """Return the path of its page."""
        return f"/{self.context.full_name(self.subject)}"

    def homepage_url(self) -> str | None:
        """Return the address it names as its home."""
        return self.subject.homepage

    def auto_merge_allowed(self) -> bool:
        """Return whether pull requests can wait to be merged."""
        return self.subject.allow_auto_merge

    def forking_allowed(self) -> bool:
        """Return whether it can be forked."""
        return self.subject.allow_forking

    def has_discussions_enabled(self) -> bool:
        """Return whether it has discussions."""
        return self.subject.has_discussions

    def has_issues_enabled(self) -> bool:
        """Return whether it has issues."""
        return self.subject.has_issues

    def has_projects_enabled(self) -> bool:
        """Return whether it has projects."""
        return self.subject.has_projects

    def has_wiki_enabled(self) -> bool:
        """Return whether it has a wiki."""
        return self.subject.has_wiki

    def is_archived(self) -> bool:
        """Return whether it can only be read."""
        return self.subject.archived

    def archived_at(self) -> str | None:
        """Return when it was archived: nothing changes it afterwards."""
        return self.subject.updated_at if self.subject.archived else None

    def is_user_configuration_repository(self) -> bool:
        """Return whether it is the one that its owner's profile is made of."""
        return self.subject.name.lower() == self.context.owner(self.subject).login.lower()

    def template_repository(self) -> None:
        """Return what it was generated from: nothing can be, here."""
        return

    def open_graph_image_url(self) -> str:
        """Return the address of the picture that links to it show."""
        return f"https://opengraph.githubassets.com/{self.subject.id}/{self.context.full_name(self.subject)}"

    def uses_custom_open_graph_image(self) -> bool:
        """Return whether that picture was chosen: never here."""
        return False

    def viewer_default_commit_email(self) -> str:
        """Return the address that the viewer's commits carry."""
        return kernel.user_signature(self.context.viewer.user, self.subject.created_at).email

    def viewer_possible_commit_emails(self) -> list[str]:
        """Return the addresses that the viewer's commits can carry."""
        user = self.context.viewer.user
        own = [user.email] if user.email else []
        return [*own, f"{user.id}+{user.login}@users.noreply.github.com"]

    def viewer_subscription(self) -> str:
        """Return whether the viewer watches it: one's own repositories, and no others here."""
        return "SUBSCRIBED" if self.subject.owner_id == self.context.viewer.id else "UNSUBSCRIBED"

    def is_disabled(self) -> bool:
        """Return whether GitHub shut it: never here."""
        return False

    def is_fork(self) -> bool:
        """Return whether it was forked."""
        return self.subject.parent_id is not None

    def is_in_organization(self) -> bool:
        """Return whether an organisation owns it."""
        return self.context.owner(self.subject).type == "Organization"

    def is_locked(self) -> bool:
        """Return whether GitHub locked it: never here."""
        return False

    def is_mirror(self) -> bool:
        """Return whether it mirrors another: never here."""
        return False

    def mirror_url(self) -> None:
        """Return what it mirrors."""
        return

    def is_private(self) -> bool:
        """Return whether it is closed to the public."""
        return self.subject.visibility != "public"

    def visibility(self) -> str:
        """Return who can see it."""
        return self.subject.visibility.upper()

    def merge_commit_allowed(self) -> bool:
        """Return whether pull requests can be merged with a commit."""
        return self.subject.allow_merge_commit

    def rebase_merge_allowed(self) -> bool:
        """Return whether pull requests can be rebased onto their base."""
        return self.subject.allow_rebase_merge

    def squash_merge_allowed(self) -> bool:
        """Return whether pull requests can be squashed."""
        return self.subject.allow_squash_merge

    def merge_commit_title(self) -> str:
        """Return what a merge commit is called."""
        return "MERGE_MESSAGE"

    def merge_commit_message(self) -> str:
        """Return what stands in a merge commit."""
        return "PR_TITLE"

    def squash_merge_commit_title(self) -> str:
        """Return what a squashed commit is called."""
        return "COMMIT_OR_PR_TITLE"

    def squash_merge_commit_message(self) -> str:
        """Return what stands in a squashed commit."""
        return "COMMIT_MESSAGES"

    def stargazer_count(self) -> int:
        """Return how many stars it has: a world has none."""
        return 0

    def viewer_has_starred(self) -> bool:
        """Return whether the viewer starred it."""
        return False

    def viewer_permission(self) -> str | None:
        """Return the viewer's role."""
        role = permissions.role(self.context.world, self.context.viewer, self.subject)
        return None if role == "none" else role.upper()

    def viewer_can_administer(self) -> bool:
        """Return whether the viewer may change the settings."""
        return self.context.may(self.subject, "admin")

    def viewer_can_update_topics(self) -> bool:
        """Return whether the viewer may change the topics."""
        return self.context.may(self.subject, "maintain")

    def viewer_default_merge_method(self) -> str:
        """Return the way of merging that is offered first."""
        if self.subject.allow_merge_commit:
            return "MERGE"
        return "SQUASH" if self.subject.allow_squash_merge else "REBASE"

    def allow_update_branch(self) -> bool:
        """Return whether branches of pull requests are offered to be brought up to date."""
        return self.subject.allow_update_branch


class CollaboratorEdge(Edge):
    """A user with a role in a repository."""

    __slots__ = ()
    subject: Member

    def permission(self) -> str:
        """Return the role."""
        return self.subject.role


class RepositoryTopicView(Linked, View[TopicSubject]):
    """A topic on a repository."""

    typename: ClassVar[str] = "RepositoryTopic"
    __slots__ = ()

    def topic(self) -> "TopicView":
        """Return the topic itself."""
        return TopicView(self.context, self.subject)

    def resource_path(self) -> str:
        """Return the path of the topic's page."""
        return f"/topics/{self.subject.name}"


class TopicView(View[TopicSubject]):
    """A topic."""

    typename: ClassVar[str] = "Topic"
    sources: ClassVar = {"subject": TopicSubject}
    __slots__ = ()


class PinnedIssueView(View[PinnedIssue]):
    """An issue pinned to its repository."""

    typename: ClassVar[str] = "PinnedIssue"
    __slots__ = ()

    def id(self) -> str:
        """Return the global id of the pin."""
        return str(NodeId("PI", self.subject.issue.repository_id, self.subject.issue.id))

    def database_id(self) -> int:
        """Return the id of the pin, which is that of the issue."""
        return self.subject.issue.id

    def full_database_id(self) -> str:
        """Return the id of the pin."""
        return str(self.subject.issue.id)

    def issue(self) -> Any:
        """Return the issue."""
        return self.context.view_of(self.subject.issue)

    def repository(self) -> Any:
        """Return where it is pinned."""
        return self.context.view_of(self.context.home(self.subject.issue.repository_id))


class BranchProtectionRuleView(RecordView[Protection]):
    """The rules of the branches that match a pattern."""

    typename: ClassVar[str] = "BranchProtectionRule"
    sources: ClassVar = {"subject": Protection}
    __slots__ = ()

    def allows_deletions(self) -> bool:
        """Return whether the branch can be deleted."""
        return self.subject.allow_deletions

    def allows_force_pushes(self) -> bool:
        """Return whether its history can be rewritten."""
        return self.subject.allow_force_pushes

    def dismisses_stale_reviews(self) -> bool:
        """Return whether a push takes approvals back."""
        return self.subject.dismiss_stale_reviews

    def is_admin_enforced(self) -> bool:
        """Return whether administrators are bound too."""
        return self.subject.enforce_admins

    def repository(self) -> Any:
        """Return whose branches they are."""
        return self.context.view_of(self.context.home(self.subject.repository_id))

    def required_approving_review_count(self) -> int | None:
        """Return how many approvals a merge needs."""
        return self.subject.required_approvals

    def required_status_check_contexts(self) -> list[str]:
        """Return which checks must pass."""
        return list(self.subject.required_checks)

    def requires_approving_reviews(self) -> bool:
        """Return whether a merge needs approvals."""
        return self.subject.required_approvals is not None

    def requires_status_checks(self) -> bool:
        """Return whether a merge needs checks."""
        return bool(self.subject.required_checks)

    def requires_strict_status_checks(self) -> bool:
        """Return whether the branch must be up to date with its base."""
        return self.subject.strict_checks
