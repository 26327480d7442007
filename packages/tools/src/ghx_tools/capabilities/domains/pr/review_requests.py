"""Ask people to review a pull request."""

from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient, rest_path
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import OutputModel, Positive, PullInput, Text
from ghx_tools.capabilities.registry import Operation


class ReviewersInput(PullInput):
    """The people and teams to ask; at least one."""

    reviewers: Annotated[
        tuple[Text, ...], Field(min_length=1, description="Logins of people; `organization/team` for a team.")
    ]


class RequestedReviewers(OutputModel):
    """All who are asked to review now, teams last; `updated` if those named are among them."""

    pr_number: Positive
    reviewers: tuple[Text, ...]
    updated: bool


async def request_reviews(client: GitHubClient, inputs: ReviewersInput) -> RequestedReviewers:
    """Ask people and teams to review a pull request; earlier requests stay."""
    path = rest_path("repos", inputs.owner, inputs.name, "pulls", inputs.pr_number, "requested_reviewers")
    people = [name for name in inputs.reviewers if "/" not in name]
    teams = [name.rpartition("/")[2] for name in inputs.reviewers if "/" in name]
    pull: dict[str, Any] = (await client.post(path, {"reviewers": people, "team_reviewers": teams})).data
    logins = [each["login"] for each in pull["requested_reviewers"]]
    slugs = [each["slug"] for each in pull["requested_teams"]]
    names = {name.casefold() for name in (*logins, *slugs)}
    return RequestedReviewers(
        pr_number=inputs.pr_number,
        reviewers=(*logins, *(f"{inputs.owner}/{slug}" for slug in slugs)),
        updated=names >= {name.casefold() for name in (*people, *teams)},
    )


OPERATIONS = {
    "pr.reviews.request": Operation(
        input=ReviewersInput,
        output=RequestedReviewers,
        function=request_reviews,
        route="rest",
        example={**EXAMPLE, "reviewers": ["hubot"]},
    ),
}
