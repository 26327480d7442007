"""Projects (v2): boards of a user or an organisation, their fields, items, values and views."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ghx_twin.state.records.base import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Record):
    """A project of a user or an organisation, numbered among the projects of its owner."""

    table: ClassVar[str] = "projects"
    unique: ClassVar = (("owner_id", "number"),)

    owner_id: int
    number: int
    title: str
    short_description: str | None = None
    readme: str | None = None
    public: bool = False
    template: bool = False
    creator_id: int
    created_at: str
    updated_at: str
    closed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectField(Record):
    """A column of a project: one that every project has, or one of its own."""

    table: ClassVar[str] = "project_fields"
    unique: ClassVar = (("project_id", "name"),)
    caseless: ClassVar = ("name",)

    project_id: int
    name: str
    data_type: str  # REST's names: title, assignees, ..., text, number, date, single_select, iteration
    built_in: bool = False
    options: tuple[Mapping[str, str], ...] = ()  # of a single_select: id, name, color, description
    configuration: Mapping[str, object] | None = None  # of an iteration: duration, start_day, iterations
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftIssue(Record):
    """A note on a project that is no issue yet."""

    table: ClassVar[str] = "draft_issues"

    title: str
    body: str | None = None
    assignee_ids: tuple[int, ...] = ()
    creator_id: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectItem(Record):
    """A row of a project: an issue or pull request, or a draft issue of its own."""

    table: ClassVar[str] = "project_items"
    unique: ClassVar = (("project_id", "issue_id"),)
    indexed: ClassVar = (("issue_id",), ("draft_issue_id",))
    listed: ClassVar = (("project_id", "position"),)

    project_id: int
    issue_id: int | None = None
    draft_issue_id: int | None = None
    position: int  # with gaps, so that moving one item changes one record
    creator_id: int
    created_at: str
    updated_at: str
    archived_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectItemValue(Record):
    """The value of an item in a field of the project's own, or in Status."""

    table: ClassVar[str] = "project_item_values"
    unique: ClassVar = (("item_id", "field_id"),)
    indexed: ClassVar = (("field_id",),)

    item_id: int
    field_id: int
    value: str  # a text, a number in decimals, a date, or the id of an option or iteration
    creator_id: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectView(Record):
    """A way to look at a project."""

    table: ClassVar[str] = "project_views"
    unique: ClassVar = (("project_id", "number"),)

    project_id: int
    number: int
    name: str
    layout: str = "table"  # table | board | roadmap
    filter: str | None = None
    visible_fields: tuple[int, ...] = ()  # ids of fields, as in the three below
    sort_by: tuple[str, ...] = ()  # each with its direction: `1000000001 asc`
    group_by: tuple[int, ...] = ()
    vertical_group_by: tuple[int, ...] = ()
    creator_id: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectWorkflow(Record):
    """Something that a project does on its own when an item changes."""

    table: ClassVar[str] = "project_workflows"
    unique: ClassVar = (("project_id", "number"),)

    project_id: int
    number: int
    name: str  # Item closed | Pull request merged
    enabled: bool = True
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRepository(Record):
    """A repository that a project is linked to, and listed in."""

    table: ClassVar[str] = "project_repositories"
    unique: ClassVar = (("project_id", "repository_id"),)
    indexed: ClassVar = (("repository_id",),)

    project_id: int
    repository_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCollaborator(Record):
    """A role that a user was given in one project."""

    table: ClassVar[str] = "project_collaborators"
    unique: ClassVar = (("project_id", "user_id"),)

    project_id: int
    user_id: int
    role: str = "reader"  # reader | writer | admin


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectStatusUpdate(Record):
    """What somebody reported about a project as a whole."""

    table: ClassVar[str] = "project_status_updates"
    indexed: ClassVar = (("project_id",),)

    project_id: int
    status: str | None = None  # INACTIVE | ON_TRACK | AT_RISK | OFF_TRACK | COMPLETE
    body: str | None = None
    start_date: str | None = None
    target_date: str | None = None
    creator_id: int
    created_at: str
    updated_at: str
