"""Open issues."""

from typing import Annotated

from pydantic import Field

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.records import IssueSummary
from ghx_tools.capabilities.models import RepositoryInput, Text, require_value
from ghx_tools.capabilities.registry import Operation

_REPOSITORY = "query RepositoryId($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { id } }"
_CREATE = """
mutation IssueCreate($id: ID!, $title: String!, $body: String) {
  createIssue(input: {repositoryId: $id, title: $title, body: $body}) { issue { id number title state url } }
}
"""


class NewIssueInput(RepositoryInput):
    """Title and body of the issue."""

    title: Annotated[Text, Field(description="Title of the issue.")]
    body: Annotated[str | None, Field(description="What the issue says, in Markdown.")] = None


async def create_issue(client: GitHubClient, inputs: NewIssueInput) -> IssueSummary:
    """Open an issue."""
    found = await client.graphql(_REPOSITORY, {"owner": inputs.owner, "name": inputs.name})
    variables = {"id": require_value(found, "repository", "id"), "title": inputs.title, "body": inputs.body}
    answer = await client.graphql(_CREATE, variables)
    return IssueSummary.model_validate(require_value(answer, "createIssue", "issue"))


OPERATIONS = {
    "issue.create": Operation(
        input=NewIssueInput,
        output=IssueSummary,
        function=create_issue,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "title": "It crashes", "body": "When I press the button."},
    ),
}
