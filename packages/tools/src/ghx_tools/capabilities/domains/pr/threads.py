"""The review threads of a pull request."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.lookup import pull_variables
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.domains.pr.scanning import Scan, SourcePage, scan, source_page
from ghx_tools.capabilities.models import Login, OutputModel, PageInfo, Paging, PullInput, Text, require_value
from ghx_tools.capabilities.registry import Operation

_COMMENTS = """
fragment Comments on PullRequestReviewCommentConnection {
  nodes { id authorLogin: author { login } body createdAt url }
  pageInfo { hasNextPage endCursor }
}
"""
_LIST = f"""
query PullRequestThreads($owner: String!, $name: String!, $prNumber: Int!, $first: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $prNumber) {{
      reviewThreads(first: $first, after: $after) {{
        edges {{ cursor node {{
          id path line startLine diffSide subjectType isResolved isOutdated
          viewerCanReply viewerCanResolve viewerCanUnresolve resolvedByLogin: resolvedBy {{ login }}
          comments(first: 50) {{ ...Comments }}
        }} }}
        pageInfo {{ hasNextPage endCursor }}
      }}
    }}
  }}
}}
{_COMMENTS}
"""
_MORE = f"""
query ReviewThreadComments($id: ID!, $after: String) {{
  node(id: $id) {{ ... on PullRequestReviewThread {{ comments(first: 100, after: $after) {{ ...Comments }} }} }}
}}
{_COMMENTS}
"""
_PAGE = 50


class ThreadsInput(Paging, PullInput):
    """Which threads."""

    unresolved_only: Annotated[bool, Field(description="Leave out threads that are resolved.")] = True
    include_outdated: Annotated[bool, Field(description="Also those on code that has changed since.")] = True


class ThreadComment(OutputModel):
    """One comment of a thread."""

    id: Text
    author_login: Login
    body: str
    created_at: Text
    url: Text


class Thread(OutputModel):
    """A review thread with everything that was said in it, oldest first."""

    id: Text
    path: str | None
    line: int | None
    start_line: int | None
    diff_side: str | None
    subject_type: str | None
    is_resolved: bool
    is_outdated: bool
    viewer_can_reply: bool
    viewer_can_resolve: bool
    viewer_can_unresolve: bool
    resolved_by_login: Login
    comments: tuple[ThreadComment, ...]


class ThreadFilter(OutputModel):
    """Which threads were asked for."""

    unresolved_only: bool
    include_outdated: bool


class Threads(OutputModel):
    """Threads in GitHub's order, which is that of their first comments."""

    items: tuple[Thread, ...]
    page_info: PageInfo
    filter_applied: ThreadFilter
    scan: Scan


async def list_threads(client: GitHubClient, inputs: ThreadsInput) -> Threads:
    """List review threads with their comments."""

    def is_wanted(thread: dict[str, Any]) -> bool:
        if inputs.unresolved_only and thread["isResolved"]:
            return False
        return inputs.include_outdated or not thread["isOutdated"]

    threads = await scan(_pages(client, inputs), is_wanted, first=inputs.first)
    items = [{**thread, "comments": await _all_comments(client, thread)} for thread in threads["items"]]
    applied = {"unresolvedOnly": inputs.unresolved_only, "includeOutdated": inputs.include_outdated}
    return Threads.model_validate({**threads, "items": items, "filterApplied": applied})


async def _pages(client: GitHubClient, inputs: ThreadsInput) -> AsyncGenerator[SourcePage]:
    filters = inputs.unresolved_only or not inputs.include_outdated
    after = inputs.after
    while True:
        # Where threads are left out, more than `first` of them have to be read: long pages save round trips.
        paging = {"first": max(_PAGE, inputs.first) if filters else inputs.first, "after": after}
        answer = await client.graphql(_LIST, {**pull_variables(inputs), **paging})
        connection = require_value(answer, "repository", "pullRequest", "reviewThreads")
        yield source_page(connection)
        after = connection["pageInfo"]["endCursor"]


async def _all_comments(client: GitHubClient, thread: dict[str, Any]) -> list[Any]:
    """Return every comment of a thread, however many there are."""
    comments = thread["comments"]
    nodes = [*comments["nodes"]]
    while comments["pageInfo"]["hasNextPage"]:
        answer = await client.graphql(_MORE, {"id": thread["id"], "after": comments["pageInfo"]["endCursor"]})
        comments = require_value(answer, "node", "comments")
        nodes += comments["nodes"]
    return nodes


OPERATIONS = {
    "pr.threads.list": Operation(
        input=ThreadsInput,
        output=Threads,
        function=list_threads,
        route="graphql",
        example={**EXAMPLE, "unresolvedOnly": True},
    ),
}
