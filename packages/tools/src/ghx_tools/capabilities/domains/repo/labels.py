"""The labels that a repository has."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.models import OutputModel, PageInfo, RepositoryPageInput, require_value, to_page
from ghx_tools.capabilities.registry import Operation

_LIST = """
query RepositoryLabels($owner: String!, $name: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    labels(first: $first, after: $after) {
      nodes { id name description color isDefault }
      pageInfo { hasNextPage endCursor }
    }
  }
}
"""


class RepositoryLabel(OutputModel):
    """One label."""

    id: str | None
    name: str | None
    description: str | None
    color: str | None
    is_default: bool | None


class RepositoryLabels(OutputModel):
    """Labels, oldest first."""

    items: tuple[RepositoryLabel, ...]
    page_info: PageInfo


async def list_labels(client: GitHubClient, inputs: RepositoryPageInput) -> RepositoryLabels:
    """List the labels of a repository."""
    answer = await client.graphql(_LIST, inputs.variables())
    return RepositoryLabels.model_validate(to_page(require_value(answer, "repository", "labels")))


OPERATIONS = {
    "repo.labels.list": Operation(
        input=RepositoryPageInput,
        output=RepositoryLabels,
        function=list_labels,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "first": 30},
    ),
}
