"""What issues and pull requests have in common."""

from collections.abc import Sequence
from typing import Any

from ghx_twin.graphql.context import Context
from ghx_twin.graphql.scopes import require_scope
from ghx_twin.graphql.views.issues.comments import Written
from ghx_twin.graphql.views.issues.labels import LABEL_ORDERS
from ghx_twin.graphql.views.projects.owners import ProjectOwner
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.projects import READ_SCOPE
from ghx_twin.state.records import (
    Assignee,
    Comment,
    Issue,
    IssueLabel,
    Label,
    Milestone,
    Project,
    ProjectItem,
    Repository,
    User,
)
from ghx_twin.state.rows import Rows


class Conversation(ProjectOwner, Written):
    """A mixin over the record that issues and pull requests share; a subclass gives it as `issue`."""

    __slots__ = ()
    context: Context

    @property
    def issue(self) -> Issue:
        """Return the shared record."""
        raise NotImplementedError

    @property
    def written(self) -> Issue:
        """Return the record with author, body and times."""
        return self.issue

    @property
    def home(self) -> Repository:
        """Return the repository it is in."""
        return self.context.home(self.issue.repository_id)

    @property
    def is_locked(self) -> bool:
        """Return whether only collaborators may write."""
        return self.issue.locked

    def active_lock_reason(self) -> str | None:
        """Return why it was locked."""
        reason = self.issue.lock_reason
        return reason.upper().replace(" ", "_").replace("-", "_") if self.issue.locked and reason else None

    def assignees(self) -> list[User]:
        """Return the people it is assigned to."""
        return [one for one in self.assigned_actors() if one.type == "User"]

    def assigned_actors(self) -> list[User]:
        """Return everyone it is assigned to, bots too."""
        rest = "JOIN assignees ON assignees.user_id = users.id WHERE assignees.issue_id = ? ORDER BY assignees.id"
        identity = self.issue.id
        key = (Assignee, identity)
        return self.context.once(key, lambda: self.context.database.select(User, rest, (identity,)))

    def closed(self) -> bool:
        """Return whether it is over."""
        return self.issue.state == "closed"

    def comments(self, order_by: dict[str, str] | None = None) -> Sequence[Comment]:
        """Return the comments, oldest first."""
        direction = "DESC" if order_by and order_by["direction"] == "DESC" else "ASC"
        order = f"updated_at {direction}, id {direction}" if order_by else "id"
        return Rows(self.context.database, Comment, f"WHERE issue_id = ? ORDER BY {order}", (self.issue.id,))

    def labels(self, order_by: dict[str, str] | None = None) -> list[Label]:
        """Return the labels."""
        rest = "JOIN issue_labels ON issue_labels.label_id = labels.id WHERE issue_labels.issue_id = ?"
        identity = self.issue.id
        order = f"{LABEL_ORDERS[order_by['field']]} {order_by['direction']}, " if order_by else ""
        query = f"{rest} ORDER BY {order}issue_labels.id"
        return self.context.once(
            (IssueLabel, identity, order), lambda: self.context.database.select(Label, query, (identity,))
        )

    def milestone(self) -> Any:
        """Return the milestone."""
        identity = self.issue.milestone_id
        return self.context.view_of(
            self.context.once((Milestone, identity), lambda: self.context.database.get(Milestone, identity))
        )

    def participants(self) -> list[User]:
        """Return who wrote something here, in the order they came."""
        users = (self.context.user(identity) for identity in dict.fromkeys(self._writers()))
        return [one for one in users if one is not None and one.type == "User"]

    def _writers(self) -> list[int]:
        """Return the ids of everyone who wrote here, as often as they did."""
        comments = self.context.database.all(Comment, issue_id=self.issue.id)
        return [self.issue.author_id, *(one.author_id for one in comments)]

    def project_cards(self) -> list[object]:
        """Return its cards on classic projects: a world has none."""
        return []

    @property
    def visible_projects(self) -> list[Project]:
        """Return the projects it is on, as far as the viewer may see them."""
        items = self.context.database.all(ProjectItem, issue_id=self.issue.id)
        visible_projects = (projects.project_of(self.context.world, item) for item in items)
        return [one for one in visible_projects if projects.may(self.context.world, self.context.viewer, one, "reader")]

    def project_items(self, include_archived: bool | None = None) -> list[ProjectItem]:
        """Return its items on projects, also those that are archived unless they are not wanted."""
        require_scope(self.context.viewer, "projectItems", READ_SCOPE)
        seen = {project.id for project in self.visible_projects}
        items = self.context.database.all(ProjectItem, issue_id=self.issue.id)
        items_left = [one for one in items if include_archived is not False or one.archived_at is None]
        return [one for one in items_left if one.project_id in seen]

    def viewer_can_close(self) -> bool:
        """Return whether the viewer may close it."""
        return not self.closed() and self._may_steer()

    def viewer_can_reopen(self) -> bool:
        """Return whether the viewer may open it again."""
        return self.closed() and self._may_steer()

    def viewer_can_label(self) -> bool:
        """Return whether the viewer may label it."""
        return self.context.may(self.home, "triage")

    def _may_steer(self) -> bool:
        return not self.home.archived and (self.viewer_did_author() or self.context.may(self.home, "triage"))
