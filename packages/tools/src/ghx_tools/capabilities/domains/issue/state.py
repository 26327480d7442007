"""Close issues and open them again."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import issue_id
from ghx_tools.capabilities.models import IssueInput, OutputModel, Positive, Text, require_value
from ghx_tools.capabilities.registry import Operation

_CLOSE = "mutation IssueClose($id: ID!) { closeIssue(input: {issueId: $id}) { issue { id number state } } }"
_REOPEN = "mutation IssueReopen($id: ID!) { reopenIssue(input: {issueId: $id}) { issue { id number state } } }"


class ClosedIssue(OutputModel):
    """The issue after it was closed."""

    id: Text
    number: Positive
    state: str
    closed: bool


class ReopenedIssue(OutputModel):
    """The issue after it was opened again."""

    id: Text
    number: Positive
    state: str
    reopened: bool


async def close_issue(client: GitHubClient, inputs: IssueInput) -> ClosedIssue:
    """Close an issue; a closed one stays closed."""
    answer = await client.graphql(_CLOSE, {"id": await issue_id(client, inputs)})
    issue = require_value(answer, "closeIssue", "issue")
    return ClosedIssue.model_validate({**issue, "closed": issue["state"] == "CLOSED"})


async def reopen_issue(client: GitHubClient, inputs: IssueInput) -> ReopenedIssue:
    """Open an issue again; an open one stays open."""
    answer = await client.graphql(_REOPEN, {"id": await issue_id(client, inputs)})
    issue = require_value(answer, "reopenIssue", "issue")
    return ReopenedIssue.model_validate({**issue, "reopened": issue["state"] == "OPEN"})


_EXAMPLE = {"owner": "octocat", "name": "hello-world", "issueNumber": 1}

OPERATIONS = {
    "issue.close": Operation(
        input=IssueInput, output=ClosedIssue, function=close_issue, route="graphql", example=_EXAMPLE
    ),
    "issue.reopen": Operation(
        input=IssueInput, output=ReopenedIssue, function=reopen_issue, route="graphql", example=_EXAMPLE
    ),
}
