"""Change the title and the body of an issue."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import issue_id
from ghx_tools.capabilities.domains.issue.records import IssueSummary
from ghx_tools.capabilities.models import IssueInput, require_value
from ghx_tools.capabilities.registry import Operation

_UPDATE = """
mutation IssueUpdate($input: UpdateIssueInput!) { updateIssue(input: $input) { issue { id number title state url } } }
"""


class IssueUpdateInput(IssueInput):
    """What changes; the rest stays."""

    title: Annotated[str | None, Field(description="The new title.")] = None
    body: Annotated[str | None, Field(description="The new body, in Markdown; empty to say nothing.")] = None

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        if self.title is None and self.body is None:
            raise ValueError("nothing to change; give a title, a body or both")
        return self


async def update_issue(client: GitHubClient, inputs: IssueUpdateInput) -> IssueSummary:
    """Change the title or the body of an issue."""
    changes = {"title": inputs.title, "body": inputs.body}
    change = {"id": await issue_id(client, inputs)} | {name: each for name, each in changes.items() if each is not None}
    answer = await client.graphql(_UPDATE, {"input": change})
    return IssueSummary.model_validate(require_value(answer, "updateIssue", "issue"))


OPERATIONS = {
    "issue.update": Operation(
        input=IssueUpdateInput,
        output=IssueSummary,
        function=update_issue,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "issueNumber": 1, "title": "It crashes on Mondays"},
    ),
}
