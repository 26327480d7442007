"""Read basic facts about a repository."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.models import Count, OutputModel, RefName, RepositoryInput, Text, require_value
from ghx_tools.capabilities.registry import Operation

_VIEW = """
query RepositoryView($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) {
    id name nameWithOwner isPrivate stargazerCount forkCount url defaultBranch: defaultBranchRef { name }
  }
}
"""


class RepositoryView(OutputModel):
    """A repository; one that is empty has no default branch yet."""

    id: Text
    name: Text
    name_with_owner: Text
    is_private: bool
    stargazer_count: Count
    fork_count: Count
    url: Text
    default_branch: RefName


async def view_repository(client: GitHubClient, inputs: RepositoryInput) -> RepositoryView:
    """Read a repository."""
    answer = await client.graphql(_VIEW, inputs.variables())
    return RepositoryView.model_validate(require_value(answer, "repository"))


OPERATIONS = {
    "repo.view": Operation(
        input=RepositoryInput,
        output=RepositoryView,
        function=view_repository,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world"},
    ),
}
