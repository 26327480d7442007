"""The comments of an issue."""

from typing import Annotated

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.issue.lookup import issue_id
from ghx_bench.capabilities.models import IssueInput, Login, OutputModel, PageInfo, Paging, Text, page, part
from ghx_bench.capabilities.operation import Operation

_LIST = """
query IssueComments($owner: String!, $name: String!, $issueNumber: Int!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issue(number: $issueNumber) {
      comments(first: $first, after: $after) {
        nodes { id body authorLogin: author { login } url createdAt }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""
_CREATE = """
mutation IssueComment($id: ID!, $body: String!) {
  addComment(input: {subjectId: $id, body: $body}) { commentEdge { node { id body url } } }
}
"""


class IssueCommentInput(IssueInput):
    """What to say, and where."""

    body: Annotated[Text, Field(description="The comment, in Markdown.")]


class IssueCommentsInput(Paging, IssueInput):
    """Which comments."""


class NewComment(OutputModel):
    """A comment that was just written."""

    id: Text
    body: str
    url: str


class Comment(OutputModel):
    """One comment."""

    id: Text
    body: str
    author_login: Login
    url: Text
    created_at: Text


class Comments(OutputModel):
    """Comments, oldest first."""

    items: tuple[Comment, ...]
    page_info: PageInfo


async def create_comment(client: GitHubClient, given: IssueCommentInput) -> NewComment:
    """Comment on an issue."""
    answer = await client.graphql(_CREATE, {"id": await issue_id(client, given), "body": given.body})
    return NewComment.model_validate(part(answer, "addComment", "commentEdge", "node"))


async def list_comments(client: GitHubClient, given: IssueCommentsInput) -> Comments:
    """List the comments of an issue."""
    answer = await client.graphql(_LIST, given.variables())
    return Comments.model_validate(page(part(answer, "repository", "issue", "comments")))


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "issueNumber": 1}

OPERATIONS = {
    "issue.comments.create": Operation(
        input=IssueCommentInput,
        output=NewComment,
        function=create_comment,
        route="graphql",
        example={**_EXAMPLE, "body": "Fixed in 1.2."},
    ),
    "issue.comments.list": Operation(
        input=IssueCommentsInput,
        output=Comments,
        function=list_comments,
        route="graphql",
        example={**_EXAMPLE, "first": 30},
    ),
}
