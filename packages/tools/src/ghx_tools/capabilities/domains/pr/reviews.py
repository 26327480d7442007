"""Reviews of a pull request: those there are, and a new one."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import (
    InputModel,
    Login,
    OutputModel,
    PageInfo,
    Paging,
    Positive,
    PullInput,
    Text,
    pick,
    require_value,
    to_page,
)
from ghx_tools.capabilities.registry import Operation

_LIST = """
query PullRequestReviews($owner: String!, $name: String!, $prNumber: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $prNumber) {
      reviews(first: $first, after: $after) {
        nodes { id authorLogin: author { login } body state submittedAt url commitOid: commit { oid } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_SUBMIT = """
mutation PullRequestReview($input: AddPullRequestReviewInput!) {
  addPullRequestReview(input: $input) { pullRequestReview { id state url body } }
}
"""


def _upper_case(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Oid = Annotated[str | None, pick("oid")]
Event = Annotated[Literal["APPROVE", "COMMENT", "REQUEST_CHANGES"], BeforeValidator(_upper_case)]
Side = Annotated[Literal["LEFT", "RIGHT"], BeforeValidator(_upper_case)]


class ReviewsInput(Paging, PullInput):
    """Which reviews."""


class InlineComment(InputModel):
    """What to say about some lines of the diff."""

    path: Annotated[Text, Field(description="File in the diff.")]
    body: Annotated[Text, Field(description="The comment, in Markdown.")]
    line: Annotated[Positive, Field(description="Line of the file; the last one of several.")]
    side: Annotated[Side, Field(description="Which version of the file: LEFT is the base, RIGHT the head.")] = "RIGHT"
    start_line: Annotated[Positive | None, Field(description="The first of several lines.")] = None
    start_side: Annotated[Side | None, Field(description="Version that startLine is of; that of line if left out.")] = (
        None
    )


class ReviewInput(PullInput):
    """What the review says."""

    event: Annotated[Event, Field(description="APPROVE, COMMENT or REQUEST_CHANGES.")]
    body: Annotated[
        Text | None, Field(description="What it says, in Markdown; may only be left out of an approval.")
    ] = None
    comments: Annotated[tuple[InlineComment, ...], Field(description="Comments on lines of the diff.")] = ()

    @model_validator(mode="after")
    def _check_body(self) -> Self:
        if self.body is None and (self.event == "REQUEST_CHANGES" or (self.event == "COMMENT" and not self.comments)):
            raise ValueError(f"a review that is to {self.event} needs a body")
        return self


class Review(OutputModel):
    """One review; `submittedAt` is null while it is pending."""

    id: Text
    author_login: Login
    body: str
    state: str
    submitted_at: str | None
    url: Text
    commit_oid: Oid


class Reviews(OutputModel):
    """Reviews, oldest first."""

    items: tuple[Review, ...]
    page_info: PageInfo


class SubmittedReview(OutputModel):
    """A review that was just made."""

    id: str | None
    state: str | None
    url: str | None
    body: str | None


async def list_reviews(client: GitHubClient, inputs: ReviewsInput) -> Reviews:
    """List the reviews of a pull request."""
    answer = await client.graphql(_LIST, inputs.variables())
    return Reviews.model_validate(to_page(require_value(answer, "repository", "pullRequest", "reviews")))


async def submit_review(client: GitHubClient, inputs: ReviewInput) -> SubmittedReview:
    """Review a pull request: a verdict, a body, and comments on lines."""
    review = {
        "pullRequestId": (await find_pull(client, inputs))["id"],
        "event": inputs.event,
        "body": inputs.body,
        "threads": [_draft_thread(comment) for comment in inputs.comments],
    }
    answer = await client.graphql(_SUBMIT, {"input": review})
    return SubmittedReview.model_validate(require_value(answer, "addPullRequestReview", "pullRequestReview"))


def _draft_thread(comment: InlineComment) -> dict[str, Any]:
    thread = {"path": comment.path, "body": comment.body, "line": comment.line, "side": comment.side}
    if comment.start_line is None:
        return thread
    return {**thread, "startLine": comment.start_line, "startSide": comment.start_side or comment.side}


OPERATIONS = {
    "pr.reviews.list": Operation(
        input=ReviewsInput, output=Reviews, function=list_reviews, route="graphql", example={**EXAMPLE, "first": 30}
    ),
    "pr.reviews.submit": Operation(
        input=ReviewInput,
        output=SubmittedReview,
        function=submit_review,
        route="graphql",
        example={
            **EXAMPLE,
            "event": "REQUEST_CHANGES",
            "body": "Nearly there.",
            "comments": [{"path": "src/app.py", "line": 3, "body": "This is off by one."}],
        },
    ),
}
