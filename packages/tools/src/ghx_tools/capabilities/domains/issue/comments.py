"""The comments of an issue or a pull request."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import issue_variables
from ghx_tools.capabilities.models import (
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
from ghx_tools.capabilities.registry import Operation

COMMENTS = """
      comments(first: $first, after: $after) {
        nodes { id body authorLogin: author { login } url createdAt }
        pageInfo { hasNextPage endCursor }
      }
"""
"""Selection of the fields of `Comments`."""

_LIST = f"""
query IssueComments($owner: String!, $name: String!, $issueNumber: Int!, $first: Int!, $after: String) {{
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

LAST_COMMENT = "id comments(last: 1) { nodes { id } }"
"""Selection of what `comment_on` must know of its subject."""

_SUBJECT = f"""
query CommentSubject($owner: String!, $name: String!, $issueNumber: Int!) {{
  repository(owner: $owner, name: $name) {{
    subject: issueOrPullRequest(number: $issueNumber) {{
      ... on Issue {{ {LAST_COMMENT} }}
      ... on PullRequest {{ {LAST_COMMENT} }}
    }}
  }}
}}
"""
_MOST_MISSED = 100
_LATEST = f"""
query LatestIssueComments($id: ID!) {{
  node(id: $id) {{
    ... on Issue {{ comments(last: {_MOST_MISSED}) {{ nodes {{ id body url viewerDidAuthor }} }} }}
    ... on PullRequest {{ comments(last: {_MOST_MISSED}) {{ nodes {{ id body url viewerDidAuthor }} }} }}
  }}
}}
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
    answer = await client.graphql(_SUBJECT, issue_variables(inputs))
    return await comment_on(client, require_value(answer, "repository", "subject"), inputs.body)


async def comment_on(client: GitHubClient, subject: Mapping[str, Any], body: str) -> NewComment:
    """Comment on an issue or a pull request, once: where an answer is lost, the comment is looked for first.

    `subject` has the fields of `LAST_COMMENT`: an older comment with the same words is not the one that was made.
    """
    existing_ids = [each["id"] for each in subject["comments"]["nodes"]]

    async def find_existing() -> Mapping[str, Any] | None:
        latest = await client.graphql(_LATEST, {"id": subject["id"]})
        comments: list[Mapping[str, Any]] = require_value(latest, "node", "comments", "nodes")
        ids = [each["id"] for each in comments]
        fresh = comments[ids.index(existing_ids[0]) + 1 :] if existing_ids and existing_ids[0] in ids else comments
        # GitHub stores a text without the white space around it.
        comment = [
            {key: each[key] for key in ("id", "body", "url")}
            for each in fresh
            if each["viewerDidAuthor"] and each["body"].strip() == body.strip()
        ]
        return {"addComment": {"commentEdge": {"node": comment[-1]}}} if comment else None

    answer = await client.graphql(_CREATE, {"id": subject["id"], "body": body}, find_existing=find_existing)
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
