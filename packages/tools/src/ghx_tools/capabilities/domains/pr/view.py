"""Read one pull request."""

from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, Field

from ghx_base.wire import OMITTABLE
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import (
    Logins,
    MilestoneTitle,
    Names,
    OutputModel,
    Positive,
    PullInput,
    Text,
    get_value,
)
from ghx_tools.capabilities.registry import Operation

# Of a team GitHub shows nothing to a token that may not read organizations: only people are requested.
_REVIEWERS = "reviewers"
_FIELDS = f"""
id number title state url isDraft headBranch: headRefName baseBranch: baseRefName
labels(first: 100) {{ nodes {{ name }} }}
assignees(first: 100) {{ nodes {{ login }} }}
milestone {{ title }}
{_REVIEWERS}: reviewRequests(first: 100) {{ nodes {{ requestedReviewer {{ ... on Actor {{ login }} }} }} }}
"""


def _pick_logins(value: object) -> object:
    """Return the logins in requests for a review; a team has none, and a request that is not visible is null."""
    if value is not None and not isinstance(value, dict):
        return value
    nodes = cast("list[object]", get_value(cast("object", value), "nodes") or [])
    return tuple(login for node in nodes if (login := get_value(node, "requestedReviewer", "login")))


class PullViewInput(PullInput):
    """Which pull request, and which fields to leave out."""

    exclude: Annotated[
        tuple[Literal["body"], ...], Field(description="Fields to leave out, to keep the answer short.")
    ] = ()


class PullView(OutputModel):
    """One pull request; `reviewers` are the people who are asked to review it and have not yet."""

    id: Text
    number: Positive
    title: str
    state: str
    url: Text
    body: Annotated[str, OMITTABLE] = ""
    labels: Names
    assignees: Logins
    milestone: MilestoneTitle
    head_branch: Text
    base_branch: Text
    is_draft: bool
    reviewers: Annotated[tuple[str, ...], BeforeValidator(_pick_logins)]


async def view_pull(client: GitHubClient, inputs: PullViewInput) -> PullView:
    """Read a pull request with labels, assignees, milestone, reviewers and branches."""
    fields = _FIELDS if "body" in inputs.exclude else f"{_FIELDS} body"
    return PullView.model_validate(await find_pull(client, inputs, fields, dispensable=_REVIEWERS))


OPERATIONS = {
    "pr.view": Operation(
        input=PullViewInput,
        output=PullView,
        function=view_pull,
        route="graphql",
        example={**EXAMPLE, "exclude": ["body"]},
    ),
}
