"""From the number of a pull request to what mutations want to know of it."""

from typing import Any

from ghx_bench.capabilities.client import GitHubClient
from ghx_bench.capabilities.models import PullInput, part
from ghx_bench.capabilities.responses import graphql_error


def which_pull(given: PullInput) -> dict[str, Any]:
    """Return the variables that say which pull request is meant."""
    return {"owner": given.owner, "name": given.name, "prNumber": given.pr_number}


async def find_pull(
    client: GitHubClient, given: PullInput, fields: str = "id", *, dispensable: str | None = None
) -> dict[str, Any]:
    """Return some fields of a pull request, which are given as a GraphQL selection.

    What GitHub does not give out of the one that is `dispensable` does not cost the others.
    """
    document = f"""
query PullRequestLookup($owner: String!, $name: String!, $prNumber: Int!) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $prNumber) {{ {fields} }} }}
}}
"""
    answer = await client.graphql_response(document, which_pull(given))
    errors = [error for error in answer.errors if dispensable not in (error.get("path") or ())]
    if errors:
        raise graphql_error(errors)
    return part(answer.data, "repository", "pullRequest")
