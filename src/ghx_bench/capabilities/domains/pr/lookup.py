"""From the number of a pull request to what mutations want to know of it."""

from typing import Any

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.models import PullInput, part


def which_pull(given: PullInput) -> dict[str, Any]:
    """Return the variables that say which pull request is meant."""
    return {"owner": given.owner, "name": given.name, "prNumber": given.pr_number}


async def find_pull(client: GitHubClient, given: PullInput, fields: str = "id") -> dict[str, Any]:
    """Return some fields of a pull request, which are given as a GraphQL selection."""
    document = f"""
query PullRequestLookup($owner: String!, $name: String!, $prNumber: Int!) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $prNumber) {{ {fields} }} }}
}}
"""
    return part(await client.graphql(document, which_pull(given)), "repository", "pullRequest")
