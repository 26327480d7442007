"""The types that issues can have."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.models import EMPTY_PAGE, OutputModel, PageInfo, RepositoryPageInput, require_value, to_page
from ghx_tools.capabilities.registry import Operation

_LIST = """
query RepositoryIssueTypes($owner: String!, $name: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    issueTypes(first: $first, after: $after) {
      nodes { id name color isEnabled }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""


class IssueType(OutputModel):
    """One type of issues."""

    id: str | None
    name: str | None
    color: str | None
    is_enabled: bool | None


class IssueTypes(OutputModel):
    """Types of issues; none where the owner is no organization."""

    items: tuple[IssueType, ...]
    page_info: PageInfo


async def list_issue_types(client: GitHubClient, inputs: RepositoryPageInput) -> IssueTypes:
    """List the types that issues of a repository can have."""
    repository = require_value(await client.graphql(_LIST, inputs.variables()), "repository")
    issue_types = EMPTY_PAGE if repository["issueTypes"] is None else to_page(repository["issueTypes"])
    return IssueTypes.model_validate(issue_types)


OPERATIONS = {
    "repo.issue_types.list": Operation(
        input=RepositoryPageInput,
        output=IssueTypes,
        function=list_issue_types,
        route="graphql",
        example={"owner": "octo-org", "name": "hello-world"},
    ),
}
