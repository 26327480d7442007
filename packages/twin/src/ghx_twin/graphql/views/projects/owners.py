"""What has projects: accounts own them, repositories are linked to them, issues and pull requests are on them."""

from collections.abc import Callable, Sequence
from typing import Any

from ghx_twin.graphql.context import Context
from ghx_twin.graphql.scopes import require_scope
from ghx_twin.queries.projects import projects
from ghx_twin.queries.projects.projects import READ_SCOPE, ProjectRole
from ghx_twin.state.records import Project

_LEVELS: dict[str, ProjectRole] = {"READ": "reader", "WRITE": "writer", "ADMIN": "admin"}
_KEYS: dict[str, Callable[[Project], Any]] = {
    "CREATED_AT": lambda one: (one.created_at, one.id),
    "NUMBER": lambda one: one.number,
    "TITLE": lambda one: (one.title.lower(), one.id),
    "UPDATED_AT": lambda one: (one.updated_at, one.id),
}


class ProjectOwner:
    """A mixin for what has projects; a subclass says in `visible_projects` which of them the viewer may see."""

    __slots__ = ()
    context: Context

    @property
    def visible_projects(self) -> Sequence[Project]:
        """Return the projects that the viewer may see."""
        raise NotImplementedError

    def project_v2(self, number: int) -> Any:
        """Return a project by its number."""
        require_scope(self.context.viewer, "projectV2", READ_SCOPE)
        project = next((one for one in self.visible_projects if one.number == number), None)
        if project is None:
            raise projects.not_found(number)
        return self.context.view_of(project)

    def projects_v2(
        self,
        query: str | None = None,
        order_by: dict[str, str] | None = None,
        min_permission_level: str | None = None,
    ) -> list[Project]:
        """Return the projects that fit a search."""
        require_scope(self.context.viewer, "projectsV2", READ_SCOPE)
        visible = [one for one in self.visible_projects if projects.matches(one, query)]
        if min_permission_level:
            world, viewer, needed = self.context.world, self.context.viewer, _LEVELS[min_permission_level]
            visible = [one for one in visible if projects.may(world, viewer, one, needed)]
        if order_by:
            visible.sort(key=_KEYS[order_by["field"]], reverse=order_by["direction"] == "DESC")
        return visible


class ClassicProjectOwner(ProjectOwner):
    """A mixin for what could have classic projects once; older `gh` asks for them next to the new ones."""

    __slots__ = ()

    def projects(self, **_filters: object) -> list[object]:
        """Return the classic projects: a world has none."""
        return []
