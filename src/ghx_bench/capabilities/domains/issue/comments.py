"""The comments of an issue or a pull request."""

from typing import Annotated

from pydantic import Field

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.domains.issue.lookup import find_subject
from ghx_bench.capabilities.models import (
    InputModel,
    Login,
    OutputModel,
    PageInfo,
    Paging,
    SubjectInput,
    Text,
    require_value,
    to_page,
)
from ghx_bench.capabilities.registry import Operation

COMMENTS = """
      comments(first: $first, after: $after) {
        nodes { id body authorLogin: author { login } url createdAt }
        pageInfo { hasNextPage endCursor }
      }
"""
"""Selection of the fields of `Comments`."""

_LIST = f"""
query Comments($owner: String!, $name: String!, $issueNumber: Int!, $first: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    subject: issueOrPullRequest(number: $issueNumber) {{
      ... on Issue {{ {COMMENTS} }}
      ... on PullRequest {{ {COMMENTS} }}
    }}
  }}
}}
"""
_CREATE = """
mutation Comment($id: ID!, $body: String!) {
  addComment(input: {subjectId: $id, body: $body}) { commentEdge { node { id body url } } }
}
"""


class CommentInput(InputModel):
    """What to say; mixed into inputs, last."""

    body: Annotated[Text, Field(description="The comment, in Markdown.")]


class IssueCommentInput(CommentInput, SubjectInput):
    """What to say, and where."""


class IssueCommentsInput(Paging, SubjectInput):
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


async def create_comment(client: GitHubClient, inputs: IssueCommentInput) -> NewComment:
    """Comment on an issue or a pull request."""
    return await comment_on(client, (await find_subject(client, inputs))["id"], inputs.body)


async def comment_on(client: GitHubClient, id_: str, body: str) -> NewComment:
    """Comment on something that has a node id."""
    answer = await client.graphql(_CREATE, {"id": id_, "body": body})
    return NewComment.model_validate(require_value(answer, "addComment", "commentEdge", "node"))


async def list_comments(client: GitHubClient, inputs: IssueCommentsInput) -> Comments:
    """List the comments of an issue or a pull request."""
    answer = await client.graphql(_LIST, inputs.variables())
    return Comments.model_validate(to_page(require_value(answer, "repository", "subject", "comments")))


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
