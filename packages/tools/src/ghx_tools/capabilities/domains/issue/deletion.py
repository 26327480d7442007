"""Delete issues for good."""

from ghx_tools.capabilities.client import GitHubClient
from ghx_tools.capabilities.domains.issue.lookup import issue_id
from ghx_tools.capabilities.models import IssueInput, OutputModel, Positive, Text, require_value
from ghx_tools.capabilities.registry import Operation

_DELETE = "mutation IssueDelete($id: ID!) { deleteIssue(input: {issueId: $id}) { repository { id } } }"


class DeletedIssue(OutputModel):
    """The issue that was deleted."""

    id: Text
    number: Positive
    deleted: bool


async def delete_issue(client: GitHubClient, inputs: IssueInput) -> DeletedIssue:
    """Delete an issue; only administrators of a repository may."""
    id_ = await issue_id(client, inputs)
    answer = await client.graphql(_DELETE, {"id": id_})
    require_value(answer, "deleteIssue")
    return DeletedIssue(id=id_, number=inputs.issue_number, deleted=True)


OPERATIONS = {
    "issue.delete": Operation(
        input=IssueInput,
        output=DeletedIssue,
        function=delete_issue,
        route="graphql",
        example={"owner": "octocat", "name": "hello-world", "issueNumber": 1},
    ),
}
