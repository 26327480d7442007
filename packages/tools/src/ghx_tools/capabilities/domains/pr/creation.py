"""Open pull requests."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.pr.records import OUTLINE, PullOutline
from ghx_tools.capabilities.models import RepositoryInput, Text, require_value
from ghx_tools.capabilities.registry import Operation

_REPOSITORY = "query RepositoryId($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { id } }"
_CREATE = f"""
mutation PullRequestCreate($input: CreatePullRequestInput!) {{
  createPullRequest(input: $input) {{ pullRequest {{ {OUTLINE} }} }}
}}
"""


class NewPullInput(RepositoryInput):
    """Title, body and branches of the pull request."""

    title: Annotated[Text, Field(description="Title of the pull request.")]
    body: Annotated[str | None, Field(description="What it says, in Markdown; `Fixes #1` links an issue.")] = None
    head: Annotated[Text, Field(description="Branch with the changes; `user:branch` if it is in a fork.")]
    base: Annotated[Text, Field(description="Branch that the changes are for.")]
    draft: Annotated[bool, Field(description="Open it as a draft.")] = False


async def create_pull(client: GitHubClient, inputs: NewPullInput) -> PullOutline:
    """Open a pull request."""
    repository = await client.graphql(_REPOSITORY, {"owner": inputs.owner, "name": inputs.name})
    new = {
        "repositoryId": require_value(repository, "repository", "id"),
        "baseRefName": inputs.base,
        "headRefName": inputs.head,
        "title": inputs.title,
        "body": inputs.body,
        "draft": inputs.draft,
    }
    answer = await client.graphql(_CREATE, {"input": new})
    return PullOutline.model_validate(require_value(answer, "createPullRequest", "pullRequest"))


OPERATIONS = {
    "pr.create": Operation(
        input=NewPullInput,
        output=PullOutline,
        function=create_pull,
        route="graphql",
        example={
            "owner": "octocat",
            "name": "hello-world",
            "title": "Do not crash",
            "body": "Fixes #1",
            "head": "fix-crash",
            "base": "main",
        },
    ),
}
