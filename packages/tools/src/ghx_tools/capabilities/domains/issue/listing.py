"""List the issues of a repository."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.records import IssueSummary
from ghx_tools.capabilities.models import (
    OutputModel,
    PageInfo,
    Paging,
    RepositoryInput,
    lower_case,
    require_value,
    to_page,
)
from ghx_tools.capabilities.registry import Operation

_LIST = """
query IssueList($owner: String!, $name: String!, $states: [IssueState!], $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issues(states: $states, first: $first, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) {
      nodes { id number title state url }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""


class IssueListInput(Paging, RepositoryInput):
    """Which issues."""

    state: Annotated[
        Literal["open", "closed", "all"], BeforeValidator(lower_case), Field(description="Which state they are in.")
    ] = "open"


class IssueList(OutputModel):
    """Issues, newest first."""

    items: tuple[IssueSummary, ...]
    page_info: PageInfo


async def list_issues(client: GitHubClient, inputs: IssueListInput) -> IssueList:
    """List issues, without pull requests."""
    states = None if inputs.state == "all" else [inputs.state.upper()]
    variables = {name: value for name, value in inputs.variables().items() if name != "state"}
    answer = await client.graphql(_LIST, {**variables, "states": states})
    return IssueList.model_validate(to_page(require_value(answer, "repository", "issues")))


OPERATIONS = {
    "issue.list": Operation(
        input=IssueListInput,
        output=IssueList,
        function=list_issues,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "state": "open", "first": 30},
    ),
}
