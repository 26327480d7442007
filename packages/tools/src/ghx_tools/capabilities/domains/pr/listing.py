"""List the pull requests of a repository."""

from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.records import PullSummary
from ghx_tools.capabilities.models import OutputModel, PageInfo, RepositoryPageInput, lower_case, require_value, to_page
from ghx_tools.capabilities.registry import Operation

_LIST = """
query PullRequestList($owner: String!, $name: String!, $states: [PullRequestState!], $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequests(states: $states, first: $first, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) {
      nodes { id number title state url }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""
_STATES = MappingProxyType({"open": ["OPEN"], "closed": ["CLOSED", "MERGED"], "merged": ["MERGED"], "all": None})


class PullListInput(RepositoryPageInput):
    """Which pull requests."""

    state: Annotated[
        Literal["open", "closed", "merged", "all"],
        BeforeValidator(lower_case),
        Field(description="Which state they are in; merged ones are closed, too."),
    ] = "open"


class PullList(OutputModel):
    """Pull requests, newest first."""

    items: tuple[PullSummary, ...]
    page_info: PageInfo


async def list_pulls(client: GitHubClient, inputs: PullListInput) -> PullList:
    """List pull requests."""
    variables = {name: value for name, value in inputs.variables().items() if name != "state"}
    answer = await client.graphql(_LIST, {**variables, "states": _STATES[inputs.state]})
    return PullList.model_validate(to_page(require_value(answer, "repository", "pullRequests")))


OPERATIONS = {
    "pr.list": Operation(
        input=PullListInput,
        output=PullList,
        function=list_pulls,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "state": "open", "first": 30},
    ),
}
