"""The conversation of a pull request, without its reviews."""

from typing import Annotated

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.pr.lookup import find_pull
from ghx_bench.capabilities.domains.pr.records import EXAMPLE
from ghx_bench.capabilities.models import Login, OutputModel, PageInfo, Paging, PullInput, Text, page, part
from ghx_bench.capabilities.operation import Operation

_LIST = """
query PullRequestComments($owner: String!, $name: String!, $prNumber: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $prNumber) {
      comments(first: $first, after: $after) {
        nodes { id body authorLogin: author { login } url createdAt }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_CREATE = """
mutation PullRequestComment($id: ID!, $body: String!) {
  addComment(input: {subjectId: $id, body: $body}) { commentEdge { node { id body url } } }
}
"""


class PullCommentsInput(Paging, PullInput):
    """Which comments."""


class PullCommentInput(PullInput):
    """What to say, and where."""

    body: Annotated[Text, Field(description="The comment, in Markdown.")]


class NewPullComment(OutputModel):
    """A comment that was just written."""

    id: Text
    body: str
    url: str


class PullComment(OutputModel):
    """One comment."""

    id: Text
    body: str
    author_login: Login
    url: Text
    created_at: Text


class PullComments(OutputModel):
    """Comments, oldest first."""

    items: tuple[PullComment, ...]
    page_info: PageInfo


async def create_comment(client: GitHubClient, given: PullCommentInput) -> NewPullComment:
    """Comment on a pull request as a whole."""
    answer = await client.graphql(_CREATE, {"id": (await find_pull(client, given))["id"], "body": given.body})
    return NewPullComment.model_validate(part(answer, "addComment", "commentEdge", "node"))


async def list_comments(client: GitHubClient, given: PullCommentsInput) -> PullComments:
    """List the comments on a pull request as a whole."""
    answer = await client.graphql(_LIST, given.variables())
    return PullComments.model_validate(page(part(answer, "repository", "pullRequest", "comments")))


OPERATIONS = {
    "pr.comments.create": Operation(
        input=PullCommentInput,
        output=NewPullComment,
        function=create_comment,
        route="graphql",
        example={**EXAMPLE, "body": "Thank you."},
    ),
    "pr.comments.list": Operation(
        input=PullCommentsInput,
        output=PullComments,
        function=list_comments,
        route="graphql",
        example={**EXAMPLE, "first": 30},
    ),
}
