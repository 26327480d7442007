"""Items of projects, draft issues, and what items hold in the fields."""

from html import escape
from typing import Any, ClassVar

from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import FieldValueSubject
from ghx_twin.graphql.views.base import RecordView, View
from ghx_twin.graphql.views.issues.comments import plain_text
from ghx_twin.nodes import NodeId
from ghx_twin.queries.projects import item_values, projects
from ghx_twin.queries.projects.projects import Iteration, iterations_of
from ghx_twin.state.records import (
    DraftIssue,
    Issue,
    Label,
    Project,
    ProjectField,
    ProjectItem,
    ProjectItemValue,
    Pull,
    Team,
    User,
)


class ProjectV2ItemView(RecordView[ProjectItem]):
    """A row of a project."""

    typename: ClassVar[str] = "ProjectV2Item"
    sources: ClassVar = {"subject": ProjectItem}
    __slots__ = ()

    def content(self) -> Any:
        """Return the issue, pull request or draft issue; nothing where the viewer may not see it."""
        return self.context.view_of(self._content())

    def creator(self) -> Any:
        """Return who added it."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def field_value_by_name(self, name: str) -> Any:
        """Return what it holds in a field."""
        field = projects.field_by_name(self.context.database, self._project(), name)
        field_value = self._value_in(field, self._content()) if field else None
        return (
            self.context.view_of(FieldValueSubject(self.subject, field, field_value))
            if field and field_value is not None
            else None
        )

    def field_values(self, order_by: dict[str, str] | None = None) -> list[FieldValueSubject]:
        """Return all that it holds."""
        fields, content = projects.fields_of(self.context.database, self._project()), self._content()
        pairs = ((one, self._value_in(one, content)) for one in fields)
        field_values = [FieldValueSubject(self.subject, field, value) for field, value in pairs if value is not None]
        return field_values[::-1] if order_by and order_by["direction"] == "DESC" else field_values

    def is_archived(self) -> bool:
        """Return whether views leave it out."""
        return self.subject.archived_at is not None

    def project(self) -> Any:
        """Return where it is."""
        return self.context.view_of(self._project())

    def type(self) -> str:
        """Return what sort of thing it is."""
        match self._content():
            case DraftIssue():
                return "DRAFT_ISSUE"
            case Issue(is_pull=is_pull):
                return "PULL_REQUEST" if is_pull else "ISSUE"
            case None:
                return "REDACTED"

    def _project(self) -> Project:
        return projects.project_of(self.context.world, self.subject)

    def _content(self) -> Issue | DraftIssue | None:
        return projects.content_of(self.context.world, self.context.viewer, self.subject)

    def _value_in(self, field: ProjectField, content: item_values.Content) -> item_values.ItemValue | None:
        return item_values.value_in(self.context.world, self.context.viewer, self.subject, content, field)


class DraftIssueView(RecordView[DraftIssue]):
    """A note on a project that is no issue yet."""

    typename: ClassVar[str] = "DraftIssue"
    sources: ClassVar = {"subject": DraftIssue}
    __slots__ = ()

    def assignees(self) -> list[User]:
        """Return the people it is assigned to."""
        users = (self.context.user(identity) for identity in self.subject.assignee_ids)
        return [one for one in users if one is not None]

    def body(self) -> str:
        """Return the text."""
        return self.subject.body or ""

    def body_text(self) -> str:
        """Return the text without Markdown's marks."""
        return plain_text(self.body())

    def creator(self) -> Any:
        """Return who wrote it."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def project_v2_items(self) -> list[ProjectItem]:
        """Return its item."""
        return self.context.database.all(ProjectItem, draft_issue_id=self.subject.id)

    def projects_v2(self) -> list[Project]:
        """Return the project it is on."""
        return [projects.project_of(self.context.world, item) for item in self.project_v2_items()]


class FieldValueView(View[FieldValueSubject]):
    """What an item holds in a field."""

    __slots__ = ()

    def field(self) -> Any:
        """Return the field."""
        return self.context.view_of(self.subject.field)


class StoredValueView(FieldValueView):
    """What the project itself keeps, and the title, which is kept with the issue."""

    __slots__ = ()
    prefix: ClassVar[str]

    def id(self) -> str:
        """Return the global id of the value."""
        return str(NodeId(self.prefix, self.subject.item.id, self.subject.field.id))

    def database_id(self) -> int:
        """Return the id of the value; that of the item where the project keeps none."""
        return self._dated().id

    def created_at(self) -> str:
        """Return when it was set."""
        return self._dated().created_at

    def updated_at(self) -> str:
        """Return when it last changed."""
        return self._dated().updated_at

    def creator(self) -> Any:
        """Return who set it."""
        return self.context.view_of(self.context.user(self._dated().creator_id))

    def item(self) -> Any:
        """Return whose value it is."""
        return self.context.view_of(self.subject.item)

    def _dated(self) -> ProjectItemValue | ProjectItem:
        field_value = projects.value_of(self.context.database, self.subject.item, self.subject.field)
        return field_value or self.subject.item

    def _text(self) -> str:
        return str(self.subject.value)


class TextValueView(StoredValueView):
    """A text, or the title of an item."""

    typename: ClassVar[str] = "ProjectV2ItemFieldTextValue"
    prefix: ClassVar[str] = "PVTFTV"
    __slots__ = ()

    def text(self) -> str:
        """Return the text."""
        return self._text()


class NumberValueView(StoredValueView):
    """A number."""

    typename: ClassVar[str] = "ProjectV2ItemFieldNumberValue"
    prefix: ClassVar[str] = "PVTFNV"
    __slots__ = ()

    def number(self) -> float:
        """Return the number."""
        return float(self._text())


class DateValueView(StoredValueView):
    """A day."""

    typename: ClassVar[str] = "ProjectV2ItemFieldDateValue"
    prefix: ClassVar[str] = "PVTFDV"
    __slots__ = ()

    def date(self) -> str:
        """Return the day."""
        return self._text()


class SingleSelectValueView(StoredValueView):
    """One of the options of a field."""

    typename: ClassVar[str] = "ProjectV2ItemFieldSingleSelectValue"
    prefix: ClassVar[str] = "PVTFSV"
    __slots__ = ()

    def option_id(self) -> str:
        """Return the id of the option."""
        return self._text()

    def name(self) -> str:
        """Return what the option is called."""
        return self._option()["name"]

    def name_html(self) -> str:
        """Return what the option is called, as HTML."""
        return escape(self.name())

    def color(self) -> str:
        """Return the colour of the option."""
        return self._option()["color"]

    def description(self) -> str:
        """Return what the option means."""
        return self._option()["description"]

    def description_html(self) -> str:
        """Return what the option means, as HTML."""
        return escape(self.description())

    def _option(self) -> Any:
        return next(one for one in self.subject.field.options if one["id"] == self.subject.value)


class IterationValueView(StoredValueView):
    """One of the iterations of a field."""

    typename: ClassVar[str] = "ProjectV2ItemFieldIterationValue"
    prefix: ClassVar[str] = "PVTFIV"
    __slots__ = ()

    def iteration_id(self) -> str:
        """Return the id of the iteration."""
        return self._text()

    def title(self) -> str:
        """Return what the iteration is called."""
        return self._iteration().title

    def title_html(self) -> str:
        """Return what the iteration is called, as HTML."""
        return escape(self.title())

    def start_date(self) -> str:
        """Return its first day."""
        return self._iteration().start_date

    def duration(self) -> int:
        """Return how many days it has."""
        return self._iteration().duration

    def _iteration(self) -> Iteration:
        return next(one for one in iterations_of(self.subject.field) if one.id == self.subject.value)


class LabelValueView(FieldValueView):
    """The labels of an issue."""

    typename: ClassVar[str] = "ProjectV2ItemFieldLabelValue"
    __slots__ = ()

    def labels(self) -> list[Label]:
        """Return the labels."""
        return list(self.subject.value)


class UserValueView(FieldValueView):
    """The assignees of an issue."""

    typename: ClassVar[str] = "ProjectV2ItemFieldUserValue"
    __slots__ = ()

    def users(self) -> list[User]:
        """Return the people."""
        return list(self.subject.value)


class MilestoneValueView(FieldValueView):
    """The milestone of an issue."""

    typename: ClassVar[str] = "ProjectV2ItemFieldMilestoneValue"
    __slots__ = ()

    def milestone(self) -> Any:
        """Return the milestone."""
        return self.context.view_of(self.subject.value)


class RepositoryValueView(FieldValueView):
    """The repository of an issue."""

    typename: ClassVar[str] = "ProjectV2ItemFieldRepositoryValue"
    __slots__ = ()

    def repository(self) -> Any:
        """Return the repository."""
        return self.context.view_of(self.subject.value)


class PullRequestValueView(FieldValueView):
    """The pull requests that close an issue."""

    typename: ClassVar[str] = "ProjectV2ItemFieldPullRequestValue"
    __slots__ = ()

    def pull_requests(self, order_by: dict[str, str] | None = None) -> list[Pull]:
        """Return the pull requests, in the order in which they were opened unless another is requested."""
        pulls = list(self.subject.value)
        return pulls[::-1] if order_by and order_by["direction"] == "DESC" else pulls


class ReviewerValueView(FieldValueView):
    """Who is asked to review a pull request."""

    typename: ClassVar[str] = "ProjectV2ItemFieldReviewerValue"
    __slots__ = ()

    def reviewers(self) -> list[User | Team]:
        """Return the people and teams."""
        return list(self.subject.value)


VALUE_VIEWS: dict[str, type[FieldValueView]] = {
    "title": TextValueView,
    "text": TextValueView,
    "number": NumberValueView,
    "date": DateValueView,
    "single_select": SingleSelectValueView,
    "iteration": IterationValueView,
    "assignees": UserValueView,
    "labels": LabelValueView,
    "milestone": MilestoneValueView,
    "repository": RepositoryValueView,
    "linked_pull_requests": PullRequestValueView,
    "reviewers": ReviewerValueView,
}
"""The view of what an item holds in a field, by the type of the field."""


def value_view(context: Context, subject: FieldValueSubject) -> FieldValueView:
    """Return the view of a value by the type of its field."""
    return VALUE_VIEWS[subject.field.data_type](context, subject)
