"""The conversation of a pull request, without its reviews."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.comments import (
    COMMENTS,
    LAST_COMMENT,
    CommentInput,
    Comments,
    NewComment,
    comment_on,
)
from ghx_tools.capabilities.domains.pr.lookup import find_pull
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.models import Paging, PullInput, require_value, to_page
from ghx_tools.capabilities.registry import Operation

_LIST = f"""
query PullRequestComments($owner: String!, $name: String!, $prNumber: Int!, $first: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $prNumber) {{ {COMMENTS} }} }}
}}
"""


class PullCommentsInput(Paging, PullInput):
    """Which comments."""


class PullCommentInput(CommentInput, PullInput):
    """What to say, and where."""


async def create_comment(client: GitHubClient, inputs: PullCommentInput) -> NewComment:
    """Comment on a pull request as a whole."""
    return await comment_on(client, await find_pull(client, inputs, LAST_COMMENT), inputs.body)


async def list_comments(client: GitHubClient, inputs: PullCommentsInput) -> Comments:
    """List the comments on a pull request as a whole."""
    answer = await client.graphql(_LIST, inputs.variables())
    return Comments.model_validate(to_page(require_value(answer, "repository", "pullRequest", "comments")))


OPERATIONS = {
    "pr.comments.create": Operation(
        input=PullCommentInput,
        output=NewComment,
        function=create_comment,
        route="graphql",
        example={**EXAMPLE, "body": "Thank you."},
    ),
    "pr.comments.list": Operation(
        input=PullCommentsInput,
        output=Comments,
        function=list_comments,
        route="graphql",
        example={**EXAMPLE, "first": 30},
    ),
}
