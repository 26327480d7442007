"""The records of a seed for projects: fields, items with their values, views."""

from typing import Literal, Self

from pydantic import Field, StrictBool, StrictFloat, StrictInt, model_validator

from ghx_twin.seed.format import IssueName, Login, Moment, Number, RepositoryName, SeedModel

_AN_ID = "Its id; a new one if left out."
Color = Literal["BLUE", "GRAY", "GREEN", "ORANGE", "PINK", "PURPLE", "RED", "YELLOW"]


class SeedOption(SeedModel):
    """An option of a single-select field."""

    id: str | None = Field(default=None, description=_AN_ID)
    name: str
    color: Color = "GRAY"
    description: str = ""


class SeedIteration(SeedModel):
    """One stretch of time of an iteration field."""

    id: str | None = Field(default=None, description=_AN_ID)
    title: str
    start_date: str = Field(description="Its first day, as 2026-01-31.")
    duration: Number = Field(default=14, description="How many days it has.")


class SeedIterations(SeedModel):
    """The iterations of a field."""

    duration: Number = Field(default=14, description="How many days a new iteration has.")
    start_day: Number | None = Field(
        default=None, description="The day of the week on which iterations start, 1 for Monday."
    )
    iterations: tuple[SeedIteration, ...] = Field(default=(), description="Three from the project's start if left out.")


class SeedField(SeedModel):
    """A field of a project's own, or Status with other options than GitHub's three."""

    name: str
    data_type: Literal["text", "number", "date", "single_select", "iteration"] = "single_select"
    options: tuple[SeedOption, ...] = Field(default=(), description="What a single_select offers.")
    configuration: SeedIterations | None = Field(default=None, description="The iterations of an iteration field.")


class SeedView(SeedModel):
    """A view of a project; fields are named."""

    name: str
    layout: Literal["table", "board", "roadmap"] = "table"
    filter: str | None = None
    visible_fields: tuple[str, ...] = ()
    sort_by: dict[str, Literal["asc", "desc"]] = Field(default={}, description="Directions by field, first one first.")
    group_by: tuple[str, ...] = ()
    vertical_group_by: tuple[str, ...] = ()


class SeedItem(SeedModel):
    """An item of a project: an issue or pull request by `content`, or a draft issue by `title`."""

    content: IssueName | None = Field(default=None, description="The issue or pull request: owner/name#7.")
    title: str | None = Field(default=None, description="The title of a draft issue.")
    body: str | None = Field(default=None, description="The text of a draft issue.")
    assignees: tuple[Login, ...] = Field(default=(), description="Who a draft issue is assigned to.")
    values: dict[str, str | StrictInt | StrictFloat] = Field(
        default={}, description="Values by field; an option or iteration by its name."
    )
    creator: Login | None = Field(default=None, description="Who added it; the project's creator if left out.")
    archived: StrictBool = False
    at: Moment | None = Field(default=None, description="When it was added.")
    updated_at: Moment | None = None
    archived_at: Moment | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.content is None) == (self.title is None):
            raise ValueError("an item has either content (an issue or pull request) or the title of a draft issue")
        if self.content is not None and self.content.startswith("#"):
            raise ValueError("content names the repository too: owner/name#7")
        return self


class SeedStatusUpdate(SeedModel):
    """What somebody reported about a project."""

    status: Literal["INACTIVE", "ON_TRACK", "AT_RISK", "OFF_TRACK", "COMPLETE"] | None = None
    body: str | None = None
    start_date: str | None = None
    target_date: str | None = None
    creator: Login | None = Field(default=None, description="Who reported it; the project's creator if left out.")
    at: Moment | None = Field(default=None, description="When it was reported.")


class SeedProject(SeedModel):
    """A project of a user or an organization."""

    owner: Login
    number: Number | None = Field(default=None, description="Its number; the owner's next free one if left out.")
    title: str
    short_description: str | None = None
    readme: str | None = None
    public: StrictBool = False
    template: StrictBool = False
    closed: StrictBool = False
    creator: Login | None = Field(default=None, description="Who made it; the owner if left out.")
    collaborators: dict[Login, Literal["reader", "writer", "admin"]] = Field(
        default={}, description="Roles by login; members of the organization that owns it may write anyway."
    )
    repositories: tuple[RepositoryName, ...] = Field(default=(), description="Repositories that list it.")
    fields: tuple[SeedField, ...] = Field(default=(), description="Fields beside those that every project has.")
    views: tuple[SeedView, ...] = Field(default=(), description="Its views; one table if left out.")
    workflows: dict[Literal["Item closed", "Pull request merged"], StrictBool] = Field(
        default={}, description="Whether it sets the status of what is over to Done; both are on if left out."
    )
    items: tuple[SeedItem, ...] = ()
    status_updates: tuple[SeedStatusUpdate, ...] = ()
    at: Moment | None = Field(default=None, description="When it was made.")
    updated_at: Moment | None = None
    closed_at: Moment | None = None
