"""Projects, their views and workflows."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from ghx_twin.graphql.lists import sort_repositories
from ghx_twin.graphql.subjects import SortBy
from ghx_twin.graphql.views.base import Linked, RecordView, View
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.item_filter import ItemFilter
from ghx_twin.refusals import NotFoundRefusal
from ghx_twin.state.records import (
    Project,
    ProjectField,
    ProjectItem,
    ProjectRepository,
    ProjectStatusUpdate,
    ProjectView,
    ProjectWorkflow,
    Record,
    Repository,
)

_T = TypeVar("_T", bound=Record)
_KEYS: dict[str, Callable[[Any], Any]] = {
    "CREATED_AT": lambda one: (one.created_at, one.id),
    "NAME": lambda one: (one.name.lower(), one.id),
    "NUMBER": lambda one: one.number,
    "POSITION": lambda one: one.id,
    "UPDATED_AT": lambda one: (one.updated_at, one.id),
}


def _sort(rows: Sequence[_T], order: dict[str, str] | None) -> list[_T]:
    if not order:
        return list(rows)
    return sorted(rows, key=_KEYS[order["field"]], reverse=order["direction"] == "DESC")


class ProjectV2View(Linked, RecordView[Project]):
    """A project."""

    typename: ClassVar[str] = "ProjectV2"
    sources: ClassVar = {"subject": Project}
    __slots__ = ()

    def resource_path(self) -> str:
        """Return the path of its page."""
        return projects.path_of(projects.owner_of(self.context.world, self.subject), self.subject)

    def closed(self) -> bool:
        """Return whether it is over."""
        return self.subject.closed_at is not None

    def creator(self) -> Any:
        """Return who made it."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def owner(self) -> Any:
        """Return whose it is."""
        return self.context.view_of(self.context.user(self.subject.owner_id))

    def field(self, name: str) -> Any:
        """Return a field by its name."""
        return self.context.view_of(projects.field_by_name(self.context.database, self.subject, name))

    def fields(self, order_by: dict[str, str] | None = None) -> list[ProjectField]:
        """Return its fields."""
        return _sort(projects.fields_of(self.context.database, self.subject), order_by)

    def items(
        self,
        order_by: dict[str, str] | None = None,
        query: str | None = None,
        archived_states: list[str] | None = None,
    ) -> list[ProjectItem]:
        """Return its items from top to bottom, those that are archived only where they are requested."""
        project_items = projects.items_of(self.context.database, self.subject, archived=None)
        states = archived_states or ["NOT_ARCHIVED"]
        selection = [
            one for one in project_items if ("NOT_ARCHIVED" if one.archived_at is None else "ARCHIVED") in states
        ]
        if query:
            fields = tuple(projects.fields_of(self.context.database, self.subject))
            selection = list(filter(ItemFilter(self.context.world, self.context.viewer, fields, query).fits, selection))
        return selection[::-1] if order_by and order_by["direction"] == "DESC" else selection

    def repositories(self, order_by: dict[str, str] | None = None) -> list[Repository]:
        """Return the repositories it is linked to."""
        links = self.context.database.all(ProjectRepository, project_id=self.subject.id)
        seen = (self.context.visible(self.context.repository(link.repository_id)) for link in links)
        repositories = [one for one in seen if one is not None]
        return sort_repositories(repositories, order_by) if order_by else repositories

    def status_updates(self, order_by: dict[str, str] | None = None) -> list[ProjectStatusUpdate]:
        """Return what was reported about it, newest first."""
        order = order_by or {"field": "CREATED_AT", "direction": "DESC"}
        return _sort(self.context.database.all(ProjectStatusUpdate, project_id=self.subject.id), order)

    def view(self, number: int) -> Any:
        """Return a view by its number."""
        project_view = self.context.database.one(ProjectView, project_id=self.subject.id, number=number)
        if project_view is None:
            raise NotFoundRefusal(f"Could not resolve to a ProjectV2View with the number {number}.")
        return self.context.view_of(project_view)

    def views(self, order_by: dict[str, str] | None = None) -> list[ProjectView]:
        """Return its views."""
        return _sort(self.context.database.all(ProjectView, project_id=self.subject.id), order_by)

    def workflow(self, number: int) -> Any:
        """Return a workflow by its number."""
        project_workflow = self.context.database.one(ProjectWorkflow, project_id=self.subject.id, number=number)
        if project_workflow is None:
            raise NotFoundRefusal(f"Could not resolve to a ProjectV2Workflow with the number {number}.")
        return self.context.view_of(project_workflow)

    def workflows(self, order_by: dict[str, str] | None = None) -> list[ProjectWorkflow]:
        """Return what it does on its own."""
        return _sort(self.context.database.all(ProjectWorkflow, project_id=self.subject.id), order_by)

    def viewer_can_close(self) -> bool:
        """Return whether the viewer may close it."""
        return not self.closed() and projects.may(self.context.world, self.context.viewer, self.subject, "admin")

    def viewer_can_reopen(self) -> bool:
        """Return whether the viewer may open it again."""
        return self.closed() and projects.may(self.context.world, self.context.viewer, self.subject, "admin")

    def viewer_can_update(self) -> bool:
        """Return whether the viewer may change it."""
        return projects.may(self.context.world, self.context.viewer, self.subject, "writer")


class ProjectV2ViewView(RecordView[ProjectView]):
    """A way to look at a project."""

    typename: ClassVar[str] = "ProjectV2View"
    sources: ClassVar = {"subject": ProjectView}
    __slots__ = ()

    def layout(self) -> str:
        """Return how it arranges items."""
        return f"{self.subject.layout.upper()}_LAYOUT"

    def project(self) -> Any:
        """Return whose view it is."""
        return self.context.view_of(self.context.database.get(Project, self.subject.project_id))

    def fields(self, order_by: dict[str, str] | None = None) -> list[ProjectField]:
        """Return the fields it shows."""
        return self._fields(self.subject.visible_fields, order_by)

    def group_by_fields(self, order_by: dict[str, str] | None = None) -> list[ProjectField]:
        """Return the fields whose values make its groups."""
        return self._fields(self.subject.group_by, order_by)

    def vertical_group_by_fields(self, order_by: dict[str, str] | None = None) -> list[ProjectField]:
        """Return the fields whose values make its columns."""
        return self._fields(self.subject.vertical_group_by, order_by)

    def sort_by_fields(self) -> list[SortBy]:
        """Return what it sorts items by."""
        pairs = (each.split(" ") for each in self.subject.sort_by)
        sort_fields = ((self.context.database.get(ProjectField, int(field)), way) for field, way in pairs)
        return [SortBy(field, way.upper()) for field, way in sort_fields if field is not None]

    def _fields(self, ids: Sequence[int], order_by: dict[str, str] | None) -> list[ProjectField]:
        fields = (self.context.database.get(ProjectField, identity) for identity in ids)
        return _sort([one for one in fields if one is not None], order_by)


class ProjectV2SortByFieldView(View[SortBy]):
    """A field that a view sorts by."""

    typename: ClassVar[str] = "ProjectV2SortByField"
    sources: ClassVar = {"subject": SortBy}
    __slots__ = ()

    def field(self) -> Any:
        """Return the field."""
        return self.context.view_of(self.subject.field)


class ProjectV2WorkflowView(RecordView[ProjectWorkflow]):
    """Something that a project does on its own."""

    typename: ClassVar[str] = "ProjectV2Workflow"
    sources: ClassVar = {"subject": ProjectWorkflow}
    __slots__ = ()

    def project(self) -> Any:
        """Return whose workflow it is."""
        return self.context.view_of(self.context.database.get(Project, self.subject.project_id))


class ProjectV2StatusUpdateView(RecordView[ProjectStatusUpdate]):
    """What somebody reported about a project."""

    typename: ClassVar[str] = "ProjectV2StatusUpdate"
    sources: ClassVar = {"subject": ProjectStatusUpdate}
    __slots__ = ()

    def creator(self) -> Any:
        """Return who reported it."""
        return self.context.view_of(self.context.user(self.subject.creator_id))

    def project(self) -> Any:
        """Return what it is about."""
        return self.context.view_of(self.context.database.get(Project, self.subject.project_id))
