"""Search issues and pull requests."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.models import (
    Count,
    Login,
    Names,
    OutputModel,
    PageInfo,
    Paging,
    Positive,
    Text,
    pick,
    require_value,
    to_page,
)
from ghx_tools.capabilities.registry import Operation

_FIELDS = """
id number title state url createdAt updatedAt
authorLogin: author { login } repository { nameWithOwner } labels(first: 100) { nodes { name } }
"""
_SEARCH = f"""
query Search($query: String!, $first: Int!, $after: String) {{
  search(query: $query, type: ISSUE, first: $first, after: $after) {{
    totalCount: issueCount
    nodes {{ ... on Issue {{ {_FIELDS} }} ... on PullRequest {{ {_FIELDS} }} }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}
"""


class SearchInput(Paging):
    """What to look for."""

    query: Annotated[Text, Field(description="Words and qualifiers, as in the search field of GitHub.")]


class FoundConversation(OutputModel):
    """An issue or a pull request that was found."""

    id: Text
    number: Positive
    title: str
    state: str
    url: Text
    repository: Annotated[Text, pick("nameWithOwner")]
    author_login: Login
    labels: Names
    created_at: Text
    updated_at: Text


class FoundConversations(OutputModel):
    """Issues or pull requests, best first unless the query sorts; GitHub shows the first thousand."""

    items: tuple[FoundConversation, ...]
    total_count: Count
    page_info: PageInfo


async def search_issues(client: GitHubClient, inputs: SearchInput) -> FoundConversations:
    """Search issues."""
    return await _search(client, inputs, "is:issue")


async def search_pulls(client: GitHubClient, inputs: SearchInput) -> FoundConversations:
    """Search pull requests."""
    return await _search(client, inputs, "is:pr")


async def _search(client: GitHubClient, inputs: SearchInput, kind: str) -> FoundConversations:
    answer = await client.graphql(_SEARCH, {**inputs.variables(), "query": f"{kind} {inputs.query}"})
    results = require_value(answer, "search")
    return FoundConversations.model_validate({**to_page(results), "totalCount": results["totalCount"]})


OPERATIONS = {
    "search.issues": Operation(
        input=SearchInput,
        output=FoundConversations,
        function=search_issues,
        route="graphql",
        example={"query": "crash repo:octocat/hello-world is:open"},
    ),
    "search.prs": Operation(
        input=SearchInput,
        output=FoundConversations,
        function=search_pulls,
        route="graphql",
        example={"query": "fix repo:octocat/hello-world is:merged"},
    ),
}
