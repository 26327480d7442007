"""The timeline of an issue or a pull request."""

from typing import Annotated, Any

from ghx_base.wire import OMITTABLE
from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.models import OutputModel, PageInfo, Paging, SubjectInput, Text, get_value
from ghx_tools.capabilities.registry import Operation
from ghx_tools.capabilities.rest_paging import get_page


class TimelineInput(Paging, SubjectInput):
    """Which part of the timeline."""


class TimelineItem(OutputModel):
    """One event; fields that do not belong to its kind are left out."""

    event: Text
    id: str | None
    actor_login: str | None
    created_at: str | None
    body: Annotated[str | None, OMITTABLE] = None
    label: Annotated[str | None, OMITTABLE] = None
    assignee_login: Annotated[str | None, OMITTABLE] = None
    reviewer_login: Annotated[str | None, OMITTABLE] = None
    reviewer_team: Annotated[str | None, OMITTABLE] = None
    milestone: Annotated[str | None, OMITTABLE] = None
    commit_id: Annotated[str | None, OMITTABLE] = None
    state_reason: Annotated[str | None, OMITTABLE] = None
    source_number: Annotated[int | None, OMITTABLE] = None
    source_url: Annotated[str | None, OMITTABLE] = None
    renamed_from: Annotated[str | None, OMITTABLE] = None
    renamed_to: Annotated[str | None, OMITTABLE] = None


class Timeline(OutputModel):
    """Events, oldest first."""

    items: tuple[TimelineItem, ...]
    page_info: PageInfo


_DETAILS = {
    "body": ("body",),
    "label": ("label", "name"),
    "assigneeLogin": ("assignee", "login"),
    "reviewerLogin": ("requested_reviewer", "login"),
    "reviewerTeam": ("requested_team", "slug"),
    "milestone": ("milestone", "title"),
    "commitId": ("commit_id",),
    "stateReason": ("state_reason",),
    "sourceNumber": ("source", "issue", "number"),
    "sourceUrl": ("source", "issue", "html_url"),
    "renamedFrom": ("rename", "from"),
    "renamedTo": ("rename", "to"),
}


async def list_timeline(client: GitHubClient, inputs: TimelineInput) -> Timeline:
    """List the events of an issue or a pull request."""
    path = rest_path("repos", inputs.owner, inputs.name, "issues", inputs.issue_number, "timeline")
    events, page_info = await get_page(client, path, inputs)
    return Timeline.model_validate({"items": [_item(event) for event in events], "pageInfo": page_info})


def _item(event: dict[str, Any]) -> dict[str, Any]:
    # A review has `user` and `submitted_at` where other events have `actor` and `created_at`.
    actor = get_value(event, "actor", "login") or get_value(event, "user", "login")
    details = {name: value for name, path in _DETAILS.items() if (value := get_value(event, *path)) is not None}
    return {
        "event": event["event"],
        "id": event.get("node_id"),
        "actorLogin": actor,
        "createdAt": event.get("created_at") or event.get("submitted_at"),
        **details,
    }


OPERATIONS = {
    "issue.timeline.list": Operation(
        input=TimelineInput,
        output=Timeline,
        function=list_timeline,
        route="rest",
        example={"owner": "octocat", "name": "hello-world", "issueNumber": 1, "first": 30},
    ),
}
