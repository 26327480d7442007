"""Reply in review threads, resolve and unresolve them."""

from typing import Annotated

from pydantic import Field

from ghx_base.problems import shortened
from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.errors import not_found_error
from ghx_tools.capabilities.models import InputModel, OutputModel, Text, require_value
from ghx_tools.capabilities.registry import Operation

_REPLY = """
mutation ReviewThreadReply($threadId: ID!, $body: String!) {
  addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $threadId, body: $body}) { comment { id url } }
}
"""
_STATE = """
query ReviewThreadState($threadId: ID!) {
  node(id: $threadId) { ... on PullRequestReviewThread { id isResolved } }
}
"""
_RESOLVE = """
mutation ReviewThreadResolve($threadId: ID!) {
  change: resolveReviewThread(input: {threadId: $threadId}) { thread { id isResolved } }
}
"""
_UNRESOLVE = """
mutation ReviewThreadUnresolve($threadId: ID!) {
  change: unresolveReviewThread(input: {threadId: $threadId}) { thread { id isResolved } }
}
"""


class ThreadInput(InputModel):
    """Which thread."""

    thread_id: Annotated[Text, Field(description="Node id of the thread, as `pr.threads.list` gives it.")]


class ThreadReplyInput(ThreadInput):
    """What to say, and where."""

    body: Annotated[Text, Field(description="The reply, in Markdown.")]


class ThreadState(OutputModel):
    """The thread after it was resolved or unresolved."""

    id: Text
    is_resolved: bool


class ThreadReply(OutputModel):
    """The thread, and the reply in it."""

    id: Text
    is_resolved: bool
    comment_id: str
    comment_url: str


async def reply(client: GitHubClient, inputs: ThreadReplyInput) -> ThreadReply:
    """Reply in a review thread."""
    # Looked up first: a failure to read it afterwards would look as if there were no reply.
    thread = require_value(await client.graphql(_STATE, {"threadId": inputs.thread_id}), "node")
    if not thread:
        raise not_found_error(f"{shortened(inputs.thread_id)} is no review thread; `pr.threads.list` lists their ids")
    answer = await client.graphql(_REPLY, {"threadId": inputs.thread_id, "body": inputs.body})
    comment = require_value(answer, "addPullRequestReviewThreadReply", "comment")
    return ThreadReply.model_validate({**thread, "commentId": comment["id"], "commentUrl": comment["url"]})


async def resolve(client: GitHubClient, inputs: ThreadInput) -> ThreadState:
    """Mark a thread as resolved."""
    return await _change(client, _RESOLVE, inputs)


async def unresolve(client: GitHubClient, inputs: ThreadInput) -> ThreadState:
    """Mark a resolved thread as open."""
    return await _change(client, _UNRESOLVE, inputs)


async def _change(client: GitHubClient, document: str, inputs: ThreadInput) -> ThreadState:
    answer = await client.graphql(document, {"threadId": inputs.thread_id})
    return ThreadState.model_validate(require_value(answer, "change", "thread"))


_EXAMPLE = {"threadId": "PRRT_kwDOABCD"}

OPERATIONS = {
    "pr.threads.reply": Operation(
        input=ThreadReplyInput,
        output=ThreadReply,
        function=reply,
        route="graphql",
        example={**_EXAMPLE, "body": "Done in the last commit."},
    ),
    "pr.threads.resolve": Operation(
        input=ThreadInput, output=ThreadState, function=resolve, route="graphql", example=_EXAMPLE
    ),
    "pr.threads.unresolve": Operation(
        input=ThreadInput, output=ThreadState, function=unresolve, route="graphql", example=_EXAMPLE
    ),
}
