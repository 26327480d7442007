"""The fields of projects, with their options and iterations."""

from html import escape
from typing import Any, ClassVar

from ghx_twin.graphql.context import Context
from ghx_twin.graphql.subjects import OptionSubject
from ghx_twin.graphql.views.base import RecordView, View
from ghx_twin.queries.projects.projects import Iteration, iterations_of
from ghx_twin.state.records import Project, ProjectField


class ProjectV2FieldView(RecordView[ProjectField]):
    """A field."""

    typename: ClassVar[str] = "ProjectV2Field"
    sources: ClassVar = {"subject": ProjectField}
    __slots__ = ()

    def data_type(self) -> str:
        """Return what it holds."""
        return self.subject.data_type.upper()

    def project(self) -> Any:
        """Return whose field it is."""
        return self.context.view_of(self.context.database.get(Project, self.subject.project_id))


class ProjectV2SingleSelectFieldView(ProjectV2FieldView):
    """A field that holds one of a few options."""

    typename: ClassVar[str] = "ProjectV2SingleSelectField"
    __slots__ = ()

    def options(self, names: list[str] | None = None) -> list[Any]:
        """Return its options, or those with some names."""
        options = [one for one in self.subject.options if names is None or one["name"] in names]
        return [self.context.view_of(OptionSubject(**one)) for one in options]


class ProjectV2IterationFieldView(ProjectV2FieldView):
    """A field that holds one of some stretches of time."""

    typename: ClassVar[str] = "ProjectV2IterationField"
    __slots__ = ()

    def configuration(self) -> "IterationConfigurationView":
        """Return its iterations."""
        return IterationConfigurationView(self.context, self.subject)


class IterationConfigurationView(View[ProjectField]):
    """The iterations of a field."""

    typename: ClassVar[str] = "ProjectV2IterationFieldConfiguration"
    __slots__ = ()

    def duration(self) -> int:
        """Return how many days a new iteration has."""
        return self._setting("duration")

    def start_day(self) -> int:
        """Return the day of the week on which iterations start, 1 for Monday."""
        return self._setting("start_day")

    def iterations(self) -> list[Any]:
        """Return the iterations that are not over."""
        return [self.context.view_of(one) for one in iterations_of(self.subject) if not self._is_over(one)]

    def completed_iterations(self) -> list[Any]:
        """Return the iterations that are over."""
        return [self.context.view_of(one) for one in iterations_of(self.subject) if self._is_over(one)]

    def _setting(self, name: str) -> int:
        value = (self.subject.configuration or {}).get(name)
        return value if isinstance(value, int) else 1

    def _is_over(self, iteration: Iteration) -> bool:
        return iteration.is_over(self.context.database.now())


class IterationView(View[Iteration]):
    """One stretch of time."""

    typename: ClassVar[str] = "ProjectV2IterationFieldIteration"
    sources: ClassVar = {"subject": Iteration}
    __slots__ = ()

    def title_html(self) -> str:
        """Return the title as HTML."""
        return escape(self.subject.title)


class OptionView(View[OptionSubject]):
    """One option of a field."""

    typename: ClassVar[str] = "ProjectV2SingleSelectFieldOption"
    sources: ClassVar = {"subject": OptionSubject}
    __slots__ = ()

    def name_html(self) -> str:
        """Return the name as HTML."""
        return escape(self.subject.name)

    def description_html(self) -> str:
        """Return the description as HTML."""
        return escape(self.subject.description)


def field_view(context: Context, field: ProjectField) -> ProjectV2FieldView:
    """Return the view of a field by what it holds."""
    match field.data_type:
        case "single_select":
            return ProjectV2SingleSelectFieldView(context, field)
        case "iteration":
            return ProjectV2IterationFieldView(context, field)
        case _:
            return ProjectV2FieldView(context, field)
