"""Read one issue."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.models import (
    IssueInput,
    Logins,
    MilestoneTitle,
    Names,
    OutputModel,
    Positive,
    Text,
    require_value,
)
from ghx_tools.capabilities.registry import Operation

_VIEW = """
query IssueView($owner: String!, $name: String!, $issueNumber: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $issueNumber) {
      id number title state url body
      labels(first: 100) { nodes { name } }
      assignees(first: 100) { nodes { login } }
      milestone { title }
    }
  }
}
"""


class IssueView(OutputModel):
    """One issue."""

    id: Text
    number: Positive
    title: str
    state: str
    url: Text
    body: str
    labels: Names
    assignees: Logins
    milestone: MilestoneTitle


async def view_issue(client: GitHubClient, inputs: IssueInput) -> IssueView:
    """Read an issue with labels, assignees and milestone."""
    answer = await client.graphql(_VIEW, inputs.variables())
    return IssueView.model_validate(require_value(answer, "repository", "issue"))


OPERATIONS = {
    "issue.view": Operation(
        input=IssueInput,
        output=IssueView,
        function=view_issue,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "issueNumber": 1},
    ),
}
