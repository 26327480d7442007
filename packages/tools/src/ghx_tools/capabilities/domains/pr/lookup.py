"""Look up a pull request by its number."""

from typing import Any

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.models import PullInput, require_value
from ghx_tools.capabilities.responses import graphql_error


def pull_variables(inputs: PullInput) -> dict[str, Any]:
    """Return the variables of a document that name a pull request."""
    return {"owner": inputs.owner, "name": inputs.name, "prNumber": inputs.pr_number}


async def find_pull(
    client: GitHubClient, inputs: PullInput, fields: str = "id", *, dispensable: str | None = None
) -> dict[str, Any]:
    """Return some fields of a pull request, which are given as a GraphQL selection.

    An error in the field that is `dispensable` does not fail the others.
    """
    document = f"""
query PullRequestLookup($owner: String!, $name: String!, $prNumber: Int!) {{
  repository(owner: $owner, name: $name) {{ pullRequest(number: $prNumber) {{ {fields} }} }}
}}
"""
    answer = await client.graphql_response(document, pull_variables(inputs))
    errors = [error for error in answer.errors if dispensable not in (error.get("path") or ())]
    if errors:
        raise graphql_error(errors)
    return require_value(answer.data, "repository", "pullRequest")
