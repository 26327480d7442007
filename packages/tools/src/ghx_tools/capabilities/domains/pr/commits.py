"""The commits of a pull request."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.records import EXAMPLE
from ghx_tools.capabilities.domains.repo.commits import COMMIT, Commit, describe_commit
from ghx_tools.capabilities.models import OutputModel, PageInfo, Paging, PullInput, require_value, to_page
from ghx_tools.capabilities.registry import Operation

_LIST = f"""
query PullRequestCommits($owner: String!, $name: String!, $prNumber: Int!, $first: Int!, $after: String) {{
  repository(owner: $owner, name: $name) {{
    pullRequest(number: $prNumber) {{
      commits(first: $first, after: $after) {{
        nodes {{ commit {{ {COMMIT} }} }}
        pageInfo {{ hasNextPage endCursor }}
      }}
    }}
  }}
}}
"""


class PullCommitsInput(Paging, PullInput):
    """Which commits."""


class PullCommits(OutputModel):
    """Commits, oldest first."""

    items: tuple[Commit, ...]
    page_info: PageInfo


async def list_commits(client: GitHubClient, inputs: PullCommitsInput) -> PullCommits:
    """List the commits that a pull request would merge."""
    answer = await client.graphql(_LIST, inputs.variables())
    listed = to_page(require_value(answer, "repository", "pullRequest", "commits"))
    return PullCommits.model_validate(
        {**listed, "items": [describe_commit(node["commit"]) for node in listed["items"]]}
    )


OPERATIONS = {
    "pr.commits.list": Operation(
        input=PullCommitsInput,
        output=PullCommits,
        function=list_commits,
        route="graphql",
        example={**EXAMPLE, "first": 30},
    ),
}
